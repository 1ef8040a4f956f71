"""The nouns of a diagnosis: what was logged, what was recomputed, what was found.

A night is the recorded stretch of time, whatever the hour.  No functions that decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from trimtab.diagnose.reports import Answers, BrokerReports, BundleReports
from trimtab.diagnose.usages import Usages
from trimtab.diagnose.wording import worded, wording
from trimtab.pulsar.channel import IN_FLIGHT
from trimtab.pulsar.model import Floats, Ints
from trimtab.pulsar.settings.channel import ChannelSettings


@dataclass(frozen=True, slots=True)
class Event:
    """One row of `log_events`."""

    time: datetime
    log_broker: str
    file: str
    line: int
    kind: str
    text: str
    thread: str | None = None
    level: str | None = None
    logger: str | None = None
    strategy: str | None = None
    broker: str | None = None
    bundle: str | None = None
    target: str | None = None
    count: int | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)
    brokers: tuple[str, ...] = ()


class BrokerState(NamedTuple):
    """One broker in one round, as far as it is known.

    A tuple, since a large night has some hundred thousand: they are made three times as fast.
    """

    #: Weighted usage of the latest report, fraction; None if no report is there.
    usage: float | None = None
    #: The shedder's smoothed usage, fraction.
    smoothed: float | None = None
    #: Bytes/s in and out.
    throughput: float | None = None
    #: Bytes/s that the shedder wanted to move away; None where nothing was asked.
    offload: float | None = None
    #: Bundles reported.
    bundles: int | None = None
    #: Why it was shed or not, in Pulsar's word; None where it was not recomputed.
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Draw:
    """How the destination of one bundle was chosen."""

    #: Brokers left by the filters: how many, as logged.
    count: int | None
    #: The leader logged that nobody passed the bar, so that all were drawn from.
    is_fallback: bool
    #: Candidate → the placer's score, in set order; empty where it is not known.
    scores: Mapping[str, float] = field(default_factory=dict)
    #: Mean of the scores and the distance below it that makes a candidate; fractions.
    average: float | None = None
    margin: float | None = None
    #: Whether the recomputed draw agrees with the log; None: could not be recomputed.
    equal: bool | None = None
    #: Log lines that tell of the draw.
    evidence: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A logged decision beside the recomputed one."""

    #: None: not decidable.
    equal: bool | None
    why: str
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Move:
    """One unload as logged."""

    id: str
    time: datetime
    round: int
    bundle: str
    source: str
    target: str | None
    strategy: str
    evidence: tuple[Event, ...]
    draw: Draw | None
    recomputed: Recomputed
    #: Bytes/s of the bundle in the leader's short-term average, where known.
    throughput: float | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """One run of the shedding task that left a line in the leader's log."""

    number: int
    term: int
    time: datetime
    end: datetime
    log_broker: str
    strategy: str
    events: tuple[Event, ...]
    moves: tuple[Move, ...] = ()
    brokers: Mapping[str, BrokerState] = field(default_factory=dict)
    average: float | None = None
    threshold: float | None = None
    recomputed: Recomputed = field(default_factory=lambda: Recomputed(None, ""))

    def moves_from(self, broker: str) -> list[Move]:
        """Return the moves that took a bundle from a broker."""
        return [move for move in self.moves if move.source == broker]


class Unfit(NamedTuple):
    """The lightest bundle of a broker whose bundles all carry more than it was to lose."""

    #: Position of the round.
    at: int
    broker: str
    bundle: str
    #: What the bundle carried, and what was to move: messages/s or bytes/s.
    carried: float
    offload: float
    is_rate: bool


