"""What brokers used, as they told it: what their traffic costs, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from trimtab.model import Floats
from trimtab.reconstruct.carried import HostWindows
from trimtab.reconstruct.clocks import Life
from trimtab.reconstruct.costs import Fit, fitted
from trimtab.reconstruct.grid import Grid

# A process that begins compiles itself and takes far more than its traffic does, s.
_COLD_S = 60.0

#: Ticks of a window, its broker and its row.
_Part: TypeAlias = tuple[slice, int, int]


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
        """Percent of the NIC that the bytes take, in and out, (2, n_ticks, n_brokers)."""
        into, out = self.rates[2], self.rates[3]
        received, sent = into + self.nic_in_share * out, self.write_quorum * into + out
        return 100.0 * np.stack((received, sent)) / self.nic


@dataclass(frozen=True, slots=True)
class Used:
    """What brokers used, taken apart."""

    #: Points of CPU by messages/s and by bytes/s, both ways together.
    cpu: Fit
    #: Bytes on the wire for each that is counted.
    network: Fit
    overhead: float
    #: (3, n_ticks, n_brokers) percent of CPU, NIC in and NIC out: what was told, and what
    #: is left of it beyond what the traffic costs.
    told: Floats
    others: Floats
    #: Ticks and broker of each window of a host that was told.
    spans: tuple[tuple[slice, int], ...]


def used(windows: HostWindows, carried: Carried, lives: Sequence[Life], grid: Grid) -> Used:
    """Take apart what brokers used.

    What the traffic of a window does not explain was used by something else in that
    window, and will be whoever owns the bundles: a broker that carries what it carried
    uses what it used.

    Args:
        windows: of hosts, with what they used.
        carried: by the brokers.
        lives: of the brokers.
        grid: ticks.
    """
    is_inside = (windows.from_s >= grid.from_s) & (windows.to_s <= grid.end_s[-1])
    rows = np.flatnonzero(is_inside).tolist()
    parts = [(_span(windows, row, grid), int(windows.broker[row]), row) for row in rows]
    warm = [part for part in parts if _is_warm(windows, part[2], lives)]
    cpu = _cpu(windows, carried, warm)
    bare = carried.network()
    network = _network(windows, bare, warm)
    overhead = network.costs[0] if network.costs[0] > 0 else 1.0
    messages, bytes_ = carried.rates[0] + carried.rates[1], carried.rates[2] + carried.rates[3]
    work = cpu.costs[0] * messages + cpu.costs[1] * bytes_
    modelled = np.concatenate((work[None], overhead * bare))
    told, others = np.full((2, *modelled.shape), np.nan)
    for span, broker, row in parts:
        usage = windows.usage[row]
        told[:, span, broker] = usage[:, None]
        left = usage - modelled[:, span, broker].mean(axis=1)
        others[:, span, broker] = left[:, None]
    spans = tuple((span, broker) for span, broker, _ in parts)
    return Used(cpu, network, overhead, told, _held(others, cpu.intercept), spans)


def _cpu(windows: HostWindows, carried: Carried, parts: Sequence[_Part]) -> Fit:
    """Fit what messages and bytes cost of the CPU."""
    means = [carried.rates[:, span, broker].mean(axis=1) for span, broker, _ in parts]
    rates = np.array(means, np.float64).reshape(-1, 4)
    both = np.column_stack((rates[:, 0] + rates[:, 1], rates[:, 2] + rates[:, 3]))
    return fitted(both, windows.usage[[row for _, _, row in parts], 0])


def _network(windows: HostWindows, bare: Floats, parts: Sequence[_Part]) -> Fit:
    """Fit how many bytes are on the wire for each that is counted, both ways together."""
    means = [bare[:, span, broker].mean(axis=1) for span, broker, _ in parts]
    expected = np.array(means, np.float64).reshape(-1, 2)
    usage = windows.usage[[row for _, _, row in parts], 1:]
    return fitted(expected.reshape(-1, 1), usage.reshape(-1))


def _span(windows: HostWindows, row: int, grid: Grid) -> slice:
    """Say which ticks are in a window; it closes with one."""
    last = min(grid.ended(windows.to_s[row]), grid.n_ticks)
    length = max(1, round((windows.to_s[row] - windows.from_s[row]) / grid.tick_s))
    return slice(max(0, last - length), last)


def _is_warm(windows: HostWindows, row: int, lives: Sequence[Life]) -> bool:
    """Say whether the process had been there for some time when a window began."""
    broker, to_s = windows.broker[row], windows.to_s[row]
    begins = [life.from_s for life in lives if life.broker == broker and life.from_s <= to_s]
    return bool(windows.from_s[row] - max(begins, default=-np.inf) >= _COLD_S)


def _held(others: Floats, idle: float) -> Floats:
    """Fill what is not told with the nearest that is, of the same broker."""
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
