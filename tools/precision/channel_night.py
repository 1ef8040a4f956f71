"""Nights under the extensible load manager: bundles' states as its channel has them, with faults.

No laboratory plays this manager yet: a small machine moves bundles from state to state as the
class does, from healthy delays, and whatever is planted is one thing that it does otherwise.  It
shares no code with the rules that are judged by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from tools.precision.truth import Planted
from trimtab.trials.record.lines import SHEDDING, log_line
from trimtab.trials.record.scribe import START

PACKAGE = "org.apache.pulsar.broker.loadbalance.extensions"
CHANNEL = f"{PACKAGE}.channel.ServiceUnitStateChannelImpl"
MANAGER = f"{PACKAGE}.ExtensibleLoadManagerImpl"
UNLOADS = f"{PACKAGE}.scheduler.UnloadScheduler"
SHEDDER = f"{PACKAGE}.scheduler.TransferShedder"
SECOND, MINUTE = 1000, 60_000
#: What a leader logs once a minute in debug mode.
MONITOR = "Started the ownership monitor run for activeBrokerCount:{}"
#: The steps of a healthy change take so long, in ms: to close topics, and to be told.
CLOSING, TELLING = (200, 6_000), (30, 900)

Record = Mapping[str, Any]


@dataclass(slots=True)
class Night:
    """A night as it comes to pass."""

    random: np.random.Generator
    brokers: tuple[str, ...]
    bundles: tuple[str, ...]
    start_ms: int
    end_ms: int
    leader: int = 0
    planted: list[Planted] = field(default_factory=list)
    #: Time, bundle, record: in the order in which the channel took them.
    records: list[tuple[int, str, Record | None]] = field(default_factory=list)
    #: Time, broker, line.
    lines: list[tuple[int, int, str]] = field(default_factory=list)
    #: Time, broker, alive.
    presence: list[tuple[int, int, bool]] = field(default_factory=list)
    elections: list[tuple[int, int]] = field(default_factory=list)
    #: Bundle → owner, its record's version, and when it may be touched again.
    owners: dict[str, int | None] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    free_ms: dict[str, int] = field(default_factory=dict)
    #: Broker → when it died.
    dead: dict[int, int] = field(default_factory=dict)
    #: Broker, from when to when it hears of records late, and by how much.
    lags: list[tuple[int, int, int, int]] = field(default_factory=list)
    #: Broker → when it started, if it was not there from the beginning: it hears of all then.
    started: dict[int, int] = field(default_factory=dict)

    def between(self, bounds: tuple[int, int]) -> int:
        """Draw a number of ms."""
        return int(self.random.integers(*bounds))

    def minute(self, low: float, high: float) -> int:
        """Draw a time, by minutes from the start."""
        return self.start_ms + round(float(self.random.uniform(low, high)) * MINUTE)

    def alive(self, but: Iterable[int] = ()) -> list[int]:
        """Return the brokers that have not died."""
        return [i for i in range(len(self.brokers)) if i not in self.dead and i not in but]

    def put(
        self,
        time: int,
        bundle: str,
        state: str,
        brokers: tuple[int | None, int | None],
        *,
        is_forced: bool = False,
    ) -> None:
        """Have the channel take a record: state, destination and source."""
        version = self.versions[bundle] = self.versions.get(bundle, 0) + 1
        target, source = (None if it is None else self.brokers[it] for it in brokers)
        record: dict[str, Any] = {"state": state, "dstBroker": target, "sourceBroker": source}
        record |= {"splitServiceUnitToDestBroker": None, "force": is_forced}
        record |= {"timestamp": time - self.between((1, 20)), "versionId": version}
        self.records.append((time, bundle, record))
        self.free_ms[bundle] = time

    def assign(self, time: int, bundle: str, target: int) -> None:
        """Give a bundle that has no owner to a broker."""
        self.put(time, bundle, "Assigning", (target, None))
        self.put(time + self.between(TELLING), bundle, "Owned", (target, None))
        self.owners[bundle] = target

    def transfer(
        self, time: int, bundle: str, target: int, delays: tuple[int, int] | None = None
    ) -> None:
        """Move a bundle to a broker; the delays are those of its two steps."""
        source = self.owners[bundle]
        closing, telling = delays or (self.between(CLOSING), self.between(TELLING))
        self.put(time, bundle, "Releasing", (target, source))
        self.put(time + closing, bundle, "Assigning", (target, source))
        self.put(time + closing + telling, bundle, "Owned", (target, source))
        self.owners[bundle] = target

    def unload(self, time: int, bundle: str, target: int) -> None:
        """Free a bundle; a client looks it up soon after."""
        source = self.owners[bundle]
        self.put(time, bundle, "Releasing", (None, source))
        self.put(time + self.between(CLOSING), bundle, "Free", (None, source))
        self.assign(self.free_ms[bundle] + self.between((100, 20_000)), bundle, target)

    def override(self, time: int, bundle: str, target: int, source: int | None) -> None:
        """Have the leader give a bundle to a broker by force."""
        self.put(time, bundle, "Owned", (target, source), is_forced=True)
        self.owners[bundle] = target

    def say(self, time: int, broker: int, logger: str, text: str) -> None:
        """Have a broker log a line."""
        self.lines.append((time, broker, log_line(SHEDDING, logger, text)))

    def owned_by(self, broker: int) -> list[str]:
        """Return what a broker owns."""
        return [bundle for bundle, owner in self.owners.items() if owner == broker]

    def dies(self, time: int, broker: int) -> None:
        """Kill a broker; others notice."""
        self.dead[broker] = time
        self.presence.append((time, broker, False))
        for other in self.alive():
            text = f"BrokerRegistry detected the broker:{self.brokers[broker]} registry has been"
            self.say(time + self.between((5, 60)), other, CHANNEL, f"{text} deleted.")

    def quiet(self, time: int) -> list[str]:
        """Return the bundles of living brokers that nothing happens to at a time."""
        return [
            bundle
            for bundle, owner in self.owners.items()
            if owner is not None and owner not in self.dead and self.free_ms[bundle] < time
        ]

    def pick(self, time: int) -> tuple[str, int]:
        """Draw a quiet bundle, and a living broker that does not own it."""
        quiet = self.quiet(time)
        bundle = quiet[int(self.random.integers(len(quiet)))]
        others = self.alive({self.owners[bundle] or 0})
        return bundle, others[int(self.random.integers(len(others)))]


Fault = Callable[[Night, int], None]


def played(random: np.random.Generator, faults: Iterable[tuple[float, Fault]]) -> Night:
    """Return a night of some minutes, with faults at minutes of it."""
    brokers = tuple(f"10.0.0.{i + 1}:8080" for i in range(int(random.integers(4, 9))))
    count = len(brokers) * int(random.integers(6, 13))
    step = 2**32 // count
    edges = [f"0x{min(i * step, 2**32 - 1):08x}" for i in range(count)] + ["0xffffffff"]
    bundles = tuple(f"shop/orders/{a}_{b}" for a, b in pairwise(edges))
    start = round(START.timestamp() * SECOND)
    end = start + int(random.integers(28, 46)) * MINUTE
    night = Night(random, brokers, bundles, start, end)
    night.elections.append((start + SECOND, 0))
    night.presence += [(start + i, i, True) for i in range(len(brokers))]
    for bundle in bundles:
        night.assign(night.minute(0.1, 0.9), bundle, int(random.integers(len(brokers))))
    todo: list[tuple[int, Fault]] = [(start + round(at * MINUTE), fault) for at, fault in faults]
    todo += [(night.minute(2, 26), _moves) for _ in range(int(random.integers(10, 60)))]
    todo += [(night.minute(2, 26), _slow) for _ in range(2)]
    todo.append((night.minute(4, 20), _race))
    if random.random() < 0.5:
        todo.append((night.minute(8, 20), cleaned_up))
    for time, each in sorted(todo, key=itemgetter(0)):
        each(night, time)
    return night


def _moves(night: Night, time: int) -> None:
    """Move a bundle as it should be."""
    bundle, target = night.pick(time)
    (night.transfer if night.random.random() < 0.7 else night.unload)(time, bundle, target)


def _slow(night: Night, time: int) -> None:
    """Move a bundle whose topics take long to close, and not too long."""
    bundle, target = night.pick(time)
    night.transfer(time, bundle, target, (night.between((8_000, 28_000)), 100))


def _race(night: Night, time: int) -> None:
    """Have two brokers assign a free bundle: readers leave out the second."""
    bundle, target = night.pick(time)
    night.unload(time, bundle, target)
    place = max(i for i, it in enumerate(night.records) if it[1] == bundle) - 1
    taken, _, record = night.records[place]
    other = night.brokers[night.alive({target})[0]]
    late = dict(record or {}) | {"dstBroker": other}
    night.records.append((taken + 1, f"race {bundle}", late))


def cleaned_up(night: Night, time: int) -> None:
    """Kill a broker whose bundles the leader gives to others at once."""
    candidates = night.alive({night.leader})
    if len(candidates) < 3:
        return
    broker = candidates[-1]
    mine = [it for it in night.owned_by(broker) if night.free_ms[it] < time]
    hanging = set(night.owned_by(broker)) - set(mine)
    if hanging:
        return
    night.dies(time, broker)
    for bundle in mine:
        take_over(night, time + night.between((300, 20_000)), bundle, broker)


def take_over(night: Night, time: int, bundle: str, gone: int) -> None:
    """Have the leader give a dead broker's bundle to another, and say so."""
    others = night.alive()
    target = others[int(night.random.integers(len(others)))]
    text = (
        f"Overriding inactiveBroker:{night.brokers[gone]}, ownership serviceUnit:{bundle} from "
        "orphanData:ServiceUnitStateData[state=Owned] to overrideData:ServiceUnitStateData["
        f"state=Owned, dstBroker={night.brokers[target]}, sourceBroker={night.brokers[gone]}]"
    )
    night.say(time - 1, night.leader, CHANNEL, text)
    night.override(time, bundle, target, gone)