@dataclass(frozen=True, slots=True)
class Decisions:
    """All rounds that were decided again, silent ones included, as columns."""

    #: (n_rounds,) in order of tenure and time.
    times: tuple[datetime, ...] = ()
    terms: tuple[int, ...] = ()
    #: Number of the logged round, 0 for a silent one.
    numbers: tuple[int, ...] = ()
    #: Bundles chosen.
    unloads: tuple[int, ...] = ()
    #: Mean of the scores, as the shedder has them.
    averages: tuple[float, ...] = ()
    #: (n_rounds + 1,) where each round's brokers begin in the columns below.
    offsets: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    brokers: tuple[str, ...] = ()
    usage: Floats = field(default_factory=lambda: np.empty(0))
    scores: Floats = field(default_factory=lambda: np.empty(0))
    throughput: Floats = field(default_factory=lambda: np.empty(0))
    reasons: tuple[str, ...] = ()
    #: In order of the rounds; few rounds have any.
    too_large: tuple[Unfit, ...] = ()


class Handover(NamedTuple):
    """A bundle that went from one broker to another."""

    #: When it was first seen with its new owner.
    time: datetime
    bundle: str
    source: str
    target: str


class Transition(NamedTuple):
    """A change of a bundle's state under the extensible load manager; columns of `transitions`."""

    time: datetime
    bundle: str
    #: States before and after; None: not known.
    before: str | None
    state: str
    #: Who owned the bundle before, by the record.
    owner: str | None
    target: str | None
    source: str | None
    is_forced: bool
    version: int | None
    step: str
    ordered_by: str | None
    #: The line in which it was ordered.
    evidence: Event | None
    verdict: str
    lasted_s: float
    #: It stood to the end of the recording.
    is_last: bool
    origin: str
    stamped: datetime | None
    file: str
    line: int

    def is_stuck(self, waiting_s: float) -> bool:
        """Return whether the bundle was on its way for longer than clients are made to wait."""
        return self.state in IN_FLIGHT and self.lasted_s > waiting_s


class LateTelling(NamedTuple):
    """A broker heard of a record of a bundle's state later than others."""

    broker: str
    #: In which it says so.
    line: Event
    #: Behind the first who says so.
    lag_s: float


@dataclass(frozen=True, slots=True)
class Channel:
    """What is known of the extensible manager's channel of bundle states."""

    #: In order of time.
    transitions: tuple[Transition, ...]
    #: Broker → when it was alive (True) or gone (False), in order of time.
    presence: Mapping[str, Sequence[tuple[datetime, bool]]]
    settings: ChannelSettings
    #: When the recording ends.
    end: datetime
    #: What only the owner of the channel does: lines of its monitor and of its clean-ups, and
    #: records by which it overrode, each under the broker that did it, in order of time.
    acts: tuple[Event, ...] = ()
    #: When which broker said that it leads, in order of time.
    elected: tuple[tuple[datetime, str], ...] = ()
    #: What brokers heard of late, in order of time.
    late: tuple[LateTelling, ...] = ()


@dataclass(frozen=True, slots=True)
class Heavy:
    """A bundle among those with most traffic, averaged over the night."""

    bundle: str
    broker: str
    #: Bytes/s, in and out.
    throughput: float
    topics: int


