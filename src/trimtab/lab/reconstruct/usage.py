"""What brokers used, as they told it: what their traffic takes of it, and what is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TypeAlias

import numpy as np

from trimtab.lab.costs import Knowledge
from trimtab.lab.costs.arithmetic import factors
from trimtab.lab.reconstruct.clocks import Grid, Life
from trimtab.lab.reconstruct.costs import Costs, Served, likeliest
from trimtab.lab.reconstruct.host_windows import HostWindows
from trimtab.pulsar.model import Flags, Floats, Ints

#: Windows below which it is not said how well costs explain them.
WINDOWS_MIN = 6
# A process that begins compiles itself and takes far more than its traffic does, s.
_COLD_S = 60.0

#: Ticks of a window, and its broker.
Span: TypeAlias = tuple[slice, int]


@dataclass(frozen=True, slots=True)
class Carried:
    """What brokers carried, by who really owned the bundles."""

    served: Served
    #: (2, n_ticks, n_brokers) bytes/s in and out, and (n_brokers,) what the NIC carries.
    bytes_s: Floats
    nic: Floats
    #: Bookies to which what is published is sent, and bytes received for each dispatched.
    write_quorum: float
    nic_in_share: float

    def network(self) -> Floats:
        """Return percent of the NIC that the bytes take, in and out, (2, n_ticks, n_brokers)."""
        into, out = self.bytes_s
        received, sent = into + self.nic_in_share * out, self.write_quorum * into + out
        return 100.0 * np.stack((received, sent)) / self.nic


@dataclass(frozen=True, slots=True)
class Explained:
    """How well usage is explained by what is carried."""

    #: Root mean square of what is missed, points, and share of the variance that is explained,
    #: below 0 if the mean would miss less; NaN if there are too few windows.
    error_points: float
    r_squared: float
    n_windows: int


@dataclass(frozen=True, slots=True)
class Used:
    """What brokers used, taken apart."""

    #: What is known of costs, and the costs by which it was taken apart.
    known: Knowledge
    costs: Costs
    cpu: Explained
    network: Explained
    #: (3, n_ticks, n_brokers) percent of CPU, NIC in and NIC out: what was told, and what
    #: is left of it beyond what the traffic costs.
    usage: Floats
    others: Floats
    #: Ticks and broker of each window of a host that was told.
    spans: tuple[Span, ...]
    #: Those of a process that was there for some time when the window began.
    warm: tuple[Span, ...]


def used(
    windows: HostWindows,
    carried: Carried,
    known: Knowledge,
    lives: Sequence[Life],
    grid: Grid,
) -> tuple[Used, Floats]:
    """Return what brokers used, taken apart by costs that were learned, and the work behind it.

    What the traffic of a window does not explain was used by something else in that
    window, and will be whoever owns the bundles: a broker that carries what it carried
    uses what it used.  Of a window that had begun before the first tick the rest stands for
    all of it.

    Returns:
        What was used, and the work of each bundle at its costs, (n_ticks, n_bundles).
    """
    is_told = (windows.to_s > grid.from_s + grid.tick_s / 2) & (windows.to_s <= grid.end_s[-1])
    rows = np.flatnonzero(is_told)
    spans = tuple(zip(_ticks(windows, rows, grid), windows.broker[rows].tolist(), strict=True))
    usage = np.full((3, *carried.bytes_s.shape[1:]), np.nan)
    for told, (span, broker) in zip(windows.usage[rows], spans, strict=True):
        usage[:, span, broker] = told[:, None]
    is_warm = (windows.from_s >= grid.from_s) & _is_warm(windows, lives)
    warm = tuple(compress(spans, is_warm[rows]))
    bare = means(carried.network(), warm)
    told = means(usage, warm)
    overhead, idle = wire(bare, told[:, 1:])
    costs = likeliest(known, overhead)
    work = carried.served.work(costs)
    cpu = carried.served.cpu_of(work, costs)
    modelled = np.concatenate((cpu[None], overhead * carried.network()))
    rest = costs.rest[[broker for _, broker in warm]]
    taken_apart = Used(
        known=known,
        costs=costs,
        cpu=explained(told[:, 0], means(modelled[:1], warm)[:, 0] + rest),
        network=explained(told[:, 1:].reshape(-1), (overhead * bare + idle).reshape(-1)),
        usage=usage,
        others=left_over(usage, modelled, spans, float(costs.rest.mean())),
        spans=spans,
        warm=warm,
    )
    return taken_apart, work


def means(values: Floats, spans: Sequence[Span]) -> Floats:
    """Return the mean of values over each window, (n_windows, n), of (n, n_ticks, n_brokers)."""
    first, length, who = _columns(spans)
    each = np.empty((len(spans), len(values)))
    # All of one length at once, which most are.
    for n in np.unique(length).tolist():
        rows = np.flatnonzero(length == n)
        at = first[rows, None] + np.arange(n), who[rows, None]
        for i, of in enumerate(values):
            each[rows, i] = of[at].mean(axis=1)
    return each


def wire(bare: Floats, told: Floats) -> tuple[float, float]:
    """Return the bytes on the wire for each that is counted, and percent of the NIC without any.

    Args:
        bare: (n_windows, 2) percent of the NIC by the bytes, in and out.
        told: (n_windows, 2) as reports have it.
    """
    if len(bare) < WINDOWS_MIN:
        return 1.0, 0.0
    counted = bare.reshape(-1)
    each, idle = factors(np.column_stack((counted, np.ones(counted.size))), told.reshape(-1))
    return (float(each), float(idle)) if each > 0 else (1.0, 0.0)


def explained(told: Floats, ours: Floats) -> Explained:
    """Return how well what was told is explained by what it should have been, (n_windows,)."""
    if told.size < WINDOWS_MIN:
        return Explained(np.nan, np.nan, told.size)
    error, variance = float(((told - ours) ** 2).mean()), float(told.var())
    r_squared = 1.0 - error / variance if variance > 0 else np.nan
    return Explained(float(np.sqrt(error)), r_squared, told.size)


def left_over(usage: Floats, modelled: Floats, spans: Sequence[Span], idle: float) -> Floats:
    """Return what was used beyond what the traffic costs, (3, n_ticks, n_brokers).

    Args:
        usage: (3, n_ticks, n_brokers) percent; the same all through a window.
        modelled: (3, n_ticks, n_brokers) percent that the traffic costs.
        spans: ticks and broker of each window.
        idle: percent of the CPU that is taken where nothing was told of a broker.
    """
    others = np.full(usage.shape, np.nan)
    first, _, who = _columns(spans)
    left = usage[:, first, who].T - means(modelled, spans)
    for (span, broker), each in zip(spans, left, strict=True):
        others[:, span, broker] = each[:, None]
    return _without_gaps(others, idle)


def _columns(spans: Sequence[Span]) -> tuple[Ints, Ints, Ints]:
    """Return the first tick of each window, how many it has, and its broker, (n_windows,) each."""
    rows = [(span.start, span.stop - span.start, broker) for span, broker in spans]
    first, length, broker = np.array(rows, np.int64).reshape(-1, 3).T
    return first, length, broker


def _ticks(windows: HostWindows, rows: Ints, grid: Grid) -> Iterator[slice]:
    """Yield which ticks are in each of some windows; they close with one."""
    from_s, to_s = windows.from_s[rows], windows.to_s[rows]
    last = np.minimum(np.rint((to_s - grid.from_s) / grid.tick_s), grid.n_ticks)
    first = np.maximum(last - np.maximum(np.rint((to_s - from_s) / grid.tick_s), 1), 0)
    yield from map(slice, first.astype(np.int64).tolist(), last.astype(np.int64).tolist())


def _is_warm(windows: HostWindows, lives: Sequence[Life]) -> Flags:
    """Return where the process had been there for some time when the window began, (n_windows,)."""
    begun_s = np.full(windows.broker.size, -np.inf)
    for life in lives:
        mine = (windows.broker == life.broker) & (windows.to_s >= life.from_s)
        begun_s[mine] = np.maximum(begun_s[mine], life.from_s)
    return np.asarray(windows.from_s - begun_s >= _COLD_S)


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
