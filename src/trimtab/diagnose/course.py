"""What the tables tell → who led when, and which tenures are to be decided again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trimtab.diagnose.broker_loads import named_brokers
from trimtab.diagnose.deployment import Deployment
from trimtab.diagnose.night import Event, Round, Undecidable
from trimtab.diagnose.replay.tenures import Tenure, tenures
from trimtab.diagnose.reports import of_origin
from trimtab.diagnose.rounds import BEGINS, UNLOADING, rounds
from trimtab.diagnose.terms import IDLE, Term, terms
from trimtab.diagnose.transfers.again import NOTHING_PUBLISHED
from trimtab.diagnose.usages import Usages
from trimtab.pulsar.channel import SHEDDER
from trimtab.pulsar.releases import release_line
from trimtab.pulsar.shed import shedder

#: Kinds of lines that tell of leaders, besides those of the shedders' loggers.
OF_LEADERS = UNLOADING | IDLE | {BEGINS, "elected-leader", "broker-starting"}
#: Shedders that print what `compared` asks for.
_COMPARED = ("ThresholdShedder", "OverloadShedder", "UniformLoadShedder", "AvgShedder")
#: Brokers that are named where very many have no report.
_NAMED_MAX = 10


@dataclass(frozen=True, slots=True)
class Basis:
    """What a diagnosis reads before it knows of any round."""

    #: Log folder → broker id.
    names: Mapping[str, str]
    #: Log folder → what has been taken off the times of its lines, since its clock is off.
    ahead: Mapping[str, timedelta]
    #: Rows of `leaders`.
    leaders: Sequence[Mapping[str, Any]]
    #: Lines that tell of leaders, and the elections that only the store knows.
    events: Sequence[Event]
    #: Rows of `load_reports`, with `bundle_count` in place of `bundles`.
    reports: pa.Table
    ran: Deployment
    usages: Usages
    #: When the recording begins, as far as that is known.
    begin: datetime | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """Who led when, as logged, and what of it is to be decided again."""

    #: When the recording ends.
    end: datetime
    terms: tuple[Term, ...]
    #: Why no round can be decided again; None if they can.
    open_question: Undecidable | None
    #: Tenures to replay.
    replays: Sequence[Tenure]

    def rounds(self) -> list[Round]:
        """Return the logged rounds of all tenures."""
        return [each for term in self.terms for each in term.rounds]

    def moved(self) -> frozenset[str]:
        """Return the bundles of which an unload is logged."""
        return frozenset(move.bundle for each in self.rounds() for move in each.moves)


def course(basis: Basis) -> Course:
    """Return a night's tenures, and which of them are to be replayed."""
    ran, events = basis.ran, basis.events
    times = [event.time for event in events] + [*basis.usages.ends()]
    end = max(times, default=datetime.fromtimestamp(0, UTC))
    logged = rounds(events, ran.manager.shedding_interval_s)
    all_terms = terms(logged, events, end)
    open_question = _not_covered(ran, basis.reports, named_brokers(logged))
    replays = tenures(all_terms, ran, basis.names, basis.ahead) if open_question is None else []
    return Course(end, all_terms, open_question, replays)


def _not_covered(ran: Deployment, reports: pa.Table, named: frozenset[str]) -> Undecidable | None:
    """Return why no round can be recomputed; None if they can.

    The `named` are the brokers that the lines of the rounds name: each counts in the average.
    """
    what, line = "recomputation of the rounds", release_line(ran.release)
    if ran.shedder == SHEDDER:
        return NOTHING_PUBLISHED
    if ran.shedder not in _COMPARED or shedder(ran.shedder, ran.release) is None:
        why = f"{ran.shedder} of release line {line} is not among the strategies recomputed"
        return Undecidable(what, why, f"one of: {', '.join(_COMPARED)}")
    stored = of_origin(reports, "store")
    stored = stored.filter(pc.is_valid(stored["cpu_usage"]))
    if not len(stored):
        why = "what the leader was told is not in the recording"
        return Undecidable(what, why, "store/zookeeper/ or store/brokers.jsonl")
    if silent := sorted(named - set(pc.unique(stored["broker"]).to_pylist())):
        few = ", ".join(silent[:_NAMED_MAX])
        why = f"of {len(silent)} broker(s) in the leader's lines the store has no report: {few}"
        return Undecidable(what, why, "store/zookeeper/ or store/brokers.jsonl of all brokers")
    return None


def beginning(
    meta: Mapping[str, str], events: Sequence[Event], reports: pa.Table
) -> datetime | None:
    """Return when a recording begins: as its settings say, else with what was recorded first."""
    try:
        begin = datetime.fromisoformat(meta.get("from", ""))
    except ValueError:
        times = [event.time for event in events if event.logger is not None]
        earliest = pc.min(reports["time"]).as_py()
        return min([*times, *([earliest] if earliest else [])], default=None)
    return begin if begin.tzinfo is not None else begin.replace(tzinfo=UTC)
