"""Rows of nights as what is compared: whose, when, by which settings, and its measures.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trimtab.explanation.fleet.row import EXPLAINED
from trimtab.pulsar.keys import KEYS, Value


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of a night; all are better when smaller, but for the moves."""

    name: str
    title: str
    unit: str
    #: Whether less of it is what a change is made for.
    is_harm: bool = True


MEASURES = (
    Measure("useless_per_hour", "useless moves", "an hour"),
    Measure("regret_points", "regret", "points a round"),
    Measure("over_min_per_hour", "time at 85 % or more", "broker-minutes an hour"),
    Measure("moves_per_hour", "moves", "an hour", is_harm=False),
)


@dataclass(frozen=True, slots=True)
class Night:
    """One explained night whose time is known."""

    row: Mapping[str, Any]
    begin: datetime
    #: Measure → its value; without those that are not known.
    values: Mapping[str, float]

    @property
    def cluster(self) -> str:
        """Return whose night it is."""
        return str(self.row["cluster"])

    @property
    def week(self) -> str:
        """Return the week in which it began, by ISO 8601."""
        year, week, _ = self.begin.isocalendar()
        return f"{year}-W{week:02d}"


def nights_of(rows: Iterable[Mapping[str, Any]]) -> list[Night]:
    """Return the nights that were explained and whose time is known, by cluster and time."""
    nights = [
        Night(row, datetime.fromisoformat(row["begin"]), measured(row))
        for row in rows
        if row["status"] == EXPLAINED and row["begin"] and row["hours"]
    ]
    return sorted(nights, key=lambda night: (night.cluster, night.begin, night.row["folder"]))


def measured(row: Mapping[str, Any]) -> dict[str, float]:
    """Return the measures of a night that are known."""
    values = {
        "useless_per_hour": row["useless"] / row["hours"],
        "regret_points": row["regret_points"],
        "moves_per_hour": row["moves"] / row["hours"],
        "over_min_per_hour": None if row["over_min"] is None else row["over_min"] / row["hours"],
    }
    # Where all moves are undecided, none is known to be useless, nor that none was.
    if row["moves"] and row["undecided"] == row["moves"]:
        del values["useless_per_hour"]
    return {name: value for name, value in values.items() if value is not None}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what two nights of a cluster ran that is not the same; of what either tells.

    A key that is not set has its release's default.
    """
    entries = [
        f"{name} {before[key]} → {after[key]}"
        for name, key in (("Pulsar", "release"), ("shedding", "shedding"), ("placing", "placement"))
        if before[key] and after[key] and before[key] != after[key]
    ]
    if before["settings"] and after["settings"]:
        for key in sorted(before["settings"].keys() | after["settings"].keys()):
            values = [_value(each, key) for each in (before, after)]
            if values[0] != values[1]:
                entries.append(f"{key} {values[0]} → {values[1]}")
    return tuple(entries)


def _value(row: Mapping[str, Any], key: str) -> str:
    """Return the value of a key in a night, its release's default if it is not set."""
    if key in row["settings"]:
        return str(row["settings"][key]).strip()
    default: Value | None = KEYS[key].default(row["release"]) if row["release"] else None
    if default is None:
        return "not set"
    return str(default).lower() if isinstance(default, bool) else str(default)
