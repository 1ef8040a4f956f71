"""Who owned what, and what brokers carried: each window of a host beside its traffic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.lab.reconstruct.clocks import Life
from trimtab.lab.reconstruct.evidence import Owners, Reports
from trimtab.pulsar.model import Floats, Ints

# Times and bundles that are added up at once: what stays near a core.
_CELLS = 50_000


@dataclass(frozen=True, slots=True)
class HostWindows:
    """Windows of hosts that reports tell of, by broker and time; all arrays are (n_windows, …)."""

    broker: Ints
    #: s; when it began and closed.
    from_s: Floats
    to_s: Floats
    #: (n_windows, 3) percent of CPU, NIC in and NIC out.
    usage: Floats


def owners_at(owners: Owners, n_bundles: int, at_s: Floats) -> Ints:
    """Return who owned each bundle, (n_times, n_bundles); -1 for nobody.

    Before the first owner that is told, a bundle is taken to be that one's already.
    """
    kept = np.flatnonzero(owners.broker >= 0)
    order = kept[np.argsort(owners.bundle[kept], kind="stable")]
    bounds = np.searchsorted(owners.bundle[order], np.arange(n_bundles + 1))
    count, first = np.diff(bounds), np.full(n_bundles, -1)
    first[count > 0] = owners.broker[order[bounds[:-1][count > 0]]]
    owner = np.tile(first, (at_s.size, 1))
    for bundle in np.flatnonzero(count > 1).tolist():
        mine = order[bounds[bundle] : bounds[bundle + 1]]
        place = np.searchsorted(owners.time_s[mine], at_s, side="right") - 1
        owner[:, bundle] = owners.broker[mine[np.maximum(place, 0)]]
    return owner


def host_windows(reports: Reports, lives: Sequence[Life], host_s: float) -> HostWindows:
    """Return the windows of hosts, each with the usage that was reported of it.

    Where reports do not tell when windows close they are laid from the first report on: the
    usage that is told is then of up to a window before.
    """
    parts = [(np.empty(0, np.int64), np.empty(0), np.empty(0))]
    for life in lives:
        mine = np.flatnonzero(
            (reports.broker == life.broker)
            & ~reports.is_gone
            & (reports.time_s >= life.from_s)
            & (reports.time_s < life.to_s)
        )
        times = reports.time_s[mine]
        if times.size == 0:
            continue
        phase_s = times[0] if np.isnan(life.host_phase_s) else life.host_phase_s
        first = np.ceil((life.from_s - phase_s) / host_s)
        ends = phase_s + host_s * np.arange(first, (times[-1] - phase_s) // host_s + 1)
        ends = ends[ends < times[-1]]
        # What is told right after it may still be of the window before: the last one counts.
        past = np.searchsorted(times, ends + host_s, side="right")
        is_told = past > np.searchsorted(times, ends, side="right")
        ends = ends[is_told]
        parts.append((mine[past[is_told] - 1], np.maximum(ends - host_s, life.from_s), ends))
    row, from_s, to_s = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.lexsort((to_s, from_s, reports.broker[row]))
    row = row[order]
    return HostWindows(reports.broker[row], from_s[order], to_s[order], percent(reports, row))


def by_broker(values: Floats, owner: Ints, n_brokers: int, factor: Floats | None = None) -> Floats:
    """Return the sum of what each broker's bundles have, (n_times, n_brokers).

    Args:
        values: (n_times, n_bundles) of bundles.
        owner: (n_times, n_bundles) who has each; -1 for nobody.
        n_brokers: how many there are.
        factor: (n_times, n_bundles) by which they are multiplied; None: by nothing.
    """
    n_times, n_bundles = values.shape
    sums, step = np.zeros((n_times, n_brokers)), max(1, _CELLS // max(1, n_bundles))
    for first in range(0, n_times, step):
        part = slice(first, first + step)
        mine, who = values[part], owner[part]
        mine = mine if factor is None else mine * factor[part]
        at = (n_brokers + 1) * np.arange(len(mine))[:, None] + np.where(who >= 0, who, n_brokers)
        flat = np.bincount(at.reshape(-1), mine.reshape(-1), len(mine) * (n_brokers + 1))
        sums[part] = flat.reshape(len(mine), n_brokers + 1)[:, :-1]
    return sums


def percent(reports: Reports, rows: Ints) -> Floats:
    """Return some reports' usage of CPU, NIC in and NIC out, (n_rows, 3) percent."""
    which = rows[:, None], np.array((0, 3, 4))
    share: Floats = 100.0 * reports.usage[which] / reports.limit[which]
    return np.nan_to_num(share)
