"""A rating → its page of the docs."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trimtab.files.fields import FieldError
from trimtab.report.marks import NoMarksError, replaced
from trimtab.report.ratings_text import ratings_text

_PAGE = "ratings.md"


def write_docs(document: Mapping[str, Any], docs: Path) -> None:
    """Write what was measured into the page of the docs.

    Raises:
        FieldError: the folder has no such page, or the page has no place for it.
    """
    page = docs / _PAGE
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    try:
        before = page.read_text(encoding="utf-8")
        after = replaced(before, ratings_text(document, date))
    except OSError as error:
        raise FieldError("--docs", str(page), "a page of the docs") from error
    except NoMarksError as error:
        raise FieldError("--docs", str(page), str(error).removeprefix("expected ")) from error
    page.write_text(after, encoding="utf-8")
