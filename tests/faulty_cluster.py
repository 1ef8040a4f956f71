"""A small cluster that fails in every way a real one was seen to fail, on seeded dice.

What the replies are follows what was measured on Pulsar 4.0.8: an unload is refused if its
destination is not registered, a killed broker stays registered for a while, an unload while
another runs fails, one that has no answer may have been done, and a bundle may land on
another broker than was asked for.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from trimtab.live.control.entries import (
    ACCEPTED,
    REFUSED,
    UNKNOWN,
    Asked,
    Entry,
    Verified,
    entry_line,
    read_entry,
)
from trimtab.live.control.memory import Memory, remembered
from trimtab.live.control.plan import Expected, Plan, PlannedMove
from trimtab.live.control.view import TAKEN, BrokerView, View

_PAUSE_S = 5.0
#: How long a killed broker stays registered, s.
_SESSION_S = 30.0
_START_S = 1_000_000.0
#: Above which nobody takes anything.
_BAR_PERCENT = 85.0


class KilledError(Exception):
    """The run was killed, as by kill -9."""


@dataclass(slots=True)
class Machine:
    """One broker."""

    started_s: float
    killed_s: float = math.inf
    usage_percent: float = 50.0
    measured_s: float = _START_S

    def is_registered(self, time_s: float) -> bool:
        return time_s < self.killed_s + _SESSION_S


@dataclass(slots=True)
class Flight:
    """An unload that runs."""

    bundle: str
    destination: str
    until_s: float


@dataclass(slots=True)
class FaultyCluster:
    """The cluster, its dice, and what it has seen us do."""

    seed: int
    #: Chance of a fault of each kind, where one can be.
    chance: float
    #: As many seconds as really passed.
    now_s: float = _START_S
    #: By how much the clock of whoever moves bundles shows more than that.
    ahead_s: float = 0.0
    #: What every broker stands at besides.
    base_percent: float = 0.0
    lock_loss: str = TAKEN
    machines: dict[str, Machine] = field(default_factory=dict)
    owners: dict[str, str | None] = field(default_factory=dict)
    #: Bundles whose clients look them up as soon as they have no owner.
    busy: set[str] = field(default_factory=set)
    flights: list[Flight] = field(default_factory=list)
    #: Bundle → where the first look-up is to bring it.
    meant: dict[str, str] = field(default_factory=dict)
    #: Requests that somebody on the way holds back: when they arrive.
    held_back: list[tuple[float, Asked]] = field(default_factory=list)
    #: Faults that happen wherever they can.
    certain: frozenset[str] = frozenset()
    #: What stands beside the lock: unloads by whichever run.
    noted: list[tuple[float, str]] = field(default_factory=list)
    is_lock_ours: bool = True
    is_killed: bool = False
    #: What went wrong, for a test that something did.
    faults: Counter[str] = field(default_factory=Counter)
    #: Bundle → unloads that began.
    begun: Counter[str] = field(default_factory=Counter)
    wrongs: list[str] = field(default_factory=list)
    #: Bundle that is no more → those that have its range now.
    replacements: dict[str, tuple[str, ...]] = field(default_factory=dict)
    dice: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.dice = np.random.default_rng([self.seed, 8])
        for i in range(4):
            self.machines[f"broker-{i}:8080"] = Machine(_START_S - 10_000.0)
        for i in range(8):
            self.owners[bundle(i)] = f"broker-{i % 2}:8080"
        self.busy = {bundle(i) for i in range(8) if self.dice.random() < 0.7}

    # ------------------------------------------------------------ as seen by the driver

    @property
    def time_s(self) -> float:
        return self.now_s + self.ahead_s

    def set_clock(self) -> None:
        """Let the clock be set while nobody runs: within a run it cannot be."""
        if self._fails("clock set"):
            self.ahead_s += float(self.dice.choice([-3600.0, -120.0, 120.0, 3600.0]))

    def view(self, plan: Plan) -> View:
        brokers = {
            name: BrokerView(
                usage_percent=each.usage_percent,
                measured_s=each.measured_s + self.ahead_s,
                started_s=each.started_s,
                is_answering=self.now_s < each.killed_s and not self._fails("no answer"),
            )
            for name, each in self.machines.items()
            if each.is_registered(self.now_s)
        }
        owners = {
            move.bundle: self.owners[move.bundle]
            for move in plan.moves
            if not self._fails("owner unreadable")
        }
        is_shedding = None if self._fails("shedding unreadable") else False
        return View(
            self.time_s,
            brokers,
            owners,
            is_shedding,
            self.is_lock_ours,
            self.is_killed,
            {} if self._fails("boundaries unreadable") else dict(self.replacements),
            self.lock_loss,
        )

    def unload(self, asked: Asked) -> tuple[str, str]:
        if not self.is_lock_ours:
            self.wrongs.append(f"{asked.bundle} was unloaded without the lock")
        taker = self.machines.get(asked.destination)
        if taker is not None and taker.usage_percent > _BAR_PERCENT:
            self.wrongs.append(f"{asked.bundle} was moved to where there is no room")
        self.noted.append((asked.time_s, asked.bundle))
        if self._fails("request lost"):
            return self._no_answer()
        if self._fails("request late"):
            self.held_back.append((self.now_s + self.dice.uniform(5, 50), asked))
            return self._no_answer()
        destination = self.machines.get(asked.destination)
        if destination is None or not destination.is_registered(self.now_s):
            return REFUSED, "409 Not allowed unload namespace bundle to inactive destination broker"
        if self._fails("refused"):
            return REFUSED, "401 Unauthorized"
        if asked.bundle in self.replacements:
            return REFUSED, "412 Invalid bundle range"
        if not self._begin(asked):
            return UNKNOWN, "500 Namespace bundle is being unloaded"
        if self._fails("answer lost"):
            return self._no_answer()
        self._pass(max(flight.until_s for flight in self.flights) - self.now_s + 0.01)
        return ACCEPTED, "204"

    def look_up(self, name: str) -> None:
        is_there = name not in self.replacements
        if is_there and self.owners[name] is None and not self._fails("look-up lost"):
            self._assign(name)

    def pause(self) -> None:
        self._pass(_PAUSE_S)
        if self._fails("broker killed"):
            self._kill(self._any_machine())
        self._let_others_act()
        if self._fails("lock lost"):
            self.is_lock_ours = False
        if self.is_lock_ours and self._fails("store silent"):
            self.is_lock_ours, self.lock_loss = False, "the store does not answer"
        if self._fails("no headroom"):
            self.base_percent = 60.0
        if self._fails("kill switch"):
            self.is_killed = True
        for machine in self.machines.values():
            if not self._fails("report stale"):
                machine.measured_s = self.now_s
                machine.usage_percent = self.base_percent + float(self.dice.uniform(30, 60))
        if self._fails("usage jumps"):
            self.machines[self._any_machine()].usage_percent = 99.0

    # ----------------------------------------------------------------- what happens in it

    def _begin(self, asked: Asked) -> bool:
        if any(flight.bundle == asked.bundle for flight in self.flights):
            self.wrongs.append(f"{asked.bundle} was unloaded while it was being unloaded")
            return False
        if self.owners[asked.bundle] is not None and asked.bundle not in self.replacements:
            self.begun[asked.bundle] += 1
            slow_s = self.dice.uniform(5, 40) if self._fails("unload slow") else 0.1
            self.flights.append(Flight(asked.bundle, asked.destination, self.now_s + slow_s))
            self.owners[asked.bundle] = None
        return True

    def _pass(self, seconds: float) -> None:
        self.now_s += seconds
        for arrives_s, asked in [each for each in self.held_back if each[0] <= self.now_s]:
            self.held_back.remove((arrives_s, asked))
            self._begin(asked)
        for flight in [each for each in self.flights if each.until_s <= self.now_s]:
            self.flights.remove(flight)
            self._land(flight)
        for name in self.busy:
            if self.owners[name] is None and not any(each.bundle == name for each in self.flights):
                self._assign(name)

    def _land(self, flight: Flight) -> None:
        if not self._fails("landed elsewhere"):
            self.meant[flight.bundle] = flight.destination
        if flight.bundle in self.busy:
            self._assign(flight.bundle)

    def _assign(self, name: str) -> None:
        """Answer a look-up: as was meant, once, or as placement likes."""
        if name in self.replacements or any(each.bundle == name for each in self.flights):
            return
        destination = self.meant.get(name)
        if destination is None or not self.machines[destination].is_registered(self.now_s):
            self.owners[name] = self._any_machine()
        elif self.now_s < self.machines[destination].killed_s:
            self.owners[name] = destination
        else:
            # It is sent to a broker that is gone until that one is no longer registered.
            return
        self.meant.pop(name, None)

    def _kill(self, name: str) -> None:
        if sum(self.now_s < each.killed_s for each in self.machines.values()) > 2:
            self.machines[name].killed_s = self.now_s
            for bundle_name, owner in self.owners.items():
                if owner == name:
                    self.owners[bundle_name] = None

    def _let_others_act(self) -> None:
        if self._fails("bundle split"):
            name = self._any_bundle()
            self._drop(name, (f"{name}-low", f"{name}-high"))
        if self._fails("namespace deleted"):
            self._drop(self._any_bundle(), ())
        if self._fails("foreign move"):
            self._move(self._any_bundle())

    def _move(self, name: str) -> None:
        """Let somebody else move a bundle, unless it is on its way or nobody's."""
        if self.owners[name] is not None and name not in self.replacements:
            self.owners[name] = self._any_machine()

    def _drop(self, name: str, halves: tuple[str, ...]) -> None:
        """Let a bundle be no more, unless it is on its way: Pulsar refuses to split that."""
        if not any(each.bundle == name for each in self.flights):
            self.owners[name] = None
            self.replacements[name] = halves

    def _any_bundle(self) -> str:
        return str(self.dice.choice(sorted(self.owners)))

    def _any_machine(self) -> str:
        alive = [name for name, each in self.machines.items() if self.now_s < each.killed_s]
        return str(self.dice.choice(alive))

    def _no_answer(self) -> tuple[str, str]:
        self._pass(10.0)
        return UNKNOWN, "no answer within 10 s"

    def _fails(self, kind: str) -> bool:
        rare = {"lock lost": 0.02, "kill switch": 0.02, "broker killed": 0.05, "usage jumps": 0.1}
        rare |= {"bundle split": 0.2, "namespace deleted": 0.1, "foreign move": 0.2}
        rare |= {"store silent": 0.02, "no headroom": 0.02, "clock set": 5.0}
        happens = bool(self.dice.random() < self.chance * rare.get(kind, 1.0))
        happens = happens or kind in self.certain
        self.faults[kind] += happens
        return happens


