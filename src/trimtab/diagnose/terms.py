"""Tenures of leadership, and when the leader's shedding task ran in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from trimtab.diagnose.night import Event, Round

#: The task ran and asked no shedder.
IDLE = frozenset({"only-one-broker"})


@dataclass(frozen=True, slots=True)
class Term:
    """One tenure of leadership, as far as a log shows it."""

    number: int
    log_broker: str
    #: When it began; None if the log began later.
    elected: datetime | None
    end: datetime
    rounds: tuple[Round, ...]
    #: Times at which the task ran without asking the shedder.
    idle: tuple[datetime, ...]


def terms(rounds: Sequence[Round], events: Sequence[Event], end: datetime) -> tuple[Term, ...]:
    """Return the tenures of leadership, each with its rounds.

    A tenure is bounded by the line in which a broker says that it was elected, or by a
    round in another broker's log.  The last one ends with the recording.
    """
    marks: list[tuple[datetime, int, str, Round | None]] = [
        (event.time, 0, event.log_broker, None)
        for event in events
        if event.kind == "elected-leader"
    ]
    marks += [(r.time, 1, r.log_broker, r) for r in rounds]
    marks.sort(key=lambda mark: mark[:3])
    drafts: list[tuple[str, datetime | None, list[Round]]] = []
    for time, _, log_broker, this in marks:
        if this is None:
            drafts.append((log_broker, time, []))
        elif not drafts or drafts[-1][0] != log_broker:
            drafts.append((log_broker, None, [this]))
        else:
            drafts[-1][2].append(this)
    ends = [draft[1] or draft[2][0].time for draft in drafts[1:]] + [end]
    idle = [e for e in events if e.kind in IDLE]
    return tuple(
        Term(
            number=i + 1,
            log_broker=log_broker,
            elected=elected,
            end=ends[i],
            rounds=tuple(replace(r, term=i + 1) for r in ran),
            idle=tuple(
                e.time
                for e in idle
                if e.log_broker == log_broker and (elected or ran[0].time) <= e.time <= ends[i]
            ),
        )
        for i, (log_broker, elected, ran) in enumerate(drafts)
    )


def ticks(term: Term, interval_s: float) -> tuple[tuple[datetime, int | None], ...]:
    """Return when the shedding task asked the shedder: logged rounds and silent ones between.

    The task waits an interval after the end of each run, and a round in which nobody
    passes the bar leaves no line, so rounds are missing from the log but not from the
    smoothed usage.

    Returns:
        (time, round number or None for a silent round), in order.
    """
    interval = timedelta(seconds=interval_s)
    runs = [(r.time, r.end, r.number) for r in term.rounds]
    runs += [(time, time, 0) for time in term.idle]
    runs.sort()
    last = term.elected
    times: list[tuple[datetime, int | None]] = []
    for time, end, number in runs:
        if last is not None:
            silent = round((time - last) / interval) - 1
            step = (time - last) / (silent + 1) if silent > 0 else interval
            times += [(last + step * (i + 1), None) for i in range(silent)]
        if number:
            times.append((time, number))
        last = end
    while last is not None and last + interval <= term.end:
        last += interval
        times.append((last, None))
    return tuple(times)
