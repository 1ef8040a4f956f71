"""What a message of Pulsar's log is, and how its printed form becomes columns."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, NotRequired, TypedDict, Unpack

#: A number as Java prints it: `36.58`, `4.4E-9`, `Infinity`.
NUMBER = r"-?(?:[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|NaN|Infinity)"

#: A fixed beginning shorter than this also begins other messages of the same class.
_BEGINNING_LENGTH_MIN = 16

#: `{n_usage_percent}`, `{*}`, and the marks of an optional stretch, `{?` and `?}`.
_TOKEN = re.compile(r"\{\?|\?\}|\{[a-z_]+\}|\{\*\}")

#: An attribute behind a constant message: `bundle=a/b/0x0_0x1`, `brokers=[a, b]`.  Only the
#: beginning of a word is tried, or a long word would take the square of its length.
_ATTRIBUTE = re.compile(
    r'(?<![\w.])([A-Za-z_][\w.]*)=("(?:[^"\\]|\\.)*"|\[[^\]]*\]|\{[^}]*\}|[^\s,}]+)'
)

#: A part of an extensible load report: `cpu= 0.00%`, `msgRateIn= 180.29`.
_LOAD_PART = re.compile(rf"\b(\w+)= ({NUMBER})(%?)")

_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NUMBER = re.compile(NUMBER)
#: The inside of a printed map without anything odd, in an expression that never goes back.
_USUAL_ENTRY = r"[^=, ]++=[0-9]{1,20}+\.[0-9]{1,30}+(?:E-?[0-9]{1,2}+)?+"
_USUAL_MAP = re.compile(rf"{_USUAL_ENTRY}(?:, {_USUAL_ENTRY})*+")

#: What is not kept.
_GAP = r".*?"
#: A word that only a blank can end, so that it need not be tried letter by letter.
_UNTIL_BLANK = re.compile(r"\\S\+\?\)(?= \+|\\s\*$)")

#: What a placeholder of a template stands for; `n_…` and `is_…` are made on the fly.
_PLACEHOLDERS = {
    "broker": r"(?P<broker>\S+?)",
    # `bundle=…` is the attribute of a constant message.
    "bundle": r"(?P<bundle>(?!bundle=)\S+?)",
    "target": r"(?P<target>\S+?)",
    "strategy": r"(?P<strategy>[^\s\]][^\]]*?)",
    "count": r"(?P<count>\d{1,18})",
    "map": r"\{(?P<map>[^{}]*)\}",
    "low": r"\{(?P<low>[^{}]*)\}",
    "list": r"\[(?P<list>[^\[\]]*)\]",
    "load": r"(?P<load>cpu= [^{}]*?)",
    "any_bundle": r"(?:(?P<bundle>\S+/0x[0-9a-fA-F]+_0x[0-9a-fA-F]+)|.*?)",
    "attributes": r"(?P<attributes>[\s:,;({].*)",
    "*": _GAP,
}


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the load balancer, of ownership or of a broker's life."""

    #: What the row is called; several printed forms may share a kind.
    kind: str
    #: Simple names of the classes that print it.
    loggers: tuple[str, ...]
    #: Printed form, see `shape`.
    template: str
    #: The template as an expression; its groups are columns, see `columns`.
    pattern: re.Pattern[str]
    #: Literal part of the template: a line without it is not this message.
    needle: str
    #: A line of it, with everything in front.
    example: str
    #: Where it was seen in a log, or `by the source` where only the code says so.
    releases: str
    #: What it says, one sentence.
    meaning: str
    #: For a constant message: attribute name and the group it stands for, all required.
    attributes: tuple[tuple[str, str], ...]
    #: A line with the needle that does not fit the pattern is broken, not another message.
    is_telling: bool

    def read(self, text: str) -> dict[str, Any] | None:
        """Read the message's columns from the text behind the prefix; None if it is another.

        Raises:
            ValueError: the text has the message's form, but a value in it is broken.
        """
        found = self.pattern.fullmatch(text)
        if found is None:
            return None
        groups: Mapping[str, str | None] = found.groupdict()
        if self.attributes:
            given = attributes(found["attributes"])
            missing = [name for name, _ in self.attributes if name not in given]
            if missing:
                raise ValueError(f"no attribute {missing[0]!r} in {found['attributes'].strip()!r}")
            groups = {group: given[name] for name, group in self.attributes}
        return columns(groups)


class Details(TypedDict):
    """What `message` takes by name."""

    releases: str
    meaning: str
    #: For a constant message whose values follow it: `name=group` with blanks between.
    attributes: NotRequired[str]
    #: Only where the one that `needle` chooses stands in other messages of the class too.
    needle: NotRequired[str]
    is_telling: NotRequired[bool]


