"""By how much each clock is ahead, measured by what must come before what.

Pure: what is known to have happened in an order bounds the difference of two clocks from one
side; the shortest path over such bounds bounds every clock against one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

from trimtab.pulsar.model import Floats, Ints

#: The metadata store's clock, among those of brokers.
STORE = "the metadata store"
#: By how much an order may be violated, s: times are taken to the millisecond, and clocks that
#: are kept drift a little all the same.  The least that leaves no contradiction is taken.
_SLACKS_S = (0.002, 0.02, 0.2)
#: Who is no further off than this beyond doubt is left alone, s.
_MATTERS_S = 0.01


class Pair(NamedTuple):
    """Two things in the order in which they happened, each by its own clock."""

    earlier: str
    earlier_time: datetime
    later: str
    later_time: datetime
    #: Pairs of these two that it is the tightest of.
    pairs: int = 1

    @property
    def bound_s(self) -> float:
        """Return by how much the later clock can be ahead of the earlier one at most."""
        return (self.later_time - self.earlier_time).total_seconds()


@dataclass(frozen=True, slots=True)
class Skew:
    """One broker's clock beside the reference."""

    broker: str
    #: s by which it is ahead, in the middle of what is possible; None if it is not bounded.
    ahead_s: float | None
    #: s by which the truth may lie on either side.
    bound_s: float | None
    #: Pairs that tell of it.
    pairs: int

    @property
    def is_off(self) -> bool:
        """Return whether it is ahead or behind beyond doubt."""
        return (
            self.ahead_s is not None
            and self.bound_s is not None
            and abs(self.ahead_s) > self.bound_s + _MATTERS_S
        )


