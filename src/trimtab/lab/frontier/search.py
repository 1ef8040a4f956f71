"""Moves that bring a cluster's peak below a bar, searched for: quick, and not always the fewest."""

from __future__ import annotations

import numpy as np

from trimtab.lab.frontier.question import ROUNDING, Holdings, Moves, Question, limits, taken
from trimtab.pulsar.model import Flags, Floats, Ints

# Bundles that are left where they are after one another because nobody has room for them.
_RETRIES = 12
# Brokers that are tried when room has to be made.
_HOSTS = 12


def below(question: Question, holdings: Holdings, peak: float, moves_max: int) -> Moves | None:
    """Return moves that bring the peak to a bar, at most so many; None if none are found.

    Each broker above the bar gives up as few bundles as will do, the smallest that so few may
    be.  The largest is placed first, where usage is lowest then; if that ends in a dead end,
    where it fits most closely; if that does too, its owner gives up others.
    """
    search = _Search(question, holdings, peak, moves_max)
    for is_close in (False, True):
        moves = search.moves(is_close)
        if moves is not None:
            return moves
    return None


class _Search:
    """One bar, and what is tried to come below it."""

    def __init__(self, question: Question, holdings: Holdings, peak: float, most: int) -> None:
        self.question, self.holdings, self.most = question, holdings, most
        self.peak = peak + ROUNDING
        self.limit = limits(question, self.peak) + ROUNDING
        self.above = np.flatnonzero(question.is_counted & (question.usage.max(axis=1) > self.peak))
        self.kept = set[int]()
        self._given_up = dict[tuple[int, frozenset[int]], list[int] | None]()

    def moves(self, is_close: bool) -> Moves | None:
        """Return moves below the bar, None if none are found."""
        self.kept.clear()
        for _ in range(_RETRIES):
            bundles = self._given()
            if bundles is None:
                return None
            stuck = self._placed(bundles, is_close)
            if isinstance(stuck, Moves):
                return stuck
            self.kept.add(stuck)
        return None

    def _given(self) -> list[int] | None:
        """Return the bundles that brokers above the bar give up; None if that is too many."""
        if self.above.size > self.most:
            return None
        bundles = list[int]()
        for broker in self.above.tolist():
            of_broker = self._of(broker)
            if of_broker is None or len(bundles) + len(of_broker) > self.most:
                return None
            bundles += of_broker
        return bundles

    def _of(self, broker: int) -> list[int] | None:
        """Return what a broker gives up of what it need not keep; None if all is too little."""
        own = self.holdings.of(broker)
        kept = self.kept.intersection(own.tolist())
        key = broker, frozenset(kept)
        if key not in self._given_up:
            own = own[[bundle not in kept for bundle in own.tolist()]]
            points = taken(self.question, own, broker)
            chosen = _chosen(self.question.usage[broker], points, self.peak)
            self._given_up[key] = None if chosen is None else own[chosen].tolist()
        return self._given_up[key]

    def _placed(self, bundles: list[int], is_close: bool) -> Moves | int:
        """Return where all that is given up goes, or a bundle that nobody has room for."""
        q = self.question
        usage, moves = q.usage.copy(), dict[int, int]()
        for bundle in bundles:
            usage[q.owner[bundle]] -= taken(q, bundle, int(q.owner[bundle]))
        left = self.most - len(bundles)
        for bundle in sorted(bundles, key=self._size, reverse=True):
            to = self._best(usage, bundle, is_close)
            if to < 0 and left > 0:
                to = self._room(usage, bundle, moves, set(bundles))
                left -= 1
            if to < 0:
                return bundle
            usage[to] += taken(q, bundle, to)
            moves[bundle] = to
        return Moves(np.array(list(moves), np.int64), np.array(list(moves.values()), np.int64))

    def _size(self, bundle: int) -> tuple[float, int]:
        return float(taken(self.question, bundle, int(self.question.owner[bundle])).max()), -bundle

    def _best(self, usage: Floats, bundle: int, is_close: bool) -> int:
        """Return who is to have a bundle; -1 if nobody has room."""
        q = self.question
        after = (usage + q.speed * q.cost[bundle]).max(axis=1)
        fits = q.allowed[q.kind[bundle]] & (after <= self.limit)
        fits[q.owner[bundle]] = False
        if not fits.any():
            return -1
        if is_close:
            return int(np.where(fits, after, -np.inf).argmax())
        return int(np.where(fits, after, np.inf).argmin())

    def _room(self, usage: Floats, bundle: int, moves: dict[int, int], bundles: set[int]) -> int:
        """Move one bundle more to make room for another; return where, -1 if there is none."""
        q = self.question
        after = (usage + q.speed * q.cost[bundle]).max(axis=1)
        after[~q.allowed[q.kind[bundle]] | (self.limit < 0)] = np.inf
        after[q.owner[bundle]] = np.inf
        hosts = np.argsort(after, kind="stable")[:_HOSTS]
        for host in hosts[np.isfinite(after[hosts])].tolist():
            own = self.holdings.of(host)
            own = own[[each not in moves and each not in bundles for each in own.tolist()]]
            points = taken(q, own, host)
            then = usage[host] + taken(q, bundle, host) - points
            enough = np.flatnonzero((then <= self.limit[host]).all(axis=1))
            smallest = enough[np.argsort(points[enough].max(axis=1), kind="stable")]
            for i in smallest[:_HOSTS].tolist():
                other = int(own[i])
                to = self._best(usage, other, is_close=False)
                if to >= 0:
                    usage[host] -= points[i]
                    usage[to] += taken(q, other, to)
                    moves[other] = to
                    return int(host)
        return -1


def _chosen(usage: Floats, points: Floats, peak: float) -> Ints | None:
    """Return which bundles a broker gives up to come to a bar; None if all are too few.

    Args:
        usage: (n_columns,) of the broker.
        points: (n_bundles, n_columns) that its bundles take.
        peak: the bar.
    """
    size = points.max(axis=1, initial=0.0)
    left, chosen = usage.copy(), list[int]()
    free = np.ones(size.size, np.bool_)
    while (left > peak).any():
        over = np.maximum(left - peak, 0.0)
        relief = np.where(free, np.minimum(points, over).sum(axis=1), 0.0)
        best = _first(relief, size)
        if relief.size == 0 or relief[best] <= 0:
            return None
        chosen.append(best)
        free[best] = False
        left = left - points[best]
    return np.array(_smaller(chosen, free, points, peak - left), np.int64)


def _first(relief: Floats, size: Floats) -> int:
    """Return what relieves most; of equals what takes least."""
    if relief.size == 0:
        return 0
    equal = np.flatnonzero(relief >= relief.max() - ROUNDING)
    return int(equal[size[equal].argmin()])


def _smaller(chosen: list[int], free: Flags, points: Floats, slack: Floats) -> list[int]:
    """Return as many bundles with some of them replaced by smaller ones that do as well."""
    size = points.max(axis=1)
    for place in sorted(range(len(chosen)), key=lambda i: -size[chosen[i]]):
        now = chosen[place]
        does = free & (size < size[now]) & (points >= points[now] - slack).all(axis=1)
        if does.any():
            other = int(np.where(does, size, np.inf).argmin())
            slack = slack + points[other] - points[now]
            free[now], free[other] = True, False
            chosen[place] = other
    return chosen