def message(
    kind: str, loggers: str, template: str, example: str, **details: Unpack[Details]
) -> Message:
    """Make a message of its template and an example.

    Args:
        kind: hyphen-words that grep uniquely.
        loggers: simple class names with blanks between.
        template: printed form, see `shape`.
        example: a full line.
        details: where it is seen, what it means, and what few messages need.
    """
    pairs = [pair.partition("=") for pair in details.get("attributes", "").split()]
    pattern = shape(template)
    return Message(
        kind=kind,
        loggers=tuple(loggers.split()),
        template=template,
        pattern=pattern,
        needle=details.get("needle") or needle(template),
        example=example,
        releases=details["releases"],
        meaning=details["meaning"],
        attributes=tuple((name, group) for name, _, group in pairs),
        # Without values there is nothing that could be broken.
        is_telling=details.get("is_telling", True) and pattern.groups > 0,
    )


def line(
    logger: str, text: str, level: str = "INFO", thread: str = "pulsar-load-manager-1-1"
) -> str:
    """Print a full log line in the distribution's layout, for an example.

    A logger that does not begin with `org.` is one of `org.apache.pulsar`.
    """
    name = logger if logger.startswith("org.") else f"org.apache.pulsar.{logger}"
    return f"2026-11-21T06:37:17,331+0000 [{thread}] {level:<5} {name} - {text}"


def shape(template: str) -> re.Pattern[str]:
    """Compile a template into an expression.

    Text stands for itself, a blank for one or more (releases differ in double
    blanks).  `{broker}` is a word, `{count}` and `{n_usage_percent}` numbers, `{is_forced}`
    true or false, `{map}` and `{list}` Java's printed collections, `{*}` anything that is
    not kept, `{? from {broker}?}` a stretch that some releases leave out.
    """
    parts = _parts(template)
    last = max((i for i, part in enumerate(parts) if "(?P<" in part), default=-1)
    # Where nothing that is kept follows, it does not matter where a gap ends: it is looked for
    # from the line's end, for a line that does not fit is known there at once.
    parts[last + 1 :] = [part.replace(_GAP, ".*") for part in parts[last + 1 :]]
    return re.compile(_UNTIL_BLANK.sub(r"\\S++)", "".join(parts) + r"\s*"), re.DOTALL)


def _parts(template: str) -> list[str]:
    """Turn literals and tokens of a template into expressions, in turn, literals first."""
    parts = []
    position = 0
    for token in _TOKEN.finditer(template):
        parts += [_literal(template[position : token.start()]), _placeholder(token.group())]
        position = token.end()
    return [*parts, _literal(template[position:])]


def stumble(template: str, text: str) -> str:
    """Give the piece of a text that does not fit, from behind the last literal that does.

    >>> stumble("all {count} brokers are overloaded", "all many brokers are overloaded")
    'many brokers are overloaded'
    """
    parts = _parts(template)
    end = depth = 0
    for i in range(0, len(parts), 2):
        # Within an optional stretch there is no whole expression to try.
        depth += (parts[i - 1] == "(?:") - (parts[i - 1] == ")?") if i else 0
        found = re.match("".join(parts[: i + 1]), text, re.DOTALL) if depth == 0 else None
        end = max(end, found.end() if found is not None else 0)
    return text[end : end + 60]


def needle(template: str) -> str:
    """Choose the literal text by which a line is known to be this message or a broken one.

    It is the fixed beginning where that is long enough to be telling, else the longest
    literal stretch that is always printed.  A blank at its end is left off, for lines lose it.
    """
    always = re.sub(r"\{\?.*?\?\}", "{*}", template)
    literals = _TOKEN.split(always)
    if len(literals[0]) >= _BEGINNING_LENGTH_MIN:
        return literals[0].rstrip()
    return max(literals, key=len).rstrip()


def _literal(text: str) -> str:
    """Quote literal text, a blank standing for one or more."""
    return " +".join(re.escape(word) for word in re.split(" +", text))


def _placeholder(token: str) -> str:
    """Give the expression of one token of a template."""
    if token == "{?":
        return "(?:"
    if token == "?}":
        return ")?"
    name = token[1:-1]
    if name.startswith("n_"):
        return f"(?P<{name}>{NUMBER})"
    if name.startswith("is_"):
        return f"(?P<{name}>true|false)"
    return _PLACEHOLDERS[name]


def columns(groups: Mapping[str, str | None]) -> dict[str, Any]:
    """Turn the groups of a message into the columns of `log_events`.

    Numbers go to `numbers` under their name without `n_`, true and false as 1 and 0; a map
    to `scores`, a second one to `numbers` with `low:` in front of each key; a list to
    `brokers`.  Java's `null` is null.

    Raises:
        ValueError: a map's value or a count is not a number.
    """
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    numbers: dict[str, float] = {}
    for name, value in groups.items():
        if value is None or value in ABSENT:
            continue
        if name in _SINGLE:
            column, convert = _SINGLE[name]
            row[column] = convert(value)
        elif name.startswith("n_"):
            numbers[name[2:]] = _number(value)
        else:
            numbers.update(_numbers(name, value))
    row["numbers"] = numbers or None
    return row


