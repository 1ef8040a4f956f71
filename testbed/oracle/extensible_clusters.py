"""A made-up cluster under the extensible load manager, and what its brokers publish."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from oracle.clusters import ODD, RESOURCES, SHAPES

#: When the first round is, ms; an odd number, so that no boundary is met by chance.
BEGIN_MS = 1_790_000_000_123
MINUTE_MS = 60_000
ODD_TRAFFIC = (float("nan"), float("inf"), -1.0, -0.0, 1e300)
_NAMESPACES = ("public/default", "t/n1", "finance/orders", "my-tenant/logs")


@dataclass
class ExtensibleHabits:
    """What kind of cluster it is."""

    shape: str
    #: Numbers of few digits, so that brokers and bundles are often exactly equal.
    is_coarse: bool = False
    #: Numbers of four digits, which keeps what is recorded small.
    is_short: bool = False
    #: Brokers publish bundles, which matter for shedding alone.
    has_bundles: bool = True
    #: Share of bundles without any traffic.
    zero_share: float = 0.0
    #: Values that only a broken broker would publish, and that a few do.
    odd: tuple[float, ...] = ()
    #: Brokers publish usage to be smoothed, not what they have smoothed.
    is_sampled: bool = False
    #: Bundles are published in no order.
    is_shuffled: bool = False


@dataclass
class ExtensibleCluster:
    """Brokers, and what was not published yet."""

    dice: Random
    habits: ExtensibleHabits
    now_ms: int = BEGIN_MS
    brokers: list[str] = field(default_factory=list)
    #: Every bundle that was ever published.
    bundles: list[str] = field(default_factory=list)
    _told: dict[str, Any] = field(default_factory=dict)

    def join(self) -> str:
        """Add a broker that has published nothing."""
        name = f"broker-{len(self.brokers) + self.dice.randrange(1000) * 10}:8080"
        if name in self.brokers:
            return self.join()
        self.brokers.append(name)
        return name

    def leave(self, name: str, *, is_clean: bool) -> None:
        """Take a broker away; one that does not go cleanly leaves its load data behind."""
        self.brokers.remove(name)
        if is_clean:
            self.tell("broker_load_data", name, None)
            self.tell("top_bundles", name, None)

    def publish(self, name: str, age_ms: int = 10_000) -> None:
        """Let a broker publish load and bundles that fit together, more or less."""
        dice = self.dice
        level = dice.uniform(*dice.choice(SHAPES[self.habits.shape]))
        level = round(level, 1) if self.habits.is_coarse else self._short(level)
        carried = level * dice.choice((1e6, 1e7, 1e7, 1e8))
        if dice.random() < 0.1:
            carried = 0.0
        self.publish_load(name, level, carried, age_ms)
        if self.habits.has_bundles and dice.random() < 0.95:
            self.publish_bundles(name, self._weights(carried))

    def publish_load(self, name: str, level: float, carried: float, age_ms: int) -> None:
        """Let a broker publish a usage and a throughput."""
        dice, habits = self.dice, self.habits
        inward = carried * dice.choice((0.0, 0.5, 0.5, 1.0))
        told: dict[str, Any] = {
            "msgThroughputIn": self._short(inward),
            "msgThroughputOut": self._short(carried - inward),
            "updatedAt": self.now_ms - age_ms,
        }
        if habits.is_sampled:
            limit = 100.0 if habits.is_coarse else dice.choice((100.0, 1600.0, 1e6))
            shares = {resource: self._short(level * dice.random()) for resource in RESOURCES}
            shares[dice.choice(RESOURCES)] = level
            told |= {resource: [share * limit, limit] for resource, share in shares.items()}
        else:
            wobble = 1.0 if habits.is_coarse else dice.uniform(0.8, 1.2)
            told |= {"weightedMaxEMA": level, "msgThroughputEMA": self._short(carried * wobble)}
        for _ in range(dice.choice((0, 1, 2)) if habits.odd and dice.random() < 0.5 else 0):
            key = dice.choice([key for key in told if key != "updatedAt"])
            if isinstance(told[key], list):
                told[key][dice.randrange(2)] = dice.choice(ODD)
            else:
                told[key] = dice.choice(habits.odd)
        self.tell("broker_load_data", name, told)

    def publish_bundles(self, name: str, weights: list[float]) -> None:
        """Let a broker publish bundles of these throughputs, bytes/s."""
        listed = []
        for weight in weights if self.habits.is_shuffled else sorted(weights):
            inward = weight * self.dice.choice((0.0, 0.5, 0.5, 1.0))
            listed.append([self._bundle(), self._short(inward), self._short(weight - inward)])
        self.tell("top_bundles", name, listed)

    def tell(self, key: str, name: str, told: object) -> None:
        """Remember something to be told with the next round."""
        self._told.setdefault(key, {})[name] = told

    def news(self) -> dict[str, Any]:
        """Return what changed since the last time, as a round has it."""
        told, self._told = self._told, {}
        return {"now": self.now_ms, **told}

    def _bundle(self) -> str:
        namespace = self.dice.choice(_NAMESPACES)
        low = len(self.bundles) * 0x10000
        self.bundles.append(f"{namespace}/0x{low:08x}_0x{low + 0x10000:08x}")
        return self.bundles[-1]

    def _weights(self, carried: float) -> list[float]:
        """Cut a throughput into bundles: a few large ones, many small ones, or equal ones."""
        dice, habits = self.dice, self.habits
        count = dice.choice((0, 1, 2, 2, 3, 3, 4, 6, 10))
        skew = dice.choice((0.0, 1.0, 3.0))
        parts = [dice.random() ** skew for _ in range(count)]
        whole = sum(parts) / dice.choice((1.0, 1.0, 0.5, 1.5)) or 1.0
        weights = [carried * part / whole for part in parts]
        if habits.is_coarse:
            weights = [float(round(weight, -6)) for weight in weights]
        weights = [self._short(weight) for weight in weights]
        weights = [0.0 if dice.random() < habits.zero_share else weight for weight in weights]
        if habits.odd and weights and dice.random() < 0.3:
            weights[dice.randrange(len(weights))] = dice.choice(habits.odd)
        return weights

    def _short(self, number: float) -> float:
        return float(f"{number:.4g}") if self.habits.is_short else number
