"""What a broker.conf says: its lines, the same as Helm values, a broker's own answer or dump."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trimtab.files.errors import TrimtabError

#: `loadBalancerEnabled=true`, or as Helm values have it: `  loadBalancerEnabled: "true"`.
_SETTING = re.compile(r"\s*([A-Za-z_][\w.\-]*)\s*(=|:(?=\s|$))\s*(.*?)\s*")
#: A YAML value behind which a comment may stand: `"true"  # why`.
_YAML_VALUE = re.compile(r"""(?:"([^"]*)"|'([^']*)'|(.*?))(?:(?:^|\s+)#.*)?""")
_SHOWN_MAX = 80
#: An item of a compose file's `environment`: `- "key=value"`.
_LISTED = re.compile(r"""\s*-\s+(["']?)([A-Za-z_][\w.\-]*)=(.*?)\1(?:\s+\#.*|\s*)""")
#: What the image's start script says of each setting that it writes into the file.
_STARTING = re.compile(
    r"(?:\[(?:[^\]]*/)?(?:broker|standalone)\.conf\] )?"
    r"(?:Updating|Applying|Adding) config:? +(?=[\w.]+ *=)"
)
#: Variables of the environment that begin so are written into the file.
PREFIX = "PULSAR_PREFIX_"
#: Headings of Helm values and of a ConfigMap under which settings stand, and whose they are.
_SETTINGS_OF = "broker"
_HEADINGS = ("configData", "data")
_KEY = re.compile(r"( *)([A-Za-z_][\w.\-]*) *:(?:\s|$)(.*)")
_BLOCK = re.compile(r"[|>][+\-\d]*\s*(?:#.*)?")
_DUMP = "ServiceConfiguration("
_OPENING, _CLOSING = "([{", ")]}"


class ConfError(TrimtabError, ValueError):
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
    text = without_script(text.removeprefix("\ufeff"))
    if not text.strip() or text.lstrip().startswith(("#", "!")):
        return None
    if listed := _LISTED.fullmatch(text):
        return ConfEntry(listed[2], listed[3], is_yaml=True)
    match = _SETTING.fullmatch(text)
    if match is None:
        raise ConfError(f"found {text.strip()[:_SHOWN_MAX]!r}, expected key=value")
    key, separator, value = match.groups()
    if separator == ":":
        written = _YAML_VALUE.fullmatch(value)
        value = next((group for group in written.groups() if group), "") if written else value
        if not value and '""' not in text and "''" not in text:
            return None
    return ConfEntry(key, value, separator == ":")


def runtime_entries(document: Mapping[str, object], text: str) -> Iterator[tuple[str, str, int]]:
    """Yield the effective settings that a broker reports.

    Args:
        document: the decoded document.
        text: the document as it is written.

    Yields:
        Key, value as text, and the line, from 1, in which the key stands.
    """
    place = 0
    for key, value in document.items():
        # Keys come in the document's order, so each is searched for behind the last one.
        at = re.compile(re.escape(json.dumps(key)) + r"\s*:").search(text, place)
        place = at.end() if at else place
        value_text = value if isinstance(value, str) else json.dumps(value)
        yield key, value_text, text.count("\n", 0, place) + 1


def without_script(text: str) -> str:
    """Return the setting that a line of the image's start script tells of.

    >>> without_script("[conf/broker.conf] Updating config loadBalancerEnabled=true")
    'loadBalancerEnabled=true'
    """
    return _STARTING.sub("", text, count=1) if _STARTING.match(text) else text


def helm_entries(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield the broker's settings in Helm values, or in a ConfigMap.

    Where there is a `broker` with `configData`, that alone is read: other components have
    keys of the same names.  Otherwise every `configData` or `data` counts, and where there is
    none whatever stands at the top.

    Yields:
        Key without `PULSAR_PREFIX_`, value without quotes, and the line, from 1.

    Quirks:
        Lists, flow mappings and texts of several lines are passed over: no setting is one.
    """
    every = list(scalars(text.removeprefix("\ufeff")))
    under = [it for it in every if it[0] and it[0][-1] in _HEADINGS]
    own = [it for it in under if _SETTINGS_OF in it[0]]
    for _, key, value, line in own or under or [it for it in every if not it[0]]:
        yield key.removeprefix(PREFIX), value, line


def scalars(text: str) -> Iterator[tuple[tuple[str, ...], str, str, int]]:
    """Yield every `key: value` of a YAML text: the headings above it, key, value and line."""
    above: list[tuple[int, str]] = []
    block: int | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        indent = len(line) - len(line.lstrip(" "))
        is_inside = block is not None and indent > block
        if is_inside or not line.strip() or line.lstrip().startswith("#"):
            continue
        block = None
        match = _KEY.fullmatch(line)
        if match is None:
            continue
        while above and above[-1][0] >= indent:
            above.pop()
        key, value = match[2], match[3].strip()
        if _BLOCK.fullmatch(value):
            block = indent
        elif not value or value.startswith("#"):
            above.append((indent, key))
        elif (entry := conf_entry(f"{key}: {value}")) is not None and value[0] not in "{[&*":
            yield tuple(name for _, name in above), key, entry.value, number


def is_dump(text: str) -> bool:
    """Return whether a text has a broker's settings as Java prints them."""
    return _DUMP in text


def dumped_entries(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield settings of `ServiceConfiguration(key=value, …)`, as a broker prints it when it starts.

    The text may have been wrapped anywhere, in the middle of a word too, and cut off: a last
    value without an end is left out.

    Yields:
        Key, value as Java prints it, and the line of the text, from 1, in which the value ends.
    """
    begin = text.find(_DUMP)
    if begin < 0:
        return
    depth, piece, line = 0, "", text.count("\n", 0, begin) + 1
    for character in text[begin + len(_DUMP) :]:
        if character in "\r\n":
            line += character == "\n"
            continue
        is_end = character == ")" and depth == 0
        if is_end or (character == "," and depth == 0):
            key, separator, value = piece.partition("=")
            if separator:
                yield key.strip(), value.strip(), line
            piece = ""
            if is_end:
                return
            continue
        depth += (character in _OPENING) - (character in _CLOSING and depth > 0)
        piece += character
