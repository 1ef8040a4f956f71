"""The leader's maps laid out as arrays, and kept until what they hold changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.pulsar.model import Floats, Ints


@dataclass(frozen=True, slots=True)
class Listed:
    """Rows of the bundles of all reports, and positions in `LeaderView.order` of the brokers."""

    rows: Ints
    brokers: Ints


def listed(rows: Sequence[Ints]) -> Listed:
    """Return the rows of each broker's bundles, broker by broker in `LeaderView.order`."""
    sizes = np.array([mine.size for mine in rows], np.int64)
    empty = np.empty(0, np.int64)
    return Listed(np.concatenate([empty, *rows]), np.repeat(np.arange(sizes.size), sizes))


@dataclass(frozen=True, slots=True)
class Walked:
    """Bundles that are reported and known, in the order in which a shedder walks them."""

    rows: Ints
    #: Position in `LeaderView.order` of the broker that lists each.
    brokers: Ints
    names: tuple[str, ...]


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

    def but(self, at: Sequence[int], new: BrokerColumns) -> BrokerColumns:
        """Return the same, but for what some brokers say anew."""
        after = BrokerColumns(
            self.usage.copy(), self.limit.copy(), self.totals.copy(), self.bundles.copy()
        )
        after.usage[at], after.limit[at] = new.usage, new.limit
        after.totals[at], after.bundles[at] = new.totals, new.bundles
        return after