@dataclass(frozen=True, slots=True)
class Clocks:
    """All clocks that something is known of."""

    reference: str
    skews: tuple[Skew, ...] = ()
    #: Why a clock cannot be trusted, in a sentence each.
    jumps: tuple[str, ...] = ()

    def ahead(self) -> dict[str, timedelta]:
        """Return what is to be taken off brokers' times, of those that cannot be right."""
        return {
            skew.broker: timedelta(seconds=skew.ahead_s)
            for skew in self.skews
            if skew.is_off and skew.ahead_s is not None
        }

    def ahead_of_logs(self, names: Mapping[str, str]) -> dict[str, timedelta]:
        """Return the same by the folders of the brokers' logs; `names`: folder → broker id."""
        ahead = self.ahead()
        return {log: ahead[broker] for log, broker in names.items() if broker in ahead}


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The tightest bound of each two clocks: the `later` is ahead by `bound_s` at most."""

    clocks: list[str]
    earlier: Ints
    later: Ints
    bound_s: Floats

    def from_clock(self, clock: str) -> Floats | None:
        """Return how far each clock is ahead of one at most; None if the bounds contradict."""
        distances = np.full(len(self.clocks), np.inf)
        distances[self.clocks.index(clock)] = 0.0
        for _ in self.clocks:
            longer = distances.copy()
            np.minimum.at(longer, self.later, distances[self.earlier] + self.bound_s)
            if np.array_equal(longer, distances):
                return distances
            distances = longer
        return None

    def turned(self) -> _Bounds:
        """Return the same with earlier and later exchanged."""
        return _Bounds(self.clocks, self.later, self.earlier, self.bound_s)


def measured(pairs: Iterable[Pair]) -> Clocks:
    """Measure clocks against the store's, or if it is in no pair against the busiest broker's.

    Args:
        pairs: of whatever must be in order.

    Returns:
        A skew for each broker in a pair, in order of their names; of a clock that jumped, and
        of one that is bounded from one side only, it is None.

    Properties:
        If no clock jumped, the truth is within the bound of what is returned.
        More pairs never make a bound wider.
    """
    every_pair = list(pairs)
    counts: Counter[str] = Counter()
    for it in every_pair:
        counts.update(dict.fromkeys((it.earlier, it.later), it.pairs))
    tightest = _tightest(every_pair)
    jumped = _jumped(tightest)
    still = [it for it in tightest if not {it.earlier, it.later} & jumped.keys()]
    reference = _reference(still, counts, set(jumped))
    jumps = [_jump(broker, *jumped[broker]) for broker in sorted(jumped)]
    between = _between(still, reference)
    if between is None:
        brokers = sorted({clock for it in still for clock in (it.earlier, it.later)} - {STORE})
        jumps.append(
            f"the clocks of {', '.join(brokers)} contradict each other: one of them was set "
            "meanwhile, or lines of a log are missing"
        )
    skews = []
    for broker in sorted(counts.keys() - {STORE, reference}):
        least_s, most_s = (between or {}).get(broker, (-np.inf, np.inf))
        if np.isfinite(least_s) and np.isfinite(most_s):
            middle_s, half_s = (most_s + least_s) / 2, (most_s - least_s) / 2
            skews.append(Skew(broker, middle_s, half_s, counts[broker]))
        else:
            skews.append(Skew(broker, None, None, counts[broker]))
    return Clocks(reference, tuple(skews), tuple(jumps))


def _between(pairs: Sequence[Pair], reference: str) -> dict[str, tuple[float, float]] | None:
    """Return how far each clock is ahead of one; None if the pairs contradict each other."""
    for slack_s in _SLACKS_S:
        bounds = _bounds(pairs, slack_s)
        if reference not in bounds.clocks:
            return {}
        most, least = bounds.from_clock(reference), bounds.turned().from_clock(reference)
        if most is not None and least is not None:
            low, high = (-least).tolist(), most.tolist()
            return dict(zip(bounds.clocks, zip(low, high, strict=True), strict=True))
    return None


def _reference(pairs: Sequence[Pair], counts: Counter[str], jumped: set[str]) -> str:
    """Return the clock that the others are compared with."""
    if any(it.earlier == STORE for it in pairs):
        return STORE
    brokers = sorted(counts.keys() - jumped - {STORE})
    return max(brokers, key=counts.__getitem__, default=STORE)


def _tightest(pairs: Iterable[Pair]) -> list[Pair]:
    """Return of each two clocks, in each order, the pair that bounds them best."""
    best: dict[tuple[str, str], Pair] = {}
    for it in pairs:
        two = it.earlier, it.later
        if it.earlier != it.later and (two not in best or it.bound_s < best[two].bound_s):
            best[two] = it
    return [best[two] for two in sorted(best)]


def _jumped(pairs: Sequence[Pair]) -> dict[str, tuple[Pair, Pair]]:
    """Return brokers whose own times contradict those of the store, and two pairs that show it."""
    from_store = {it.later: it for it in pairs if it.earlier == STORE}
    both = (
        (it, from_store[it.earlier])
        for it in pairs
        if it.later == STORE and it.earlier in from_store
    )
    return {
        one.earlier: (one, other)
        for one, other in both
        if one.bound_s + other.bound_s + 2 * _SLACKS_S[-1] < 0
    }


def _jump(broker: str, one: Pair, other: Pair) -> str:
    """Return a sentence about a clock that jumped: between which times."""
    return (
        f"the clock of {broker} jumped: it was ahead of that of {STORE} by at least "
        f"{-one.bound_s:.3f} s at {_clock(one.later_time)}, and by at most {other.bound_s:.3f} s "
        f"at {_clock(other.earlier_time)}; its lines are ordered as they are printed"
    )


def _clock(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _bounds(pairs: Sequence[Pair], slack_s: float) -> _Bounds:
    clocks = sorted({clock for it in pairs for clock in (it.earlier, it.later)})
    at = {clock: i for i, clock in enumerate(clocks)}
    return _Bounds(
        clocks,
        np.array([at[it.earlier] for it in pairs], np.int64),
        np.array([at[it.later] for it in pairs], np.int64),
        np.array([it.bound_s + slack_s for it in pairs], np.float64),
    )
