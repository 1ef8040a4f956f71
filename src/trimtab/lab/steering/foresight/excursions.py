"""Reports one after the other → who is off its usual usage, and for how long that lasts here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trimtab.lab.costs.knowledge import with_bundles
from trimtab.lab.costs.load import by_traffic_alone, costs
from trimtab.lab.costs.look import has_measured
from trimtab.lab.costs.predict import by_work, carried
from trimtab.lab.steering.foresight.memory import Excursions, Memory
from trimtab.lab.steering.view import View
from trimtab.pulsar.model import Flags, Floats

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
# Share of an excursion from which traffic is what it is by.
_BY_TRAFFIC = 0.5


def with_excursions(memory: Memory, view: View) -> Memory:
    """Return the memory with the newest usage of brokers, and excursions begun and over."""
    time_s, touched_s = view.time_s, memory.known.brokers.touched_s
    kept = memory.excursions.time_s > time_s - _USUAL_S
    newest = _newest(memory, view)
    usage = np.concatenate((memory.excursions.usage[kept], newest[None]))
    times_s = np.append(memory.excursions.time_s[kept], time_s)
    since_s, past = memory.excursions.since_s.copy(), memory.excursions.past
    by_traffic = memory.excursions.by_traffic.copy()
    past = past[past[:, 0] > time_s - _PAST_S]
    if times_s.size >= _LOOKS_MIN:
        off = np.abs(newest - _usual(usage, times_s, touched_s + view.windows.settled_s))
        off = np.where(memory.is_there, np.nan_to_num(off), 0.0)
        is_settled = touched_s < time_s - view.windows.settled_s
        begins = np.isnan(since_s) & (off > _BEGINS) & is_settled
        is_off = ~np.isnan(since_s)
        broken = is_off & ((touched_s > since_s) | ~memory.is_there)
        over = is_off & ~broken & (off < _ENDS)
        lasted_s = time_s - _LAG_S - since_s[over]
        short = lasted_s[lasted_s < _BURST_S]
        who = np.flatnonzero(over)[lasted_s < _BURST_S]
        bursts = np.column_stack((np.full(short.size, time_s), short, who, by_traffic[who]))
        past = np.concatenate((past, bursts))
        since_s[broken | over] = np.nan
        since_s[begins] = time_s - _LAG_S
        by_traffic[np.isnan(since_s)] = False
        by_traffic |= ~np.isnan(since_s) & (np.abs(_surplus(memory)) > _BY_TRAFFIC * off)
    return replace(
        memory,
        excursions=replace(
            memory.excursions,
            usage=usage,
            time_s=times_s,
            since_s=since_s,
            by_traffic=by_traffic,
            past=past,
        ),
    )


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


def _surplus(memory: Memory) -> Floats:
    """Return the points by which the newest traffic takes more than the usual, (n_brokers,)."""
    known = by_traffic_alone(memory.known)
    now, usual = (
        carried(with_bundles(known, counts=counts)) for counts in (memory.rates[-1], memory.robust)
    )
    return np.asarray(by_work(known) * ((now - usual) @ costs(known)))


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
