"""What reports say of bundles → the traffic of each over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.lab.reconstruct.clocks import Life, closed
from trimtab.lab.reconstruct.evidence import Lines, Owners
from trimtab.pulsar.leader.time_average import METRICS
from trimtab.pulsar.model import Flags, Floats, Ints

# A window in which nobody published is doubted if somebody does so long before and after, in
# windows: the producers were looking for their broker.
_ABSENT_WINDOWS = 4.0
# Reports may be seen, and owners noted, so much late; s.
_LATE_S = 3.0
# For which a change lasts that comes at once, s.
_JUMP_S = 1e-3
# Bundles whose rates are laid side by side at a time: what stays near a core.
_BUNDLES = 16


@dataclass(frozen=True, slots=True)
class Wanted:
    """What clients wanted of each bundle, and how much of that was told."""

    #: (n_times, n_bundles) messages/s and bytes/s, one for each of METRICS; 0 for a bundle that
    #: no report tells of.
    rates: tuple[Floats, Floats, Floats, Floats]
    #: (n_bundles,) s of the windows that tell of it; in between its rates are joined by lines.
    told_s: Floats


def traffic(
    lines: Lines, owners: Owners, lives: Sequence[Life], stats_s: float, at_s: Floats
) -> Wanted:
    """Return what clients wanted of each bundle at some times, (n_times,).

    A report tells the mean of the window that closed last before it.  Up to one that the
    broker wrote by itself rates stay as they were told last, and to any other a line leads;
    before the first and behind the last they stay as they are.

    Left out are windows in which a bundle changed hands, for what has piled up while it
    had no owner comes at once then, and windows without producers between windows with
    them: clients that have lost their broker want what they wanted before.
    """
    end_s = window_ends(lines, lives, stats_s)
    n_bundles = int(max(lines.bundle.max(initial=-1), owners.bundle.max(initial=-1))) + 1
    into, out, bytes_in, bytes_out = (np.zeros((at_s.size, n_bundles)) for _ in METRICS)
    told_s = np.zeros(n_bundles)
    order = np.lexsort((lines.time_s, end_s, lines.bundle))
    bounds = np.searchsorted(lines.bundle[order], np.arange(n_bundles + 1))
    changes, block = _changes(owners, n_bundles), np.empty((_BUNDLES, 4, at_s.size))
    for first in range(0, n_bundles, _BUNDLES):
        some = range(first, min(first + _BUNDLES, n_bundles))
        block[:] = 0.0
        for bundle in some:
            rows = order[bounds[bundle] : bounds[bundle + 1]]
            # Who comes to its first owner has been without one for nobody.
            moved_s = owners.time_s[changes[bundle][1:]]
            kept = rows[_sound(lines, rows, end_s[rows], moved_s, stats_s)]
            if kept.size == 0:
                kept = rows
            if kept.size:
                windows = _windows(end_s[kept], stats_s)
                told_s[bundle] = float((windows[1] - windows[0]).sum())
                prompt_s = end_s[rows][lines.is_prompt[rows]]
                is_prompt = np.isin(end_s[kept], prompt_s)
                _join(windows, lines.rates[kept], is_prompt, at_s, block[bundle - first])
        for i, each in enumerate((into, out, bytes_in, bytes_out)):
            each[:, some.start : some.stop] = block[: len(some), i].T
    return Wanted((into, out, bytes_in, bytes_out), told_s)


def _changes(owners: Owners, n_bundles: int) -> list[Ints]:
    """Return the changes of each bundle's owner, in order of time."""
    order = np.argsort(owners.bundle, kind="stable")
    bounds = np.searchsorted(owners.bundle[order], np.arange(1, n_bundles))
    return np.split(order, bounds)


def window_ends(lines: Lines, lives: Sequence[Life], stats_s: float) -> Floats:
    """Return when the window closed that each line tells of, s."""
    end_s = lines.time_s.copy()
    for life in lives:
        mine = (lines.broker == life.broker) & (lines.time_s >= life.from_s)
        mine &= lines.time_s < life.to_s
        end_s[mine] = closed(life, lines.time_s[mine], stats_s)
    return end_s


def _sound(lines: Lines, rows: Ints, end_s: Floats, moved_s: Floats, stats_s: float) -> Flags:
    """Return which lines of one bundle tell what clients wanted, (n_rows,)."""
    # Of equal windows the line that was heard last counts.
    is_last = np.append(np.diff(end_s) > 0, True)
    moves = moved_s[None, :] if moved_s.size else np.full((1, 1), -np.inf)
    is_moving = (moves > end_s[:, None] - stats_s - _LATE_S) & (moves <= end_s[:, None] + _LATE_S)
    is_served = lines.producers[rows] > 0
    served_s = end_s[is_served]
    if served_s.size == 0:
        return np.asarray(is_last & ~is_moving.any(axis=1))
    place = np.searchsorted(served_s, end_s)
    before_s = end_s - served_s[np.maximum(place - 1, 0)]
    after_s = served_s[np.minimum(place, served_s.size - 1)] - end_s
    near_s = _ABSENT_WINDOWS * stats_s
    is_between = (place > 0) & (place < served_s.size) & (before_s <= near_s) & (after_s <= near_s)
    return np.asarray(is_last & ~is_moving.any(axis=1) & (is_served | ~is_between))


def _windows(end_s: Floats, stats_s: float) -> Floats:
    """Return when windows begin and end, (2, n_windows) s."""
    begin_s = end_s - stats_s
    # Windows of two owners may overlap: the later one begins where the one before has ended.
    begin_s[1:] = np.maximum(begin_s[1:], end_s[:-1])
    return np.stack((begin_s, end_s))


def _join(windows: Floats, rates: Floats, is_prompt: Flags, at_s: Floats, out: Floats) -> None:
    """Put each window's mean over it, with lines between windows, into `out`, (4, n_times).

    A broker writes as soon as its load has changed, so up to a window that was written
    there had been no change; to one that somebody asked for, or before which a write was
    missed, a line leads.
    """
    begin_s, end_s = windows
    from_s = np.append(begin_s[0], np.where(is_prompt[1:], begin_s[1:] - _JUMP_S, end_s[:-1]))
    before = np.concatenate((rates[:1], rates[:-1]))
    knots = np.stack((from_s, begin_s, end_s), axis=1).reshape(-1)
    values = np.stack((before, rates, rates), axis=1).reshape(-1, 4)
    for i, each in enumerate(out):
        each[:] = np.interp(at_s, knots, values[:, i])
