"""What reports say of bundles → the traffic of each over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
_BUNDLES = 64


@dataclass(frozen=True, slots=True)
class Wanted:
    """What clients wanted of each bundle, and how much of that was told."""

    #: (n_times, n_bundles) messages/s and bytes/s, one for each of METRICS; 0 for a bundle that
    #: no report tells of.
    rates: tuple[Floats, Floats, Floats, Floats]
    #: (n_bundles,) s of the windows that tell of it; in between its rates are joined by lines.
    told_s: Floats


class _Windows(NamedTuple):
    """Windows that tell what clients wanted, by bundle and time; all arrays are (n_windows,)."""

    #: The line that tells of each, and of which bundle.
    line: Ints
    bundle: Ints
    #: s; when it began and closed.
    begin_s: Floats
    end_s: Floats
    #: The broker wrote by itself when it had closed.
    is_prompt: Flags
    #: Position of the one before of the same bundle; of the first its own.
    before: Ints


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
    windows = _windows(lines, owners, window_ends(lines, lives, stats_s), stats_s)
    n_bundles = int(max(lines.bundle.max(initial=-1), owners.bundle.max(initial=-1))) + 1
    into, out, bytes_in, bytes_out = (np.zeros((at_s.size, n_bundles)) for _ in METRICS)
    told_s, length_s = np.zeros(n_bundles), windows.end_s - windows.begin_s
    bounds = np.searchsorted(windows.bundle, np.arange(n_bundles + 1)).tolist()
    block = np.empty((_BUNDLES, 4, at_s.size))
    for first in range(0, n_bundles, _BUNDLES):
        some = range(first, min(first + _BUNDLES, n_bundles))
        begin, end = bounds[some.start], bounds[some.stop]
        knots, values = _knots(windows, slice(begin, end), lines.rates)
        block[:] = 0.0
        for bundle, each in zip(some, block, strict=False):
            mine = slice(bounds[bundle], bounds[bundle + 1])
            if mine.start < mine.stop:
                told_s[bundle] = length_s[mine].sum()
                part = slice(3 * (mine.start - begin), 3 * (mine.stop - begin))
                # Knots may stand a jump out of order, which each search takes in its own way.
                for one, told in zip(each, values, strict=True):
                    one[:] = np.interp(at_s, knots[part], told[part])
        for i, each in enumerate((into, out, bytes_in, bytes_out)):
            each[:, some.start : some.stop] = block[: len(some), i].T
    return Wanted((into, out, bytes_in, bytes_out), told_s)


def window_ends(lines: Lines, lives: Sequence[Life], stats_s: float) -> Floats:
    """Return when the window closed that each line tells of, s."""
    end_s = lines.time_s.copy()
    order = np.argsort(lines.broker, kind="stable")
    sorted_broker = lines.broker[order]
    for life in lives:
        mine = order[slice(*np.searchsorted(sorted_broker, (life.broker, life.broker + 1)))]
        mine = mine[(lines.time_s[mine] >= life.from_s) & (lines.time_s[mine] < life.to_s)]
        end_s[mine] = closed(life, lines.time_s[mine], stats_s)
    return end_s


def _windows(lines: Lines, owners: Owners, end_s: Floats, stats_s: float) -> _Windows:
    """Return the windows that tell what clients wanted; of a bundle without any, all it has."""
    line = np.lexsort((lines.time_s, end_s, lines.bundle))
    bundle, end_s = lines.bundle[line], end_s[line]
    is_another = (np.diff(bundle) != 0) | (np.diff(end_s) > 0)
    # Lines of one window of a bundle stand together: where they begin, and to which each belongs.
    first = np.flatnonzero(np.append(True, is_another)[: line.size])
    of = np.repeat(np.arange(first.size), np.diff(np.append(first, line.size)))
    # Of equal windows the line that was heard last counts.
    is_sound = np.append(is_another, True)[: line.size]
    is_sound &= ~_is_moving(owners, bundle, end_s, stats_s)
    is_sound &= ~_is_deserted(lines.producers[line] > 0, first[of], bundle, end_s, stats_s)
    has_sound = np.zeros(int(bundle.max(initial=-1)) + 1, np.bool_)
    has_sound[bundle[is_sound]] = True
    is_prompt = np.zeros(first.size, np.bool_)
    is_prompt[of[lines.is_prompt[line]]] = True
    kept = np.flatnonzero(is_sound | ~has_sound[bundle])
    bundle, end_s = bundle[kept], end_s[kept]
    at = np.arange(kept.size)
    before = at - np.append(False, np.diff(bundle) == 0)[: kept.size]
    begin_s = end_s - stats_s
    # Windows of two owners may overlap: the later one begins where the one before has ended.
    begin_s = np.where(before < at, np.maximum(begin_s, end_s[before]), begin_s)
    return _Windows(line[kept], bundle, begin_s, end_s, is_prompt[of[kept]], before)


def _is_moving(owners: Owners, bundle: Ints, end_s: Floats, stats_s: float) -> Flags:
    """Return in which windows of bundles these changed hands, (n_lines,)."""
    order = np.lexsort((owners.time_s, owners.bundle))
    # Who comes to its first owner has been without one for nobody.
    order = order[1:][np.diff(owners.bundle[order]) == 0]
    moved = _by_bundle(owners.bundle[order], owners.time_s[order])
    begun, ended = (
        np.searchsorted(moved, _by_bundle(bundle, each_s), side="right")
        for each_s in (end_s - stats_s - _LATE_S, end_s + _LATE_S)
    )
    return np.asarray(begun < ended)


def _by_bundle(bundle: Ints, time_s: Floats) -> np.ndarray[tuple[int], np.dtype[np.complex128]]:
    """Return numbers that are in order of bundles, and of times in each.

    Complex ones are: NumPy sorts them by their real parts first.
    """
    both = np.empty(bundle.size, np.complex128)
    both.real, both.imag = bundle, time_s
    return both


def _is_deserted(
    is_served: Flags, first: Ints, bundle: Ints, end_s: Floats, stats_s: float
) -> Flags:
    """Return in which windows nobody published between windows in which somebody did, (n_lines,).

    Args:
        is_served: (n_lines,) there were producers; by bundle and end.
        first: (n_lines,) position of the first line of the same window.
        bundle: (n_lines,) position of the bundle.
        end_s: (n_lines,) when the window closed.
        stats_s: how long windows are.
    """
    served, silent = np.flatnonzero(is_served), np.flatnonzero(~is_served)
    place = np.searchsorted(served, first[silent])
    is_between = (place > 0) & (place < served.size)
    silent, place = silent[is_between], place[is_between]
    before, after, near_s = served[place - 1], served[place], _ABSENT_WINDOWS * stats_s
    is_near = (bundle[before] == bundle[silent]) & (bundle[after] == bundle[silent])
    is_near &= end_s[silent] - end_s[before] <= near_s
    is_near &= end_s[after] - end_s[silent] <= near_s
    is_deserted = np.zeros(is_served.size, np.bool_)
    is_deserted[silent[is_near]] = True
    return is_deserted


def _knots(windows: _Windows, part: slice, rates: Floats) -> tuple[Floats, Floats]:
    """Return the times between which lines join rates, (3 n_windows,), and these, (4, …).

    A broker writes as soon as its load has changed, so up to a window that was written
    there had been no change; to one that somebody asked for, or before which a write was
    missed, a line leads.
    """
    line, _, begin_s, end_s, is_prompt, before = (each[part] for each in windows)
    before = before - part.start
    from_s = np.where(is_prompt, begin_s - _JUMP_S, end_s[before])
    from_s = np.where(before < np.arange(line.size), from_s, begin_s)
    told = rates[line].T
    knots = np.stack((from_s, begin_s, end_s), axis=1).reshape(-1)
    return knots, np.stack((told[:, before], told, told), axis=2).reshape(4, -1)
