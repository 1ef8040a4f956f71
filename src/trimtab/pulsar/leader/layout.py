"""The leader's maps laid out as arrays, and kept until what they hold changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.pulsar.model import Ints


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
