"""Which bundle or broker is meant: a full name, a part of it that nothing else has, or none."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from trimtab.files.errors import TrimtabError
from trimtab.files.visible import visible_name
from trimtab.report.journeys import Kind
from trimtab.report.words import count

#: Names suggested where none fits, or listed where several do.
_SUGGESTED = 3
_LISTED = 8

#: Of names that are compared letter by letter, the letters that are.
_COMPARED = 200

#: How alike two names have to be, of 1, for one to be meant by the other.
_ALIKE = 0.6


class BlameError(TrimtabError):
    """No bundle or broker is meant, or several are, or there is no night to tell of."""


def full_name(name: str, names: Sequence[str], kind: Kind) -> str:
    """Return the one name that is meant.

    The full name comes first; then a bundle's hash range or a broker's name without what
    follows its host (`broker-1` for `broker-1.pulsar.svc:8080`); then the beginning of a
    name, or of a hash range, that only one has.

    Raises:
        BlameError: nothing fits, or more than one does; the message names the nearest.
    """
    if name in names:
        return name
    for fits in (
        [each for each in names if name in _short(each, kind)],
        [each for each in names if _begins(each, name, kind)],
    ):
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise BlameError(_several(name, fits, kind))
    raise BlameError(_none(name, names, kind))


def _short(name: str, kind: Kind) -> tuple[str, ...]:
    """Return the shorter forms of a name that people use."""
    if kind == "bundle":
        return (name.rpartition("/")[2],)
    host = name.rpartition(":")[0] or name
    return host, host if host.replace(".", "").isdigit() else host.partition(".")[0]


def _begins(name: str, start: str, kind: Kind) -> bool:
    return bool(start) and any(each.startswith(start) for each in (name, *_short(name, kind)))


def _several(name: str, fits: Sequence[str], kind: Kind) -> str:
    nearest = ", ".join(visible_name(each) for each in fits[:_LISTED])
    more = f" and {len(fits) - _LISTED:,} more" if len(fits) > _LISTED else ""
    problem = f"'{visible_name(name)}' is the beginning of {count(len(fits), kind)}"
    return f"--{kind}: {problem}, expected one: {nearest}{more}"


def _none(name: str, names: Sequence[str], kind: Kind) -> str:
    problem = f"--{kind}: found '{visible_name(name)}', which the diagnosis does not name"
    if not names:
        return f"{problem}; it names no {kind} at all"
    beginning = name[:_COMPARED]
    # What was asked may be a slip in a whole name, or in the beginning of one.
    forms = {
        form[:length]: each
        for each in names
        for form in (*_short(each, kind), each)
        for length in (_COMPARED, max(1, len(beginning)))
    }
    close = get_close_matches(beginning, list(forms), 4 * _SUGGESTED, _ALIKE)
    nearest = list(dict.fromkeys(forms[form] for form in close))[:_SUGGESTED]
    if not nearest:
        return f"{problem}, nor anything like it, among {count(len(names), kind)}"
    return f"{problem}; the nearest: {', '.join(visible_name(each) for each in nearest)}"
