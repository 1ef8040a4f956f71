"""Whether a number of brokers keeps to the bar → the least number from which on all do."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

# Numbers above one that have to keep to the bar too: what a number does alone it does by luck.
_FURTHER = 2


def need(keeps: Callable[[int], bool], first: int, least: int, most: int) -> int:
    """Return the least number that keeps to the bar, and so do the next two.

    Args:
        keeps: whether a number does.
        first: a guess.
        least: the smallest that is tried.
        most: the largest; one more is returned if none up to it will do.

    Properties:
        The same for every guess, if more never hurt.
        Asks of each number once at most.
    """
    asked = cache(keeps)
    number = _least(asked, first, least, most)
    while number <= most:
        further = range(number, min(number + _FURTHER, most) + 1)
        broken = [each for each in further if not asked(each)]
        if not broken:
            break
        # Whatever broke, what is below it will not do.
        number = broken[-1] + 1
    return number


def _least(keeps: Callable[[int], bool], first: int, least: int, most: int) -> int:
    """Return the least number that keeps to the bar, if more never hurt."""
    low, high = least - 1, most + 1
    step, at = 1, min(max(first, least), most)
    # Farther and farther from the guess until both sides are known …
    while low < high - 1:
        if keeps(at):
            high = at
        else:
            low = at
        if low >= least and high <= most:
            break
        at = high - step if high <= most else low + step
        at, step = min(max(at, low + 1), high - 1), 2 * step
    # … and then half of what is between them.
    while high - low > 1:
        middle = (low + high) // 2
        if keeps(middle):
            high = middle
        else:
            low = middle
    return high
