"""What a broker.conf says: its lines, the same as Helm values, a broker's own answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

#: `loadBalancerEnabled=true`, or as Helm values have it: `  loadBalancerEnabled: "true"`.
_SETTING = re.compile(r"\s*([A-Za-z_][\w.\-]*)\s*(=|:(?=\s|$))\s*(.*?)\s*")
#: A YAML value behind which a comment may stand: `"true"  # why`.
_YAML_VALUE = re.compile(r"""(?:"([^"]*)"|'([^']*)'|(.*?))(?:(?:^|\s+)#.*)?""")
_SHOWN_MAX = 80


class ConfError(ValueError):
    """A line is no setting; says what was found and what was expected."""


@dataclass(frozen=True, slots=True)
class ConfEntry:
    """One setting of a file."""

    key: str
    #: As it is written, but for quotes and comments of YAML.
    value: str
    #: It stands as `key: value`.
    is_yaml: bool


def conf_entry(text: str) -> ConfEntry | None:
    """Read one line of a broker.conf, or of the same settings as YAML; None if it sets nothing.

    Quirks:
        The value is kept as it is written: `10 * 1024 * 1024`, which no broker accepts, is
        an entry, so that it can be seen.  In the `key=value` form a `#` behind the value is
        part of it, as it is for the broker.  A YAML key without a value is a heading.

    Raises:
        ConfError: the line is neither a setting, a comment nor blank.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip() or text.lstrip().startswith(("#", "!")):
        return None
    found = _SETTING.fullmatch(text)
    if found is None:
        raise ConfError(f"found {text.strip()[:_SHOWN_MAX]!r}, expected key=value")
    key, separator, value = found.groups()
    if separator == ":":
        written = _YAML_VALUE.fullmatch(value)
        value = next((group for group in written.groups() if group), "") if written else value
        if not value and '""' not in text and "''" not in text:
            return None
    return ConfEntry(key, value, separator == ":")


def runtime_entries(found: Mapping[str, object], text: str) -> Iterator[tuple[str, str, int]]:
    """Walk what a broker says of its effective settings.

    Args:
        found: the decoded document.
        text: the document as it is written.

    Yields:
        Key, value as text, and the line, from 1, in which the key stands.
    """
    place = 0
    for key, value in found.items():
        # Keys come in the document's order, so each is searched for behind the last one.
        at = re.compile(re.escape(json.dumps(key)) + r"\s*:").search(text, place)
        place = at.end() if at else place
        told = value if isinstance(value, str) else json.dumps(value)
        yield key, told, text.count("\n", 0, place) + 1
