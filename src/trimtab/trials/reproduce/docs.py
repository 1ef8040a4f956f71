"""Reproductions → their page of the docs, and the pictures beside it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trimtab.files.fields import FieldError
from trimtab.report.marks import NoMarksError, replaced
from trimtab.report.reproduction_picture import picture_alone
from trimtab.report.reproductions_text import reproductions_text

_PAGE = "reproductions.md"
_PICTURES = "reproductions"


def write_docs(document: Mapping[str, Any], docs: Path) -> None:
    """Write what was measured into the page of the docs, and a picture of each experiment.

    Raises:
        FieldError: the folder has no such page, or the page has no place for it.
    """
    page = docs / _PAGE
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    try:
        before = page.read_text(encoding="utf-8")
        after = replaced(before, reproductions_text(document, date, _PICTURES))
    except OSError as error:
        raise FieldError("--docs", str(page), "a page of the docs") from error
    except NoMarksError as error:
        raise FieldError("--docs", str(page), str(error).removeprefix("expected ")) from error
    folder = docs / _PICTURES
    folder.mkdir(exist_ok=True)
    for each in document["experiments"]:
        svg = picture_alone(each)
        if svg is not None:
            (folder / f"{each['name']}.svg").write_text(svg, encoding="utf-8")
    page.write_text(after, encoding="utf-8")
