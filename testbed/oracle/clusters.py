"""A made-up cluster that changes from round to round, and what its leader hears of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
# The CPU more often than others, as the heap and direct memory mostly weigh nothing.
_BUSIEST = ("cpu", "cpu", "cpu", "cpu", *RESOURCES)
TOTALS = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
LIMITS = (100.0, 200.0, 800.0, 1600.0, 4096.0, 1e6, 1e7)
#: Usages and limits that no broker should report, and that some have.
ODD = (float("nan"), float("inf"), -float("inf"), -1.0, 0.0, -0.0, 1e-320, 1e300, 3.5e38)
ODD_TRAFFIC = (float("nan"), float("inf"), -1.0, -0.0, 1e300)

#: How usage is spread over brokers: shape → levels to draw from, evenly between pairs.
SHAPES: dict[str, tuple[tuple[float, float], ...]] = {
    "idle": ((0.0, 0.05),),
    "low": ((0.05, 0.3),),
    "over": ((0.8, 1.1),),
    "hot": ((0.1, 0.3), (0.1, 0.3), (0.1, 0.3), (0.8, 0.99)),
    "flat": ((0.45, 0.5),),
    "bands": ((0.1, 0.12), (0.4, 0.42), (0.7, 0.72)),
    "spread": ((0.0, 1.0),),
    "two": ((0.3, 0.3), (0.7, 0.7)),
    "near": ((0.3, 0.5),),
}


@dataclass
class Broker:
    """One broker: what it can take, how busy it is, what it owns."""

    limits: dict[str, float]
    #: Resource → share of its limit in use.
    levels: dict[str, float]
    bundles: list[str] = field(default_factory=list)


@dataclass
class Habits:
    """What kind of cluster it is."""

    shape: str
    #: Numbers of few digits, so that brokers and bundles are often exactly equal.
    is_coarse: bool = False
    #: The CPU is the busiest resource of every broker.
    is_cpu_bound: bool = False
    has_odd_usage: bool = False
    #: What only a broken report would hold of traffic.
    odd_traffic: tuple[float, ...] = ()
    #: Share of bundles without any traffic.
    zero_share: float = 0.0
    #: Reported totals are not the sums over the bundles.
    is_uncorrelated: bool = False
    #: Highest messages/s and bytes/s of a bundle.
    traffic: tuple[float, float] = (5000.0, 5e7)


class Cluster:
    """Brokers and bundles, and everything about them that the leader was not told yet."""

    def __init__(self, dice: Random, habits: Habits) -> None:
        """Begin with no broker."""
        self.dice = dice
        self.habits = habits
        self.brokers: dict[str, Broker] = {}
        #: Bundle → short-term then long-term averages, each with its number of samples.
        self.averages: dict[str, tuple[list[float], list[float]]] = {}
        self._stale: dict[str, None] = {}
        self._unheard: dict[str, None] = {}
        self._named = 0
        self._naming = dice.choice(
            ("broker-{0}:8080", "10.{2}.{1}.{0}:8080", "pulsar-broker-{0}.pulsar.ns{1}:8080")
        )
        self._first = dice.randrange(100)
        self._namespaces = dice.sample(
            ("public/default", "t/n1", "finance/eu-west/orders", "my-tenant/logs"),
            dice.randint(1, 3),
        )

    # ------------------------------------------------------------ what happens

    def join(self) -> str:
        """Add a broker without bundles."""
        dice = self.dice
        number = self._first + len(self.brokers) + self._named // 7
        name = self._naming.format(number, dice.randrange(10), dice.randrange(200))
        if name in self.brokers:
            name = f"late-{self._named}.{name}"
        self._named += 1
        limits = {r: 100.0 if self.habits.is_coarse else dice.choice(LIMITS) for r in RESOURCES}
        self.brokers[name] = Broker(limits, {})
        self.rouse(name)
        return name

    def leave(self, name: str) -> list[str]:
        """Take a broker away, and return the bundles that it owned."""
        self._stale[name] = None
        return self.brokers.pop(name).bundles

    def rouse(self, name: str) -> None:
        """Give a broker new usage of everything."""
        dice, broker = self.dice, self.brokers[name]
        level = dice.uniform(*dice.choice(SHAPES[self.habits.shape]))
        busiest = dice.choice(RESOURCES[:1] if self.habits.is_cpu_bound else _BUSIEST)
        for resource in RESOURCES:
            share = level if resource == busiest else level * dice.random()
            broker.levels[resource] = round(share, 2) if self.habits.is_coarse else share
        self._stale[name] = None

    def set_level(self, name: str, level: float) -> None:
        """Make the CPU alone count, at this share of its limit."""
        self.brokers[name].levels = dict.fromkeys(RESOURCES, 0.0) | {"cpu": level}
        self._stale[name] = None

    def own(self, bundle: str, *owners: str) -> None:
        """Let these brokers list a bundle: one, none, or two in the midst of a move."""
        for name, broker in self.brokers.items():
            if (bundle in broker.bundles) != (name in owners):
                self._stale[name] = None
                broker.bundles = [b for b in broker.bundles if b != bundle]
                broker.bundles += [bundle] * (name in owners)

    def make_bundle(self) -> str:
        """Name a bundle that there has not been."""
        namespace = self.dice.choice(self._namespaces)
        low = self._named * 0x1000000
        self._named += 1
        return f"{namespace}/0x{low:08x}_0x{low + 0x1000000:08x}"

    def measure(self, bundle: str) -> None:
        """Give a bundle averages, new ones if it has some."""
        dice, habits = self.dice, self.habits
        samples = dice.choice((1, 1, 2, 10))
        if dice.random() < habits.zero_share:
            short, long = [0.0] * 4, [0.0] * 4
        else:
            short, long = self._metrics(), self._metrics()
        if habits.odd_traffic and dice.random() < 0.2:
            # Of several metrics at once: -0.0 shows in a sum only if both of a pair are.
            value = dice.choice(habits.odd_traffic)
            short = [value if dice.random() < 0.6 else known for known in short]
        self.set_averages(bundle, [*short, samples], [*long, samples])

    def set_averages(self, bundle: str, short: Sequence[float], long: Sequence[float]) -> None:
        """Give a bundle these averages."""
        self.averages[bundle] = (list(short), list(long))
        self._unheard[bundle] = None

    def forget_averages(self, bundle: str) -> None:
        """Let the leader lose a bundle's averages."""
        if self.averages.pop(bundle, None) is not None:
            self._unheard[bundle] = None

    def _metrics(self) -> list[float]:
        dice, (rate, throughput) = self.dice, self.habits.traffic
        tops = (rate, rate, throughput, throughput)
        if self.habits.is_coarse:
            return [float(int(top / 4) * dice.randint(0, 4)) for top in tops]
        skew = dice.random() ** 4
        return [top * skew * dice.random() for top in tops]

    # ------------------------------------------------------- what the leader hears

    def news(self) -> dict[str, Any]:
        """Return what changed since the last time, as a round has it."""
        told: dict[str, Any] = {}
        if self._stale:
            told["brokers"] = {name: self._report(name) for name in self._stale}
        if self._unheard:
            told["bundle_data"] = {name: self._heard(name) for name in self._unheard}
        self._stale, self._unheard = {}, {}
        return told

    def _heard(self, bundle: str) -> dict[str, Any] | None:
        if bundle not in self.averages:
            return None
        short, long = self.averages[bundle]
        return {"short": short, "long": long}

    def _report(self, name: str) -> dict[str, Any] | None:
        if name not in self.brokers:
            return None
        broker, dice, habits = self.brokers[name], self.dice, self.habits
        report: dict[str, Any] = {}
        for resource in RESOURCES:
            limit = broker.limits[resource]
            usage = broker.levels[resource] * limit
            report[resource] = [usage, limit]
            if habits.has_odd_usage and dice.random() < 0.25:
                report[resource][dice.randrange(2)] = dice.choice(ODD)
        if habits.has_odd_usage and dice.random() < 0.1:
            del report[dice.choice(RESOURCES)]
        totals = self.totals(broker.bundles)
        if habits.is_uncorrelated:
            totals = [value * len(broker.bundles) for value in self._metrics()]
        if habits.odd_traffic and dice.random() < 0.1:
            totals[dice.randrange(4)] = dice.choice(habits.odd_traffic)
        return {
            **report,
            **dict(zip(TOTALS, totals, strict=True)),
            "bundles": list(broker.bundles),
            "longTerm": self._long_term(),
        }

    def _long_term(self) -> list[float]:
        if self.dice.random() < 0.2:
            return [0.0, 0.0]
        return self._metrics()[:2]

    def totals(self, bundles: Collection[str]) -> list[float]:
        """Add the short-term averages of some bundles up."""
        metrics = [self.averages[name][0] for name in bundles if name in self.averages]
        return [sum(column) for column in zip(*(m[:4] for m in metrics), strict=True)] or [0.0] * 4
