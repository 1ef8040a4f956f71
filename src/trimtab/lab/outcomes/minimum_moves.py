"""How few moves would have done."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.lab.frontier.integer_program import Effort, Program, Rows, solved
from trimtab.pulsar.model import Floats, Ints

#: Bundles times brokers up to which the minimum is searched for exactly: seconds at most.
EXACT_SIZE_MAX = 2000
#: Nodes after which the search gives up and its bound is taken.
EFFORT = Effort(20_000, 0.0)
#: Points: a rounding error is no surplus.
_TOLERANCE = 1e-6
_HALVINGS = 80


@dataclass(frozen=True, slots=True)
class Placement:
    """Who serves what at one time, and what it costs."""

    #: (n_bundles,) work, percent of a reference machine, and position of the owner.
    work: Floats
    owner: Ints
    #: (n_brokers,) percent that other processes take, and work that fills the CPU.
    background: Floats
    capacity: Floats


@dataclass(frozen=True, slots=True)
class Minimum:
    """The smallest number of moves, or a number that it is not below."""

    #: Infinite if no moves at all would do.
    moves: float
    #: Whether it is the minimum itself.
    is_exact: bool


def minimum_moves(placement: Placement, bar_points: float) -> Minimum:
    """Return how few moves bring the spread to a bar, all bundles' work being known.

    Exact, by integer programming, up to 2,000 bundles times brokers; where the search
    has to be broken off, the bound that it has proved.  Beyond that size, a bound from
    counting (`counted_moves`).

    Args:
        placement: usages are background plus work by capacity; the CPU's convexity and
            the NIC are left aside.
        bar_points: spread up to which it counts as balanced.

    Properties:
        0 where the spread is at the bar already.
        Never below the bound from counting.
        A higher bar never needs more.
        Exact is at most the number of moves of any plan that reaches the bar.
    """
    if np.ptp(usages(placement)) <= bar_points:
        return Minimum(0.0, is_exact=True)
    movable = int((placement.work > 0).sum())
    if movable * len(placement.capacity) > EXACT_SIZE_MAX:
        return Minimum(counted_moves(placement, bar_points), is_exact=False)
    return _minimum(placement, bar_points)


def counted_moves(placement: Placement, bar_points: float) -> float:
    """Return a number of moves that the minimum is not below.

    Wherever the band of the allowed usages lies, a broker above it has to give up its
    surplus, for which it needs as many moves as its own largest bundles that make it up;
    one below has to get its want, for which it needs as many as the largest bundles of
    the cluster that make it up.  A move can serve one of each, so the larger of the two
    sums is needed, and the band may lie where that is smallest.  A band that all work
    together cannot fill, or cannot be kept below, is none.

    Returns:
        A whole number; infinite where no band can be reached.

    Properties:
        At most the minimum.
        0 where the spread is at the bar already.
        A higher bar never needs more.
    """
    counting = _Counting(placement, bar_points)
    low, high = float(counting.usage.min()) - bar_points - 1.0, float(counting.usage.max()) + 1.0
    # Giving up falls as the band rises, getting grows: the best band is where they meet.
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if counting.gotten(middle) >= counting.given_up(middle):
            high = middle
        else:
            low = middle
    return min(
        max(counting.gotten(low), counting.given_up(low)),
        max(counting.gotten(high), counting.given_up(high)),
    )


class _Counting:
    """What a band asks for, with the sums that every question needs."""

    def __init__(self, placement: Placement, bar_points: float) -> None:
        self.bar = bar_points
        self.capacity, self.background = placement.capacity, placement.background
        self.work = float(placement.work.sum())
        self.usage = usages(placement)
        largest = np.sort(placement.work)[::-1]
        self.of_all = np.cumsum(largest)
        order = np.lexsort((-placement.work, placement.owner))
        sizes = np.bincount(placement.owner, minlength=len(placement.capacity))
        ends = np.cumsum(sizes)
        self.of_each = [
            np.cumsum(placement.work[order[end - size : end]])
            for size, end in zip(sizes, ends, strict=True)
        ]

    def _work_up_to(self, usage: float) -> float:
        """Return the work that lifts every broker to a usage."""
        return float(np.sum(self.capacity * np.maximum(usage - self.background, 0.0)))

    def given_up(self, low: float) -> float:
        """Return how many moves the brokers above the band need."""
        high = low + self.bar
        if self._work_up_to(high) < self.work - _TOLERANCE:
            return np.inf
        surplus = (self.usage - high) * self.capacity
        donors = np.flatnonzero(surplus > _TOLERANCE)
        return sum(_moves_for(self.of_each[i], float(surplus[i])) for i in donors)

    def gotten(self, low: float) -> float:
        """Return how many moves the brokers below the band need."""
        if self._work_up_to(low) > self.work + _TOLERANCE:
            return np.inf
        wants = (low - self.usage) * self.capacity
        return sum(_moves_for(self.of_all, float(want)) for want in wants[wants > _TOLERANCE])


def _moves_for(sums: Floats, amount: float) -> float:
    """Return how many of the largest bundles make up an amount; infinite if all do not."""
    last = int(np.searchsorted(sums, amount - _TOLERANCE))
    return float(last + 1) if last < len(sums) else np.inf


def usages(placement: Placement) -> Floats:
    """Return each broker's usage, percent."""
    n_brokers = len(placement.capacity)
    work = np.bincount(placement.owner, placement.work, n_brokers)
    usage: Floats = placement.background + work / placement.capacity
    return usage


def _minimum(placement: Placement, bar_points: float) -> Minimum:
    """Return the minimum, found by a search.

    A variable for each bundle and each broker that does not own it: 1 if it goes there;
    and one for the lower end of the band in which all usages have to lie.
    """
    n_brokers = len(placement.capacity)
    bundle, target = np.nonzero(
        (placement.work > 0)[:, None] & (placement.owner[:, None] != np.arange(n_brokers))
    )
    n = len(bundle)
    source, column = placement.owner[bundle], np.arange(n)
    share = placement.work[bundle]
    usage = usages(placement)
    # Usage after the moves less the lower end, a broker each; then moves of a bundle.
    within = Rows(
        np.concatenate([target, source, np.arange(n_brokers)]),
        np.concatenate([column, column, np.full(n_brokers, n)]),
        np.concatenate(
            [
                share / placement.capacity[target],
                -share / placement.capacity[source],
                -np.ones(n_brokers),
            ]
        ),
        -usage,
        bar_points - usage,
    )
    n_bundles = len(placement.work)
    once = Rows(bundle, column, np.ones(n), np.full(n_bundles, -np.inf), np.ones(n_bundles))
    program = Program(
        objective=np.append(np.ones(n), 0.0),
        low=np.append(np.zeros(n), -np.inf),
        high=np.append(np.ones(n), np.inf),
        constraints=[within, once],
    )
    solution = solved(program, EFFORT)
    if solution.is_proved:
        moves = np.inf if solution.values is None else float(round(solution.values[:-1].sum()))
        return Minimum(moves, is_exact=True)
    proved = np.ceil(solution.bound - _TOLERANCE)
    return Minimum(max(float(proved), counted_moves(placement, bar_points)), is_exact=False)
