"""How much a run may move, how long it waits, and when it stops instead."""

from __future__ import annotations

from dataclasses import dataclass, field


def _limit(default: float, unit: str, meaning: str, origin: str = "chosen") -> float:
    """Return a limit's field, with what its row in the documentation says."""
    return field(default=default, metadata={"unit": unit, "meaning": meaning, "origin": origin})


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a run of moves; every one may be set in a plan."""

    moves_per_round: float = _limit(
        3, "moves", "between one round of Pulsar's own shedding and the next"
    )
    round_s: float = _limit(
        60, "s", "length of such a round", "loadBalancerSheddingIntervalMinutes"
    )
    moves_per_hour: float = _limit(60, "moves", "in any hour")
    traffic_per_hour_bytes_s: float = _limit(
        float("inf"), "bytes/s", "traffic of the bundles moved in any hour, in and out"
    )
    grace_s: float = _limit(
        1800, "s", "before a bundle is moved again", "loadBalancerSheddingGracePeriodMinutes"
    )
    broker_age_min_s: float = _limit(
        300, "s", "since a destination started: its usage is not yet its own"
    )
    report_age_max_s: float = _limit(
        300, "s", "since a broker's usage was measured: older says nothing"
    )
    bar_percent: float = _limit(
        85,
        "%",
        "usage above which a destination takes nothing",
        "loadBalancerBrokerOverloadedThresholdPercentage",
    )
    in_flight_s: float = _limit(
        70,
        "s",
        "for which an unload without an answer may still run",
        "namespaceBundleUnloadingTimeoutMs, 60 s, and some",
    )
    verify_s: float = _limit(
        30, "s", "within which the new owner has to be seen", "measured: 0.6 s"
    )
    look_up_s: float = _limit(
        5,
        "s",
        "without an owner before trimtab looks a bundle up: the destination is good for one "
        "look-up, and clients make theirs at once",
        "measured: clients look up within 0.3 s",
    )
    settle_s: float = _limit(
        90, "s", "after a move before its effect is read: a window of load data"
    )
    wait_max_s: float = _limit(900, "s", "for anything else, before the run stops")
    plan_age_max_s: float = _limit(3600, "s", "since the plan was made")
    attempts: float = _limit(2, "", "unloads of one bundle that does not arrive")

    def __post_init__(self) -> None:
        """Refuse values that cannot be."""
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: found {getattr(self, name)}, expected more than 0")
