"""The nouns of a question of moves: who owns what, what it takes, and who may have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trimtab.pulsar.model import Flags, Floats, Ints

#: Points: a rounding error is no surplus.
ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Question:
    """A cluster whose peak is to come down; brokers and bundles are positions.

    A column is whatever may be full by itself: a resource, or a resource at some hour.  What
    a bundle takes of a column is its cost times the speed of its broker, wherever it is.
    """

    #: (n_brokers, n_columns) percent that is in use now, for whatever.
    usage: Floats
    #: (n_brokers, n_columns) points that a unit of cost takes there.
    speed: Floats
    #: (n_bundles, n_columns)
    cost: Floats
    #: (n_bundles,) position of the owner; -1 is nobody.
    owner: Ints
    is_movable: Flags
    #: (n_bundles,) row of `allowed`, and (n_kinds, n_brokers) who may take bundles of a kind.
    kind: Ints
    allowed: Flags
    #: (n_brokers,) percent up to which moves may fill a broker.
    ceiling: Floats
    #: (n_brokers,) the peak is that of these; the others are left alone.
    is_counted: Flags

    @property
    def peak(self) -> float:
        """Return the highest usage that counts, percent."""
        return peak_of(self, self.usage)


class Moves(NamedTuple):
    """Bundles, each once, and where they go; both arrays are (n_moves,)."""

    bundle: Ints
    to: Ints


_NONE = np.empty(0, np.int64)
NO_MOVES = Moves(_NONE, _NONE)


def question(usage: Floats, speed: Floats, cost: Floats, owner: Ints) -> Question:
    """Return a question in which everything may go everywhere, with as many moves as help."""
    n_brokers, n_bundles = len(usage), len(cost)
    return Question(
        usage=usage,
        speed=speed,
        cost=cost,
        owner=owner,
        is_movable=np.ones(n_bundles, np.bool_),
        kind=np.zeros(n_bundles, np.int64),
        allowed=np.ones((1, n_brokers), np.bool_),
        ceiling=np.full(n_brokers, np.inf),
        is_counted=np.ones(n_brokers, np.bool_),
    )


def moved(question: Question, moves: Moves) -> Floats:
    """Return the usage after moves, (n_brokers, n_columns) percent."""
    usage = question.usage.copy()
    for bundle, to in zip(moves.bundle.tolist(), moves.to.tolist(), strict=True):
        usage[question.owner[bundle]] -= taken(question, bundle, int(question.owner[bundle]))
        usage[to] += taken(question, bundle, to)
    return usage


def peak_of(question: Question, usage: Floats) -> float:
    """Return the highest of some usages that count; 0 if none does."""
    return float(usage[question.is_counted].max(initial=0.0))


def limits(question: Question, peak: float) -> Floats:
    """Return up to what moves may fill each broker below a bar, (n_brokers,) percent.

    Who is left alone, or stands above its ceiling already, takes nothing: minus infinity.
    """
    is_full = question.usage.max(axis=1, initial=-np.inf) > question.ceiling
    takes = question.is_counted & ~is_full
    return np.where(takes, np.minimum(question.ceiling, peak), -np.inf)


def taken(question: Question, bundle: int | Ints, broker: int) -> Floats:
    """Return the points that bundles take on a broker, (n_columns,) or a row of that each."""
    points: Floats = question.speed[broker] * question.cost[bundle]
    return points


@dataclass(frozen=True, slots=True)
class Holdings:
    """The bundles of each broker that may go anywhere else, and take something."""

    #: Bundles in order of their owners, and (n_brokers + 1,) where each owner's begin.
    bundles: Ints
    start: Ints

    def of(self, broker: int) -> Ints:
        """Return the bundles of a broker."""
        return self.bundles[self.start[broker] : self.start[broker + 1]]


def holdings(question: Question) -> Holdings:
    """Return what each broker could give up."""
    n_brokers = len(question.usage)
    takers = question.allowed.sum(axis=1)[question.kind]
    owner = np.maximum(question.owner, 0)
    others = takers - question.allowed[question.kind, owner]
    can = question.is_movable & (question.owner >= 0) & question.is_counted[owner] & (others > 0)
    can &= (question.cost > 0).any(axis=1)
    bundles = np.flatnonzero(can)
    bundles = bundles[np.argsort(question.owner[bundles], kind="stable")]
    start = np.searchsorted(question.owner[bundles], np.arange(n_brokers + 1))
    return Holdings(bundles, start)
