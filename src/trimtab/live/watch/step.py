"""What has come in and what is remembered → what is to be said, and what is remembered next.

Pure: no clock, no files, no network.  A watch runs behind the clock by as much as it takes
for everything of a moment to come in; then each thing is taken by its own time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from trimtab.diagnose.columns import columns
from trimtab.diagnose.compare import compared
from trimtab.diagnose.night import Event, Round
from trimtab.diagnose.replay.lookups import is_lookup
from trimtab.diagnose.replay.missed_writes import Gap, missed_write
from trimtab.diagnose.replay.replay import decided, forget, taken
from trimtab.diagnose.replay.timeline import LEFT, REPORT, ROUND, SELECTION, STORED, UNLOAD
from trimtab.diagnose.rounds import is_of_a_round, rounds
from trimtab.diagnose.terms import IDLE
from trimtab.lab.outcomes.recording import Unloaded
from trimtab.live.watch.deaf import Unloading, doubts, followed, is_deaf, is_done, looks
from trimtab.live.watch.events import Happening, happenings, line_event
from trimtab.live.watch.memory import Memory, Span, Term, newest_leader
from trimtab.live.watch.nouns import Action, Arrivals, Compared, Decided, Relearn, Settings
from trimtab.live.watch.scores import remember_usage, scored, unloaded
from trimtab.live.watch.targets import as_round, with_targets

#: All of a moment has come in after so long.
LAG = timedelta(seconds=2)
#: A round is over if its leader says nothing more for so long.
_OVER = timedelta(seconds=10)
#: The leader's log tells whether there was a round by then, as a share of the interval.
_SILENCE_SHARE = 0.25
#: Who owns a bundle that was looked up is seen within this time, or not at all.
_OWNED_WITHIN = timedelta(seconds=30)
_EARLY = timedelta(minutes=3)
_GAPS_KEPT = 256
_NOT_READ = "the leader's log is not read, so rounds are counted from its election"
_NOW = "as if there were a round now"
_OFF = "Pulsar's shedding is off"
_SILENT = "the leader logged nothing, so the time is that at which the round was due"
_MISREAD = "the leader's log is not understood, so the time is that at which the round was due"


def step(arrivals: Arrivals, memory: Memory, settings: Settings) -> tuple[list[Action], Memory]:
    """Return what is to be said and remembered, after deciding the rounds that all is known of.

    Returns:
        What is to be said, in order of time; and what is remembered next, for which the
        memory that was given is used up.

    Properties:
        What is said does not depend on how what comes in is cut into steps, as long as it
        comes within `LAG`.
    """
    events = [
        (line_event(row), row)
        for table, row in arrivals.rows
        if table == "log_events" and row["log_broker"] in settings.logs
    ]
    elected = newest_leader(arrivals.rows)
    term = memory.term
    if elected and (term is None or elected != (term.leader, term.since)):
        memory.term = None
        _keep(memory, arrivals, events)
        return [Relearn(*elected)], memory
    if term is None:
        _keep(memory, arrivals, events)
        return [], memory
    _hear(term, memory, arrivals, events)
    _announce(term, memory, settings)
    horizon = _horizon(term, memory, arrivals.now, settings)
    actions = _advance(term, memory, horizon, arrivals.now, settings)
    actions += _compare(term, memory, arrivals.now, settings)
    actions += scored(memory, term, arrivals.now)
    return actions, memory


def decided_at_once(memory: Memory, now: datetime, settings: Settings) -> list[Action]:
    """Return the round as it is decided now, not being due; nothing while nobody leads."""
    term = memory.term
    if term is None:
        return []
    _put(term, memory, now, _NOW)
    return [
        each for each in _advance(term, memory, now, now, settings) if isinstance(each, Decided)
    ]


def _keep(
    memory: Memory, arrivals: Arrivals, events: list[tuple[Event, Mapping[str, Any]]]
) -> None:
    """Keep lines of somebody who may turn out to lead."""
    memory.early += events
    memory.early = [each for each in memory.early if each[0].time > arrivals.now - _EARLY]


def _hear(
    term: Term, memory: Memory, arrivals: Arrivals, events: list[tuple[Event, Mapping[str, Any]]]
) -> None:
    """Put what has come in on the timeline."""
    _keep(memory, arrivals, [each for each in events if each[0].log_broker != term.log])
    early = [each for each in memory.early if each[0].log_broker == term.log]
    memory.early = [each for each in memory.early if each[0].log_broker != term.log]
    own = [each for each in events if each[0].log_broker == term.log]
    for event, row in early + own:
        if event.time >= term.since:
            _hear_line(term, memory, event, row)
    term.misread += arrivals.misread.get(term.log, 0)
    for time, bundle in arrivals.unloaded:
        memory.own[bundle] = time
        term.timeline.add((time, UNLOAD, bundle))
    for happening in happenings(arrivals.rows):
        if term.read_until is not None and happening[0] <= term.read_until:
            memory.n_late += 1
        term.timeline.add(happening)
    for table, row in arrivals.rows:
        if table == "ownership":
            term.owners.take(row)


def _hear_line(term: Term, memory: Memory, event: Event, row: Mapping[str, Any]) -> None:
    """Take a line of the leader; of those before the watch began only what still holds."""
    if event.kind == "unload" and event.bundle:
        term.timeline.add((event.time, UNLOAD, event.bundle))
    if event.kind in IDLE:
        term.last_round = max(term.last_round, event.time)
    if event.time < memory.began:
        if is_of_a_round(event):
            term.last_round = max(term.last_round, event.time)
        return
    if event.kind == "candidates-considered":
        term.timeline.add((event.time, SELECTION, row))
    term.lines.append(event)


def _announce(term: Term, memory: Memory, settings: Settings) -> None:
    """Put rounds of the leader's log on the timeline, at their first line."""
    logged = rounds(term.lines, settings.interval_s)
    for each in logged[len(term.announced) :]:
        _put(term, memory, each.time, "")
        term.announced.append(memory.n_rounds)
    if logged:
        term.last_round = max(term.last_round, logged[-1].end)


