"""The leader's maps laid out as arrays, and kept until what they hold changes."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.model import Floats, Ints


@dataclass(frozen=True, slots=True)
class Listed:
    """Rows of the bundles of all reports, and positions in `LeaderView.order` of the brokers."""

    rows: Ints
    brokers: Ints


@dataclass(frozen=True, slots=True)
class Walked:
    """Bundles that are reported and known, in the order in which a shedder walks them."""

    rows: Ints
    #: Position in `LeaderView.order` of the broker that lists each.
    brokers: Ints
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """What the brokers' reports say of themselves, in `LeaderView.order`."""

    #: (n_brokers, 5) usage and limit, columns RESOURCES.
    usage: Floats
    limit: Floats
    #: (n_brokers, 4) METRICS.
    totals: Floats
    #: (n_brokers,) how many they have.
    bundles: Ints
