"""The tables of a scenario file.

Fields are the keys of the file, in its units; what each means stands at the key.  Machines
and brokers are the same thing, and are counted from 0 in the order of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trimtab.lab.simulate.parameters import Parameters
from trimtab.lab.simulate.scenario_keys import (
    AT_LEAST_0,
    FLAG,
    PERCENT,
    POSITIONS,
    SHARE,
    TEXT,
    Span,
    bounds,
    key,
    listed,
    maybe,
    number,
    one_of,
    positive,
    span,
    tables,
    whole,
)

#: How the bundles' rates are distributed.
RATES = ("equal", "lognormal", "zipf", "exponential", "tasks")
#: Who owns what when the simulation begins.
OWNERS = (
    "balanced",
    "count",
    "rate",
    "random",
    "linear",
    "square",
    "usage",
    "counts",
    "explicit",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """`[run]`: how long, and from when on it counts."""

    minutes: float = key(positive(), "minutes that are simulated")
    event_at_min: float = key(AT_LEAST_0, "outcomes count from here", 0.0)
    release: str = key(TEXT, "Pulsar release whose classes decide", "4.0.8")


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineGroup:
    """`[[machines]]`: machines of one kind, each with a broker."""

    count: int = key(whole(1), "how many")
    cores: Span = key(span(positive()), "cores of each", (16.0, 16.0))
    speed: Span = key(span(positive()), "speed of a core, against the reference", (1.0, 1.0))
    speed_deviation: float = key(SHARE, "standard deviation of the logarithm of speed", 0.0)
    nic_gbit_per_s: Span = key(span(positive()), "what the NIC carries each way", (10.0, 10.0))
    background_percent: Span = key(
        span(PERCENT), "CPU that other processes take on average", (3.0, 3.0)
    )
    background_deviation_percent: float = key(PERCENT, "standard deviation of that", 1.5)
    spikes_per_hour: float = key(AT_LEAST_0, "short loads of other processes", 0.5)
    is_up: bool = key(FLAG, "runs from the beginning; otherwise it has to join", True)
    traffic_delay_min: Span = key(
        span(AT_LEAST_0), "traffic of the bundles it owns at first begins so much later", (0.0, 0.0)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """`tasks`: one pressure test, whose partitions are hashed to the bundles of its table."""

    name: str = key(TEXT, "by which events name it", "")
    partitions: int = key(whole(1), "partitions")
    mib_per_s: float = key(positive(), "MiB/s published to all of them")


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleGroup:
    """`[[bundles]]`: bundles of one kind."""

    count: int = key(whole(1), "how many, over all its namespaces")
    namespace: str = key(TEXT, "tenant/namespace; with a number behind if there are several", "")
    namespaces: int = key(whole(1), "namespaces that they are cut evenly into", 1)
    rates: str = key(one_of(RATES), "how rates are distributed", "lognormal")
    rate_per_s: float = key(
        positive(), "messages/s published to a bundle on average, before scaling", 2000.0
    )
    sigma: float = key(AT_LEAST_0, "lognormal: standard deviation of the logarithm", 1.1)
    clipped_at: float = key(positive(), "lognormal: no rate is above so many means", 9.0)
    exponent: float = key(AT_LEAST_0, "zipf: the k-th largest is as 1 / k to this", 0.9)
    tasks: tuple[Task, ...] = key(
        tables(Task, "tables of `name`, `partitions`, `mib_per_s`"), "tasks: the pressure tests", ()
    )
    message_bytes: float = key(positive(), "median size of a message", 1024.0)
    message_sigma: float = key(
        AT_LEAST_0, "standard deviation of its logarithm, within a fifth and five medians", 0.8
    )
    fan_out: tuple[float, ...] = key(
        listed(AT_LEAST_0),
        "messages dispatched for each published, drawn from these",
        (0.0, 0.5, 1.0, 1.0, 1.0, 2.0, 3.0),
    )
    topics: float = key(positive(), "topics of a bundle on average; tasks bring their own", 6.0)
    entries_per_s: float = key(
        positive(), "entries/s that a topic's producers tend to: they batch", 1000.0
    )
    entries_sigma: float = key(AT_LEAST_0, "standard deviation of its logarithm", 0.6)
    cost_sigma: float = key(
        AT_LEAST_0, "standard deviation of the logarithm of a bundle's hidden cost", 0.25
    )
    jitter: float = key(SHARE, "standard deviation of the logarithm of a bundle's noise", 0.08)
    group_size: int = key(whole(1), "bundles that share a slower noise, on average", 12)
    wave: float = key(SHARE, "amplitude of the daily wave, as a share of the rate", 0.0)
    wave_phases: tuple[float, ...] = key(
        listed(SHARE), "where in its wave a group of bundles begins, in turn", (0.0,)
    )
    starts_on: tuple[int, ...] | None = key(
        maybe(POSITIONS), "machines on which they begin; all that are up", None
    )
    heaviest_cpu_percent: float | None = key(
        maybe(positive()), "what the heaviest takes of a reference machine, after scaling", None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """`[traffic]`: how much there is of it, and since when."""

    cpu_percent: float | None = key(
        maybe(PERCENT), "scaled so that each CPU would stand here, were work spread evenly", None
    )
    of_reference_machines: float | None = key(
        maybe(positive()), "evenly over so many reference machines; over those up", None
    )
    scaled_by: str = key(one_of(("rate", "cost")), "what is scaled", "rate")
    nic_out_percent: float | None = key(
        maybe(positive()), "NICs are made such that they stand here on average", None
    )
    from_min: float = key(AT_LEAST_0, "when it begins", 0.0)
    ramp_s: float = key(AT_LEAST_0, "seconds that it takes to rise", 100.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """`[start]`: who owns what when the simulation begins."""

    owners: str = key(one_of(OWNERS), "how owners are chosen", "balanced")
    noise: float = key(
        AT_LEAST_0,
        "balanced: standard deviation of the logarithm by which costs are misjudged",
        0.15,
    )
    usage_percent: tuple[float, ...] = key(
        listed(PERCENT), "usage: CPU of each machine; what decides how much traffic there is", ()
    )
    counts: tuple[int, ...] = key(listed(whole(0)), "counts: bundles of each machine", ())
    explicit: tuple[int, ...] = key(listed(whole(0)), "explicit: machine of each bundle", ())
    spread_percent: Span | None = key(
        maybe(bounds(PERCENT)), "owners are drawn again until CPUs are so far apart", None
    )
    usage_percent_max: float = key(PERCENT, "and until none is above", 100.0)
    is_hottest_first: bool = key(FLAG, "machine 0 is given the most loaded one's bundles", False)
    gathered: int = key(whole(0), "bundles of `gathered_task` that machine 0 owns", 0)
    gathered_task: str = key(TEXT, "the task", "")
    grace_until_min: float = key(
        AT_LEAST_0, "until then every bundle counts as just unloaded and is left alone", 0.0
    )


# ------------------------------------------------------------------ events


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """`join`, `leave`, `kill`: brokers come or go, in the order given."""

    at_min: float = key(AT_LEAST_0, "when")
    brokers: tuple[int, ...] | None = key(maybe(POSITIONS), "which; all", None)
    every_min: float = key(AT_LEAST_0, "time from one to the next", 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingRestart:
    """`rolling restart`: one broker after the other leaves and joins again."""

    at_min: float = key(AT_LEAST_0, "when it begins")
    brokers: tuple[int, ...] | None = key(maybe(POSITIONS), "which; all", None)
    every_min: float = key(positive(), "time from one to the next", 4.0)
    down_min: float = key(positive(), "time for which each is down", 1.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """`background`: other processes take more of the CPU, or less."""

    at_min: float = key(AT_LEAST_0, "when")
    until_min: float | None = key(maybe(AT_LEAST_0), "when it is over; never", None)
    brokers: tuple[int, ...] | None = key(maybe(POSITIONS), "whose; all", None)
    percent: float = key(number(), "CPU more; negative for less")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """`capacity`: machines become slower, or faster."""

    at_min: float = key(AT_LEAST_0, "when")
    until_min: float | None = key(maybe(AT_LEAST_0), "when it is over; never", None)
    brokers: tuple[int, ...] | None = key(maybe(POSITIONS), "which; all", None)
    factor: float = key(positive(), "what the capacity is multiplied with")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderChange:
    """`leader`: another broker leads from now on, and remembers nothing."""

    at_min: float = key(AT_LEAST_0, "when")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shedding:
    """`shedding`: it is switched on or off."""

    at_min: float = key(AT_LEAST_0, "when")
    is_on: bool = key(FLAG, "on or off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """`split`: the heaviest bundles that are still whole are split in two."""

    at_min: float = key(AT_LEAST_0, "when")
    heaviest: int = key(whole(1), "how many")
    every_min: float = key(AT_LEAST_0, "time from one to the next", 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficChange:
    """`traffic`: some bundles have more or less of it, for a while, once or again and again.

    Which ones: those of a namespace, those that some brokers own at first, the heaviest, some
    at random, or those of a task (which alone changes); all if none of these is given.
    """

    at_min: float = key(AT_LEAST_0, "when it begins")
    until_min: float | None = key(maybe(AT_LEAST_0), "when it is over; never", None)
    namespace: str = key(TEXT, "bundles of this one", "")
    of_brokers: tuple[int, ...] | None = key(
        maybe(POSITIONS), "bundles that these own at first", None
    )
    heaviest: int = key(whole(0), "so many, the heaviest", 0)
    at_random: int = key(whole(0), "so many, at random", 0)
    task: str = key(TEXT, "bundles of this one, as far as they are", "")
    factor: float = key(AT_LEAST_0, "what both rates are multiplied with", 1.0)
    factor_out: float = key(AT_LEAST_0, "what the dispatched rate is multiplied with besides", 1.0)
    ramp_min: float = key(AT_LEAST_0, "time that it takes to get there", 0.0)
    period_min: float = key(AT_LEAST_0, "time after which it begins again; 0 for never", 0.0)
    duty: float = key(SHARE, "share of a period in which it is on", 1.0)
    off_factor: float = key(AT_LEAST_0, "periodic: `factor` while it is off", 1.0)
    off_factor_out: float = key(AT_LEAST_0, "periodic: `factor_out` while it is off", 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bursts:
    """`bursts`: now and then a few bundles of one broker have much more traffic."""

    at_min: float = key(AT_LEAST_0, "when they begin")
    until_min: float = key(AT_LEAST_0, "when the last may begin")
    every_min: Span = key(span(positive()), "time from one to the next", (3.0, 6.0))
    lasting_min: Span = key(span(positive()), "how long each lasts", (0.75, 2.0))
    bundles: int = key(whole(1), "bundles of the broker", 3)
    cpu_percent: Span = key(span(PERCENT), "what they add to its CPU", (25.0, 45.0))


Happening = (
    Membership
    | RollingRestart
    | Background
    | Capacity
    | LeaderChange
    | Shedding
    | Split
    | TrafficChange
    | Bursts
)

#: What `what` says → the table that the rest is read as.
HAPPENINGS: Mapping[str, type[Happening]] = {
    "join": Membership,
    "leave": Membership,
    "kill": Membership,
    "rolling restart": RollingRestart,
    "background": Background,
    "capacity": Capacity,
    "leader": LeaderChange,
    "shedding": Shedding,
    "split": Split,
    "traffic": TrafficChange,
    "bursts": Bursts,
}


# ------------------------------------------------------------------ what is expected


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """`[[expect]]`: what an outcome should be, and under which strategies."""

    outcome: str = key(TEXT, "name of the outcome")
    at_most: float | None = key(maybe(number()), "it is not above", None)
    at_least: float | None = key(maybe(number()), "it is not below", None)
    under: tuple[str, ...] = key(
        listed(TEXT), "shedders, or `none` for no shedding; every shedder", ()
    )
    placed_by: tuple[str, ...] = key(listed(TEXT), "placers; whichever", ())
    from_min: float | None = key(maybe(AT_LEAST_0), "counted from here; from the event", None)
    until_min: float | None = key(maybe(AT_LEAST_0), "counted up to here; to the end", None)
    of: str = key(
        one_of(("each", "median")), "holds in each run, or for the median over seeds", "each"
    )
    because: str = key(TEXT, "why this is expected")
    known: str = key(TEXT, "why it is known not to hold, if it does not", "")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A question about a cluster, as asked in a file; checked."""

    #: Where it was read: a name or a path.
    origin: str
    #: What it asks: the comment at the top.
    question: str
    run: Length
    machines: tuple[MachineGroup, ...]
    bundles: tuple[BundleGroup, ...]
    traffic: Traffic
    start: Start
    #: What happens, as it is called, in the order of the file.
    events: tuple[tuple[str, Happening], ...]
    #: Keys of broker.conf → text.
    settings: Mapping[str, str]
    expectations: tuple[Expectation, ...]
    #: With what the file overrides.
    parameters: Parameters = field(repr=False)

    @property
    def n_machines(self) -> int:
        """Return the number of machines, up or not."""
        return sum(group.count for group in self.machines)

    @property
    def n_bundles(self) -> int:
        """Return the number of bundles."""
        return sum(group.count for group in self.bundles)
