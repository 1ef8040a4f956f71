"""How long Foresee thinks in a round of a large cluster, at rest and after a mass event."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.table import Table
from trimtab.lab.costs import Look, Windows
from trimtab.lab.steering import Network, View, named
from trimtab.pulsar.model import Floats, Ints

_SIZES = ((100, 10_000), (1_000, 100_000))
_SEED = 1
#: s between rounds; a broker is heard in every third.
_STEP_S, _TURNS = 20.0, 3
#: Rounds before anything is measured, and rounds at rest and after the event.
_BEFORE, _AT_REST, _AFTER = 24, 9, 30
#: Share of brokers whose traffic doubles at once, and the percent that brokers use before.
_HIT, _USED = 0.1, 40.0
_REST, _NIC, _MESSAGE = 3.0, 1.25e9, 1024.0
_TEXT = f"""\
A round takes in what a third of the brokers report, filters it, fits what traffic costs, judges \
whether to act, and plans.
The mass event: the traffic of one broker in {round(1 / _HIT)} doubles at one moment.
At rest is the median of {_AT_REST} rounds, after the event the slowest of {_AFTER}, \
which is one that plans; processor time of one core, Foresee as it is by default.
"""
_HEADINGS = ("brokers", "bundles", "at rest, s", "slowest after the event, s", "moves it planned")


def foresee_round() -> Table:
    """Measure rounds of Foresee."""
    return Table(_TEXT, (), _HEADINGS, tuple(_row(*size) for size in _SIZES))


def _row(brokers: int, bundles: int) -> tuple[str, ...]:
    cluster = _Cluster(brokers, bundles)
    for _ in range(_BEFORE):
        cluster.round()
    at_rest = [cluster.round() for _ in range(_AT_REST)]
    hit = cluster.owner < round(_HIT * brokers)
    cluster.rate[hit] *= 2.0
    moves = cluster.n_moves
    after = [cluster.round() for _ in range(_AFTER)]
    figures = f"{statistics.median(at_rest):.2f}", f"{max(after):.2f}"
    return f"{brokers:,}", f"{bundles:,}", *figures, f"{cluster.n_moves - moves:,}"


@dataclass
class _Cluster:
    """Brokers of one make whose bundles cost what their traffic says, nearly."""

    n: int
    m: int
    rate: Floats = field(init=False)
    owner: Ints = field(init=False)
    n_moves: int = 0

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(_SEED)
        self.names = tuple(f"broker-{i}" for i in range(self.n))
        self.bundles = tuple(f"bundle-{i}" for i in range(self.m))
        self.rate = self.random.lognormal(0.0, 1.0, self.m)
        self.owner = np.arange(self.m) % self.n
        carried = np.bincount(self.owner, self.rate, self.n)
        # Even at first.
        self.rate *= 1000.0 * _USED / carried[self.owner]
        self.named = named("Foresee")
        self.memory: Any = None
        self.number = 0
        self.moved: list[tuple[int, int, int]] = []

    def round(self) -> float:
        """Let a round pass; return the s of processor time that the strategy took."""
        view = self._view()
        began = time.process_time()
        answer, self.memory = self.named.entry.step(view, self.memory, self.named.settings)
        took = time.process_time() - began
        self.moved = [(each.bundle, each.source, each.target) for each in answer.commands]
        for bundle, _, target in self.moved:
            self.owner[bundle] = target
        self.n_moves += len(self.moved)
        self.number += 1
        return took

    def _view(self) -> View:
        now_s = _STEP_S * (self.number + 1)
        who = np.arange(self.number % _TURNS, self.n, _TURNS)
        place = np.full(self.n, -1)
        place[who] = np.arange(who.size)
        bundle = np.flatnonzero(place[self.owner] >= 0)
        rate = self.rate[bundle] * self.random.normal(1.0, 0.03, bundle.size)
        used = _REST + np.bincount(self.owner, self.rate, self.n)[who] / 1000.0
        used = np.clip(used + self.random.normal(0.0, 1.0, who.size), 0.0, 100.0)
        none = np.full(bundle.size, np.nan)
        sizes = rate * _MESSAGE, rate * _MESSAGE
        moved = np.array(self.moved, np.int64).reshape(-1, 3)
        unknown = np.full(who.size, np.nan)
        look = Look(
            time_s=now_s,
            broker=who,
            written_s=np.full(who.size, now_s),
            started_s=unknown,
            cpu=used,
            others=unknown,
            cores=np.full(who.size, 16.0),
            report=place[self.owner[bundle]],
            bundle=bundle,
            counts=np.stack((rate, rate, *sizes, np.ones(bundle.size), none, none), axis=1),
            moved=moved[:, 0],
            moved_from=moved[:, 1],
            moved_to=moved[:, 2],
            moved_s=np.full(len(moved), now_s - _STEP_S),
        )
        return View(
            brokers=self.names,
            bundles=self.bundles,
            look=look,
            network=Network(np.full((who.size, 2), 5.0), np.full(who.size, _NIC)),
            windows=Windows(),
            is_there=np.ones(self.n, np.bool_),
            members=(),
            fates=(),
            is_movable=np.ones(self.m, np.bool_),
        )