@dataclass(frozen=True, slots=True)
class Night:
    """All that the findings look at."""

    rounds: tuple[Round, ...]
    usages: Usages
    #: Fraction above the average at which a broker sheds.
    threshold: float
    #: Fraction below the average at which a broker is a placer's candidate.
    margin: float
    grace_period_s: float
    interval_s: float
    #: Tenure → when it began; absent where the log began later.
    elected: Mapping[int, datetime] = field(default_factory=dict)
    #: How much the past weighs in the smoothed usage, 0 to 1.
    history_share: float = 0.9
    #: Lines that are of no round, in order of time; see `other_events.py` for the kinds.
    events: tuple[Event, ...] = ()
    #: Broker → what it reported to the store.
    reports: Mapping[str, BrokerReports] = field(default_factory=dict)
    #: Broker → what it said of itself beside the store, where it was asked.
    answers: Mapping[str, Answers] = field(default_factory=dict)
    #: Change of load, fraction, and s after which a broker writes its record anew.
    report_threshold: float = 0.1
    report_interval_s_max: float = 900.0
    #: Bundle that was moved or is among the heaviest → what brokers reported of it.
    bundles: Mapping[str, BundleReports] = field(default_factory=dict)
    #: Moved bundle → its owners from when on, in order of time, as the store says.
    owners: Mapping[str, Sequence[tuple[datetime, str]]] = field(default_factory=dict)
    #: Moved bundle → when it lost its owner, in order of time, as the store says.
    released: Mapping[str, Sequence[datetime]] = field(default_factory=dict)
    #: Changes of owners that no line, no departure and no request explains, in order of time.
    unexplained: tuple[Handover, ...] = ()
    #: Log folder → lines that would tell of the balancer and could not be read.
    misread: Mapping[str, int] = field(default_factory=dict)
    #: Moved bundle → who acquired it when, in order of time, as the brokers' logs say.
    acquired: Mapping[str, Sequence[tuple[datetime, str]]] = field(default_factory=dict)
    #: What is known of the extensible manager's channel; None where another manager ran.
    channel: Channel | None = None
    #: Who led from when on, None for nobody; as the store says.
    leaders: tuple[tuple[datetime, str | None], ...] = ()
    #: Log folder → broker id.
    names: Mapping[str, str] = field(default_factory=dict)
    #: Bundles with the most traffic, heaviest first.
    heaviest: tuple[Heavy, ...] = ()
    decisions: Decisions = field(default_factory=Decisions)
    release: str = "4.0.8"
    shedder: str = "ThresholdShedder"
    placer: str = "LeastResourceUsageWithWeight"
    #: Settings as written.
    conf: Mapping[str, str] = field(default_factory=dict)
    #: When the recording begins; what is known from before is what stood then.
    begin: datetime | None = None
    #: When the recording ends; None where nothing was recorded.
    end: datetime | None = None
    #: Names of the brokers' logs that are there and can be read; None where nobody looked.
    logs: frozenset[str] | None = None
    #: Names of the logs of which no line could be read.
    unread: frozenset[str] = frozenset()
    #: Some setting is there, so that what is not set has its default.
    has_settings: bool = True

    def broker(self, log: str) -> str:
        """Return the broker whose log lies in a folder, or the folder's name."""
        return self.names.get(log, log)

    def logged(self) -> frozenset[str] | None:
        """Return the brokers whose log is there; None where nobody looked."""
        return None if self.logs is None else frozenset(map(self.broker, self.logs))

    def moves(self) -> list[Move]:
        """Return the moves of all rounds, in their order."""
        return [move for logged in self.rounds for move in logged.moves]


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause, with its evidence; its texts are those of findings.toml."""

    #: Its code, and behind dots the variants of its wording.
    wording: str
    severity: str
    time: datetime
    round: int
    brokers: tuple[str, ...] = ()
    bundles: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    evidence: tuple[Event, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    #: What its texts name besides its numbers, its brokers and its bundle.
    values: Mapping[str, Any] = field(default_factory=dict)
    #: Its rounds, where it has several inside, in order of time; see `places.py`.
    parts: tuple[Finding, ...] = ()
    #: Its text then, which tells of the worst of them.
    story: str = ""

    @property
    def code(self) -> str:
        """Return its kind: `ping-pong`."""
        return self.wording.partition(".")[0]

    def text(self, name: str) -> str:
        """Return one of its texts: `title`, `text`, `better` or `advice`."""
        if name == "text" and self.story:
            return self.story
        bundle = next(iter(self.bundles), "")
        namespace, _, range_ = bundle.rpartition("/")
        concerned = {
            "brokers": self.brokers,
            "broker": next(iter(self.brokers), ""),
            "bundle": bundle,
            "namespace": namespace,
            "range": range_,
        }
        values = {**concerned, **self.numbers, **self.values}
        return worded(wording(self.wording), name, values).strip()


@dataclass(frozen=True, slots=True)
class Undecidable:
    """A question that the recording cannot answer."""

    what: str
    why: str
    missing: str
    round: int | None = None
    time: datetime | None = None
