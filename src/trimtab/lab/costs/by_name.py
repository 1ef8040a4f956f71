"""Reports and moves by the names of brokers and bundles → what is known after a look at them.

Whoever watches a cluster meets brokers and bundles one after the other; each new name gets
the next position, so that nothing that was learned changes its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.lab.costs.arrays import among
from trimtab.lab.costs.knowledge import Knowledge
from trimtab.lab.costs.learn import learned
from trimtab.lab.costs.look import COUNTS, Look, Windows
from trimtab.pulsar.model import Floats, Ints


@dataclass(frozen=True, slots=True)
class BrokerReport:
    """What one broker says of itself."""

    broker: str
    #: s; when it was written, and when the process began (NaN: not known).
    written_s: float
    started_s: float
    #: Percent of the host's CPU in use, and the cores of the host (NaN: not known).
    cpu_percent: float
    cores: float
    #: Bundle → COUNTS.
    bundles: Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Handover:
    """A bundle that changed hands; None for nobody."""

    time_s: float
    bundle: str
    source: str | None
    target: str | None


def looked_at(
    known: Knowledge,
    time_s: float,
    reports: Sequence[BrokerReport],
    handovers: Sequence[Handover],
    windows: Windows,
) -> Knowledge:
    """Return what is known after a look at what brokers say, at most one report of each.

    Properties:
        Positions of names that were known stay as they are.
        The order of the reports does not matter, but for rounding, once their names are known.
    """
    known = _with_names(known, reports, handovers)
    return learned(known, _look(known, time_s, reports, handovers), windows)


def broker_positions(known: Knowledge, brokers: Sequence[str | None]) -> Ints:
    """Return the positions of brokers; -1 for nobody, and for those that are not known."""
    return _positions(known.broker_names, brokers)


def bundle_positions(known: Knowledge, bundles: Sequence[str]) -> Ints:
    """Return the positions of bundles; -1 for those that are not known."""
    return _positions(known.bundle_names, bundles)


def _positions(names: Sequence[str], of: Sequence[str | None]) -> Ints:
    place = {name: i for i, name in enumerate(names)}
    return np.array([place.get(name or "", -1) for name in of], np.int64)


def _with_names(
    known: Knowledge, reports: Sequence[BrokerReport], handovers: Sequence[Handover]
) -> Knowledge:
    ends = [name for each in handovers for name in (each.source, each.target) if name]
    brokers = dict.fromkeys((*known.broker_names, *(each.broker for each in reports), *ends))
    bundles = dict.fromkeys(known.bundle_names)
    for report in reports:
        bundles |= dict.fromkeys(report.bundles)
    bundles |= dict.fromkeys(each.bundle for each in handovers)
    if len(brokers) == len(known.broker_names) and len(bundles) == len(known.bundle_names):
        return known
    return among(known, tuple(brokers), tuple(bundles))


def _look(
    known: Knowledge,
    time_s: float,
    reports: Sequence[BrokerReport],
    handovers: Sequence[Handover],
) -> Look:
    counts = [line for report in reports for line in report.bundles.values()]
    listed = [name for report in reports for name in report.bundles]
    sizes = [len(report.bundles) for report in reports]
    return Look(
        time_s=time_s,
        broker=broker_positions(known, [each.broker for each in reports]),
        written_s=_floats([each.written_s for each in reports]),
        started_s=_floats([each.started_s for each in reports]),
        cpu=_floats([each.cpu_percent for each in reports]),
        others=np.full(len(reports), np.nan),
        cores=_floats([each.cores for each in reports]),
        report=np.repeat(np.arange(len(reports)), sizes),
        bundle=bundle_positions(known, listed),
        counts=np.array(counts, np.float64).reshape(-1, len(COUNTS)),
        moved=bundle_positions(known, [each.bundle for each in handovers]),
        moved_from=broker_positions(known, [each.source for each in handovers]),
        moved_to=broker_positions(known, [each.target for each in handovers]),
        moved_s=_floats([each.time_s for each in handovers]),
    )


def _floats(values: Sequence[float]) -> Floats:
    return np.array(values, np.float64)
