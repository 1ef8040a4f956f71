"""Whether numbers of brokers keep to the bar → what one night, and most of some, need."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

#: Numbers above the least one that are tried, too: usually, and where single bundles are heavy.
FURTHER, FURTHER_BY_GIANTS = 3, 5
# Numbers that break the bar one after the other below which none is tried.
_BELOW = 2
_ALSO = "keeps "


@dataclass(frozen=True, slots=True)
class Need:
    """Which numbers of brokers keep to the bar on one night, as far as it was tried."""

    #: The number from which on all do; infinity: none does.
    least: float
    #: Smaller ones that do all the same: one broker more may hurt where bundles are heavy.
    also: frozenset[int] = frozenset()
    #: Which night it is of those that were recorded.
    night: int = 0

    def keeps(self, count: int) -> bool:
        """Return whether a number keeps to the bar."""
        return count >= self.least or count in self.also

    def numbers(self) -> dict[str, float]:
        """Return it as numbers by name."""
        also = {f"{_ALSO}{count}": 1.0 for count in sorted(self.also)}
        return {"need": self.least, "night": float(self.night), **also}

    @staticmethod
    def of(numbers: Mapping[str, float]) -> Need:
        """Return what `numbers` was made of."""
        also = (name.removeprefix(_ALSO) for name in numbers if name.startswith(_ALSO))
        return Need(numbers["need"], frozenset(map(int, also)), int(numbers["night"]))


def need(
    is_kept: Callable[[int], bool], first: int, least: int, most: int, further: int = FURTHER
) -> Need:
    """Return which numbers keep to the bar, as far as those beside the least one tell.

    Args:
        is_kept: whether a number does.
        first: a guess.
        least: the smallest that is tried.
        most: the largest; if it does not keep to the bar either, none does.
        further: how many above the least one are tried.

    Properties:
        The same for every guess, and the least that keeps to it, if more never hurt.
        It keeps to the bar, and so do the next `further`.
        No number is tried twice.
    """
    tried: dict[int, bool] = {}

    def keeps(count: int) -> bool:
        if count not in tried:
            tried[count] = is_kept(count)
        return tried[count]

    high = _all_above(keeps, _edge(keeps, first, least, most), most, further)
    below, broken = high - 1, 0
    while below >= least and broken < _BELOW:
        broken = 0 if keeps(below) else broken + 1
        below -= 1
    also = frozenset(count for count, it_does in tried.items() if it_does and count < high)
    return Need(float(high) if high <= most else math.inf, also)


def _edge(keeps: Callable[[int], bool], first: int, least: int, most: int) -> int:
    """Return a number that keeps to the bar though the one below does not."""
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


def _all_above(keeps: Callable[[int], bool], high: int, most: int, further: int) -> int:
    """Return the number from which on the next ones keep to the bar, too."""
    # One more may hurt where single bundles are heavy: it is shared out otherwise.
    count = high + 1
    while count <= min(high + further, most):
        if not keeps(count):
            high = count + 1
        count += 1
    return high


def share_needs(needs: Sequence[Need], share: float) -> float:
    """Return the number from which on all keep to the bar on so large a share of some nights.

    Properties:
        Never more than the number that so large a share needs at most: of those that need more
        some keep to the bar on it all the same.
        A larger share never needs less.
    """
    wanted = max(1, math.ceil(share * len(needs) - 1e-9))
    least = sorted(each.least for each in needs)[wanted - 1]
    while math.isfinite(least) and least > 1:
        if sum(each.keeps(int(least) - 1) for each in needs) < wanted:
            break
        least -= 1
    return least
