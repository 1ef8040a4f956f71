"""Rows as they come in, and what was learned → what is known of costs then.

A fold as `step` is: no clock, no files.  It looks once a window, at the mean of what each broker
said since the look before and at what changed hands meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trimtab.lab.costs import Knowledge, Windows, nothing_known
from trimtab.lab.costs.by_name import BrokerReport, Handover, looked_at
from trimtab.live.control.expected import Costs
from trimtab.live.watch.events import measures, write_time
from trimtab.live.watch.nouns import Row, Settings
from trimtab.pulsar.bundles import is_system_bundle
from trimtab.pulsar.model import MINUTE_S, RESOURCES
from trimtab.pulsar.scores import busiest_resource
from trimtab.pulsar.settings.reader import Reader

# Columns of `bundle_reports` in the order of COUNTS.
_COUNTED = (
    *("rate_in", "rate_out", "throughput_in", "throughput_out"),
    *("topics", "producers", "consumers"),
)
_CPU = RESOURCES.index("cpu")
# Percent below which a broker has not looked yet: its first look divides by the time since 1970.
_LOOKED_AT = 0.01
# Percent of a core in a core.
_OF_A_CORE = 100.0


@dataclass(frozen=True, slots=True)
class Learning:
    """What is known, and what came since the last look."""

    costs: Costs
    #: Broker → its reports.
    reports: Mapping[str, tuple[BrokerReport, ...]] = field(default_factory=dict)
    handovers: tuple[Handover, ...] = ()
    #: Bundle → who owns it, as far as anybody told.
    owners: Mapping[str, str | None] = field(default_factory=dict)
    #: s since 1970.
    next_look_s: float = -math.inf


def learning(known: Knowledge | None) -> Learning:
    """Return what is known before anything comes in; None is nothing."""
    return Learning(Costs(nothing_known((), ()) if known is None else known))


def with_rows(before: Learning, rows: Sequence[Row], now_s: float, settings: Settings) -> Learning:
    """Return what is known once rows have come in.

    Properties:
        A look is taken once a window, whenever rows come.
    """
    now = _collected(before, rows, settings)
    if now_s < now.next_look_s or not now.reports:
        return now
    windows = windows_of(settings)
    reports = [_mean(each) for each in now.reports.values()]
    known = looked_at(now.costs.known, now_s, reports, now.handovers, windows)
    return replace(
        now,
        costs=replace(now.costs, known=known),
        reports={},
        handovers=(),
        next_look_s=now_s + windows.host_s,
    )


def _collected(before: Learning, rows: Sequence[Row], settings: Settings) -> Learning:
    reports, owners = dict(before.reports), dict(before.owners)
    others, handovers = dict(before.costs.others), list(before.handovers)
    for row, lines in list(reported(rows)):
        report = report_of(row, lines, settings.ran.release)
        reports[report.broker] = (*reports.get(report.broker, ()), report)
        others[report.broker] = _other_percent(row, settings)
    for table, row in rows:
        if table == "load_reports" and row["is_gone"]:
            others.pop(row["broker"], None)
        if table == "ownership" and row["bundle"] is not None and row["broker"] is not None:
            source = owners.get(row["bundle"])
            if source != row["broker"] and not is_system_bundle(
                row["bundle"], settings.ran.release
            ):
                time_s = write_time(row).timestamp()
                handovers.append(Handover(time_s, row["bundle"], source, row["broker"]))
            owners[row["bundle"]] = row["broker"]
    return replace(
        before,
        costs=replace(
            before.costs,
            others=others,
            cpu_weight=settings.ran.threshold_shedder.weights.cpu,
        ),
        reports=reports,
        handovers=tuple(handovers),
        owners=owners,
    )


def reported(rows: Sequence[Row]) -> Iterator[tuple[Mapping[str, Any], list[Mapping[str, Any]]]]:
    """Yield the reports that say something of CPU, each with its rows of bundles."""
    lines: list[Mapping[str, Any]] = []
    for table, row in rows:
        if table == "load_reports":
            lines = []
            if not row["is_gone"] and row.get("cpu_usage") is not None and row["cpu_limit"]:
                yield row, lines
        elif table == "bundle_reports":
            lines.append(row)


def report_of(
    row: Mapping[str, Any], lines: Sequence[Mapping[str, Any]], release: str
) -> BrokerReport:
    """Return what a row of `load_reports` says, with its rows of `bundle_reports`.

    Who has not looked at its CPU yet reports nearly none, and says 0 here, which nobody measures.
    """
    started = row.get("started")
    percent = 100.0 * row["cpu_usage"] / row["cpu_limit"]
    return BrokerReport(
        broker=row["broker"],
        written_s=write_time(row).timestamp(),
        started_s=math.nan if started is None else started.timestamp(),
        cpu_percent=percent if percent >= _LOOKED_AT else 0.0,
        cores=row["cpu_limit"] / _OF_A_CORE,
        bundles={
            line["bundle"]: _counts(line)
            for line in lines
            if not is_system_bundle(line["bundle"], release)
        },
    )


def _counts(line: Mapping[str, Any]) -> tuple[float, ...]:
    """Return COUNTS of a row; what is not told of clients is not known, and of traffic none."""
    traffic = tuple(line[name] or 0.0 for name in _COUNTED[:-2])
    clients = (line.get(name) for name in _COUNTED[-2:])
    return (*traffic, *(math.nan if each is None else float(each) for each in clients))


def _other_percent(row: Mapping[str, Any], settings: Settings) -> float:
    """Return the usage of a broker's busiest resource besides the CPU, as it is weighed."""
    usage, limit = (measures(row, which)[None, :] for which in ("usage", "limit"))
    usage[0, _CPU] = 0.0
    return 100.0 * float(busiest_resource(usage, limit, settings.ran.threshold_shedder.weights)[0])


def _mean(reports: Sequence[BrokerReport]) -> BrokerReport:
    """Return the mean of what a broker said in a window, as if it were one report."""
    first, last = reports[0], reports[-1]
    lines: dict[str, list[Sequence[float]]] = {}
    for report in reports:
        for bundle, counts in report.bundles.items():
            lines.setdefault(bundle, []).append(counts)
    return replace(
        last,
        written_s=first.written_s,
        cpu_percent=float(np.mean([each.cpu_percent for each in reports])),
        bundles={name: np.mean(each, axis=0).tolist() for name, each in lines.items()},
    )


def windows_of(settings: Settings) -> Windows:
    """Return over how long brokers take means, by the cluster's settings."""
    conf = Reader(settings.ran.conf, settings.ran.release)
    host_s = conf.number("loadBalancerHostUsageCheckIntervalMinutes") * MINUTE_S
    return Windows(host_s, settings.ran.manager.stats_interval_s)
