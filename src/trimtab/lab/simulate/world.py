"""The nouns of the laboratory: what a simulated cluster is made of, and what came of a run.

Brokers and bundles are positions in arrays; shapes and units stand at the field.  No
functions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from trimtab.pulsar.model import Flags, Floats, Ints

# ------------------------------------------------------------------ what there is


@dataclass(frozen=True, slots=True)
class Machines:
    """What each broker runs on."""

    #: Broker ids, `host:port`.
    names: tuple[str, ...]
    #: (n_brokers,) work that fills the CPU, in units of the reference machine's.
    capacity: Floats
    #: (n_brokers,) bytes/s that the NIC carries, each way.
    nic: Floats
    #: (n_brokers,) percent of its CPU that other processes take on average.
    background: Floats
    #: (n_brokers,) standard deviation of that, percent.
    background_deviation: Floats
    #: (n_brokers,) short loads of other processes that begin in an hour.
    spikes_per_hour: Floats
    #: (n_brokers,) runs when the simulation begins.
    is_up: Flags
    #: (n_brokers,) cores, as the machine says; None: nobody knows.
    cores: Floats | None = None


@dataclass(frozen=True, slots=True)
class Bundles:
    """What is served.  What is called hidden, no strategy and no report can see."""

    #: Full names, `tenant/namespace/0x00000000_0x10000000`.
    names: tuple[str, ...]
    #: (n_bundles,) broker that owns it when the simulation begins; -1 for nobody.
    owner: Ints
    #: (n_bundles,) messages/s published on average.
    rate: Floats
    #: (n_bundles,) bytes a message.
    message_bytes: Floats
    #: (n_bundles,) messages dispatched for each that is published.
    fan_out: Floats
    #: (n_bundles,) topics.
    topics: Floats
    #: (n_bundles,) hidden: entries/s that the clients' batching tends to.
    entries_limit: Floats
    #: (n_bundles,) hidden: what its work costs, in units of what it costs on average.
    cost: Floats
    #: (n_bundles,) standard deviation of the logarithm of its own noise.
    jitter: Floats
    #: (n_bundles,) group whose bundles share a noise, 0 and up.
    group: Ints
    #: (n_bundles,) amplitude of the daily wave, as a share of the rate.
    wave: Floats
    #: (n_bundles,) where in its wave a bundle begins, 0 to 1.
    wave_phase: Floats
    #: (n_bundles,) s until which it counts as just unloaded and is left alone; 0 for none.
    grace_until_s: Floats


@dataclass(frozen=True, slots=True)
class Change:
    """A change of some bundles' traffic for a while.

    Several at once multiply.  `period_s` above 0 makes it come and go: on for the first
    `duty` of every period, and off for the rest, when the factors are `off_in` and `off_out`.
    """

    #: (n_changed,) positions of bundles.
    bundles: Ints
    #: s; it begins, and ends (infinity: stays).
    from_s: float
    to_s: float
    #: What the published and the dispatched rate are multiplied with, while it is on.
    factor_in: float = 1.0
    factor_out: float = 1.0
    #: s that it takes to get there, linearly; 0 for at once.
    ramp_s: float = 0.0
    #: s of a full period, the share in which it is on, and s by which the first is shifted.
    period_s: float = 0.0
    duty: float = 1.0
    phase_s: float = 0.0
    #: The factors while a periodic change is off.
    off_in: float = 1.0
    off_out: float = 1.0


class Kind(StrEnum):
    """What can happen to brokers."""

    JOIN = "join"
    #: Graceful: it gives its bundles up one by one.
    LEAVE = "leave"
    #: It is gone; its session, and so its ownership, ends later.
    KILL = "kill"
    #: `value` percent more (or less) of its CPU go to other processes.
    BACKGROUND = "background"
    #: Its capacity is multiplied with `value`.
    CAPACITY = "capacity"
    #: The leader is another broker from now on, and remembers nothing.
    LEADER = "leader"
    #: The bundles are split in two.
    SPLIT = "split"
    #: Somebody unloads the bundles, to the broker at position `value`.
    UNLOAD = "unload"
    #: Shedding is switched on (`value` 1) or off (0).
    SHEDDING = "shedding"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens to the cluster at a time."""

    time_s: float
    kind: Kind
    #: Positions of brokers, or of bundles for a split and for an unload.
    subjects: tuple[int, ...] = ()
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class World:
    """One experiment, drawn and ready to run: a scenario with a seed."""

    machines: Machines
    bundles: Bundles
    changes: tuple[Change, ...]
    #: In order of time.
    events: tuple[Event, ...]
    #: s that are simulated.
    duration_s: float
    #: s at which what is asked about begins: outcomes count from here.
    event_s: float
    #: Seeds everything random that is yet to come.
    seed: int


