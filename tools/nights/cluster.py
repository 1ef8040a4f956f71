"""A cluster that is played: brokers, what they own, what they measure, write and log.

Usage of a broker is its background plus cost times rate of what it owns, over the minute that has
passed.  Everything happens at a millisecond, in the order of the clock.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np

from tools.nights.averages import Maps
from tools.nights.logbook import Logbook, java
from tools.nights.report import Report, change, summed
from tools.nights.traffic import Floats, Traffic

_MINUTE_S = 60.0
_TICK_MS = 5000


@dataclass(slots=True)
class Broker:
    """One broker as it runs."""

    id: str
    #: Of its folder of logs.
    name: str
    cores: int
    #: How much traffic it bears, where 1 is usual.
    strength: float
    #: Points of CPU that have nothing to do with its bundles.
    background: float
    nic_kbit_s: float
    started_ms: int
    is_up: bool = True
    #: Bundle (by position) → second since which it is owned.
    owned: dict[int, float] = field(default_factory=dict)
    #: (bundle, second from, second to) of what was lost lately.
    lost: list[tuple[int, float, float]] = field(default_factory=list)
    #: cpu, bandwidth in, bandwidth out as the host was measured last.
    host: Floats = field(default_factory=lambda: np.zeros(3))
    heap: float = 0.2
    names: tuple[str, ...] = ()
    stats: Floats = field(default_factory=lambda: np.zeros((0, 4)))
    written: Report | None = None
    version: int = -1
    busy_until_ms: int = 0


@dataclass(frozen=True, slots=True)
class Write:
    """One write of a broker's report into the store; None: its record was deleted."""

    time_ms: int
    broker: str
    version: int
    report: Report | None
    gains: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Owned:
    """A bundle's owner from a time on; None: nobody."""

    time_ms: int
    bundle: str
    broker: str | None


