"""What brokers sent and received beside what their bundles carried → what a byte takes of a NIC.

Of each byte that clients are counted for, the storage gets its copies and the wire its headers;
what these come to is learned from the reports themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.lab.costs.arithmetic import factors
from trimtab.lab.costs.knowledge import Bundles
from trimtab.lab.reconstruct.evidence import Evidence
from trimtab.pulsar.model import RESOURCES, Floats, Ints

_IN, _OUT = RESOURCES.index("bandwidth_in"), RESOURCES.index("bandwidth_out")
# Reports below which nothing is fitted.
_REPORTS_MIN = 6
# Columns of bytes of a bundle's counts.
_BYTES = slice(2, 4)


@dataclass(frozen=True, slots=True)
class Network:
    """Reports of NICs beside the bytes of their bundles, in order of time; (n_reports, …)."""

    time_s: Floats
    broker: Ints
    #: (n_reports, 2) kbit/s received and sent, and what there is.
    usage: Floats
    limit: Floats
    #: (n_reports, 2) bytes/s of clients, in and out.
    carried: Floats
    #: (n_lines,) report and bundle of what reports list.
    report: Ints
    bundle: Ints


@dataclass(frozen=True, slots=True)
class Cards:
    """What NICs take at one time."""

    #: (n_brokers, 2) percent received and sent; NaN where nobody told.
    level: Floats
    #: (n_bundles, 2) kbit/s that each takes, and (n_brokers, 2) percent of a NIC a kbit/s is.
    cost: Floats
    speed: Floats


def network(evidence: Evidence) -> Network:
    """Return the reports of a recording that tell of NICs."""
    reports, lines = evidence.reports, evidence.lines
    ends = (_IN, _OUT)
    usage, limit = reports.usage[:, ends], reports.limit[:, ends]
    kept = ~reports.is_gone & (limit > 0).all(axis=1) & ~np.isnan(usage).any(axis=1)
    rows = np.flatnonzero(kept)
    rows = rows[np.argsort(reports.time_s[rows], kind="stable")]
    place = dict(
        zip(_keys(reports.broker[rows], reports.time_s[rows]), range(rows.size), strict=True)
    )
    at = np.array([place.get(each, -1) for each in _keys(lines.broker, lines.time_s)], np.int64)
    listed = at >= 0
    carried = np.zeros((rows.size, 2))
    np.add.at(carried, at[listed], lines.rates[listed][:, _BYTES])
    return Network(
        reports.time_s[rows],
        reports.broker[rows],
        usage[rows],
        limit[rows],
        carried,
        at[listed],
        lines.bundle[listed],
    )


def cards(reported: Network, time_s: float, bundles: Bundles, n_brokers: int) -> Cards:
    """Return what NICs take by the reports before some time.

    Args:
        reported: of the whole recording.
        time_s: nothing from then on is used.
        bundles: their traffic and their owners, as they are taken to be then.
        n_brokers: of the recording.

    Properties:
        A level is what was last measured, moved on with what changed hands since.
    """
    count = int(np.searchsorted(reported.time_s, time_s))
    broker, usage = reported.broker[:count], reported.usage[:count]
    costs = _fitted(usage, reported.carried[:count])
    cost = bundles.counts[:, _BYTES] @ costs
    # Of several reports of a broker the last is what is.
    last = np.full(n_brokers, -1)
    last[broker] = np.arange(count)
    level, speed = np.full((n_brokers, 2), np.nan), np.zeros((n_brokers, 2))
    level[broker], speed[broker] = usage, 100.0 / reported.limit[:count]
    before = last[reported.broker[reported.report]] == reported.report
    then = _sums(reported.broker[reported.report[before]], cost[reported.bundle[before]], n_brokers)
    owned = bundles.owner >= 0
    now = _sums(bundles.owner[owned], cost[owned], n_brokers)
    return Cards(np.maximum(level + now - then, 0.0) * speed, cost, speed)


def _sums(place: Ints, values: Floats, count: int) -> Floats:
    """Return the sum of values by place, (count, 2)."""
    return np.stack([np.bincount(place, each, count) for each in values.T], axis=1)


def _fitted(usage: Floats, carried: Floats) -> Floats:
    """Return kbit/s for each byte/s in and out, (2 ways of clients, 2 of the NIC)."""
    costs = np.zeros((2, 2))
    if len(usage) < _REPORTS_MIN:
        return costs
    columns = np.column_stack((carried, np.ones(len(carried))))
    scale = np.maximum(columns.max(axis=0), 1.0)
    for end in (0, 1):
        terms = factors(columns / scale, usage[:, end])
        costs[:, end] = terms[:2] / scale[:2]
    return costs


def _keys(broker: Ints, time_s: Floats) -> list[tuple[int, float]]:
    return list(zip(broker.tolist(), time_s.tolist(), strict=True))