# ------------------------------------------------------------------ what came of it


@dataclass(frozen=True, slots=True)
class Moves:
    """Every change of an owner that somebody decided, in order; all arrays are (n_moves,)."""

    time_s: Floats
    #: Round in which it was shed, -1 for a placement without one (a broker left).
    round: Ints
    bundle: Ints
    #: Positions of brokers; -1 if it had no owner.
    source: Ints
    target: Ints
    #: Percent: true usage of both, over the last minute, as the moves of the same round
    #: before this one have left it; and after this one.  Same traffic.
    source_before: Floats
    source_after: Floats
    target_before: Floats
    target_after: Floats
    #: Percent: the same at the end of the round, and the mean over brokers that are up.
    source_end: Floats
    target_end: Floats
    mean: Floats
    #: s without an owner that serves, and share of the cluster's bytes that it carried.
    outage_s: Floats
    traffic_share: Floats
    #: The placer had nobody below its bar and drew among all.
    is_fallback: Flags


@dataclass(frozen=True, slots=True)
class Rounds:
    """Every round of shedding, in order."""

    #: (n_rounds,) s at which it began, and s that it took.
    time_s: Floats
    duration_s: Floats
    #: (n_rounds,) bundles that the strategy named, and that were moved.
    planned: Ints
    moved: Ints
    #: (n_rounds,) mean of the strategy's scores as it counts them.
    average: Floats
    #: (n_rounds, n_brokers) the strategy's score; NaN for a broker that the leader does not know.
    scores: NDArray[np.float32]
    #: (n_rounds,) what the class threw, or "".
    error: tuple[str, ...]
    #: (n_rounds,) why a strategy of trimtab's own did what it did, or nothing; "" of Pulsar's.
    reason: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a strategy predicted of a broker that a round touched; percent."""

    time_s: float
    broker: int
    before: float
    after: float
    #: Standard deviation of the change, and of the usage afterwards.
    change_deviation: float
    deviation: float
    #: True usage over the last minute, before and as the round left it; same traffic.
    true_before: float
    true_after: float


@dataclass(frozen=True, slots=True)
class Run:
    """What a simulation leaves behind."""

    #: As it was simulated: halves of bundles that were split stand behind all others.
    world: World
    #: s a tick.
    tick_s: float
    #: (n_ticks, n_brokers) percent, true: the busiest of CPU, NIC in and NIC out; NaN while
    #: a broker is down.
    usage: NDArray[np.float32]
    #: (n_ticks,) bytes that clients wanted to pass, that passed, and that did not because
    #: brokers were full or bundles had no owner.
    offered: Floats
    served: Floats
    lost: Floats
    #: (n_minutes, n_brokers) percent of the CPU that other processes took, and capacity; NaN
    #: while a broker is down.
    background: NDArray[np.float32]
    capacity: NDArray[np.float32]
    #: (n_minutes,) work of all bundles, percent of a reference machine.
    work: Floats
    moves: Moves
    rounds: Rounds
    #: 1/percent, c of usage = x + c·x², where x is background plus work by capacity.
    cpu_convexity: float = 0.0
    #: The simulation was cut short (a time limit): nothing may be concluded of it.
    is_cut: bool = False
    #: Counters: reports written, recomputations, splits …
    counts: dict[str, int] = field(default_factory=dict)
    #: In order of time, and what the strategy advised an operator to do, each once.
    predicted: tuple[Predicted, ...] = ()
    advice: tuple[str, ...] = ()
