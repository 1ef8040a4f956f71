"""What brokers write of themselves: one report, several together, and the newest as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from trimtab.pulsar.model import Floats, Ints

Numbers = TypeVar("Numbers", bound=NDArray[Any])


class Report(NamedTuple):
    """One broker's load report."""

    broker: str
    #: (5,) usage and limit, columns RESOURCES.
    usage: Floats
    limit: Floats
    #: (4,) METRICS of the broker.
    totals: Floats
    bundles: tuple[str, ...]
    #: Bundles with statistics (Pulsar: `lastStats`), and (n, 5) their METRICS and topics.
    measured: tuple[str, ...]
    samples: Floats


@dataclass(frozen=True, slots=True)
class Rewrites:
    """Reports one after the other, each with the bundles that its broker reported before."""

    brokers: Sequence[str]
    #: (n, 5) usage and limit, columns RESOURCES.
    usage: Floats
    limit: Floats
    #: (n, 4) METRICS.
    totals: Floats
    #: (n + 1,) where the statistics of each begin in `samples`.
    offsets: Ints
    #: (n_measured, 5) METRICS and topics.
    samples: Floats

    def report(self, i: int, before: Report) -> Report:
        """Return one of them.

        Args:
            i: which.
            before: what its broker wrote before.
        """
        return Report(
            before.broker,
            self.usage[i],
            self.limit[i],
            self.totals[i],
            before.bundles,
            before.measured,
            self.samples[self.offsets[i] : self.offsets[i + 1]],
        )


@dataclass(frozen=True, slots=True)
class BrokerColumns:
    """What the brokers' reports say of themselves, in `LeaderView.order`."""

    #: (n_brokers, 5) usage and limit, columns RESOURCES.
    usage: Floats
    limit: Floats
    #: (n_brokers, 4) METRICS.
    totals: Floats
    #: (n_brokers,) how many they have.
    bundles: Ints

    def __post_init__(self) -> None:
        """Let nobody change them: what is worked out from them may be kept."""
        for column in (self.usage, self.limit, self.totals, self.bundles):
            column.flags.writeable = False

    def but(self, at: Sequence[int], new: BrokerColumns) -> BrokerColumns:
        """Return the same, but for what some brokers say anew."""
        return BrokerColumns(
            _but(self.usage, at, new.usage),
            _but(self.limit, at, new.limit),
            _but(self.totals, at, new.totals),
            _but(self.bundles, at, new.bundles),
        )


def broker_columns(reports: Sequence[Report]) -> BrokerColumns:
    """Return what reports say of their brokers, in their order."""
    return BrokerColumns(
        usage=np.array([report.usage for report in reports]).reshape(-1, 5),
        limit=np.array([report.limit for report in reports]).reshape(-1, 5),
        totals=np.array([report.totals for report in reports]).reshape(-1, 4),
        bundles=np.array([len(report.bundles) for report in reports], np.int64),
    )


def _but(column: Numbers, at: Sequence[int], new: Numbers) -> Numbers:
    """Return a copy of a column with some rows anew."""
    after = column.copy()
    after[at] = new
    return after
