"""Events that make brokers come and go → each broker's joins and departures, in order of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trimtab.lab.simulate.scenario_keys import every_of
from trimtab.lab.simulate.scenario_tables import Membership, RollingRestart, Scenario
from trimtab.lab.simulate.world import Kind


@dataclass(frozen=True, slots=True)
class MemberChange:
    """One broker comes or goes."""

    time_min: float
    kind: Kind
    broker: int
    #: Position of the event that says so.
    event: int


def member_changes(scenario: Scenario) -> tuple[MemberChange, ...]:
    """Return who comes and goes when, in order of time, and of the file where times are equal."""
    changes = (
        change
        for position, (what, event) in enumerate(scenario.events)
        if isinstance(event, Membership | RollingRestart)
        for change in _changes(what, event, position, scenario.n_machines)
    )
    return tuple(sorted(changes, key=lambda change: change.time_min))


def _changes(
    what: str, event: Membership | RollingRestart, position: int, count: int
) -> Iterator[MemberChange]:
    for i, broker in enumerate(every_of(count, event.brokers)):
        time_min = event.at_min + i * event.every_min
        if isinstance(event, Membership):
            yield MemberChange(time_min, Kind(what), broker, position)
        else:
            yield MemberChange(time_min, Kind.LEAVE, broker, position)
            yield MemberChange(time_min + event.down_min, Kind.JOIN, broker, position)
