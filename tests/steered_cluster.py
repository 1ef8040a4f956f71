"""A small cluster in which nothing is random, and a strategy of trimtab's own that steers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trimtab.lab.costs import Look, Windows
from trimtab.lab.steering import Answer, Asked, Change, Command, Fate, Member, Network, View, named

STEP_S = 60.0
# What a broker of 16 cores takes at rest, and for 1,000 messages/s in and out; bytes a message.
REST, POINTS, SIZE = 3.0, 1.0, 1024.0
NIC = 1.25e9
FULL = 100.0


class Steered:
    """Brokers with bundles of so many thousands of messages/s; time passes a minute at a time."""

    def __init__(self, strategy: str, owned: Mapping[str, Mapping[str, float]]) -> None:
        self.named = named(strategy)
        self.brokers = list(owned)
        rates = {bundle: rate for of in owned.values() for bundle, rate in of.items()}
        self.bundles = list(rates)
        self.rate = np.array([rates[name] for name in self.bundles])
        self.owner = np.array(
            [i for i, broker in enumerate(owned) for _ in owned[broker]], np.int64
        )
        self.is_there = np.ones(len(self.brokers), np.bool_)
        self.others = np.zeros(len(self.brokers))
        self.capacity = np.ones(len(self.brokers))
        self.silent = np.zeros(len(self.brokers), np.bool_)
        self.is_movable = np.ones(len(self.bundles), np.bool_)
        self.started_s = np.full(len(self.brokers), np.nan)
        self.time_s = 0.0
        self.memory: Any = None
        self.commands: tuple[Command, ...] = ()
        self.members: list[Member] = []
        self.moved: list[tuple[int, int, int, float]] = []

    def usage(self) -> np.ndarray:
        """Return what brokers use, percent."""
        owned = self.owner >= 0
        carried = np.bincount(self.owner[owned], self.rate[owned], len(self.brokers))
        usage = REST + self.others + POINTS * carried / self.capacity
        return np.where(self.is_there, np.minimum(usage, FULL), 0.0)

    def step(self) -> Answer:
        """Let a minute pass, and the strategy see it and act."""
        self.time_s += STEP_S
        answer, self.memory = self.named.entry.step(self._view(), self.memory, self.named.settings)
        for each in answer.commands:
            assert self.owner[each.bundle] == each.source
            self._give(each.bundle, each.target)
        self.commands = answer.commands
        return answer

    def place(self, bundle: str) -> str:
        """Let a client look a bundle up that has no owner."""
        at = self.bundles.index(bundle)
        candidates = np.flatnonzero(self.is_there)
        asked = Asked(self.time_s, at, int(self.owner[at]), candidates)
        target, self.memory = self.named.entry.place(asked, self.memory, self.named.settings)
        self._give(at, target)
        return self.brokers[target]

    def leave(self, broker: str) -> list[str]:
        """Let a broker go; return the bundles that nobody owns any more."""
        at = self.brokers.index(broker)
        self.is_there[at] = False
        self.members.append(Member(self.time_s, at, Change.LEAVE))
        orphans = np.flatnonzero(self.owner == at)
        return [self.bundles[i] for i in orphans]

    def join(self, broker: str) -> None:
        """Let a broker come, or come back."""
        at = self.brokers.index(broker)
        change = Change.RETURN if np.isfinite(self.started_s[at]) else Change.JOIN
        self.is_there[at], self.started_s[at] = True, self.time_s
        self.members.append(Member(self.time_s, at, change))

    def _give(self, bundle: int, target: int) -> None:
        self.moved.append((bundle, int(self.owner[bundle]), target, self.time_s + 0.2))
        self.owner[bundle] = target

    def _view(self) -> View:
        reports = self.is_there & ~self.silent
        who = np.flatnonzero(reports)
        place = np.full(len(self.brokers) + 1, -1)
        place[who] = np.arange(who.size)
        lines = np.flatnonzero(place[self.owner] >= 0)
        rate = 1000.0 * self.rate[lines]
        unknown = np.full(lines.size, np.nan)
        counts = (rate, rate, rate * SIZE, rate * SIZE, np.ones(lines.size), unknown, unknown)
        moved = np.array(self.moved, np.float64).reshape(-1, 4).T
        members, self.moved, self.members = tuple(self.members), [], []
        carried = np.bincount(place[self.owner[lines]], rate * SIZE, who.size)
        percent = 100.0 * np.stack((carried, 3.0 * carried), axis=1) / NIC
        look = Look(
            time_s=self.time_s,
            broker=who,
            written_s=np.full(who.size, self.time_s - 1.0),
            started_s=self.started_s[who],
            cpu=self.usage()[who],
            others=np.full(who.size, np.nan),
            cores=np.full(who.size, 16.0),
            report=place[self.owner[lines]],
            bundle=lines,
            counts=np.stack(counts, axis=1),
            moved=moved[0].astype(np.int64),
            moved_from=moved[1].astype(np.int64),
            moved_to=moved[2].astype(np.int64),
            moved_s=moved[3],
        )
        return View(
            brokers=tuple(self.brokers),
            bundles=tuple(self.bundles),
            look=look,
            network=Network(percent, np.full(who.size, NIC)),
            windows=Windows(60.0, 60.0),
            is_there=self.is_there.copy(),
            members=members,
            fates=tuple(
                Fate(self.time_s - STEP_S, each.bundle, each.target, each.target)
                for each in self.commands
            ),
            is_movable=self.is_movable.copy(),
        )
