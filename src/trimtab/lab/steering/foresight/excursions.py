"""Reports one after the other → who is off its usual usage, and for how long that lasts here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trimtab.lab.costs.knowledge import Knowledge
from trimtab.lab.costs.load import by_traffic_alone
from trimtab.lab.costs.look import has_measured
from trimtab.lab.costs.predict import by_counts, by_work
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
# Share of what it rose by that it loses from one window to the next if that is the end of it.
_FALLS = 0.25
# Share of an excursion from which traffic is what it is by.
_BY_TRAFFIC = 0.5


def with_excursions(memory: Memory, view: View) -> Memory:
    """Return the memory with the newest usage of brokers, and excursions begun and over."""
    memory = replace(memory, excursions=_with_look(memory, view))
    if memory.excursions.time_s.size < _LOOKS_MIN:
        return memory
    off = _off(memory, view)
    memory = replace(memory, excursions=_ended(memory, view, off))
    memory = replace(memory, excursions=_begun(memory, view, off))
    return replace(memory, excursions=_risen(memory, off))


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


def _ended(memory: Memory, view: View, off: Floats) -> Excursions:
    """Return excursions without those that are over, which are past, or that nobody can follow.

    Who was relieved of a burst by moves still tells by its bundle how long the burst lasted.
    """
    of, time_s = memory.excursions, view.time_s
    since_s, is_off = of.since_s.copy(), ~np.isnan(of.since_s)
    touched = is_off & (memory.known.brokers.touched_s > since_s)
    followed = touched & (of.rise > _RISE) & (time_s - since_s < _BURST_S)
    broken = is_off & ((touched & ~followed) | ~memory.is_there)
    is_less = off < _ENDS
    is_less[followed] = (
        by_counts(memory.known, memory.rates[-1][of.surge[followed]]) < of.half[followed]
    )
    over = is_off & ~broken & is_less
    lasted_s = time_s - _LAG_S - since_s
    who = np.flatnonzero(over & (lasted_s < _BURST_S))
    bursts = (np.full(who.size, time_s), lasted_s[who], who, of.by_traffic[who])
    since_s[broken | over] = np.nan
    return replace(
        of,
        since_s=since_s,
        rise=np.where(np.isnan(since_s), 0.0, of.rise),
        past=np.concatenate((of.past, np.column_stack(bursts))),
    )


def _begun(memory: Memory, view: View, off: Floats) -> Excursions:
    """Return excursions with those of brokers that have just begun to be off."""
    since_s, before_s = memory.excursions.since_s.copy(), view.time_s - view.windows.settled_s
    is_settled = memory.known.brokers.touched_s < before_s
    since_s[np.isnan(since_s) & (off > _BEGINS) & is_settled] = view.time_s - _LAG_S
    return replace(memory.excursions, since_s=since_s)


def _risen(memory: Memory, off: Floats) -> Excursions:
    """Return excursions with what they are by, and the bundle whose traffic rose most in each."""
    of, known = memory.excursions, memory.known
    is_off = ~np.isnan(of.since_s)
    if not is_off.any():
        return replace(of, by_traffic=is_off)
    bundles, owner = _owned(known.bundles.owner, is_off)
    newest, usual = (by_counts(known, each[bundles]) for each in (memory.rates[-1], memory.robust))
    risen = newest - usual
    surplus = by_work(by_traffic_alone(known)) * np.bincount(owner, risen, is_off.size)
    by_traffic = is_off & (of.by_traffic | (np.abs(surplus) > _BY_TRAFFIC * off))
    # The one of each broker whose traffic rose most comes last.
    order = np.argsort(risen, kind="stable")
    most = np.full(is_off.size, -1)
    most[owner[order]] = order
    untouched = known.brokers.touched_s <= np.nan_to_num(of.since_s, nan=-np.inf)
    who = np.flatnonzero(untouched & (most >= 0))
    who = who[risen[most[who]] > of.rise[who]]
    surge, rise, half = of.surge.copy(), of.rise.copy(), of.half.copy()
    surge[who], rise[who] = bundles[most[who]], risen[most[who]]
    half[who] = (newest + usual)[most[who]] / 2
    return replace(of, by_traffic=by_traffic, surge=surge, rise=rise, half=half)


def falling(excursions: Excursions, known: Knowledge, windows: Floats) -> Flags:
    """Return which brokers are off by a bundle whose traffic is on its way down, (n_brokers,).

    Args:
        excursions: with the bundle whose traffic rose most in each.
        known: what traffic costs.
        windows: (n_windows, n_bundles, 7) columns COUNTS, the newest last.
    """
    is_falling = ~np.isnan(excursions.since_s) & (excursions.rise > _RISE)
    who = np.flatnonzero(is_falling)
    before, newest = (by_counts(known, each[excursions.surge[who]]) for each in windows[-2:])
    is_falling[who] = before - newest > _FALLS * excursions.rise[who]
    return is_falling


def _owned(owner: Ints, by: Flags) -> tuple[Ints, Ints]:
    """Return the bundles of some brokers, and whose they are."""
    bundles = np.flatnonzero((owner >= 0) & by[owner])
    return bundles, owner[bundles]


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