def _put(term: Term, memory: Memory, time: datetime, guessed: str) -> None:
    memory.n_rounds += 1
    term.guessed[memory.n_rounds] = guessed
    term.timeline.add((time, ROUND, memory.n_rounds))


def _horizon(term: Term, memory: Memory, now: datetime, settings: Settings) -> datetime:
    """Return up to when all is known, with the rounds in between of which no line tells."""
    interval = timedelta(seconds=settings.interval_s)
    patience = min(interval * _SILENCE_SHARE, timedelta(seconds=15)) if term.log else LAG
    while term.last_round + interval + patience <= now:
        term.last_round += interval
        _put(term, memory, term.last_round, _why_guessed(term, settings))
    due = term.last_round + interval
    return min(now - LAG, due - timedelta(milliseconds=1))


def _why_guessed(term: Term, settings: Settings) -> str:
    if not settings.ran.manager.is_shedding_enabled:
        return _OFF
    if not term.log:
        return _NOT_READ
    return _MISREAD if term.misread else _SILENT


def _advance(
    term: Term, memory: Memory, horizon: datetime, now: datetime, settings: Settings
) -> list[Action]:
    """Return what comes of all that happened up to the horizon."""
    actions: list[Action] = []
    while (first := term.timeline.first()) is not None and first[0] <= horizon:
        if first[1] == SELECTION and _is_open(term, first, now):
            return actions
        term.timeline.pop()
        term.read_until = first[0]
        _look_if_done(term, first[0], is_over=first[1] == ROUND)
        if first[1] == ROUND:
            if not term.guessed[first[2]] and is_deaf(settings):
                term.unloading = Unloading(first[0])
            actions.append(_decide(term, memory, first, settings))
        else:
            _take(term, memory, first)
    term.read_until = max(horizon, term.read_until or horizon)
    _look_if_done(term, term.read_until)
    return actions


def _look_if_done(term: Term, now: datetime, *, is_over: bool = False) -> None:
    """Look at the reports that were written while the leader unloaded, once it is done."""
    unloading = term.unloading
    if unloading is None or not (is_over or is_done(unloading, now)):
        return
    term.unloading = None
    _doubt(term, doubts(unloading))
    for time, rows in looks(unloading):
        _look(term, time, rows)


def _look(term: Term, time: datetime, rows: Sequence[Mapping[str, Any]]) -> None:
    """Have the leader look at reports that are new to it together."""
    deque(taken(term.own, (time, REPORT, rows)), 0)
    for row in rows:
        if row["is_gone"]:
            forget(term.beside, row["broker"])


def _is_open(term: Term, selection: Happening, now: datetime) -> bool:
    """Return whether it may still come out whom a lookup was sent to."""
    time, _, row = selection
    if not is_lookup(row) or now >= time + _OWNED_WITHIN:
        return False
    return not any(owned >= time for owned, _ in term.owners.since.get(row["bundle"], ()))


