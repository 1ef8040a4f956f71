"""What brokers used, as they told it: what their traffic costs, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from trimtab.lab.reconstruct.clocks import Grid, Life
from trimtab.lab.reconstruct.costs import Fit, fitted
from trimtab.lab.reconstruct.host_windows import HostWindows
from trimtab.pulsar.model import Floats

# A process that begins compiles itself and takes far more than its traffic does, s.
_COLD_S = 60.0

#: Ticks of a window, and its broker.
Span: TypeAlias = tuple[slice, int]


@dataclass(frozen=True, slots=True)
class Carried:
    """What brokers carried; both arrays are (4, n_ticks, n_brokers) and (n_brokers,)."""

    #: Messages/s in and out, bytes/s in and out, by who really owned the bundles.
    rates: Floats
    #: Bytes/s.
    nic: Floats
    #: Bookies to which what is published is sent, and bytes received for each dispatched.
    write_quorum: float
    nic_in_share: float

    def network(self) -> Floats:
        """Return percent of the NIC that the bytes take, in and out, (2, n_ticks, n_brokers)."""
        into, out = self.rates[2], self.rates[3]
        received, sent = into + self.nic_in_share * out, self.write_quorum * into + out
        return 100.0 * np.stack((received, sent)) / self.nic


@dataclass(frozen=True, slots=True)
class Used:
    """What brokers used, taken apart."""

    #: Points of CPU by messages/s, both ways together, and by bytes/s in and out.
    cpu: Fit
    #: Bytes on the wire for each that is counted.
    network: Fit
    overhead: float
    #: (3, n_ticks, n_brokers) percent of CPU, NIC in and NIC out: what was told, and what
    #: is left of it beyond what the traffic costs.
    usage: Floats
    others: Floats
    #: Ticks and broker of each window of a host that was told.
    spans: tuple[Span, ...]
    #: Those of a process that was there for some time when the window began: what was fitted to.
    warm: tuple[Span, ...]


def used(windows: HostWindows, carried: Carried, lives: Sequence[Life], grid: Grid) -> Used:
    """Return what brokers used, taken apart.

    What the traffic of a window does not explain was used by something else in that
    window, and will be whoever owns the bundles: a broker that carries what it carried
    uses what it used.  Of a window that had begun before the first tick the rest stands for
    all of it; costs are not fitted to it.
    """
    is_told = (windows.to_s > grid.from_s + grid.tick_s / 2) & (windows.to_s <= grid.end_s[-1])
    rows = np.flatnonzero(is_told).tolist()
    spans = tuple((_span(windows, row, grid), int(windows.broker[row])) for row in rows)
    usage = np.full((3, *carried.rates.shape[1:]), np.nan)
    for row, (span, broker) in zip(rows, spans, strict=True):
        usage[:, span, broker] = windows.usage[row][:, None]
    of_rows = zip(rows, spans, strict=True)
    warm = tuple(
        part
        for row, part in of_rows
        if windows.from_s[row] >= grid.from_s and _is_warm(windows, row, lives)
    )
    rates, told, bare = fit_windows(carried, usage, warm)
    cpu = fitted(rates, told[:, 0], np.array([broker for _, broker in warm], np.int64))
    network = fitted(bare.reshape(-1, 1), told[:, 1:].reshape(-1))
    overhead = network.costs[0] if network.costs[0] > 0 else 1.0
    work = work_of(cpu.costs, carried.rates)
    modelled = np.concatenate((work[None], overhead * carried.network()))
    others = left_over(usage, modelled, spans, cpu.intercept)
    return Used(cpu, network, overhead, usage, others, spans, warm)


def fit_windows(
    carried: Carried, usage: Floats, spans: Sequence[Span]
) -> tuple[Floats, Floats, Floats]:
    """Return what costs are fitted to, a row a window.

    Returns:
        (n_windows, 3) messages/s both ways together, bytes/s in and out; (n_windows, 3) percent
        of CPU, NIC in and NIC out as told; (n_windows, 2) percent of the NIC by the bytes.
    """
    both = np.concatenate((carried.rates, carried.network()))
    means = [both[:, span, broker].mean(axis=1) for span, broker in spans]
    told = [usage[:, span, broker][:, 0] for span, broker in spans]
    rates = np.array(means, np.float64).reshape(-1, 6)
    columns = np.column_stack((rates[:, 0] + rates[:, 1], rates[:, 2], rates[:, 3]))
    return columns, np.array(told, np.float64).reshape(-1, 3), rates[:, 4:].copy()


def work_of(costs: Sequence[float], rates: Floats) -> Floats:
    """Return what traffic costs of the CPU, points.

    Args:
        costs: by messages/s, both ways together, and by bytes/s in and out.
        rates: (4, …) messages/s in and out, bytes/s in and out.
    """
    points: Floats = costs[0] * (rates[0] + rates[1]) + costs[1] * rates[2] + costs[2] * rates[3]
    return points


def left_over(usage: Floats, modelled: Floats, spans: Sequence[Span], idle: float) -> Floats:
    """Return what was used beyond what the traffic costs, (3, n_ticks, n_brokers).

    Args:
        usage: (3, n_ticks, n_brokers) percent; the same all through a window.
        modelled: (3, n_ticks, n_brokers) percent that the traffic costs.
        spans: ticks and broker of each window.
        idle: percent of the CPU that is taken where nothing was told of a broker.
    """
    others = np.full(usage.shape, np.nan)
    for span, broker in spans:
        left = usage[:, span, broker][:, :1] - modelled[:, span, broker].mean(axis=1, keepdims=True)
        others[:, span, broker] = left
    return _without_gaps(others, idle)


def _span(windows: HostWindows, row: int, grid: Grid) -> slice:
    """Return which ticks are in a window; it closes with one."""
    last = min(grid.ended(windows.to_s[row]), grid.n_ticks)
    length = max(1, round((windows.to_s[row] - windows.from_s[row]) / grid.tick_s))
    return slice(max(0, last - length), last)


def _is_warm(windows: HostWindows, row: int, lives: Sequence[Life]) -> bool:
    """Return whether the process had been there for some time when a window began."""
    broker, to_s = windows.broker[row], windows.to_s[row]
    begins = [life.from_s for life in lives if life.broker == broker and life.from_s <= to_s]
    return bool(windows.from_s[row] - max(begins, default=-np.inf) >= _COLD_S)


def _without_gaps(others: Floats, idle: float) -> Floats:
    """Return the array with gaps filled by the nearest value of the same broker."""
    filled = others.copy()
    nothing = (idle, 0.0, 0.0)
    ticks = np.arange(others.shape[1])
    for broker in range(others.shape[2]):
        known = np.flatnonzero(~np.isnan(others[0, :, broker]))
        for resource in range(3):
            if known.size == 0:
                filled[resource, :, broker] = nothing[resource]
                continue
            place = np.clip(np.searchsorted(known, ticks), 0, known.size - 1)
            before = np.maximum(place - 1, 0)
            is_before = np.abs(ticks - known[before]) < np.abs(known[place] - ticks)
            nearest = known[np.where(is_before, before, place)]
            filled[resource, :, broker] = others[resource, nearest, broker]
    return filled
