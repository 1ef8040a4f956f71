"""Few moves that bring brokers into a band of usage: searched for, from both of its sides.

A peak is brought down by whoever is above it; a band has a lower edge, too, so that a broker that
idles is filled up, and brokers that are well inside are left alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trimtab.lab.frontier.question import ROUNDING, Holdings, Moves, Question, holdings
from trimtab.pulsar.model import Flags, Floats, Ints

# Brokers at the other side of the band that are tried as partners of the worst.
_PARTNERS = 6
# Points of violation that a move must take away; and by how much a destination above the band must
# stay below what its source was.
_LEAST = 0.25
_BELOW_SOURCE = 2.0
#: Positions of the band that are tried, between these shares of its width off the middle.
POSITIONS = 9
_SHIFT = 0.6
# What a point that is left outside counts, in moves.
_POINT = 0.3


class Edges(NamedTuple):
    """A band: whoever is outside the outer edges is brought inside the inner ones."""

    low: float
    high: float
    outer_low: float
    outer_high: float


@dataclass(frozen=True, slots=True)
class Banded:
    """Moves into a band."""

    moves: Moves
    edges: Edges
    #: Brokers that stay outside, and points outside the outer edges before and after.
    n_outside: int
    before: float
    after: float


def banded(
    question: Question,
    middle: tuple[float, float],
    widths: tuple[float, float],
    positions: int = POSITIONS,
) -> Banded:
    """Return the moves into a band, wherever it takes fewest.

    Args:
        question: a cluster.
        middle: between what the middle of the band lies, percent.
        widths: of the inner and of the outer band, points.
        positions: of the band that are tried.

    Properties:
        None are needed where everybody is in the outer band already.
        No broker takes what it may not have, and no bundle moves twice.
    """
    held = holdings(question)
    inner, outer = widths
    low, high = middle[0] - _SHIFT * outer, middle[1] + _SHIFT * outer
    best: tuple[tuple[float, ...], Banded] | None = None
    for centre in np.linspace(low, high, positions).tolist():
        edges = Edges(
            centre - inner / 2, centre + inner / 2, centre - outer / 2, centre + outer / 2
        )
        found = _Search(question, held, edges).banded()
        size = float(question.cost[found.moves.bundle].sum())
        key = (found.n_outside, found.moves.bundle.size + _POINT * found.after, size)
        if best is None or key < best[0]:
            best = key, found
    assert best is not None
    return best[1]


def fullest(usage: Floats) -> Floats:
    """Return the fullest of the last axis; it is short, and NumPy is slow along short ones."""
    level = usage[..., 0]
    for column in range(1, usage.shape[-1]):
        level = np.maximum(level, usage[..., column])
    return np.array(level)


class _Search:
    """One position of the band."""

    def __init__(self, question: Question, holdings: Holdings, edges: Edges) -> None:
        self.question, self.holdings, self.edges = question, holdings, edges
        self.usage = question.usage.copy()
        #: (n_brokers,) the fullest column of each.
        self.level = fullest(self.usage)
        self.is_moved = np.zeros(question.owner.size, np.bool_)
        self.moves = list[tuple[int, int]]()

    def banded(self) -> Banded:
        """Return the moves that are left after those have been dropped that are not needed."""
        counted = self.question.is_counted
        before = float(self._outside(self.level)[counted].sum())
        open_ = counted.copy()
        while open_.any():
            outside = np.where(open_, self._outside(self.level), 0.0)
            worst = int(np.argmax(outside))
            if outside[worst] <= ROUNDING:
                break
            if not self._relieve(worst):
                open_[worst] = False
        self._prune()
        outside = self._outside(self.level)[counted]
        bundle, to = np.array(self.moves, np.int64).reshape(-1, 2).T
        n_outside = int((outside > _LEAST).sum())
        return Banded(Moves(bundle, to), self.edges, n_outside, before, float(outside.sum()))

    def _outside(self, usage: Floats) -> Floats:
        """Return the points by which usages are outside the outer edges."""
        edges = self.edges
        return np.maximum(usage - edges.outer_high, 0.0) + np.maximum(edges.outer_low - usage, 0.0)

    def _off(self, usage: Floats) -> Floats:
        """Return the points by which usages are outside the inner edges."""
        edges = self.edges
        return np.maximum(usage - edges.high, 0.0) + np.maximum(edges.low - usage, 0.0)

    def _relieve(self, worst: int) -> bool:
        """Make the best move of a broker's bundles, or of others' to it; False if there is none."""
        usage = self.level
        is_high = usage[worst] > self.edges.high
        order = np.argsort(usage if is_high else -usage, kind="stable")
        order = order[self.question.is_counted[order] & (order != worst)][:_PARTNERS]
        mine = np.array([worst])
        donors, takers = (mine, order) if is_high else (order, mine)
        bundles = np.concatenate([self._own(int(donor)) for donor in donors])
        if bundles.size == 0 or takers.size == 0:
            return False
        gain, target = self._gains(usage, bundles, takers)
        best = float(gain.max())
        if best < _LEAST:
            return False
        equal = np.flatnonzero(gain >= best - ROUNDING)
        size = self.question.cost[bundles[equal]].sum(axis=1)
        at = int(equal[np.argmin(size)])
        self._make(int(bundles[at]), int(target[at]))
        return True

    def _own(self, broker: int) -> Ints:
        own = self.holdings.of(broker)
        return own[~self.is_moved[own]]

    def _gains(self, usage: Floats, bundles: Ints, takers: Ints) -> tuple[Floats, Ints]:
        """Return by how much less is off if each bundle goes where it is best, and where."""
        q, owner = self.question, self.question.owner[bundles]
        cost = q.cost[bundles]
        left = fullest(self.usage[owner] - q.speed[owner] * cost)
        then = fullest(self.usage[takers] + q.speed[takers] * cost[:, None])
        gain = (self._off(usage[owner]) - self._off(left))[:, None]
        gain = gain + self._off(usage[takers]) - self._off(then)
        fits = then <= q.ceiling[takers] + ROUNDING
        is_above = (then > self.edges.high) & (then > usage[owner][:, None] - _BELOW_SOURCE)
        is_allowed: Flags = q.allowed[q.kind[bundles]][:, takers]
        gain = np.where(is_allowed & fits & ~is_above & (owner[:, None] != takers), gain, -np.inf)
        at = gain.argmax(axis=1)
        return gain[np.arange(bundles.size), at], takers[at]

    def _make(self, bundle: int, to: int) -> None:
        q, source = self.question, int(self.question.owner[bundle])
        self.usage[source] -= q.speed[source] * q.cost[bundle]
        self.usage[to] += q.speed[to] * q.cost[bundle]
        ends = [source, to]
        self.level[ends] = fullest(self.usage[ends])
        self.is_moved[bundle] = True
        self.moves.append((bundle, to))

    def _prune(self) -> None:
        """Drop each move without which its two brokers are no further outside."""
        q, kept = self.question, list[tuple[int, int]]()
        for bundle, to in self.moves:
            ends = np.array((int(q.owner[bundle]), to))
            without = self.usage[ends] + np.array((1.0, -1.0))[:, None] * (
                q.speed[ends] * q.cost[bundle]
            )
            now = self._outside(self.level[ends]).sum()
            if self._outside(fullest(without)).sum() <= now + ROUNDING:
                self.usage[ends], self.level[ends] = without, fullest(without)
            else:
                kept.append((bundle, to))
        self.moves = kept
