"""Java's sort of objects, with what it does when the comparison contradicts itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")
#: Negative, zero or positive, as the first is to stand before, beside or after the second.
Comparison: TypeAlias = Callable[[T, T], int]

#: MIN_MERGE in the Java: shorter sequences are not merged at all.
_MERGE_MIN = 32
#: MIN_GALLOP in the Java.
_GALLOP_MIN = 7


class ContradictionError(ValueError):
    """The comparison contradicted itself while two runs were merged."""

    def __init__(self) -> None:
        """Say it in Java's words."""
        super().__init__("Comparison method violates its general contract!")


def tim_sorted(items: Sequence[T], compare: Comparison[T]) -> list[T]:
    """Return the items sorted as `java.util.TimSort` does, comparison by comparison.

    Args:
        items: what to sort.
        compare: may contradict itself.

    Properties:
        Equal to `sorted` with the same comparison, if that does not contradict itself.
        Equal to Java's result, if it does.

    Raises:
        ContradictionError: the comparison contradicts itself, and the Java notices; it
            never does for fewer than 32 items.

    Source:
        java.util.TimSort, JDK 17
    """
    sorting = _Sorting(compare)
    run_min = _run_min(len(items))
    rest = list(items)
    while rest:
        run = _run(rest, compare)
        size = max(len(run), min(len(rest), run_min))
        for item in rest[len(run) : size]:
            _insert(run, item, compare)
        del rest[:size]
        sorting.push(run)
    return sorting.finish()


def _run_min(count: int) -> int:
    """Return the least length of a run, so that the number of runs is near a power of two."""
    is_odd = 0
    while count >= _MERGE_MIN:
        is_odd |= count & 1
        count >>= 1
    return count + is_odd


def _run(items: Sequence[T], compare: Comparison[T]) -> list[T]:
    """Return the longest run at the front: rising, or strictly falling and then reversed."""
    if len(items) == 1:
        return list(items)
    is_falling = compare(items[1], items[0]) < 0
    end = 2
    while end < len(items) and (compare(items[end], items[end - 1]) < 0) == is_falling:
        end += 1
    run = list(items[:end])
    return run[::-1] if is_falling else run


def _insert(run: list[T], item: T, compare: Comparison[T]) -> None:
    """Insert an item behind its equals, by bisection."""
    left, right = 0, len(run)
    while left < right:
        middle = (left + right) >> 1
        if compare(item, run[middle]) < 0:
            right = middle
        else:
            left = middle + 1
    run.insert(left, item)


def _gallop(run: Sequence[T], hint: int, is_before: Callable[[T], bool]) -> int:
    """Return for how many items `is_before` holds, counted in doubling steps from a hint.

    The Java's `gallopLeft` and `gallopRight`, which differ in the test alone.
    """
    last, step = 0, 1
    if is_before(run[hint]):
        limit = len(run) - hint
        while step < limit and is_before(run[hint + step]):
            last, step = step, 2 * step + 1
        left, right = hint + last + 1, hint + min(step, limit)
    else:
        limit = hint + 1
        while step < limit and not is_before(run[hint - step]):
            last, step = step, 2 * step + 1
        left, right = hint - min(step, limit) + 1, hint - last
    while left < right:
        middle = left + ((right - left) >> 1)
        if is_before(run[middle]):
            left = middle + 1
        else:
            right = middle
    return right


