"""Bundles that the leader has given to brokers which do not report them yet."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

import numpy as np

from trimtab.pulsar.leader.averages import LeaderAverages
from trimtab.pulsar.map_order import concurrent_hash_map_order
from trimtab.pulsar.model import Preallocations


@dataclass(frozen=True, slots=True)
class Preallocated:
    """A bundle's averages as they were when it was given away, or forgotten since."""

    number: int
    #: Long-term averages, messages/s in and out.
    long_rates: tuple[float, float]


@dataclass(slots=True)
class PreallocatedBundles:
    """What weighs on brokers that they do not report.

    Quirks:
        An object of averages that the leader has forgotten weighs what it did then.
    """

    averages: LeaderAverages
    #: Broker → bundles given to it at lookups since, with their averages (Pulsar:
    #: `BrokerData.preallocatedBundleData`).
    by_broker: dict[str, dict[str, Preallocated]] = field(default_factory=dict)

    def give(self, bundle: str, row: int, broker: str) -> None:
        """Give a bundle that is known, and its row, to a broker."""
        self.by_broker.setdefault(broker, {})[bundle] = self._now(row)

    def keep(self, bundle: str) -> None:
        """Let whoever was given averages keep the numbers that they have now."""
        for bundles in self.by_broker.values():
            if bundle in bundles:
                now = self._now(self.averages.bundles.known[bundle])
                if bundles[bundle].number == now.number:
                    bundles[bundle] = now

    def take_back(self, own: Set[str], reported: Mapping[str, Set[str]]) -> None:
        """Forget what was given, but for the leader's own bundles that it does not report yet.

        Args:
            own: bundles that the leader itself owns.
            reported: broker → bundles that its report lists, of brokers that were given some.
        """
        for broker, bundles in list(self.by_broker.items()):
            for bundle in bundles.keys() - (own - reported.get(broker, frozenset())):
                del bundles[bundle]
            if not bundles:
                del self.by_broker[broker]

    def laid_out(self, place: Mapping[str, int]) -> Preallocations:
        """Return what was given, in the order in which the leader's maps are walked.

        Args:
            place: broker → its position in that order.
        """
        entries = []
        averages = self.averages
        for broker in sorted(self.by_broker.keys() & place.keys(), key=place.__getitem__):
            i, bundles = place[broker], self.by_broker[broker]
            for bundle in concurrent_hash_map_order(bundles):
                rates = bundles[bundle].long_rates
                row = averages.bundles.known.get(bundle)
                if row is not None and averages.bundles.numbers[row] == bundles[bundle].number:
                    rates = self._now(row).long_rates
                entries.append((i, *rates))
        rows = np.array(entries, np.float64).reshape(-1, 3)
        return Preallocations(rows[:, 0].astype(np.int64), rows[:, 1], rows[:, 2])

    def _now(self, row: int) -> Preallocated:
        average = self.averages.of(np.array([row]))
        rate_in, rate_out = average.long[0, :2].tolist()
        return Preallocated(int(average.number[0]), (rate_in, rate_out))