def converters(message: Message) -> dict[str, Callable[[str], Any]] | None:
    """Give how each group of a message becomes a column, or a number if it begins with `n_`.

    Whoever has many lines of a message calls them instead of `columns`; the numbers of maps
    stay text, to be read all at once.

    Returns:
        None for a message some part of which becomes several numbers.
    """
    found: dict[str, Callable[[str], Any]] = {}
    for name in message.pattern.groupindex:
        if name == "map":
            found["scores"] = usual_map
        elif name in _SINGLE:
            column, found[column] = _SINGLE[name]
        elif name.startswith("n_"):
            # The pattern has seen to it that it is one.
            found[name] = float
        else:
            return None
    return found


def _numbers(name: str, value: str) -> dict[str, float]:
    """Turn one group into entries of the column `numbers`."""
    if name == "load":
        return {_snake(part) + "_percent" * bool(sign): float(number)
                for part, number, sign in _LOAD_PART.findall(value)}  # fmt: skip
    if name == "low":
        return {f"low:{broker}": number for broker, number in printed_map(value).items()}
    return {name: float(value == "true")}


@lru_cache(maxsize=256)
def _snake(name: str) -> str:
    """Write `msgRateIn` as `msg_rate_in`."""
    return _CAPITAL.sub("_", name).lower()


def _number(text: str) -> float:
    """Read a number as Java prints it."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def _count(text: str) -> int:
    """Read a count that fits a table's 64 bits."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise ValueError(f"{text!r} is not a count")
    return int(text)


def printed_map(text: str) -> dict[str, float]:
    """Read the inside of Java's printed map: `b0:8080=0.1, b1:8080=0.2`.

    Raises:
        ValueError: a part is not `key=number`.
    """
    parts = (part.rpartition("=") for part in text.strip("{} ").split(", ") if part)
    return {key: _number(value) for key, _, value in parts}


def usual_map(text: str) -> dict[str, str]:
    """Part the inside of a printed map as `printed_map` does, the numbers left as they are.

    Raises:
        ValueError: the map is broken, or not as Java prints numbers of everyday size.
    """
    if not is_usual_map(text):
        raise ValueError(f"found {text!r}, expected a map of numbers of everyday size")
    _, names, numbers = usual_maps([text])
    return dict(zip(names, numbers, strict=True))


def is_usual_map(text: str) -> bool:
    """Return whether the inside of a map is as Java prints numbers of everyday size."""
    return _USUAL_MAP.fullmatch(text) is not None


def usual_maps(texts: Sequence[str]) -> tuple[list[int], list[str], list[str]]:
    """Part the insides of printed maps, one behind the other.

    Args:
        texts: all of them usual maps.

    Returns:
        The entries of each map; the names and the numbers of all of them.

    Raises:
        ValueError: a map has a name twice.
    """
    parts = ", ".join(texts).replace("=", ", ").split(", ")
    counts, names = [text.count("=") for text in texts], parts[::2]
    ends = accumulate(counts)
    for text, count, end in zip(texts, counts, ends, strict=True):
        if len(set(names[end - count : end])) < count:
            raise ValueError(f"found {text!r}, expected a map with no name twice")
    return counts, names, parts[1::2]


def printed_list(text: str) -> list[str]:
    """Read the inside of Java's printed list: `b0:8080, b1:8080`."""
    return [item for item in text.strip("[] ").split(", ") if item]


def attributes(text: str) -> dict[str, str]:
    """Read what stands behind a constant message: `k=v, k=v`, `{k=v}`, or a JSON object."""
    text = text.strip(" \t:,;")
    if text.startswith('{"'):
        try:
            return {key: _plain(value) for key, value in json.loads(text).items()}
        except (ValueError, RecursionError):
            return {}
    return {name: value.strip('"') for name, value in _ATTRIBUTE.findall(text)}


def _plain(value: Any) -> str:
    """Print a JSON value as Java would."""
    if isinstance(value, dict):
        return ", ".join(f"{key}={_plain(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value)


def _simple(name: str) -> str:
    """Cut a class name to its last part."""
    return name.rpartition(".")[2]


#: Group → (column, how its text becomes the column's value).
_SINGLE: dict[str, tuple[str, Callable[[str], Any]]] = {
    "strategy": ("strategy", _simple),
    "broker": ("broker", str),
    "bundle": ("bundle", str),
    "target": ("target", str),
    "count": ("count", _count),
    "map": ("scores", printed_map),
    "list": ("brokers", printed_list),
}
#: What stands where there is no value.
ABSENT = frozenset({"null", "Optional.empty"})
#: Columns that a message may fill.
COLUMNS = (*(column for column, _ in _SINGLE.values()), "numbers")
