"""What a scenario must be beyond its single keys: things that are named exist, times fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from trimtab.files.fields import Field, FieldError, expected_name, shown
from trimtab.lab.simulate.scenario_keys import every_of
from trimtab.lab.simulate.scenario_tables import (
    Background,
    BundleGroup,
    Bursts,
    Capacity,
    Expectation,
    MachineGroup,
    Membership,
    RollingRestart,
    Scenario,
    Split,
    TrafficChange,
)
from trimtab.lab.simulate.world import Kind
from trimtab.pulsar.place import PLACERS
from trimtab.pulsar.shed import SHEDDERS

#: What `under` says for no shedding at all.
NONE = "none"


def checked(scenario: Scenario, document: Field) -> Scenario:
    """Return a scenario that can be.

    Raises:
        FieldError: something that is named does not exist, or a time does not fit.
    """
    run = document.at("run")
    _not_empty(scenario, document)
    if scenario.run.event_at_min >= scenario.run.minutes:
        raise run.at("event_at_min", value=scenario.run.event_at_min).wrong(
            f"less than run.minutes, {scenario.run.minutes:g}"
        )
    _check_bundles(scenario, document.at("bundles"))
    _check_start(scenario, document.at("start"))
    _check_traffic(scenario, document.at("traffic"))
    _check_events(scenario, document.at("events"))
    for i, expectation in enumerate(scenario.expectations):
        _check_expectation(scenario, expectation, document.at("expect", i))
    return scenario


def namespaces(group: BundleGroup, position: int) -> tuple[str, ...]:
    """Return the namespaces of a table of bundles, which is the position-th."""
    name = group.namespace or (f"public/default-{position}" if position else "public/default")
    if group.namespaces == 1:
        return (name,)
    return tuple(f"{name}-{i}" for i in range(group.namespaces))


def machines_up(scenario: Scenario) -> tuple[int, ...]:
    """Return the machines that run from the beginning."""
    is_up = [group.is_up for group in scenario.machines for _ in range(group.count)]
    return tuple(i for i, up in enumerate(is_up) if up)


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


def _not_empty(scenario: Scenario, document: Field) -> None:
    tables: tuple[tuple[str, tuple[MachineGroup | BundleGroup, ...]], ...] = (
        ("machines", scenario.machines),
        ("bundles", scenario.bundles),
    )
    for name, groups in tables:
        if not groups:
            raise document.at(name, value=[]).wrong("at least one table")
    if not machines_up(scenario):
        raise FieldError("machines", "none with is_up = true", "a machine that is up at first")


def _check_bundles(scenario: Scenario, table: Field) -> None:
    up = machines_up(scenario)
    names: set[str] = set()
    for i, group in enumerate(scenario.bundles):
        where = table.at(i)
        if (group.rates == "tasks") != bool(group.tasks):
            expected = "tasks" if group.rates == "tasks" else 'none, or rates = "tasks"'
            raise where.at("tasks", value=list(group.tasks)).wrong(expected)
        if group.namespaces > group.count:
            raise where.at("namespaces", value=group.namespaces).wrong(
                f"no more than its {group.count} bundles"
            )
        if not group.fan_out:
            raise where.at("fan_out", value=[]).wrong("at least one number")
        if not group.wave_phases:
            raise where.at("wave_phases", value=[]).wrong("at least one number")
        for name in namespaces(group, i):
            if name in names or len(name.split("/")) != 2 or "" in name.split("/"):
                raise where.at("namespace", value=name).wrong(
                    "tenant/namespace, another one in each table"
                )
            names.add(name)
        if group.starts_on is not None:
            _check_brokers(group.starts_on, up, where.at("starts_on"), "that is up at first")


def _check_start(scenario: Scenario, table: Field) -> None:
    start, n = scenario.start, scenario.n_machines
    lengths = {
        "usage": ("usage_percent", start.usage_percent, n, "one for each machine"),
        "counts": ("counts", start.counts, n, "one for each machine"),
        "explicit": ("explicit", start.explicit, scenario.n_bundles, "one for each bundle"),
    }
    for owners, (name, values, count, says) in lengths.items():
        wanted = count if start.owners == owners else 0
        if len(values) != wanted:
            expected = f"{wanted} numbers, {says}" if wanted else f'none, or owners = "{owners}"'
            raise table.at(name, value=list(values)).wrong(expected)
    up = machines_up(scenario)
    _check_brokers(start.explicit, up, table.at("explicit"), "that is up at first")
    for name, values in (("usage_percent", start.usage_percent), ("counts", start.counts)):
        for i, value in enumerate(values):
            if value and i not in up:
                raise table.at(name, i, value=value).wrong("0: that machine is not up at first")
    if start.owners == "counts" and sum(start.counts) != scenario.n_bundles:
        raise FieldError(
            table.at("counts").path,
            f"{sum(start.counts)} bundles",
            f"as many as there are, {scenario.n_bundles}",
        )
    if bool(start.gathered) != bool(start.gathered_task):
        raise table.at("gathered", value=start.gathered).wrong("a number with gathered_task, or 0")
    _check_task(scenario, start.gathered_task, table.at("gathered_task"))


def _check_traffic(scenario: Scenario, table: Field) -> None:
    traffic = scenario.traffic
    if scenario.start.owners == "usage" and traffic.cpu_percent is not None:
        raise table.at("cpu_percent", value=traffic.cpu_percent).wrong(
            "nothing: start.usage_percent says how much there is"
        )
    if traffic.from_min >= scenario.run.minutes:
        raise table.at("from_min", value=traffic.from_min).wrong(
            f"less than run.minutes, {scenario.run.minutes:g}"
        )


# ------------------------------------------------------------------ events


def _check_events(scenario: Scenario, table: Field) -> None:
    for i, (_, event) in enumerate(scenario.events):
        where = table.at(i)
        _check_time(scenario, event.at_min, where.at("at_min"))
        if isinstance(event, Background | Capacity | TrafficChange | Bursts):
            _check_until(scenario, event.at_min, event.until_min, where.at("until_min"))
        if isinstance(event, Membership | RollingRestart | Background | Capacity):
            brokers = every_of(scenario.n_machines, event.brokers)
            _check_brokers(brokers, range(scenario.n_machines), where.at("brokers"))
        if isinstance(event, TrafficChange):
            _check_selection(scenario, event, where)
    _check_members(scenario, table)
    _check_splits(scenario, table)


def _check_time(scenario: Scenario, time_min: float, where: Field) -> None:
    if time_min > scenario.run.minutes:
        raise where.at(value=time_min).wrong(f"at most run.minutes, {scenario.run.minutes:g}")


def _check_until(scenario: Scenario, at: float, until: float | None, where: Field) -> None:
    if until is None:
        return
    _check_time(scenario, until, where)
    if until <= at:
        raise where.at(value=until).wrong(f"more than at_min, {at:g}")


def _check_brokers(
    brokers: Iterable[int], known: Iterable[int], where: Field, which: str = "that there is"
) -> None:
    there = tuple(known)
    for i, broker in enumerate(brokers):
        if broker not in there:
            raise where.at(i, value=broker).wrong(f"a broker {which}: {_ranges(there)}")


def _check_selection(scenario: Scenario, event: TrafficChange, where: Field) -> None:
    """Check which bundles an event is about."""
    known = [name for i, group in enumerate(scenario.bundles) for name in namespaces(group, i)]
    if event.namespace and event.namespace not in known:
        raise where.at("namespace", value=event.namespace).wrong(
            expected_name(event.namespace, known)
        )
    _check_task(scenario, event.task, where.at("task"))
    if event.of_brokers is not None:
        up = machines_up(scenario)
        _check_brokers(event.of_brokers, up, where.at("of_brokers"), "that is up at first")
    for name, count in (("heaviest", event.heaviest), ("at_random", event.at_random)):
        if count > scenario.n_bundles:
            raise where.at(name, value=count).wrong(f"at most {scenario.n_bundles}, all bundles")
    named = [event.namespace, event.of_brokers, event.heaviest, event.at_random, event.task]
    if sum(map(bool, named)) > 1:
        expected = "one of namespace, of_brokers, heaviest, at_random and task"
        raise FieldError(where.path, "several ways to name bundles", expected)


def _check_task(scenario: Scenario, name: str, where: Field) -> None:
    known = [task.name for group in scenario.bundles for task in group.tasks if task.name]
    if name and name not in known:
        raise where.at(value=name).wrong(expected_name(name, known))


def _check_splits(scenario: Scenario, table: Field) -> None:
    """Check that there are as many bundles as are split, each once, and time to do it."""
    whole = scenario.n_bundles
    for i, (_, event) in enumerate(scenario.events):
        if isinstance(event, Split):
            if event.heaviest > whole:
                raise table.at(i, "heaviest", value=event.heaviest).wrong(
                    f"no more than the {whole} bundles that are whole"
                )
            whole -= event.heaviest
            last = event.at_min + (event.heaviest - 1) * event.every_min
            _check_time(scenario, last, table.at(i, "every_min"))


def _check_members(scenario: Scenario, table: Field) -> None:
    """Go through what happens in order of time: who leaves is there, who joins is not."""
    up = set(machines_up(scenario))
    for change in member_changes(scenario):
        where = table.at(change.event, "brokers")
        if change.time_min > scenario.run.minutes:
            problem = f"broker {change.broker}'s turn at {change.time_min:g} min"
            expected = f"at most run.minutes, {scenario.run.minutes:g}"
            raise FieldError(where.path, problem, expected)
        if (change.broker in up) == (change.kind is Kind.JOIN):
            state, wanted = ("there", "is not") if change.broker in up else ("not there", "is")
            problem = f"broker {change.broker}, which is {state} at {change.time_min:g} min"
            raise FieldError(where.path, problem, f"one that {wanted}, to {change.kind}")
        (up.add if change.kind is Kind.JOIN else up.remove)(change.broker)
        if not up:
            problem = f"nobody left at {change.time_min:g} min"
            raise FieldError(where.path, problem, "a broker that stays")


# ------------------------------------------------------------------ expectations


def _check_expectation(scenario: Scenario, expectation: Expectation, where: Field) -> None:
    if expectation.at_most is None and expectation.at_least is None:
        raise FieldError(where.path, "no bound", "at_most, at_least, or both")
    sheds = {name for name, _ in SHEDDERS} | {NONE}
    for names, known, name in (
        (expectation.under, sheds, "under"),
        (expectation.placed_by, {name for name, _ in PLACERS}, "placed_by"),
    ):
        for i, strategy in enumerate(names):
            if strategy not in known:
                expected = expected_name(strategy, known)
                raise FieldError(where.at(name, i).path, shown(strategy), expected)
    begins = scenario.run.event_at_min if expectation.from_min is None else expectation.from_min
    _check_time(scenario, begins, where.at("from_min"))
    _check_until(scenario, begins, expectation.until_min, where.at("until_min"))


def _ranges(positions: Iterable[int]) -> str:
    """Return positions written shortly: 0 to 4, 7."""
    # Within a range, a position less its number among all is the same.
    ranges = groupby(enumerate(sorted(positions)), key=lambda pair: pair[1] - pair[0])
    ends = ([position for _, position in pairs] for _, pairs in ranges)
    return ", ".join(f"{r[0]} to {r[-1]}" if len(r) > 1 else f"{r[0]}" for r in ends)