@dataclass(slots=True)
class FragileJournal:
    """A journal in memory that checks what it is told, and in which a run may be killed."""

    cluster: FaultyCluster
    chance: float
    lines: list[str] = field(default_factory=list)
    #: Before an entry of this kind is written, the run is killed.
    kills_before: type[Entry] | None = None

    def write(self, entry: Entry) -> None:
        is_due = self.kills_before is not None and isinstance(entry, self.kills_before)
        if is_due or self.cluster.dice.random() < self.chance:
            raise KilledError("before writing")
        self.lines.append(entry_line(entry))
        self._check(entry)
        if self.cluster.dice.random() < self.chance:
            raise KilledError("after writing")

    def memory(self) -> Memory:
        return remembered(map(read_entry, self.lines), self.cluster.noted, self.cluster.time_s)

    def _check(self, entry: Entry) -> None:
        cluster = self.cluster
        if isinstance(entry, Verified):
            asked = [each for each in map(read_entry, self.lines) if isinstance(each, Asked)][-1]
            if cluster.owners[asked.bundle] != asked.destination:
                cluster.wrongs.append(f"{asked.bundle} was verified where it is not")
        if isinstance(entry, Asked):
            for each in map(read_entry, self.lines):
                if isinstance(each, Verified) and each.move == entry.move:
                    cluster.wrongs.append(f"{entry.bundle} was asked for after it had arrived")


def bundle(i: int) -> str:
    """Name a bundle."""
    return f"public/default/0x{i:x}0000000_0x{i + 1:x}0000000"


def moves_of(count: int) -> tuple[PlannedMove, ...]:
    """Plan moves off the first two brokers."""
    return tuple(
        PlannedMove(
            bundle=bundle(i),
            source=f"broker-{i % 2}:8080",
            destination=f"broker-{2 + i % 2}:8080",
            reason="to see what happens",
            traffic_bytes_s=1e6,
            before=Expected(source=(0.0, 95.0), destination=(0.0, 80.0)),
            after=Expected(source=(0.0, 95.0), destination=(0.0, 85.0)),
        )
        for i in range(count)
    )