@dataclass(slots=True)
class Cluster:
    """All that happens, and what comes of it."""

    rng: np.random.Generator
    traffic: Traffic
    brokers: dict[str, Broker]
    conf: dict[str, str]
    release: str
    zero_ms: int
    #: Weights of the five resources by which reports and moves are decided.
    weights: Floats
    #: The same by which the gate of reports goes.
    gate: Floats = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 1.0, 1.0]))
    #: Points by which a host's CPU goes up and down from a minute to the next.
    jitter: float = 0.6
    maps: Maps = field(default_factory=Maps)
    log: Logbook = field(default_factory=Logbook)
    writes: list[Write] = field(default_factory=list)
    answers: list[Report] = field(default_factory=list)
    answered_ms: list[int] = field(default_factory=list)
    owners: list[Owned] = field(default_factory=list)
    led: list[tuple[int, str | None]] = field(default_factory=list)
    actions: list[tuple[int, dict[str, object]]] = field(default_factory=list)
    #: Changes what a broker says of itself.
    edits: list[Callable[[Report, float], Report]] = field(default_factory=list)
    #: Says whether a broker fails to write its report at a second.
    mute: Callable[[str, float], bool] = lambda broker, second: False
    now_ms: int = 0
    _events: list[tuple[int, int, Callable[[], None]]] = field(default_factory=list)
    _order: count[int] = field(default_factory=count)
    at: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Know where each bundle stands."""
        self.at = {name: i for i, name in enumerate(self.traffic.names)}
        self.now_ms = self.zero_ms

    # --- the clock

    @property
    def second(self) -> float:
        """Return the second of the night."""
        return (self.now_ms - self.zero_ms) / 1000

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Let something happen after some seconds."""
        when = self.now_ms + max(0, round(seconds * 1000))
        heapq.heappush(self._events, (when, next(self._order), act))

    def when(self, second: float, act: Callable[[], None]) -> None:
        """Let something happen at a second of the night."""
        self.after(second - self.second, act)

    def run(self, until_s: float) -> None:
        """Play until a second of the night."""
        end = self.zero_ms + round(until_s * 1000)
        while self._events and self._events[0][0] <= end:
            self.now_ms, _, act = heapq.heappop(self._events)
            act()
        self.now_ms = end

    def setting(self, key: str, default: float) -> float:
        """Return a number of broker.conf."""
        return float(self.conf.get(key, default))

    # --- brokers come and go

    def start(self, broker_id: str) -> None:
        """Let a broker start: it registers with a report that has measured nothing yet."""
        broker = self.brokers[broker_id]
        broker.started_ms, broker.is_up = self.now_ms, True
        broker.host, broker.version = np.zeros(3), -1
        broker.names, broker.stats, broker.written = (), np.zeros((0, 4)), None
        self.log.broker(
            self.now_ms - 800,
            broker.name,
            "PulsarService",
            f"Starting Pulsar Broker service; version: '{self.release}'",
        )
        self._write(broker, None)
        self.maps.recompute()  # its registration is heard of twice
        period = self.setting("statsUpdateFrequencyInSecs", 60)
        born = broker.started_ms
        self._every(broker, period, born, period, self._stats)
        self._every(broker, _MINUTE_S, born, _MINUTE_S + self.rng.uniform(0, 1), self._sample)
        self._every(broker, _TICK_MS / 1000, born, _TICK_MS / 1000, self._tick)

    def stop(self, broker_id: str) -> list[str]:
        """Let a broker stop in good order; return what it owned, sorted."""
        broker = self.brokers[broker_id]
        broker.is_up = False
        self.log.broker(self.now_ms - 5, broker.name, "PulsarService", "Closing PulsarService")
        self.writes.append(Write(self.now_ms, broker_id, broker.version, None))
        self.maps.reports.pop(broker_id, None)
        self.maps.recompute()
        self.maps.recompute()
        freed = sorted(self.traffic.names[i] for i in broker.owned)
        for name in freed:
            self.release_bundle(name)
        return freed

    def _every(
        self,
        broker: Broker,
        period_s: float,
        born: int,
        first_s: float,
        act: Callable[[Broker], None],
    ) -> None:
        def again() -> None:
            if not broker.is_up or broker.started_ms != born:
                return
            self.after(period_s, again)
            act(broker)

        self.after(first_s, again)

    # --- who owns what

    def owner(self, bundle: str) -> str | None:
        """Return who owns a bundle."""
        at = self.at[bundle]
        return next((b.id for b in self.brokers.values() if at in b.owned), None)

    def release_bundle(self, bundle: str) -> None:
        """Let the owner give a bundle up."""
        at = self.at[bundle]
        for broker in self.brokers.values():
            if at in broker.owned:
                broker.lost.append((at, broker.owned.pop(at), self.second))
                self.owners.append(Owned(self.now_ms, bundle, None))

    def acquire(self, bundle: str, broker_id: str) -> None:
        """Let a broker become the owner of a bundle, as its first client is sent there."""
        broker = self.brokers[broker_id]
        self.log.broker(
            self.now_ms - 9,
            broker.name,
            "OwnershipCache",
            f"Trying to acquire ownership of {bundle}",
        )
        broker.owned[self.at[bundle]] = self.second
        self.owners.append(Owned(self.now_ms, bundle, broker_id))
        self.log.broker(
            self.now_ms + 4,
            broker.name,
            "OwnershipCache",
            f"Successfully acquired ownership of OwnedBundle(bundle={bundle}, isActive=1)",
        )

    # --- what a broker measures

    def _share_of_minute(self, broker: Broker) -> tuple[list[int], Floats]:
        """Return bundles of the last minute and for which share of it they were owned."""
        now = self.second
        broker.lost = [it for it in broker.lost if it[2] > now - _MINUTE_S]
        spans = [(i, since, now) for i, since in broker.owned.items()] + broker.lost
        shares = [(end - max(since, now - _MINUTE_S)) / _MINUTE_S for _, since, end in spans]
        return [i for i, _, _ in spans], np.array(shares)

    def _sample(self, broker: Broker) -> None:
        rate = self.traffic.over_minute(self.second)
        rows, shares = self._share_of_minute(broker)
        cpu = broker.background + float(self.rng.normal(0, self.jitter))
        carried = self.traffic.carried(rate)[rows] * shares[:, None] if rows else np.zeros((0, 4))
        if rows:
            cpu += float((self.traffic.cost[rows] * rate[rows] * shares).sum()) / broker.strength
        kbit = carried.sum(axis=0)[2:] * 8 / 1000 * float(self.rng.uniform(1.02, 1.06))
        # What is consumed goes out, what is published comes in and is written to bookies too.
        limit = 100.0 * broker.cores
        inward, outward = float(kbit[0]), float(kbit[1] + kbit[0])
        broker.host = np.array([min(max(cpu, 0.3), 99.5) / 100 * limit, inward, outward])

    def _stats(self, broker: Broker) -> None:
        rate = self.traffic.over_minute(self.second)
        now = self.second
        period = self.setting("statsUpdateFrequencyInSecs", 60)
        rows = list(broker.owned)
        shares = np.array([min(1.0, (now - broker.owned[i]) / period) for i in rows])
        broker.names = tuple(self.traffic.names[i] for i in rows)
        stats = self.traffic.carried(rate)[rows] * shares[:, None] if rows else np.zeros((0, 4))
        broker.stats = stats * (1 + self.rng.normal(0, 0.004, stats.shape))

    def local(self, broker: Broker, updated_ms: int) -> Report:
        """Return what a broker would say of itself now."""
        broker.heap += 0.02
        if broker.heap > 0.75:
            broker.heap = float(self.rng.uniform(0.2, 0.35))
        cpu, inward, outward = broker.host
        usage = np.array([cpu, np.floor(broker.heap * 4096), 512.0, inward, outward])
        limit = np.array(
            [100.0 * broker.cores, 4096.0, 8192.0, broker.nic_kbit_s, broker.nic_kbit_s]
        )
        report = Report(
            broker=broker.id,
            updated_ms=updated_ms,
            started_ms=broker.started_ms,
            usage=usage,
            limit=limit,
            names=broker.names,
            stats=broker.stats,
            topics=self.traffic.topics[[self.at[name] for name in broker.names]],
            totals=summed(broker.stats),
            release=self.release,
        )
        for edit in self.edits:
            report = edit(report, self.second)
        return report

    # --- what it writes

    def _tick(self, broker: Broker) -> None:
        if self.now_ms < broker.busy_until_ms or self.mute(broker.id, self.second):
            return
        last = broker.written
        if last is None:
            return
        report = self.local(broker, last.updated_ms)
        by = change(last, report, self.gate)
        threshold = self.setting("loadBalancerReportUpdateThresholdPercentage", 10)
        longest = self.setting("loadBalancerReportUpdateMaxIntervalMinutes", 15)
        age_s = (self.now_ms - last.updated_ms) / 1000
        if age_s > longest * 60:
            text = f"time since last update exceeded threshold of {longest:.0f} minutes"
        elif by > threshold:
            text = (
                f"maximum change {java(by)}% exceeded threshold {threshold:.0f}%; "
                f"time since last report written is {java(age_s)} seconds"
            )
        else:
            return
        self.log.broker(
            self.now_ms,
            broker.name,
            "ModularLoadManagerImpl",
            f"Writing local data to metadata store because {text}",
        )
        self._write(broker, report)

    def _write(self, broker: Broker, report: Report | None) -> None:
        report = report or self.local(broker, self.now_ms)
        report = replace(report, updated_ms=self.now_ms)
        old = set(broker.written.names) if broker.written else set()
        broker.version += 1
        gains = tuple(sorted(set(report.names) - old))
        losses = tuple(sorted(old - set(report.names)))
        stored = self.now_ms + 3
        self.writes.append(Write(stored, broker.id, broker.version, report, gains, losses))
        broker.written = report

        def heard() -> None:
            if broker.is_up:
                self.maps.reports[broker.id] = report
                self.maps.recompute()

        self.after(0.012, heard)

    def ask_all(self, period_s: float) -> None:
        """Let a recorder ask every broker for its report again and again."""
        for broker in self.brokers.values():
            if broker.is_up and broker.written is not None:
                self.answers.append(self.local(broker, broker.written.updated_ms))
                self.answered_ms.append(self.now_ms)
        self.after(period_s, lambda: self.ask_all(period_s))
