"""The objects that a leader has of bundles and brokers: averages, added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from trimtab.pulsar.model import Floats

#: A bundle's messages/s in and out, bytes/s in and out, and topics.
Stats: TypeAlias = Sequence[float]

NUM_SHORT_SAMPLES, NUM_LONG_SAMPLES = 10, 1000
#: DEFAULT_MESSAGE_RATE and DEFAULT_MESSAGE_THROUGHPUT, in and out, of what nobody has measured.
DEFAULT_STATS = (50.0, 50.0, 50_000.0, 50_000.0)


@dataclass(frozen=True, slots=True)
class Report:
    """A broker's load report (Pulsar: `LocalBrokerData`)."""

    broker: str
    #: (5,) usage and limit, columns RESOURCES.
    usage: Floats
    limit: Floats
    #: (4,) of the broker.
    totals: Floats
    bundles: tuple[str, ...]
    #: Pulsar: `lastStats`.
    stats: Mapping[str, Stats]


@dataclass(slots=True)
class TimeAverageMessageData:
    """An average of so many samples at most, all four numbers of it."""

    max_samples: int
    num_samples: int = 0
    values: tuple[float, ...] = DEFAULT_STATS

    def update(self, sample: Stats) -> None:
        """Take one more sample.

        Quirks:
            The first sample replaces what was there.
            Up to the greatest number of samples this is their mean, but for rounding; from then
            on the old average keeps a share of 1 - 1/samples: 0.9 of ten, 0.999 of a thousand.

        Source:
            apache/pulsar 2.10.4 to 5.0.0-M1, TimeAverageMessageData.java getUpdatedValue; 4.0.8
            checked against runs of the class.
        """
        n = self.num_samples = min(self.num_samples + 1, self.max_samples)
        self.values = tuple(
            ((n - 1) * old + new) / n for old, new in zip(self.values, sample, strict=True)
        )


@dataclass(slots=True)
class BundleData:
    """What the leader remembers of a bundle."""

    #: Which object it is, for whoever compares; the Java has its identity.
    number: int
    short: TimeAverageMessageData
    long: TimeAverageMessageData
    topics: float = 0.0

    def update(self, stats: Stats) -> None:
        """Take what a report says of it."""
        self.short.update(stats[:4])
        self.long.update(stats[:4])
        self.topics = float(stats[4])

    def contents(self) -> list[float]:
        """Return all that makes two of them equal, in the order of `model.BundleData`."""
        short, long = self.short, self.long
        return [*short.values, short.num_samples, *long.values, long.num_samples, self.topics]

    def copy(self, number: int) -> BundleData:
        """Return another object of the same numbers."""
        return BundleData(number, replace(self.short), replace(self.long), self.topics)


@dataclass(slots=True)
class BrokerData:
    """What the leader remembers of a broker."""

    local_data: Report
    #: Long-term averages of its bundles, added up (Pulsar: `TimeAverageBrokerData`).
    long_term: list[float] = field(default_factory=lambda: [0.0] * 4)
