"""What a recording tells, as arrays: brokers and bundles are positions, times are seconds.

Seconds count from 1970 here; what is simulated counts from its own beginning.  No functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from trimtab.pulsar.model import Flags, Floats, Ints


@dataclass(frozen=True, slots=True)
class Reports:
    """Load reports, in order of time; all arrays are (n_reports, …)."""

    #: When the store took it, or when the broker was asked.
    time_s: Floats
    broker: Ints
    #: The broker had left.
    is_gone: Flags
    #: It was written to the store, and not asked for.
    is_stored: Flags
    #: When the process began; NaN if it does not say.
    started_s: Floats
    #: (n_reports, 5) what is used and what there is, columns RESOURCES; NaN if it does not say.
    usage: Floats
    limit: Floats


@dataclass(frozen=True, slots=True)
class Lines:
    """What reports say of bundles, in order of time; all arrays are (n_lines, …)."""

    time_s: Floats
    broker: Ints
    bundle: Ints
    #: (n_lines, 4) messages/s and bytes/s, columns METRICS.
    rates: Floats
    topics: Floats
    producers: Floats
    #: The broker wrote the report to the store by itself, as soon as its load had changed, and
    #: none was missed between the one before and this.
    is_prompt: Flags


@dataclass(frozen=True, slots=True)
class Owners:
    """Changes of owners, in order of time; all arrays are (n_changes,)."""

    time_s: Floats
    bundle: Ints
    #: Positions; -1 for nobody.
    broker: Ints
    #: The leader unloaded it in a round.
    is_shed: Flags
    #: The time is that of the change, and not when somebody saw it.
    is_exact: Flags


@dataclass(frozen=True, slots=True)
class ProcessCpu:
    """What brokers' processes have used since they began, in order of time; (n_scrapes,)."""

    time_s: Floats
    broker: Ints
    #: s of one core.
    used_s: Floats


def _unscraped() -> ProcessCpu:
    return ProcessCpu(np.empty(0), np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True, slots=True)
class Averages:
    """Averages of bundles that leaders stored, in order of time; arrays are (n_stored, …)."""

    time_s: Floats
    bundle: Ints
    #: (n_stored, 2) samples in the short and in the long average.
    samples: Ints
    #: (n_stored, 2, 2) messages/s: the short and the long average, each in and out.
    rates: Floats


def _unstored() -> Averages:
    nothing = np.empty(0, np.int64)
    return Averages(np.empty(0), nothing, np.empty((0, 2), np.int64), np.empty((0, 2, 2)))


@dataclass(frozen=True, slots=True)
class Printed:
    """What a round printed of what its shedder remembers; brokers by name."""

    #: AvgShedder's counters, this round among what they count; None if they were not printed.
    hits_low: Mapping[str, int] | None = None
    hits_high: Mapping[str, int] | None = None
    #: Brokers whose counters it dropped then, since their turn had come.
    dropped: frozenset[str] = frozenset()
    #: Smoothed usage, this round's in it, of the brokers that were over the bar, and the mean of
    #: all; fractions, and NaN if it was not printed.
    smoothed: Mapping[str, float] = field(default_factory=dict)
    average: float = math.nan


@dataclass(frozen=True, slots=True)
class Round:
    """A round of the leader: one that it logged, or one that must have been."""

    time_s: float
    #: Bundles that the log says were unloaded, in order, and where each was to go (-1: unknown).
    unloads: tuple[tuple[int, int], ...] = ()
    #: s for which the leader waited for each unload; the last one only if the next round is
    #: logged too, which begins an interval after the end of this one.
    waited_s: tuple[float, ...] = ()
    #: The leader's own score of each broker, as decided again from what it was told; empty
    #: where that could not be done.
    scores: Mapping[int, float] | None = None
    #: Why these may differ from the leader's; None if that is sure.
    doubt: str | None = None
    #: Number in the log; 0 for one that logged nothing.
    number: int = 0
    printed: Printed = field(default_factory=Printed)


@dataclass(frozen=True, slots=True)
class Stop:
    """A broker was stopped or killed by somebody."""

    time_s: float
    broker: int
    is_kill: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """All of it."""

    brokers: tuple[str, ...]
    bundles: tuple[str, ...]
    reports: Reports
    lines: Lines
    owners: Owners
    #: (time, broker) of elections.
    leaders: tuple[tuple[float, int], ...]
    stops: tuple[Stop, ...]
    #: In order of time.
    rounds: tuple[Round, ...]
    #: What the leader unloaded is known, so that somebody else did what is not marked as shed.
    is_attributed: bool = True
    process_cpu: ProcessCpu = field(default_factory=_unscraped)
    averages: Averages = field(default_factory=_unstored)
    #: When the log of the leader of the first round begins; infinity if that is not known.
    logged_s: float = math.inf
