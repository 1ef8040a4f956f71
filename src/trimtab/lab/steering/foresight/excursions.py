"""Reports one after the other → who is off its usual usage, and for how long that lasts here."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from trimtab.lab.costs.knowledge import with_bundles
from trimtab.lab.costs.load import by_traffic_alone
from trimtab.lab.costs.look import has_measured
from trimtab.lab.costs.predict import by_work, works
from trimtab.lab.steering.foresight.memory import Excursions, Memory
from trimtab.lab.steering.view import View
from trimtab.pulsar.model import Flags, Floats, Ints

# s of which the median is what is usual, and looks below which nothing is.
_USUAL_S = 1500.0
_LOOKS_MIN = 5
# Points off the usual at which an excursion begins, and at which it is over.
_BEGINS, _ENDS = 9.0, 5.0
# s that a look lags behind what it shows.
_LAG_S = 30.0
# s beyond which it was no burst, and for which bursts are remembered.
_BURST_S, _PAST_S = 360.0, 7200.0
# Bursts that make a habit, the share of them that is waited for, and how much longer, s.
_HABIT, _QUANTILE, _EXTRA_S = 2, 0.95, 60.0
# Points by which the traffic of a bundle has to rise to tell how long a burst lasts.
_RISE = 3.0
# Share of an excursion from which traffic is what it is by.
_BY_TRAFFIC = 0.5


class _Work(NamedTuple):
    """What the traffic of bundles takes, (n_bundles,) points."""

    newest: Floats
    usual: Floats


def with_excursions(memory: Memory, view: View) -> Memory:
    """Return the memory with the newest usage of brokers, and excursions begun and over."""
    memory = replace(memory, excursions=_with_look(memory, view))
    if memory.excursions.time_s.size < _LOOKS_MIN:
        return memory
    work = _by_traffic(memory)
    off = _off(memory, view)
    memory = replace(memory, excursions=_ended(memory, view, work.newest, off))
    begun = replace(memory.excursions, since_s=_begun(memory, view, off))
    return replace(memory, excursions=_risen(replace(memory, excursions=begun), work, off))


def _with_look(memory: Memory, view: View) -> Excursions:
    """Return excursions with one look more, and without what is too long ago."""
    before, time_s = memory.excursions, view.time_s
    kept = before.time_s > time_s - _USUAL_S
    return replace(
        before,
        usage=np.concatenate((before.usage[kept], _newest(memory, view)[None])),
        time_s=np.append(before.time_s[kept], time_s),
        past=before.past[before.past[:, 0] > time_s - _PAST_S],
    )


def _off(memory: Memory, view: View) -> Floats:
    """Return by how much brokers are off their usual usage, (n_brokers,) points."""
    looks, touched_s = memory.excursions, memory.known.brokers.touched_s
    usual = _usual(looks.usage, looks.time_s, touched_s + view.windows.settled_s)
    off = np.abs(looks.usage[-1] - usual)
    return np.where(memory.is_there, np.nan_to_num(off), 0.0)


def _ended(memory: Memory, view: View, newest: Floats, off: Floats) -> Excursions:
    """Return excursions without those that are over, which are past, or that nobody can follow.

    Who was relieved of a burst by moves still tells by its bundle how long the burst lasted.
    """
    of, time_s = memory.excursions, view.time_s
    since_s, is_off = of.since_s.copy(), ~np.isnan(of.since_s)
    touched = is_off & (memory.known.brokers.touched_s > since_s)
    followed = touched & (of.rise > _RISE) & (time_s - since_s < _BURST_S)
    broken = is_off & ((touched & ~followed) | ~memory.is_there)
    is_less = np.where(followed, newest[of.surge] < of.half, off < _ENDS)
    over = is_off & ~broken & is_less
    lasted_s = time_s - _LAG_S - since_s
    who = np.flatnonzero(over & (lasted_s < _BURST_S))
    bursts = (np.full(who.size, time_s), lasted_s[who], who, of.by_traffic[who])
    since_s[broken | over] = np.nan
    return replace(of, since_s=since_s, past=np.concatenate((of.past, np.column_stack(bursts))))


def _begun(memory: Memory, view: View, off: Floats) -> Floats:
    """Return since when brokers have been off, those that have just begun to be among them, s."""
    since_s, before_s = memory.excursions.since_s.copy(), view.time_s - view.windows.settled_s
    is_settled = memory.known.brokers.touched_s < before_s
    since_s[np.isnan(since_s) & (off > _BEGINS) & is_settled] = view.time_s - _LAG_S
    return since_s


def _risen(memory: Memory, work: _Work, off: Floats) -> Excursions:
    """Return excursions with what they are by, and the bundle whose traffic rose most in each."""
    of, brokers, risen = memory.excursions, memory.known.brokers, work.newest - work.usual
    is_off = ~np.isnan(of.since_s)
    by_traffic = is_off & (of.by_traffic | (np.abs(_surplus(memory, risen)) > _BY_TRAFFIC * off))
    surge, rise = np.where(is_off, of.surge, -1), np.where(is_off, of.rise, 0.0)
    most = _most(memory.known.bundles.owner, risen, is_off.size)
    untouched = brokers.touched_s <= np.nan_to_num(of.since_s, nan=-np.inf)
    rises = np.flatnonzero(is_off & untouched & (most >= 0) & (risen[most] > rise))
    surge[rises], rise[rises] = most[rises], risen[most[rises]]
    half = of.half.copy()
    half[rises] = (work.newest + work.usual)[most[rises]] / 2
    return replace(of, by_traffic=by_traffic, surge=surge, rise=rise, half=half)


def young(excursions: Excursions, time_s: float, filtered_s: float) -> Flags:
    """Return which brokers have been off for no longer than bursts here last, (n_brokers,).

    One whose burst is over is so, too, for as long as filters still show it.
    """
    past, by_traffic = excursions.past, excursions.by_traffic
    # Bursts of traffic last for longer than the short loads of other processes.
    patience_s = np.where(
        by_traffic, _patience_s(past[past[:, 3] > 0]), _patience_s(past[past[:, 3] == 0])
    )
    is_young = time_s - np.nan_to_num(excursions.since_s, nan=-np.inf) < patience_s
    if len(past) >= _HABIT:
        is_young[past[past[:, 0] > time_s - filtered_s, 2].astype(np.int64)] = True
    return np.asarray(is_young)


def _patience_s(past: Floats) -> float:
    """Return for how long it may be a burst, by those that there were; 0 without a habit."""
    if len(past) < _HABIT:
        return 0.0
    # Of few the longest decides, and is short of the longest there is by one part of as many.
    longest_s = float(np.quantile(past[:, 1], _QUANTILE, method="higher"))
    return longest_s * (1.0 + 1.0 / len(past)) + _EXTRA_S


def _by_traffic(memory: Memory) -> _Work:
    """Return the work of bundles by their traffic alone."""
    known = by_traffic_alone(memory.known)
    counts = memory.rates[-1], memory.robust
    return _Work(*(works(with_bundles(known, counts=each)) for each in counts))


def _surplus(memory: Memory, work: Floats) -> Floats:
    """Return the points that further work of bundles, (n_bundles,), takes, (n_brokers,)."""
    owner = memory.known.bundles.owner
    owned = np.flatnonzero(owner >= 0)
    speed = by_work(by_traffic_alone(memory.known))
    return np.asarray(speed * np.bincount(owner[owned], work[owned], speed.size))


def _most(owner: Ints, work: Floats, n_brokers: int) -> Ints:
    """Return the bundle with the most work of each broker, (n_brokers,); -1 if it has none."""
    order = np.argsort(work, kind="stable")
    order = order[owner[order] >= 0]
    most = np.full(n_brokers, -1)
    most[owner[order]] = order
    return most


def _newest(memory: Memory, view: View) -> Floats:
    """Return the fullest of what brokers said last, percent; NaN for who said nothing."""
    before = memory.excursions.usage
    newest = before[-1].copy() if len(before) else np.full(len(view.brokers), np.nan)
    look = view.look
    measured = has_measured(look.cpu)
    fullest = np.maximum(look.cpu, view.network.percent.max(axis=1, initial=0.0))
    newest[look.broker[measured]] = fullest[measured]
    newest[~view.is_there] = np.nan
    return newest


def _usual(usage: Floats, times_s: Floats, settled_s: Floats) -> Floats:
    """Return the median of each broker's usage since it was touched; the newest if that is new."""
    values = np.where(times_s[:, None] > settled_s, usage, np.nan)
    count = (~np.isnan(values)).sum(axis=0)
    # What is not a number comes last.
    ordered, each = np.sort(values, axis=0), np.arange(count.size)
    middle = (
        ordered[np.maximum(count - 1, 0) // 2, each] + ordered[count // 2 % len(values), each]
    ) / 2
    return np.asarray(np.where(count >= 3, middle, usage[-1]))
