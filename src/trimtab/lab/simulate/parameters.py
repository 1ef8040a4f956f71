"""What a simulated cluster goes by beside the scenario and the settings of the balancer.

Every parameter has its unit, its meaning and where it comes from as metadata, from which
its row in the documentation is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

Value = TypeVar("Value", float, tuple[float, float])


def _parameter(default: Value, unit: str, meaning: str, origin: str) -> Value:
    """Return the field of a parameter, with what its row in the documentation says."""
    return field(default=default, metadata={"unit": unit, "meaning": meaning, "origin": origin})


def _check(of: object, positive: tuple[str, ...], ranges: tuple[str, ...] = ()) -> None:
    """Refuse values that cannot be, by name."""
    for name in positive:
        if not getattr(of, name) > 0:
            raise ValueError(f"{name}: found {getattr(of, name)}, expected more than 0")
    for name in ranges:
        low, high = getattr(of, name)
        if not 0 <= low <= high:
            raise ValueError(f"{name}: found {low} to {high}, expected 0 <= lowest <= highest")


_BROKER = "chosen: in a broker's profile of that order"
_MEASURED = "measured on a cluster of Pulsar 4.0.8"
_CHOSEN = "chosen"


@dataclass(frozen=True, slots=True)
class Physics:
    """What traffic costs and how it moves; no strategy and no report can see any of it."""

    cpu_per_kmessage: float = _parameter(
        0.02, "points", "CPU of a reference machine for 1000 messages/s, in or out", _BROKER
    )
    cpu_per_kentry: float = _parameter(
        0.50, "points", "the same for 1000 entries/s, which are batches of messages", _BROKER
    )
    cpu_per_mib_in: float = _parameter(0.15, "points", "the same for 1 MiB/s published", _BROKER)
    cpu_per_mib_out: float = _parameter(0.12, "points", "the same for 1 MiB/s dispatched", _BROKER)
    cpu_per_topic: float = _parameter(0.03, "points", "the same for a topic in use", _BROKER)
    idle_topic_share: float = _parameter(
        0.15, "fraction", "what an idle topic costs, of one in use", _CHOSEN
    )
    busy_rate: float = _parameter(
        1.0, "messages/s", "published to a bundle, from which its topics are in use", _CHOSEN
    )
    work_exponent: float = _parameter(
        1.0, "", "CPU goes with work to this power, fixed at 50 points; below 1 is concave", _CHOSEN
    )
    cpu_convexity: float = _parameter(
        0.001, "1/point", "c of cpu = x + c·x²: contention makes a busy machine slower", _CHOSEN
    )
    write_quorum: float = _parameter(
        2.0, "copies", "bookies to which a broker sends what is published", "Pulsar's default"
    )
    nic_in_share: float = _parameter(
        0.02, "fraction", "bytes received for each dispatched: acknowledgements, requests", _CHOSEN
    )
    traffic_step_s: float = _parameter(15.0, "s", "rates are constant for so long", _CHOSEN)
    jitter_s: float = _parameter(120.0, "s", "for which a bundle's own noise lasts", _CHOSEN)
    group_deviation: float = _parameter(
        0.05, "", "standard deviation of the logarithm of a group's noise", _CHOSEN
    )
    group_s: float = _parameter(600.0, "s", "for which a group's noise lasts", _CHOSEN)
    day_s: float = _parameter(86400.0, "s", "period of the daily wave", "a day")
    background_s: float = _parameter(90.0, "s", "for which noise of other processes lasts", _CHOSEN)
    background_min: float = _parameter(
        0.5, "points", "least that other processes take", "an idle machine"
    )
    spike_points: tuple[float, float] = _parameter(
        (20.0, 45.0), "points", "height of short loads of other processes", _CHOSEN
    )
    spike_s: tuple[float, float] = _parameter((40.0, 90.0), "s", "their length", _CHOSEN)
    warm_up_share: float = _parameter(
        0.0, "fraction", "of its speed that a broker lacks as its process begins", _CHOSEN
    )
    warm_up_s: float = _parameter(
        200.0, "s", "in which that goes down to a third: code is compiled", _CHOSEN
    )

    def __post_init__(self) -> None:
        """Refuse values that cannot be."""
        lasting = ("traffic_step_s", "jitter_s", "group_s", "day_s", "background_s")
        above_0 = ("work_exponent", "busy_rate", "warm_up_s", *lasting)
        _check(self, above_0, ("spike_points", "spike_s"))
        if not 0 <= self.warm_up_share < 1:
            raise ValueError(
                f"warm_up_share: found {self.warm_up_share}, expected at least 0 and less than 1"
            )


@dataclass(frozen=True, slots=True)
class Measuring:
    """How brokers measure; most of it is in the balancer's settings."""

    tick_s: float = _parameter(
        5.0, "s", "a tick: everything that brokers do happens at the end of one", "Pulsar's default"
    )
    memory_percent: float = _parameter(
        40.0, "percent", "heap in use, always; it does not go up and down here", _CHOSEN
    )
    direct_memory_percent: float = _parameter(
        5.0, "percent", "direct memory in use, always", _CHOSEN
    )
    reports_lost_share: float = _parameter(
        0.0, "fraction", "looks at a broker's report that fail, of a strategy of trimtab's", _CHOSEN
    )
    polls_lost_share: float = _parameter(
        0.10, "fraction", "polls of a broker's counters that fail, of the same", _CHOSEN
    )
    scrape_noise: float = _parameter(
        0.05, "fraction", "standard deviation by which what is polled is off", _CHOSEN
    )

    def __post_init__(self) -> None:
        """Refuse values that cannot be."""
        _check(self, ("tick_s",))
        for name in ("reports_lost_share", "polls_lost_share", "scrape_noise"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(
                    f"{name}: found {getattr(self, name)}, expected at least 0 and less than 1"
                )


@dataclass(frozen=True, slots=True)
class Clients:
    """What it takes to move a bundle, and what clients notice of it."""

    unload_s: tuple[float, float] = _parameter(
        (0.030, 0.160), "s", "an unload, for which the leader waits", _MEASURED
    )
    first_unload_s: float = _parameter(
        0.0,
        "s",
        "by which a leader's first unload takes longer, as it makes its admin client",
        "a leader that has unloaded before; measured after a start: 2.1 to 3.5 s",
    )
    starved_from: float = _parameter(
        80.0, "percent", "usage of the owner from which its unloads take longer", _CHOSEN
    )
    starved_factor_max: float = _parameter(
        20.0, "times", "how much longer at 100 %", "measured: 13 s for 6 unloads on a starved host"
    )
    gap_s_min: float = _parameter(
        0.160, "s", "for which clients have no broker after an unload, at least", _MEASURED
    )
    gap_s_median: float = _parameter(
        0.211, "s", "median of that, with a destination", "measured: 0.172 to 0.591 s"
    )
    gap_deviation: float = _parameter(
        0.85, "", "standard deviation of the logarithm of what is above the least", _MEASURED
    )
    lookup_gap_s: tuple[float, float] = _parameter(
        (0.250, 0.650), "s", "the same without a destination, when a lookup decides", _MEASURED
    )
    astray_share: float = _parameter(
        0.03, "fraction", "unloads whose bundle goes elsewhere than told", "3 of 103 recorded"
    )
    session_s: tuple[float, float] = _parameter(
        (13.0, 16.0), "s", "until the cluster notices that a broker was killed", _MEASURED
    )

    def __post_init__(self) -> None:
        """Refuse values that cannot be."""
        _check(self, ("starved_factor_max",), ("unload_s", "lookup_gap_s", "session_s"))
        if not 0 <= self.gap_s_min < self.gap_s_median:
            raise ValueError(
                f"gap_s_median: found {self.gap_s_median}, "
                f"expected more than gap_s_min, which is {self.gap_s_min}"
            )


@dataclass(frozen=True, slots=True)
class Parameters:
    """All of them; each is a table that a scenario may override."""

    physics: Physics = field(default_factory=Physics)
    measuring: Measuring = field(default_factory=Measuring)
    clients: Clients = field(default_factory=Clients)
