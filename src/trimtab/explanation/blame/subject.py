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


def named(asked: str, known: Sequence[str], kind: Kind) -> str:
    """Find the one name that is meant.

    The full name comes first; then a bundle's hash range or a broker's name without what
    follows its host (`broker-1` for `broker-1.pulsar.svc:8080`); then the beginning of a
    name, or of a hash range, that only one has.

    Args:
        asked: what the user gave.
        known: every name of the night.
        kind: what is looked for.

    Raises:
        BlameError: nothing fits, or more than one does; the message names the nearest.
    """
    if asked in known:
        return asked
    for fits in (
        [each for each in known if asked in _short(each, kind)],
        [each for each in known if _begins(each, asked, kind)],
    ):
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise BlameError(_several(asked, fits, kind))
    raise BlameError(_none(asked, known, kind))


def _short(name: str, kind: Kind) -> tuple[str, ...]:
    """Give the shorter forms of a name that people use."""
    if kind == "bundle":
        return (name.rpartition("/")[2],)
    host = name.rpartition(":")[0] or name
    return host, host if host.replace(".", "").isdigit() else host.partition(".")[0]


def _begins(name: str, asked: str, kind: Kind) -> bool:
    return bool(asked) and any(each.startswith(asked) for each in (name, *_short(name, kind)))


def _several(asked: str, fits: Sequence[str], kind: Kind) -> str:
    listed = ", ".join(visible_name(each) for each in fits[:_LISTED])
    more = f" and {len(fits) - _LISTED:,} more" if len(fits) > _LISTED else ""
    found = f"'{visible_name(asked)}' is the beginning of {count(len(fits), kind)}"
    return f"--{kind}: {found}, expected one: {listed}{more}"


def _none(asked: str, known: Sequence[str], kind: Kind) -> str:
    found = f"--{kind}: found '{visible_name(asked)}', which the diagnosis does not name"
    if not known:
        return f"{found}; it names no {kind} at all"
    wanted = asked[:_COMPARED]
    # What was asked may be a slip in a whole name, or in the beginning of one.
    forms = {
        form[:length]: each
        for each in known
        for form in (*_short(each, kind), each)
        for length in (_COMPARED, max(1, len(wanted)))
    }
    close = get_close_matches(wanted, list(forms), 4 * _SUGGESTED, _ALIKE)
    nearest = list(dict.fromkeys(forms[form] for form in close))[:_SUGGESTED]
    if not nearest:
        return f"{found}, nor anything like it, among {count(len(known), kind)}"
    return f"{found}; the nearest: {', '.join(visible_name(each) for each in nearest)}"
