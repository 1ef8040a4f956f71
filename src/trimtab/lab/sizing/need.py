"""Whether a number of brokers keeps to the bar → the least number that does."""

from __future__ import annotations

from collections.abc import Callable


def need(keeps: Callable[[int], bool], first: int, least: int, most: int) -> int:
    """Return the least number that keeps to the bar, if more never hurt.

    Args:
        keeps: whether a number does.
        first: a guess.
        least: the smallest that is tried.
        most: the largest; one more is returned if it does not keep to it either.

    Properties:
        The same for every guess, if more never hurt.
        Asks of each number once at most.
    """
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