def _take(term: Term, memory: Memory, happening: Happening) -> None:
    """Take what changes what the leader knows."""
    _, what, _ = happening
    if what == REPORT:
        _hear_report(term, memory, happening)
        return
    if term.unloading is not None:
        followed(term.unloading, happening)
    for table, row in taken(term.own, happening):
        if table == "replayed_placements":
            term.placed[row["file"], row["line"]] = row
    if what == STORED and term.own.leading.manager.bundles_stored_max is None:
        # All averages are what the leader has, whatever was missed before.
        gaps_since = tuple(gap for gap in term.own.gaps if gap[2] > happening[0])
        term.own.gaps = term.beside.gaps = gaps_since


def _doubt(term: Term, gaps: Sequence[Gap]) -> None:
    """Have rounds after these gaps be doubtful, until the store tells averages again."""
    for each in (term.own, term.beside):
        each.gaps = (*each.gaps, *gaps)[-_GAPS_KEPT:]


def _hear_report(term: Term, memory: Memory, happening: Happening) -> None:
    """Take a write of a broker's, at which the leader looks at once or when it is done."""
    time, _, thing = happening
    gaps = missed_write(term.reported.get(thing["broker"]), thing)
    term.reported[thing["broker"]] = thing
    _doubt(term, gaps)
    remember_usage(memory, term, thing)
    if thing["is_gone"]:
        term.gone[thing["broker"]] = time
    if term.unloading is None:
        _look(term, time, [thing])
        return
    term.unloading.waiting.append((time, thing))
    if thing["is_gone"]:
        for each in (term.own, term.beside):
            deque(taken(each, (time, LEFT, thing["broker"])), 0)


def _decide(term: Term, memory: Memory, happening: Happening, settings: Settings) -> Decided:
    """Return a round, decided as Pulsar does and as the strategy beside does."""
    time, _, number = happening
    shadow: Mapping[str, Any] | None
    shadow = next((row for _, row in decided(term.beside, time, number)), None)
    guessed = term.guessed.pop(number)
    pulsar: Mapping[str, Any] | None = None
    if guessed != _OFF:
        pulsar = next((row for _, row in decided(term.own, time, number)), None)
    if shadow is not None and settings.is_own:
        shadow = as_round(shadow, memory.steered)
    elif shadow is not None:
        shadow = with_targets(term.beside, shadow)
    memory.steered.clear()
    if pulsar is not None:
        term.decided[number] = pulsar
        pulsar = with_targets(term.own, pulsar)
    decision = Decided(number, time, term.leader, guessed, pulsar, shadow)
    row = pulsar or shadow
    if row is not None:
        states = columns(row["brokers"])
        usage = dict(zip(states["broker"], states["usage"], strict=True))
        throughput = dict(zip(states["broker"], states["throughput"], strict=True))
        # A silent round moved nothing; of one that the log tells of, it is not known yet.
        moves: list[Unloaded] | None = [] if guessed in (_SILENT, _OFF) else None
        memory.spans.append(Span(decision, usage, throughput, moves, term.misread))
    term.misread = 0
    return decision


def _compare(term: Term, memory: Memory, now: datetime, settings: Settings) -> list[Action]:
    """Return the rounds that are over beside what was recomputed."""
    logged_rounds = rounds(term.lines, settings.interval_s)
    actions: list[Action] = []
    reached = term.read_until
    for i, logged in enumerate(logged_rounds):
        is_last = i + 1 == len(logged_rounds)
        if reached is None or logged.end > reached or (is_last and now < logged.end + _OVER):
            break
        number = term.announced.pop(0)
        actions.append(_compared(term, number, logged, settings))
        for span in memory.spans:
            if span.decided.number == number:
                span.moves = unloaded(term.owners, logged)
        term.lines = [event for event in term.lines if event.time > logged.end]
    if term.log and not logged_rounds:
        # Lines of no round, such as those of lookups, lead to nothing any more.
        term.lines = [event for event in term.lines if event.time > now - _EARLY]
    return actions


def _compared(term: Term, number: int, logged: Round, settings: Settings) -> Compared:
    logged = replace(logged, number=number)
    row = term.decided.pop(number, None)
    if row is None:
        return Compared(number, logged)
    evidence = {(event.file, event.line) for move in logged.moves for event in move.evidence}
    placed = {at: each for at, each in term.placed.items() if at in evidence}
    term.placed = {at: each for at, each in term.placed.items() if each["time"] > logged.end}
    threshold = settings.ran.threshold_shedder.threshold
    replayed = {**row, "brokers": columns(row["brokers"])}
    return Compared(number, compared(logged, replayed, placed, threshold))
