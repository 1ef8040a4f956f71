"""Records in the store that stand still while the load of their brokers moves."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import numpy as np

from trimtab.diagnose.answers import LATE_S
from trimtab.diagnose.evidence import of_moves
from trimtab.diagnose.failed_orders import carried_out
from trimtab.diagnose.night import Finding, Move, Night
from trimtab.diagnose.other_events import round_at
from trimtab.diagnose.reports import Answers, BrokerReports, of_reports
from trimtab.pulsar.channel import MANAGER
from trimtab.pulsar.model import Flags, Floats, Ints

#: Answers in a row, and the s between the first and the last of them.
_ANSWERS, _LASTING_S = 3, 120.0
#: Fraction of usage, and share of traffic, by which the load has moved.
_MOVED = 0.01
#: Bytes/s below which traffic is as good as none.
_IDLE = 10_000.0


class _Frozen(NamedTuple):
    """A record that stands still: its position, and those of the answers that show it."""

    at: int
    shown: Ints


def frozen_record(night: Night) -> list[Finding]:
    """Find brokers whose record in the store stood still while what they said of themselves moved.

    A record is written anew when the load has changed by a threshold, and after a time in any
    case; under the extensible manager it holds no load and is written at the start alone.
    It is frozen where three answers in a row, over REST or in metrics and over two
    minutes or more, show that it was due and not written.  High where moves from the broker or
    to it relied on it.

    Source:
        impl/ModularLoadManagerImpl.java needBrokerDataUpdate, LoadReportUpdaterTask.java, 4.0.8
    """
    return [
        _finding(night, broker, record, answers, frozen)
        for broker, answers in sorted(night.answers.items())
        if (record := night.reports.get(broker)) is not None
        and record.times
        and MANAGER not in record.managers
        for frozen in _frozen(night, broker, record, answers)
    ]


def _frozen(
    night: Night, broker: str, record: BrokerReports, answers: Answers
) -> Iterator[_Frozen]:
    written, asked = _seconds(record), _seconds(answers)
    at = np.searchsorted(written, asked, side="right") - 1
    is_due = _is_due(night, record, answers, at) & (asked <= _last_write_s(night, broker))
    for position in np.unique(at[is_due & (at >= 0)]).tolist():
        mine = np.flatnonzero(at == position)
        for run in np.split(mine, np.flatnonzero(np.diff(is_due[mine])) + 1):
            lasted_s = asked[run[-1]] - asked[run[0]]
            if not is_due[run[0]] or run.size < _ANSWERS or lasted_s < _LASTING_S:
                continue
            since, until = record.times[position], answers.times[run[-1]]
            if not _is_missed(record, position) and not _is_gone(night, broker, since, until):
                yield _Frozen(position, run)
                break


def _is_due(night: Night, record: BrokerReports, answers: Answers, at: Ints) -> Flags:
    """Return of each answer whether the record should have been written by then, (n_answers,)."""
    known, threshold = of_reports(record), night.report_threshold
    with np.errstate(all="ignore"):
        host, all_resources = (
            np.abs(now - then[at])
            for now, then in ((answers.usage, known.usage), (answers.busiest, known.busiest))
        )
        traffic = np.abs(answers.throughput - known.throughput[at])
        share = np.nan_to_num(traffic / np.maximum(known.throughput[at], _IDLE))
    age_s = _seconds(answers) - _seconds(record)[at]
    has_moved = (host >= _MOVED) | (share >= _MOVED)
    is_late = age_s > night.report_interval_s_max + LATE_S
    # Before 4.0 the busiest of all counts, heap included, so that both must have changed.
    is_changed = ((host > threshold) & (all_resources > threshold)) | (share > threshold)
    return np.asarray((is_late & has_moved) | is_changed)


def _seconds(said: BrokerReports | Answers) -> Floats:
    return np.array([time.timestamp() for time in said.times])


def _last_write_s(night: Night, broker: str) -> float:
    """Return how long the store was recorded: until another's record or an owner changed."""
    written = [it.times[-1] for other, it in night.reports.items() if other != broker]
    owned = [time for owners in night.owners.values() for time, _ in owners]
    return max((time.timestamp() for time in (*written, *owned)), default=-np.inf)


def _is_missed(record: BrokerReports, at: int) -> bool:
    """Return whether the recording missed a write between a record and the next."""
    versions = record.versions[at : at + 2]
    return versions.size == 2 and versions[0] >= 0 and versions[1] > versions[0] + 1


def _is_gone(night: Night, broker: str, since: datetime, until: datetime) -> bool:
    """Return whether the record was deleted within a time, as when a broker stops."""
    return any(
        usage.usage is None and usage.broker == broker and since < usage.time <= until
        for usage in night.usages
    )


def _finding(
    night: Night, broker: str, record: BrokerReports, answers: Answers, frozen: _Frozen
) -> Finding:
    since, until = record.times[frozen.at], answers.times[frozen.shown[-1]]
    moves: list[Move] = [
        move
        for logged in carried_out(night)
        for move in logged.moves
        if broker in {move.source, move.target} and since < move.time <= until
    ]
    written = float(of_reports(record).usage[frozen.at])
    apart = np.abs(answers.usage[frozen.shown] - written)
    widest = int(frozen.shown[int(np.argmax(np.nan_to_num(apart)))])
    return Finding(
        "frozen-record.relied" if moves else "frozen-record",
        "high" if moves else "medium",
        since,
        round_at(night, since),
        brokers=(broker,),
        numbers={
            "minutes": (until - since).total_seconds() / 60,
            "written": written,
            "said": float(answers.usage[widest]),
            "answers": int(frozen.shown.size),
        },
        values={"many": len(moves)},
        **of_moves(moves),
    )
