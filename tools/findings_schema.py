"""The codes that docs/findings.schema.json allows, of the entries of the findings."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

from trimtab.diagnose.findings import FINDINGS
from trimtab.diagnose.verdicts import DOUBTFUL, USELESS

SCHEMA = Path(__file__).resolve().parent.parent / "docs" / "findings.schema.json"
_INDENT = " " * 14


def findings_schema(text: str) -> str:
    """Return the schema with the codes and the verdicts that there are now.

    Raises:
        ValueError: the schema has no place for them.
    """
    verdicts = dict.fromkeys(("sound", *USELESS, *DOUBTFUL, "sole-candidate", "not-decidable"))
    return _with(_with(text, "code", FINDINGS), "verdict", verdicts)


def _with(text: str, name: str, codes: Iterable[str]) -> str:
    """Return the schema with the codes that a field may have."""
    listed = textwrap.fill(
        ", ".join(f'"{code}"' for code in codes),
        width=100,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        break_on_hyphens=False,
    )
    pattern = rf'("{name}": {{\n *"enum": \[\n)[^]]*?(\n *\])'
    new, count = re.subn(pattern, rf"\g<1>{listed}\g<2>", text)
    if count != 1:
        raise ValueError(f"{SCHEMA.name}: expected one list of what {name!r} may be, found {count}")
    return new
