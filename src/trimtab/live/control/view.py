"""What is seen of a cluster at one time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Why a lock that was held is not held any more.
TAKEN = (
    "this run no longer holds the lock of the cluster, so it moves nothing more: its session "
    "ended, or another run took it; the same command goes on once it can have the lock again"
)


@dataclass(frozen=True, slots=True)
class BrokerView:
    """One broker, as seen from outside."""

    #: %, the highest of its resources by weight; NaN if it is not known.
    usage_percent: float
    #: When that was measured, s.
    measured_s: float
    #: When it started, s.
    started_s: float
    #: It is registered, and answers itself: one that was killed stays registered for a while.
    is_answering: bool
    #: It is being emptied, by whoever.
    is_draining: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """What is seen at one time; times are seconds since 1970."""

    time_s: float
    #: Broker id → what is seen of it.
    brokers: Mapping[str, BrokerView]
    #: Bundle → its owner, None if it has none; a bundle whose owner could not be read is not here.
    owners: Mapping[str, str | None]
    #: Pulsar's own shedding is on; None if that could not be read.
    is_shedding: bool | None
    #: Nobody else may act on this cluster.
    is_lock_ours: bool
    #: Somebody has asked for an end.
    is_killed: bool = False
    #: Bundle that is no more → the bundles that have its range now; none if its namespace is gone.
    replacements: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Why the lock is not ours any more, or may not be; for a person.
    lock_loss: str = TAKEN
