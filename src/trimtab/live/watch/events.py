"""Rows as they come in → what happens to a leader, as `replay` takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

import numpy as np

from trimtab.diagnose.night import Event
from trimtab.diagnose.replay.timeline import OWNED, REPORT, STORED
from trimtab.live.watch.nouns import Row
from trimtab.pulsar.leader.averages import Average
from trimtab.pulsar.leader.reports import Report
from trimtab.pulsar.leader.time_average import METRICS
from trimtab.pulsar.model import RESOURCES, Floats, Ints

#: (time, what, thing): an event of `replay`.
Happening: TypeAlias = tuple[datetime, int, Any]


def report(row: dict[str, Any]) -> Report:
    """Return what a row of `load_reports` says, with its rows of `bundle_reports`."""
    bundles = row["measured"]
    samples = [[each[name] for name in (*METRICS, "topics")] for each in bundles]
    return Report(
        broker=row["broker"],
        usage=measures(row, "usage"),
        limit=measures(row, "limit"),
        totals=np.array([row[name] for name in METRICS], np.float64),
        bundles=tuple(row["bundles"]),
        measured=tuple(each["bundle"] for each in bundles),
        samples=np.array(samples, np.float64).reshape(-1, 5),
    )


def measures(row: Mapping[str, Any], which: str) -> Floats:
    """Return a report's five usages or limits; one that is absent is -1, as in the Java."""
    values = (row[f"{resource}_{which}"] for resource in RESOURCES)
    return np.array([-1.0 if value is None else value for value in values])


def happenings(rows: Sequence[Row]) -> list[Happening]:
    """Return what rows of the store mean to a leader, in the order in which they came.

    Rows of `bundle_reports` belong to the report before them; one that says nothing of load,
    as under the extensible load manager, means nothing.
    """
    events: list[Happening] = []
    averages: list[Mapping[str, Any]] = []
    for table, row in rows:
        if table == "load_reports":
            if row["is_gone"] or row.get("cpu_usage") is not None:
                report = {"version": None, "written": None, **row}
                events.append((write_time(row), REPORT, {**report, "measured": []}))
        elif table == "bundle_reports":
            events[-1][2]["measured"].append(row)
        elif table == "bundle_averages":
            averages.append(row)
        elif table == "ownership" and row["bundle"] is not None:
            events.append((row["time"], OWNED, row))
    return events + _flushes(averages)


def write_time(row: Mapping[str, Any]) -> datetime:
    """Return the time of a write: by the store's clock where the row has it."""
    time: datetime = row["time"] if row.get("written") is None else row["written"]
    return time


def line_event(row: Mapping[str, Any]) -> Event:
    """Return a row of `log_events` as the diagnosis reads it."""
    fields = {name: row[name] for name in Event.__slots__ if row.get(name) is not None}
    for name in ("numbers", "scores"):
        if name in fields:
            fields[name] = dict(fields[name])
    if "brokers" in fields:
        fields["brokers"] = tuple(fields["brokers"])
    return Event(**fields)


def _flushes(rows: Sequence[Mapping[str, Any]]) -> list[Happening]:
    """Return averages, those together that were written at one time."""
    at: dict[datetime, list[Mapping[str, Any]]] = {}
    for row in rows:
        at.setdefault(write_time(row), []).append(row)
    return [
        (time, STORED, (tuple(row["bundle"] for row in mine), _average(mine)))
        for time, mine in at.items()
    ]


def _average(rows: Sequence[Mapping[str, Any]]) -> Average:
    return Average(
        short_samples=_counts(rows, "short_samples"),
        short=_terms(rows, "short"),
        long_samples=_counts(rows, "long_samples"),
        long=_terms(rows, "long"),
        topics=np.array([row["topics"] for row in rows], np.float64),
        number=np.zeros(len(rows), np.int64),
    )


def _counts(rows: Sequence[Mapping[str, Any]], name: str) -> Ints:
    return np.array([row[name] for row in rows], np.int64)


def _terms(rows: Sequence[Mapping[str, Any]], term: str) -> Floats:
    values = [[row[f"{term}_{metric}"] for metric in METRICS] for row in rows]
    return np.array(values, np.float64)
