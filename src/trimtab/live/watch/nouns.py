"""What a watch is told, what it goes by, and what it says.  No functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from trimtab.diagnose.deployment import Deployment
from trimtab.diagnose.night import Round
from trimtab.live.control.trust import Outcome, Trust

#: A table that ingest writes, and a row of it.
Row: TypeAlias = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What has come in since the last step."""

    #: By the clock of this machine.
    now: datetime
    #: In the order in which they came, of `load_reports` and `bundle_reports`,
    #: `bundle_averages`, `ownership`, `leaders` and `log_events`.
    rows: Sequence[Row] = ()
    #: What the watch itself has unloaded, and when.
    unloaded: Sequence[tuple[datetime, str]] = ()
    #: Log folder → lines that would tell of the balancer and could not be read.
    misread: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a watch goes by."""

    #: What the cluster runs.
    ran: Deployment
    #: Who decides beside Pulsar: class names, and keys of broker.conf.
    shedder: str
    placer: str
    conf: Mapping[str, str]
    #: Between two rounds, s.
    interval_s: float
    #: Log folder → broker id, of the brokers whose logs are read.
    logs: Mapping[str, str] = field(default_factory=dict)
    #: Every write to the store is seen, not what brokers answer now and then.
    sees_writes: bool = False
    #: Who decides beside is a strategy of trimtab's own, which has turns of its own.
    is_own: bool = False
    #: It goes by what brokers write to the store, and not by what they answer.
    reads_store: bool = False


@dataclass(frozen=True, slots=True)
class Decided:
    """A round, decided again and by the strategy beside."""

    #: Counted since the watch began.
    number: int
    time: datetime
    leader: str
    #: Why its time is a guess; empty if the leader's log tells it.
    guessed: str
    #: Row of `replayed_rounds` of Pulsar's own strategy, its brokers an Arrow array; None if it
    #: cannot be recomputed.
    pulsar: Mapping[str, Any] | None
    #: The same of the strategy beside, with `targets` for each unload; None if it did not decide.
    shadow: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Compared:
    """A round of the leader's log beside what was recomputed; it comes after `Decided`."""

    #: As in `Decided`, and None if the round was over before the watch could decide it.
    number: int | None
    logged: Round


@dataclass(frozen=True, slots=True)
class Scored:
    """What became of a round until the next one; the shadow's is projected."""

    number: int
    time: datetime
    #: s, up to the next round.
    for_s: float
    #: Names of `MEASURES` → value.
    pulsar: Mapping[str, float]
    shadow: Mapping[str, float]
    #: Between which values the shadow's lie, as far as that is known.
    between: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unexplained:
    """Bundles that changed owners after a round although no line says that they were to."""

    number: int
    time: datetime
    #: Bundle, from and to.
    moves: tuple[tuple[str, str, str], ...]
    #: Lines of the leader that could not be read meanwhile.
    misread: int


@dataclass(frozen=True, slots=True)
class Acted:
    """What was made of a decided round, or of the plan that came of it."""

    number: int
    time: datetime
    #: Moves that were begun; once it is over, those of the plan.
    moves: int
    #: Moves a round that the throttle lets through.
    allowed: float
    #: What is not well.
    signs: tuple[str, ...]
    #: Why nothing was begun, or why the plan ended before it was done; empty if neither.
    why: str
    #: The plan has ended.
    is_over: bool = False
    #: Bundle and what became of its move.
    states: tuple[tuple[str, str], ...] = ()
    #: They are not begun but wait for an answer on the page.
    is_asking: bool = False
    #: What the number is of: a round, or a turn of a strategy of trimtab's own.
    noun: str = "round"


@dataclass(frozen=True, slots=True)
class SteeredMove:
    """A bundle that a strategy of trimtab's own would move."""

    bundle: str
    source: str
    target: str
    #: What it is to do to both brokers.
    reason: str
    #: Bytes/s, in and out.
    throughput: float


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the usage of a broker is to be when all moves of a turn are made, percent."""

    broker: str
    before: float
    after: float
    #: Standard deviation of the change, and of the usage afterwards.
    change_deviation: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Steered:
    """A turn of a strategy of trimtab's own."""

    #: Counted since the watch began.
    number: int
    time: datetime
    strategy: str
    #: Why these moves, or why none.
    reason: str
    moves: tuple[SteeredMove, ...]
    expected: tuple[Expectation, ...]
    #: What no move does: a bundle to split.
    advice: tuple[str, ...]
    #: Broker → percent, as the strategy believes it to be.
    levels: Mapping[str, float]
    #: How far its predictions are to be believed, and what came of those of today.
    trust: Trust
    record: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """What was predicted of a broker that bundles came to or left, beside what came of it."""

    broker: str
    #: Bundles that came or went, by whomever.
    moves: int
    #: Percent of CPU; the deviation is that of the measured one about what was predicted.
    before: float
    after: float
    deviation: float
    measured: float
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Foretold:
    """A prediction that could be checked, and when."""

    #: Of the turn at which it was known.
    number: int
    time: datetime
    checked: Checked


@dataclass(frozen=True, slots=True)
class Relearn:
    """Another broker leads: what its process has been told is to be gone through again."""

    leader: str
    #: When it was elected.
    since: datetime


Action: TypeAlias = Decided | Compared | Scored | Unexplained | Relearn | Acted | Steered | Foretold