class _Sorting(Generic[T]):
    """Runs that wait to be merged, and how long a streak must be before it gallops."""

    def __init__(self, compare: Comparison[T]) -> None:
        self.compare = compare
        self.runs: list[list[T]] = []
        self.gallop_min = _GALLOP_MIN

    def push(self, run: list[T]) -> None:
        """Add a run, and merge until the lengths fall fast enough from bottom to top."""
        self.runs.append(run)
        while len(self.runs) > 1:
            sizes = [0, 0, *map(len, self.runs)]  # no run is shorter than one that is missing
            i = len(self.runs)  # of the last but one in `sizes`
            crowds = 0 < sizes[i - 1] <= sizes[i] + sizes[i + 1]
            if crowds or 0 < sizes[i - 2] <= sizes[i] + sizes[i - 1]:
                self._merge_at(i - 3 if sizes[i - 1] < sizes[i + 1] else i - 2)
            elif sizes[i] <= sizes[i + 1]:
                self._merge_at(i - 2)
            else:
                return

    def finish(self) -> list[T]:
        """Return all that is left, merged from the top."""
        while len(self.runs) > 1:
            i = len(self.runs) - 2
            self._merge_at(i - 1 if i and len(self.runs[i - 1]) < len(self.runs[i + 1]) else i)
        return self.runs[0] if self.runs else []

    def _merge_at(self, i: int) -> None:
        """Merge two neighbours, leaving alone what is in its place already."""
        one, two = self.runs[i : i + 2]
        first = two[0]
        start = _gallop(one, 0, lambda item: self.compare(first, item) >= 0)
        head, one = one[:start], one[start:]
        if one:
            last = one[-1]
            end = _gallop(two, len(two) - 1, lambda item: self.compare(last, item) > 0)
            tail, two = two[end:], two[:end]
            two = self._merged(one, two) + tail if two else one + tail
        self.runs[i : i + 2] = [head + two]

    def _merged(self, one: list[T], two: list[T]) -> list[T]:
        merge = _Merge(one, two, self.compare)
        while not merge.is_over:
            merge.one_by_one(self.gallop_min)
            if not merge.is_over:
                self.gallop_min = merge.in_strides(self.gallop_min)
        self.gallop_min = max(self.gallop_min, 1)
        return merge.result()


class _Merge(Generic[T]):
    """Merges two runs from the front (Java: `mergeLo`) or from the back (`mergeHi`).

    From the front if the first is not the longer one.  The shorter run is the one that the
    Java has set aside: the merge is over when one item of it is left, or none of the other.
    """

    def __init__(self, one: list[T], two: list[T], compare: Comparison[T]) -> None:
        self.sides = (one, two)
        self.compare = compare
        self.is_forward = len(one) <= len(two)
        self.kept = (1, 0) if self.is_forward else (0, 1)
        #: Pieces in the order taken, which is backwards from the back.
        self.taken: list[list[T]] = []
        self.is_over = False
        self._take(1 if self.is_forward else 0, 1)
        # The other side may have come with a single item.
        self.is_over = any(map(self._is_done, (0, 1)))

    def one_by_one(self, gallop_min: int) -> None:
        """Take single items until one side has won `gallop_min` times in a row."""
        streaks = [0, 0]
        while not self.is_over and max(streaks) < gallop_min:
            winner = self._winner()
            streaks[winner] += 1
            streaks[1 - winner] = 0
            self._take(winner, 1)

    def in_strides(self, gallop_min: int) -> int:
        """Take runs of items while that pays; return how long a streak must be to begin again."""
        while True:
            strides = []
            for side in (0, 1):
                strides.append(self._stride(side))
                self._take(side, strides[-1])
                if not self.is_over:
                    self._take(1 - side, 1)
                if self.is_over:
                    return gallop_min
            gallop_min -= 1
            if max(strides) < _GALLOP_MIN:
                return max(gallop_min, 0) + 2

    def result(self) -> list[T]:
        """Return what was taken, and behind it what is left."""
        one, two = self.sides
        spare = one if self.is_forward else two
        if not spare:
            raise ContradictionError
        pieces = [*self.taken, two, one] if self.is_forward else [two, one, *self.taken[::-1]]
        if len(spare) > 1:  # then nothing is left of the other
            pieces = [*self.taken, one] if self.is_forward else [two, *self.taken[::-1]]
        return [item for piece in pieces for item in piece]

    def _winner(self) -> int:
        """Return from which run the next item is taken."""
        one, two = self.sides
        if self.is_forward:
            return 1 if self.compare(two[0], one[0]) < 0 else 0
        return 0 if self.compare(two[-1], one[-1]) < 0 else 1

    def _stride(self, side: int) -> int:
        """Return how many items of one run come before the next item of the other."""
        run, other = self.sides[side], self.sides[1 - side]
        item = other[0 if self.is_forward else -1]
        least = 1 if side else 0  # of equals those of the first run come first
        hint = 0 if self.is_forward else len(run) - 1
        before = _gallop(run, hint, lambda x: self.compare(item, x) >= least)
        return before if self.is_forward else len(run) - before

    def _take(self, side: int, count: int) -> None:
        run = self.sides[side]
        cut = slice(0, count) if self.is_forward else slice(len(run) - count, len(run))
        self.taken.append(run[cut])
        del run[cut]
        self.is_over = count > 0 and self._is_done(side)

    def _is_done(self, side: int) -> bool:
        return len(self.sides[side]) <= self.kept[side]
