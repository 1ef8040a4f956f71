"""What is planned, and the cluster that was recorded → positions, seconds and who balances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from fnmatch import fnmatchcase
from typing import NamedTuple

from trimtab.files.fields import FieldError, expected_name
from trimtab.lab.rehearsal.disturbed import remaining
from trimtab.lab.rehearsal.plan import Rehearsal, Scaling
from trimtab.lab.restarts.orders import Timing, rolling
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.splits import half_names
from trimtab.lab.simulate.world import Event, Kind
from trimtab.trials.recorded_cluster import RecordedCluster
from trimtab.trials.rehearse.language import Planned, Statement, length_s
from trimtab.trials.rehearse.steering import steered

#: s after the last event that must be left to see what comes of it.
AFTER_S = 120.0
#: s at least before the first, so that the leader knows its brokers.
BEFORE_S = 60.0
# Where no time is given, everything begins after this share of the recording.
_BEGINNING = 0.1
_STEERING = ("set", "release", "strategy")
_GONE = (Kind.LEAVE, Kind.KILL)


class _When(NamedTuple):
    """A statement with its times, s from the beginning."""

    statement: Statement
    from_s: float
    to_s: float


@dataclass(frozen=True, slots=True)
class Names:
    """What a plan may name, and when there is something."""

    brokers: tuple[str, ...]
    bundles: tuple[str, ...]
    #: s from 1970 of the beginning, and how many s there are.
    from_s: float
    duration_s: float
    #: What people really did, and which brokers were there at first.
    events: tuple[Event, ...]
    is_up: tuple[bool, ...]
    #: Name of a rack → patterns of its brokers.
    racks: Mapping[str, tuple[str, ...]]
    #: What the time is that is there.
    what: str = "recording"

    @staticmethod
    def of(cluster: RecordedCluster, racks: Mapping[str, tuple[str, ...]]) -> Names:
        """Return those of a recording."""
        world, grid = cluster.rebuilt.world, cluster.rebuilt.grid
        return Names(
            brokers=world.machines.names,
            bundles=world.bundles.names,
            from_s=grid.from_s,
            duration_s=world.duration_s,
            events=world.events,
            is_up=tuple(world.machines.is_up.tolist()),
            racks=racks,
        )


def resolved(planned: Planned, names: Names, balancer: Balancer) -> Rehearsal:
    """Return a plan for a recorded cluster.

    Raises:
        FieldError: a name is unknown, a time is not in the recording, the recording is too
            short or too little of it is left, or one event contradicts another.
    """
    _refuse_short(names)
    whens = sorted(_timed(planned.statements, names), key=lambda when: when.from_s)
    begin_s = whens[0].from_s
    events: list[Event] = []
    added: list[str] = []
    for when in whens:
        if when.statement.verb == "add":
            first, count = len(names.brokers), int(when.statement.what)
            added += [f"added-{len(added) + i + 1}" for i in range(count)]
            subjects = tuple(range(first, first + count))
            events.append(Event(when.from_s, Kind.JOIN, subjects))
            names = replace(names, brokers=(*names.brokers, *added[-count:]))
        else:
            events += _events(when, names, events)
    events.sort(key=lambda event: event.time_s)
    _refuse_empty(whens, names, events)
    _refuse_late(whens, names, events)
    return Rehearsal(
        from_s=begin_s,
        balancer=_balancer(whens, begin_s, balancer),
        events=tuple(events),
        added=tuple(added),
        scalings=tuple(_scalings(whens, names)),
    )


# ------------------------------------------------------------------ times


def _timed(statements: Sequence[Statement], names: Names) -> list[_When]:
    """Return statements with their times; those without one begin with the first that has one."""
    begins = [
        _seconds(each, each.from_text, names) if each.from_text else None for each in statements
    ]
    usual_s = max(BEFORE_S, _BEGINNING * names.duration_s)
    first_s = min((each for each in begins if each is not None), default=usual_s)
    ends = [
        _seconds(each, each.to_text, names) if each.to_text else float("inf") for each in statements
    ]
    whens = []
    for each, begin, end_s in zip(statements, begins, ends, strict=True):
        from_s = first_s if begin is None else begin
        if end_s <= from_s:
            raise each.wrong(each.to_text, "a time after the one from which it holds")
        whens.append(_When(each, from_s, end_s))
    return whens


def _seconds(statement: Statement, text: str, names: Names) -> float:
    """Return a time in s from the beginning: 20:00, 2026-11-21T20:00 or +30m."""
    if text.startswith("+"):
        at_s = length_s(statement.path, text[1:])
    else:
        at_s = _clock(statement, text, names)
    if not 0 <= at_s <= names.duration_s:
        moment = iso(names.from_s + at_s)
        raise statement.wrong(moment, f"a time within the {names.what}, {_span(names)}")
    if at_s < BEFORE_S:
        first = iso(names.from_s + BEFORE_S)
        raise statement.wrong(text, f"{first} at the earliest, when the leader knows its brokers")
    return at_s


def _clock(statement: Statement, text: str, names: Names) -> float:
    """Return a time of day in UTC: the first one in the recording."""
    first = datetime.fromtimestamp(names.from_s, UTC)
    try:
        if "-" in text:
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        else:
            moment = datetime.combine(first.date(), time.fromisoformat(text), UTC)
            if (first - moment).total_seconds() > 0 and _reaches_midnight(names):
                moment += timedelta(days=1)
    except ValueError:
        expected = f"a time such as +10m, {first:%H:%M} or {first:%Y-%m-%dT%H:%M}"
        raise statement.wrong(text, expected) from None
    return moment.timestamp() - names.from_s


def _reaches_midnight(names: Names) -> bool:
    first, last = (datetime.fromtimestamp(names.from_s + s, UTC) for s in (0, names.duration_s))
    return first.date() != last.date()


def iso(time_s: float) -> str:
    """Return a time in s from 1970 as it is written."""
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _span(names: Names) -> str:
    return f"{iso(names.from_s)} to {iso(names.from_s + names.duration_s)}"


def _refuse_short(names: Names) -> None:
    """Refuse what has no room for an event and what comes of it."""
    least_s = BEFORE_S + AFTER_S
    if names.duration_s < least_s:
        raise FieldError(
            f"the {names.what}",
            f"{names.duration_s:.0f} s",
            f"{least_s:.0f} s at least: {BEFORE_S:.0f} s until the leader knows its brokers, and "
            f"{AFTER_S:.0f} s to see what comes of an event",
        )


def _refuse_late(whens: Sequence[_When], names: Names, events: Sequence[Event]) -> None:
    """Refuse a plan after whose last event too little is recorded to see what comes of it."""
    last_s = max([*(event.time_s for event in events), *(when.from_s for when in whens)])
    latest_s = names.duration_s - AFTER_S
    if last_s <= latest_s:
        return
    late = max(whens, key=lambda when: when.from_s)
    restarts = [when for when in whens if when.statement.verb == "restart"]
    late = restarts[-1] if restarts else late
    raise FieldError(
        late.statement.path,
        f"its last event at {iso(names.from_s + last_s)}",
        f"{iso(names.from_s + latest_s)} at the latest: the {names.what} ends at "
        f"{iso(names.from_s + names.duration_s)}, and {AFTER_S:.0f} s are needed to see what "
        "comes of it",
    )


# ------------------------------------------------------------------ brokers


def _events(when: _When, names: Names, planned: Sequence[Event]) -> tuple[Event, ...]:
    """Return what a statement does to brokers and bundles, after what is planned before it."""
    verb, at_s = when.statement.verb, when.from_s
    if verb == "split":
        return (_split(when, names, planned),)
    if verb == "restart":
        timing = Timing(when.statement.down_s, when.statement.every_s)
        return rolling(_there(when, names, planned), at_s, timing)
    if verb in ("lose", "remove"):
        kind = Kind.KILL if verb == "lose" else Kind.LEAVE
        return (Event(at_s, kind, _there(when, names, planned)),)
    return ()


def _split(when: _When, names: Names, planned: Sequence[Event]) -> Event:
    bundles = _matching(when.statement, when.statement.what, names.bundles)
    twice = [
        names.bundles[bundle]
        for event in planned
        for bundle in event.subjects
        if event.kind is Kind.SPLIT and bundle in bundles
    ]
    # The pieces of what was really split are there from the beginning.
    every = set(names.bundles)
    twice += [name for name in map(names.bundles.__getitem__, bundles) if is_split(name, every)]
    if twice:
        raise when.statement.wrong(twice[0], "a bundle that is not split already")
    return Event(when.from_s, Kind.SPLIT, bundles)


def is_split(bundle: str, bundles: Set[str]) -> bool:
    """Return whether a recording has the halves of a bundle beside it."""
    return not bundles.isdisjoint(half_names(bundle))


def _there(when: _When, names: Names, planned: Sequence[Event]) -> tuple[int, ...]:
    """Return those of a statement's brokers that are there at its time.

    Raises:
        FieldError: none of them is, by what happened and what is planned before.
    """
    brokers = _brokers(when.statement, names)
    events = [*remaining(names.events, planned), *planned]
    there = tuple(each for each in brokers if _is_there(names, events, each, when.from_s))
    if not there:
        absent, moment = names.brokers[brokers[0]], iso(names.from_s + when.from_s)
        raise when.statement.wrong(absent, f"a broker that is there at {moment}")
    return there


def _brokers(statement: Statement, names: Names) -> tuple[int, ...]:
    """Return the positions of brokers by name, pattern, rack, or all.

    Raises:
        FieldError: there is none of that name.
    """
    name, equals, value = statement.what.partition("=")
    if statement.what == "all":
        return tuple(range(len(names.brokers)))
    if not equals:
        return _matching(statement, statement.what, names.brokers)
    if name != "rack":
        raise statement.wrong(name, "'rack'")
    if value not in names.racks:
        known = expected_name(value, names.racks) if names.racks else "racks by --rack NAME=BROKERS"
        raise statement.wrong(value, known)
    every = [_matching(statement, each, names.brokers) for each in names.racks[value]]
    return tuple(sorted({position for positions in every for position in positions}))


def _matching(statement: Statement, pattern: str, names: Sequence[str]) -> tuple[int, ...]:
    """Return the positions of names that match: whole, or without a port or a range."""
    positions = tuple(
        i
        for i, name in enumerate(names)
        if any(fnmatchcase(each, pattern) for each in _spellings(name))
    )
    if not positions:
        spelt = [each for name in names for each in _spellings(name)]
        raise statement.wrong(pattern, expected_name(pattern, spelt, _some(spelt)))
    return positions


def _spellings(name: str) -> tuple[str, ...]:
    mark = "/" if "/" in name else ":"
    return name, name.rpartition(mark)[0] or name


def _some(names: Iterable[str]) -> str:
    """Return a few names, so that one line holds them."""
    every = sorted(set(names))
    return f"one of {', '.join(every[:6])}{', …' if len(every) > 6 else ''}"


def _is_there(names: Names, events: Iterable[Event], broker: int, at_s: float) -> bool:
    """Return whether a broker is up after all that is done up to a time."""
    is_up = broker < len(names.is_up) and names.is_up[broker]
    for event in sorted(events, key=lambda each: each.time_s):
        if event.time_s > at_s:
            break
        if broker in event.subjects and event.kind in (Kind.JOIN, *_GONE):
            is_up = event.kind is Kind.JOIN
    return is_up


def _refuse_empty(whens: Sequence[_When], names: Names, planned: Sequence[Event]) -> None:
    """Refuse a plan that at some time leaves no broker."""
    events = [*remaining(names.events, planned), *planned]
    for event in planned:
        after = range(len(names.brokers))
        if not any(_is_there(names, events, each, event.time_s) for each in after):
            path = "; ".join(when.statement.path for when in whens)
            moment = iso(names.from_s + event.time_s)
            raise FieldError(path, f"no broker left at {moment}", "one at least")


# ------------------------------------------------------------------ traffic and steering


def _scalings(whens: Iterable[_When], names: Names) -> Iterator[Scaling]:
    for when in whens:
        if when.statement.verb == "traffic":
            bundles = _matching(when.statement, when.statement.what, names.bundles)
            yield Scaling(bundles, when.from_s, when.to_s, when.statement.factor)


def _balancer(whens: Sequence[_When], begin_s: float, balancer: Balancer) -> Balancer:
    """Return who balances: by the statements, which hold from the first event on."""
    chosen = [when for when in whens if when.statement.verb in _STEERING]
    for when in chosen:
        if when.from_s > begin_s:
            raise when.statement.wrong(
                when.statement.from_text, "the time of the first event: from then on it holds"
            )
    return steered(balancer, [when.statement for when in chosen])
