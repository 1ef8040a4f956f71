"""Whether a number of brokers keeps to the bar → the number from which on all do."""

from __future__ import annotations

from collections.abc import Callable

# Numbers above the least one that are tried, too.
_FURTHER = 3


def need(keeps: Callable[[int], bool], first: int, least: int, most: int) -> int:
    """Return the number from which on all keep to the bar, as far as the next ones tell.

    Args:
        keeps: whether a number does.
        first: a guess.
        least: the smallest that is tried.
        most: the largest; one more is returned if it does not keep to it either.

    Properties:
        The same for every guess, and the least that keeps to it, if more never hurt.
        It keeps to the bar, and so do the next three.
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
    # One more may hurt where single bundles are heavy: it is shared out otherwise.
    further = high + 1
    while further <= min(high + _FURTHER, most):
        if not keeps(further):
            high = further + 1
        further += 1
    return high
