"""A night that is drawn by its seed: the cluster, its settings, and what was kept of it."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tools.nights.cluster import Broker, Cluster
from tools.nights.leader import Round, Term
from tools.nights.traffic import Floats, drawn_traffic
from tools.nights.truth import Truth
from trimtab.pulsar.releases import release_order

THRESHOLD, OVERLOAD, UNIFORM, AVG = (
    "ThresholdShedder",
    "OverloadShedder",
    "UniformLoadShedder",
    "AvgShedder",
)
LEAST_USED, LEAST_RATE = "LeastResourceUsageWithWeight", "LeastLongTermMessageRate"
_IMPL = "org.apache.pulsar.broker.loadbalance.impl."

#: What was kept of a night.
WHOLE, NO_REST, NO_STORE, LOGS, REPORTS = "whole", "no-rest", "no-store", "logs", "reports"
ZOOKEEPER, METRICS = "zookeeper", "metrics"
_FORMS = (WHOLE, WHOLE, WHOLE, NO_REST, NO_REST)
_RELEASES = ("3.0.7", "3.2.4", "3.3.5", "4.0.0", "4.0.8", "4.0.8")
_ZONES = ("+0000", "+0000", "+0200", "-0500", "+0800", "+0530")
#: When the first night may begin, and in how many seconds after it the last one.
_FIRST_MS, _SPAN_S = 1_735_700_000_000, 40_000_000


@dataclass(slots=True)
class Night:
    """What a family may say of a night before it is played; the rest is drawn."""

    family: str
    seed: int
    rng: np.random.Generator
    release: str
    shedder: str
    placer: str
    brokers: int
    bundles_each: int
    namespaces: int
    #: Of the recording, and what was played before it began.
    minutes: int
    before_min: int
    #: Mean usage, points, and by how much brokers differ from it.
    level: float
    apart: float
    #: How much bundles differ, as of a lognormal; bytes/s in and out of a broker.
    spread: float
    bytes_each: float
    jitter: float
    form: str
    density: int
    zone: str
    prints_zone: bool
    conf: dict[str, str] = field(default_factory=dict)
    truths: list[Truth] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    terms: list[Term] = field(default_factory=list)
    #: Points of CPU each broker is meant to have; drawn by level and apart if it is empty.
    wanted: dict[int, float] = field(default_factory=dict)
    strength: dict[int, float] = field(default_factory=dict)
    #: Brokers (by number) that start later, or not of themselves.
    absent: set[int] = field(default_factory=set)
    nic_gbps: float = 25.0
    _cluster: Cluster | None = None
    #: Families do here what needs the cluster: schedule events, change traffic.
    plans: list[Callable[[], None]] = field(default_factory=list)

    @property
    def cluster(self) -> Cluster:
        """Return the cluster, once it is built."""
        assert self._cluster is not None
        return self._cluster

    @property
    def term(self) -> Term:
        """Return the term of whoever leads first."""
        return self.terms[0]

    @property
    def ids(self) -> list[str]:
        """Return the brokers' ids by their numbers."""
        return list(self.cluster.brokers)

    @property
    def is_joint(self) -> bool:
        """Return whether one object sheds and places."""
        return self.shedder == self.placer

    @property
    def has_store(self) -> bool:
        """Return whether the store's writes were kept."""
        return self.form in {WHOLE, NO_REST, REPORTS, ZOOKEEPER}

    @property
    def has_reports(self) -> bool:
        """Return whether load reports were kept, whoever asked for them."""
        return self.form != LOGS

    @property
    def is_replayable(self) -> bool:
        """Return whether all that the first leader knew was kept: its whole term, and the store."""
        return self.before_min == 0 and self.form in {WHOLE, NO_REST, ZOOKEEPER}

    @property
    def prints_resources(self) -> bool:
        """Return whether a shed line has every resource."""
        return release_order(self.release) >= release_order("3.2.3")

    @property
    def prints_rounds(self) -> bool:
        """Return whether every round leaves a line, also one that does nothing."""
        return self.shedder == AVG and release_order(self.release) >= release_order("4.0.0")

    def setting(self, **settings: object) -> None:
        """Set keys of broker.conf."""
        self.conf.update({key: _written(value) for key, value in settings.items()})

    def minute(self, minute: float) -> float:
        """Return the second of the night at which a minute of the recording begins."""
        return (self.before_min + minute) * 60.0

    def ms(self, minute: float) -> int:
        """Return the time at which a minute of the recording begins."""
        return self.cluster.zero_ms + round(self.minute(minute) * 1000)

    @property
    def from_ms(self) -> int:
        """Return when the recording begins."""
        return self.ms(0)

    @property
    def to_ms(self) -> int:
        """Return when it ends."""
        return self.ms(self.minutes)

    def pair(self, shedder: str, placer: str | None = None) -> None:
        """Set who sheds and who places."""
        self.shedder = shedder
        self.placer = placer or (AVG if shedder == AVG else LEAST_RATE)

    # --- building and playing

    def build(self) -> None:
        """Make the cluster, and give every bundle its first owner."""
        self.conf = {**self._base_conf(), **self.conf}
        names = [name for i in range(self.namespaces) for name in self._ranges(i)]
        count = len(names)
        names += self._cascade(names[self.split_row])
        traffic = drawn_traffic(self.rng, names, self.spread)
        traffic.rate[count:] = 0.0
        cluster_brokers = self._brokers()
        traffic.rate *= self.bytes_each * len(cluster_brokers) / len(names)
        traffic.rate /= traffic.size * (1 + traffic.fan_out)
        start = _FIRST_MS + int(self.rng.integers(_SPAN_S)) * 1000 + int(self.rng.integers(1000))
        self._cluster = Cluster(
            rng=self.rng,
            traffic=traffic,
            brokers=cluster_brokers,
            conf=self.conf,
            release=self.release,
            zero_ms=start,
            weights=self._weights(),
            jitter=self.jitter,
        )
        self._cluster.gate = (
            self._weights()
            if release_order(self.release) >= (4, 0)
            else np.array([1.0, 0.0, 1.0, 1.0, 1.0])
        )
        self._spread_bundles()

    def _ranges(self, namespace: int) -> list[str]:
        tenant = ("shop", "iot", "ads", "core")[namespace % 4]
        count = max(2, self.brokers * self.bundles_each // self.namespaces)
        edges = np.linspace(0, 0xFFFFFFFF, count + 1).astype(np.int64).tolist()
        return [
            f"{tenant}/ns-{namespace}/0x{low:08x}_0x{high:08x}"
            for low, high in itertools.pairwise(edges)
        ]

    def _cascade(self, first: str) -> list[str]:
        """Return the halves that a cascade of splits will make, and note who is split."""
        waiting = [first]
        for _ in range(self.splits):
            parent = waiting.pop(0)
            namespace, _, ends = parent.rpartition("/")
            low, high = (int(end, 16) for end in ends.split("_"))
            middle = (low + high) // 2
            halves = (
                f"{namespace}/0x{low:08x}_0x{middle:08x}",
                f"{namespace}/0x{middle:08x}_0x{high:08x}",
            )
            self.parents.append(parent)
            self.halves.append(halves)
            waiting += halves
        return [name for halves in self.halves for name in halves]

    def _brokers(self) -> dict[str, Broker]:
        style = int(self.rng.integers(3))
        net = int(self.rng.integers(20, 200))
        made = {}
        cores = int(self.rng.choice([4, 8, 16, 32]))
        for i in range(self.brokers):
            name = (f"broker-{i}", f"pulsar-broker-{i}", f"b{i:02d}")[style]
            host = (f"10.{net}.0.{i + 11}", f"{name}.pulsar.svc.cluster.local", f"{name}.dc1")[
                style
            ]
            made[f"{host}:8080"] = Broker(
                id=f"{host}:8080",
                name=name,
                cores=cores,
                strength=self.strength.get(i, 1.0),
                background=float(self.rng.uniform(3, 6)),
                nic_kbit_s=self.nic_gbps * 1e6,
                started_ms=0,
            )
        return made

    def _spread_bundles(self) -> None:
        """Give bundles to brokers such that each comes to the usage that is wanted of it."""
        cluster = self.cluster
        there = [b for i, b in enumerate(cluster.brokers.values()) if i not in self.absent]
        wanted = np.array(
            [
                self.wanted.get(i, self.level + self.apart * float(self.rng.uniform(-1, 1)))
                for i in range(self.brokers)
                if i not in self.absent
            ]
        )
        strength = np.array([broker.strength for broker in there])
        capacity = np.maximum(wanted - np.array([b.background for b in there]), 0.01) * strength
        traffic = cluster.traffic
        traffic.cost = np.full(len(traffic.names), capacity.sum() / traffic.rate.sum())
        room = capacity.copy()
        count = np.zeros(len(there))
        owned = np.flatnonzero(traffic.rate > 0)
        most = -(-owned.size // len(there))
        self.first = {broker.id: [] for broker in there}
        for i in owned[np.argsort(-traffic.rate[owned], kind="stable")].tolist():
            free = np.where(count < most, room, -np.inf)
            taker = int(np.argmax(free))
            room[taker] -= traffic.cost[i] * traffic.rate[i]
            count[taker] += 1
            self.first[there[taker].id].append(i)
        # What is left over of each broker's room is made up by a factor on its bundles.
        for broker, want in zip(there, capacity.tolist(), strict=True):
            rows = self.first[broker.id]
            has = float((traffic.cost[rows] * traffic.rate[rows]).sum())
            if has > 0:
                traffic.rate[rows] *= want / has

    first: dict[str, list[int]] = field(default_factory=dict)

    def play(self) -> None:
        """Play the night from the start of its brokers to the end of the recording."""
        cluster = self.cluster
        ids = list(cluster.brokers)
        starting = [b for i, b in enumerate(ids) if i not in self.absent]
        for place, broker in enumerate(starting):
            cluster.after(
                1.0 + place * 0.7 + float(self.rng.uniform(0, 0.5)),
                lambda broker=broker: cluster.start(broker),  # type: ignore[misc]
            )
        self.elect(self.leader_id, 1.2 + self.leader * 0.7)
        for plan in self.plans:
            plan()
        for broker in starting:
            self._take_all(broker, 4 + len(starting) * 0.8)
        cluster.run(self.minute(self.minutes))

    def _take_all(self, broker: str, second: float) -> None:
        for i in self.first[broker]:
            name = self.cluster.traffic.names[i]
            self.cluster.after(
                second + float(self.rng.uniform(0, 6)),
                lambda name=name: self.cluster.acquire(name, broker),  # type: ignore[misc]
            )

    #: Number of the broker that leads first.
    leader: int = 0
    #: The lines of elections were kept.
    keeps_elections: bool = True
    #: Splits of a cascade that begins with one bundle: who is split, and into what.
    splits: int = 0
    #: The lines of its splits are those of the owner, and not the leader's.
    has_owners_splits: bool = False
    split_row: int = 0
    parents: list[str] = field(default_factory=list)
    halves: list[tuple[str, str]] = field(default_factory=list)

    @property
    def leader_id(self) -> str:
        """Return who leads first."""
        return self.ids[self.leader]

    def new_term(self, broker: str) -> Term:
        """Return a term that has not begun."""
        term = Term(self.cluster, broker, self.rounds, self.shedder, self.placer)
        self.terms.append(term)
        return term

    def elect(self, broker: str, second: float) -> Term:
        """Let a broker be elected at a second of the night."""
        cluster = self.cluster
        term = self.new_term(broker)
        name = cluster.brokers[broker].name

        def elected() -> None:
            cluster.led.append((cluster.now_ms, broker))
            cluster.log.broker(
                cluster.now_ms + 2,
                name,
                "LeaderElectionImpl",
                "Acquired leadership on /loadbalance/leader with LeaderBroker("
                f"brokerId={broker}, serviceUrl=http://{broker})",
            )
            cluster.log.election(
                cluster.now_ms + 5,
                name,
                "PulsarService",
                f"This broker {broker} was elected leader",
            )
            term.begin()

        cluster.when(second, elected)
        return term

    # --- settings

    def _base_conf(self) -> dict[str, str]:
        return {
            "clusterName": self.family,
            "loadBalancerEnabled": "true",
            "loadManagerClassName": f"{_IMPL}ModularLoadManagerImpl",
            "loadBalancerLoadSheddingStrategy": _IMPL + self.shedder,
            "loadBalancerLoadPlacementStrategy": _IMPL + self.placer,
            "loadBalancerSheddingIntervalMinutes": "1",
            "loadBalancerSheddingGracePeriodMinutes": str(int(self.rng.choice([10, 30, 30]))),
            "loadBalancerReportUpdateThresholdPercentage": str(int(self.rng.choice([3, 5, 10]))),
            "loadBalancerReportUpdateMaxIntervalMinutes": str(int(self.rng.choice([1, 5, 15]))),
            "loadBalancerDistributeBundlesEvenlyEnabled": "false",
            "loadBalancerAutoBundleSplitEnabled": "false",
            "loadBalancerBundleUnloadMinThroughputThreshold": "0.1",
            "statsUpdateFrequencyInSecs": "60",
        }

    def _weights(self) -> Floats:
        old = release_order(self.release) < release_order("3.1.1")
        direct = self.conf.get("loadBalancerDirectMemoryResourceWeight", "1.0" if old else "0.0")
        return np.array([1.0, 0.0, float(direct), 1.0, 1.0])


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def drawn_night(family: str, seed: int) -> Night:
    """Return what a seed draws for a family, before the family says its own."""
    rng = np.random.default_rng([zlib.crc32(family.encode()), seed])
    sizes = (3, 4, 5, 6, 8, 10, 12, 16, 24, 40)
    brokers = int(rng.choice(sizes, p=[0.12, 0.12, 0.14, 0.14, 0.14, 0.12, 0.1, 0.06, 0.04, 0.02]))
    return Night(
        family=family,
        seed=seed,
        rng=rng,
        release=str(rng.choice(_RELEASES)),
        shedder=THRESHOLD,
        placer=LEAST_USED,
        brokers=brokers,
        bundles_each=int(rng.integers(6, 20)),
        namespaces=int(rng.integers(1, 4)),
        minutes=int(rng.integers(25, 41)),
        before_min=int(rng.integers(45, 60)),
        level=float(rng.uniform(30, 50)),
        apart=2.0,
        spread=float(rng.uniform(0.1, 0.5)),
        bytes_each=float(rng.uniform(20e6, 300e6)),
        jitter=float(rng.uniform(0.2, 0.8)),
        form=str(rng.choice(_FORMS)),
        density=int(rng.integers(0, 3)),
        zone=str(rng.choice(_ZONES)),
        prints_zone=bool(rng.random() < 0.8),
        leader=int(rng.integers(min(3, brokers))),
    )
