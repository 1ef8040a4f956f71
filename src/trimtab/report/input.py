"""Reading of the input, in which everything may be absent: what is absent or null is empty."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from trimtab.files.visible import visible, visible_name

Fields: TypeAlias = Mapping[str, Any]

#: Characters of one text that are shown; findings.json has all of them.
TEXT_MAX = 4_000

#: Characters of a name that are shown.
NAME_MAX = 240

#: What may stand in a link without being escaped; other ids get a name of our own.
ANCHOR = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,60}")


def entries(fields: Fields, key: str) -> list[Fields]:
    """Return the objects of a list; an absent list is empty."""
    value = fields.get(key)
    if not isinstance(value, list | tuple):
        return []
    # The type first: to ask an abstract class takes as long as all else that is done here.
    return [each for each in value if type(each) is dict or isinstance(each, Mapping)]


def part(fields: Fields, key: str) -> Fields:
    """Return a nested object; an absent one is empty."""
    value = fields.get(key)
    return value if isinstance(value, Mapping) else {}


def text(fields: Fields, key: str) -> str:
    """Return a value as text that can be seen, cut if very long; an absent one is empty."""
    value = fields.get(key)
    return "" if value is None else visible(str(value), TEXT_MAX, keep="\n\t")


def texts(fields: Fields, key: str) -> tuple[str, ...]:
    """Return a list of texts; an absent one is empty."""
    value = fields.get(key)
    if not isinstance(value, list | tuple):
        return ()
    return tuple(visible(str(each), TEXT_MAX, keep="\n\t") for each in value)


def shown_name(value: Any) -> str:
    """Return the name of a bundle or broker as the page shows it: on one line, not too long."""
    return "" if value is None else _shown_name(str(value))


# A night tells a hundred thousand times of the same thousand brokers.
@lru_cache(maxsize=1 << 14)
def _shown_name(name: str) -> str:
    return visible_name(name, NAME_MAX)


def name(fields: Fields, key: str) -> str:
    """Return a name as it is shown; an absent one is empty."""
    return shown_name(fields.get(key))


def names(fields: Fields, key: str) -> tuple[str, ...]:
    """Return a list of names as they are shown; an absent one is empty."""
    value = fields.get(key)
    return tuple(map(shown_name, value)) if isinstance(value, list | tuple) else ()


def whole(fields: Fields, key: str) -> int | None:
    """Return a whole number; None if there is none."""
    value = fields.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def anchors(ids: Iterable[str], otherwise: str) -> Iterator[str]:
    """Return a unique name to link to for each id: the id itself wherever that can be.

    >>> list(anchors(["u1", "u1", "a b"], "move"))
    ['u1', 'move-2', 'move-3']
    """
    taken: set[str] = set()
    for position, each in enumerate(ids, start=1):
        name = each if ANCHOR.fullmatch(each) and each not in taken else f"{otherwise}-{position}"
        taken.add(name)
        yield name
