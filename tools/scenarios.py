"""What docs/scenarios.md says that the code knows better: keys of the file, and the files."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from tools.catalogue import code, first_line, table
from trimtab.lab.outcomes import MEASURES
from trimtab.lab.scenarios import ALIASES, built_in, scenario_of
from trimtab.lab.simulate.scenario_keys import NEEDED, described
from trimtab.lab.simulate.scenario_tables import (
    HAPPENINGS,
    BundleGroup,
    Expectation,
    Length,
    MachineGroup,
    Scenario,
    Start,
    Task,
    Traffic,
)

_TABLES = (Length, MachineGroup, BundleGroup, Task, Traffic, Start)

#: Beginning of a name → whose the scenarios are.
_FAMILIES = {
    "S": "The seventeen of the rating",
    "book-": "Published of Pulsar",
    "docs-": "Pulsar's documentation",
    "asim-": "Twins of CockroachDB's simulator",
    "ceph-": "Twins of Ceph's balancer",
    "confluent-": "Twins of Confluent's",
    "es-": "Twins of Elasticsearch's simulations",
    "hbase-": "Twins of HBase's balancer tests",
    "pd-": "Twins of TiKV's placement driver",
    "rc-": "Twins of Cruise Control's random cluster",
    "rp-": "Twins of Redpanda's simulator",
}
_OTHERS = "Reported of Pulsar"


def keys() -> str:
    """Return every table of a scenario file with its keys."""
    parts = [_keys(first_line(one), described(one)) for one in _TABLES]
    parts.append("\n### `[[events]]`\n\nWhat each takes beside `what` hangs on what it is.\n")
    kinds: dict[type, list[str]] = {}
    for what, one in HAPPENINGS.items():
        kinds.setdefault(one, []).append(what)
    for one in kinds:
        said = inspect.getdoc(one) or ""
        first, _, rest = said.partition("\n")
        parts.append(_keys(first, described(one), rest.strip(), level=4))
    parts.append(_keys(first_line(Expectation), described(Expectation)))
    return "".join(parts)


def _keys(
    heading: str, rows: Iterator[tuple[str, str, str, str]], said: str = "", level: int = 3
) -> str:
    """Lay out a table of keys under its name; its docstring is the name and what it is."""
    name, _, meaning = heading.partition(": ")
    text = f"\n{'#' * level} {name}\n\n{meaning[0].upper()}{meaning[1:]}\n"
    text += f"{said}\n" if said else ""
    cells = (
        (code(key), takes, default if default == NEEDED else code(default), means)
        for key, takes, default, means in rows
    )
    return f"{text}\n{table(('key', 'takes', 'default', 'meaning'), cells)}"


def files() -> str:
    """Return the scenarios that trimtab brings, by family, each with its question."""
    families: dict[str, list[Scenario]] = {}
    for name in built_in():
        families.setdefault(_family(name), []).append(scenario_of(name))
    order = [*_FAMILIES.values()]
    order.insert(2, _OTHERS)
    return "".join(
        f"\n### {family}\n\n{table(('name', 'brokers', 'bundles', 'minutes', 'asks'), rows)}"
        for family in order
        if (rows := list(map(_row, families.get(family, []))))
    )


def _family(name: str) -> str:
    begins = [start for start in _FAMILIES if name.startswith(start)]
    return _FAMILIES[begins[0]] if begins else _OTHERS


def _row(one: Scenario) -> tuple[str, ...]:
    names = [one.origin, *(alias for alias, name in ALIASES.items() if name == one.origin)]
    return (
        ", ".join(map(code, names)),
        str(one.n_machines),
        f"{one.n_bundles:,}",
        f"{one.run.minutes:g}",
        one.question,
    )


def outcomes() -> str:
    """Return the names that an expectation may use."""
    rows = ((code(name), measure.unit, measure.title) for name, measure in MEASURES.items())
    return table(("outcome", "unit", "is"), rows)


def expected() -> str:
    """Return what is known not to hold, and why."""
    rows = (
        (
            code(name),
            code(expectation.outcome),
            ", ".join([*expectation.under, *expectation.placed_by]) or "every shedder",
            expectation.known,
        )
        for name in built_in()
        for expectation in scenario_of(name).expectations
        if expectation.known
    )
    return table(("scenario", "outcome", "under", "why"), rows)
