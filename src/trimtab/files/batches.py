"""Things in their order, put together until they weigh enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Thing = TypeVar("Thing")


def batches(
    things: Iterable[Thing], weight: Callable[[Thing], int], limit: int
) -> list[tuple[Thing, ...]]:
    """Return things in batches, in their order; none but one alone weighs more than a limit.

    >>> batches(["ab", "c", "defg", "h"], len, 3)
    [('ab', 'c'), ('defg',), ('h',)]

    Args:
        things: each weighs more than nothing.
        weight: what one weighs.
        limit: what those that stand together may weigh.
    """
    packs: list[list[Thing]] = []
    room = 0
    for thing in things:
        weighs = weight(thing)
        if weighs > room:
            packs.append([])
            room = limit
        packs[-1].append(thing)
        room -= weighs
    return [tuple(batch) for batch in packs]
