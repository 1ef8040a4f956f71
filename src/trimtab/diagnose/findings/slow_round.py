"""Rounds, and unloads outside of rounds, that took long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from trimtab.diagnose.night import Event, Finding, Move, Night, Round
from trimtab.diagnose.other_events import grouped, other_events, round_at

#: Seconds between the first line and the last from which a round is slow.
_SLOW_S = 30.0
#: An unload that is told of later than this was another one: the leader waits no longer.
_UNLOADING_S = 75.0
#: Seconds from which an unload of no round is slow.
_UNLOAD_S = 60.0


def slow_round(night: Night) -> list[Finding]:
    """Find rounds that took half a minute or more.

    Unloads are made one after the other on the thread that also measures the leader's usage
    and writes its report, and the next round begins an interval after the end of this one.
    A round ends with its last line, or with that in which a source has given its bundle up.
    High if it took longer than the shedding interval, low otherwise.  An unload of no round
    counts where its owner says that it took a minute or more: low.

    Source:
        LoadSheddingTask.java, LoadReportUpdaterTask.java, 4.0.8: one executor
    """
    given_up = grouped(other_events(night, "bundle-unloaded"), lambda event: event.bundle or "")
    findings = []
    for logged in night.rounds:
        ends = [end for move in logged.moves if (end := _end(night, move, given_up)) is not None]
        last = max([logged.events[-1], *ends], key=lambda event: event.time)
        if (last.time - logged.time).total_seconds() >= _SLOW_S:
            findings.append(_finding(night, logged, last))
    return findings + _outside(night, [event for each in given_up.values() for event in each])


def _outside(night: Night, given_up: Sequence[Event]) -> list[Finding]:
    """Return a finding for each slow unload that no round ordered."""
    ordered: dict[str, list[Move]] = grouped(night.moves(), lambda move: move.bundle)
    slow = [
        (event, took_s)
        for event in given_up
        if (took_s := event.numbers.get("took_ms", 0.0) / 1000) >= _UNLOAD_S
        and not any(
            move.time <= event.time <= move.time + timedelta(seconds=took_s + _UNLOADING_S)
            for move in ordered.get(event.bundle or "", ())
        )
    ]
    return [
        Finding(
            "slow-round.unload",
            "low",
            event.time - timedelta(seconds=took_s),
            round_at(night, event.time - timedelta(seconds=took_s)),
            brokers=(night.broker(event.log_broker),),
            bundles=(event.bundle or "",),
            evidence=(event,),
            numbers={"took_s": took_s, "topics": event.count},
        )
        for event, took_s in slow
    ]


def _end(night: Night, move: Move, given_up: Mapping[str, Sequence[Event]]) -> Event | None:
    """Return the line in which the source says that it has given a bundle up."""
    until = move.time + timedelta(seconds=_UNLOADING_S)
    for event in given_up.get(move.bundle, ()):
        is_mine = night.broker(event.log_broker) == move.source
        if is_mine and move.time <= event.time <= until:
            return event
    return None


def _finding(night: Night, logged: Round, last: Event) -> Finding:
    took_s = (last.time - logged.time).total_seconds()
    return Finding(
        "slow-round",
        "high" if took_s > night.interval_s else "low",
        logged.time,
        logged.number,
        bundles=tuple(move.bundle for move in logged.moves),
        evidence=(logged.events[0], last),
        numbers={"took_s": took_s, "unloads": len(logged.moves)},
        values={"number": logged.number},
    )
