"""Templates: a message's printed form, and the expression that it stands for."""

from __future__ import annotations

import re

from trimtab.ingest.messages.java_text import NUMBER

#: A fixed beginning shorter than this also begins other messages of the same class.
_BEGINNING_LENGTH_MIN = 16

#: `{n_usage_percent}`, `{*}`, and the marks of an optional stretch, `{?` and `?}`.
_TOKEN = re.compile(r"\{\?|\?\}|\{[a-z_]+\}|\{\*\}")

_NAME = re.compile(r"\{([a-z_]+)\}")

#: What is not kept.
_GAP = r".*?"
#: A word that only a blank can end, so that it need not be tried letter by letter.
_UNTIL_BLANK = re.compile(r"\\S\+\?\)(?= \+|\\s\*$)")


def _within(name: str, opening: str, closing: str) -> str:
    """Return the expression of what stands in brackets that have no others in them.

    To look ahead and to stop at one character takes half the time of stopping at any of two.
    """
    start, end = re.escape(opening), re.escape(closing)
    return rf"{start}(?![^{end}]*{start})(?P<{name}>[^{end}]*){end}"


#: What a placeholder of a template stands for; `n_…` and `is_…` are made on the fly.
_PLACEHOLDERS = {
    "broker": r"(?P<broker>\S+?)",
    # `bundle=…` is the attribute of a constant message.
    "bundle": r"(?P<bundle>(?!bundle=)\S+?)",
    "target": r"(?P<target>\S+?)",
    "strategy": r"(?P<strategy>[^\s\]][^\]]*?)",
    "count": r"(?P<count>\d{1,18})",
    "map": _within("map", "{", "}"),
    "low": _within("low", "{", "}"),
    "list": _within("list", "[", "]"),
    "load": r"(?P<load>cpu= [^{}]*?)",
    "any_bundle": r"(?:(?P<bundle>\S+/0x[0-9a-fA-F]+_0x[0-9a-fA-F]+)|.*?)",
    "attributes": r"(?P<attributes>[\s:,;({].*)",
    "*": _GAP,
}


def shape(template: str) -> re.Pattern[str]:
    """Return the expression that a template stands for.

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
    """Return the expressions of a template's literals and tokens, in turn, literals first."""
    parts = []
    position = 0
    for token in _TOKEN.finditer(template):
        parts += [_literal(template[position : token.start()]), _placeholder(token.group())]
        position = token.end()
    return [*parts, _literal(template[position:])]


def stumble(template: str, text: str) -> str:
    """Return the piece of a text that does not fit, from behind the last literal that does.

    >>> stumble("all {count} brokers are overloaded", "all many brokers are overloaded")
    'many brokers are overloaded'
    """
    parts = _parts(template)
    end = depth = 0
    for i in range(0, len(parts), 2):
        # Within an optional stretch there is no whole expression to try.
        depth += (parts[i - 1] == "(?:") - (parts[i - 1] == ")?") if i else 0
        match = re.match("".join(parts[: i + 1]), text, re.DOTALL) if depth == 0 else None
        end = max(end, match.end() if match is not None else 0)
    return text[end : end + 60]


def needle_of(template: str) -> str:
    """Return the literal text by which a line is known to be this message or a broken one.

    It is the fixed beginning where that is long enough to be telling, else the longest
    literal stretch that is always printed.  A blank at its end is left off, for lines lose it.
    """
    always = re.sub(r"\{\?.*?\?\}", "{*}", template)
    literals = _TOKEN.split(always)
    if len(literals[0]) >= _BEGINNING_LENGTH_MIN:
        return literals[0].rstrip()
    return max(literals, key=len).rstrip()


def kept_values(template: str) -> list[str]:
    """Return the names of a template's placeholders whose values are kept.

    Raises:
        ValueError: there is no such placeholder.
    """
    names = _NAME.findall(template)
    for name in names:
        if name not in _PLACEHOLDERS and not name.startswith(("n_", "is_")):
            expected = ", ".join([*_PLACEHOLDERS, "n_… and is_…"])
            raise ValueError(f"{template!r}: found {{{name}}}, expected one of {expected}")
    return names


def _literal(text: str) -> str:
    """Return literal text, quoted, a blank standing for one or more."""
    return " +".join(re.escape(word) for word in re.split(" +", text))


def _placeholder(token: str) -> str:
    """Return the expression of one token of a template."""
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
