"""What is known, and a look at the cluster → what is known then."""

from __future__ import annotations

import dataclasses

import numpy as np

from trimtab.lab.costs.collect import GROWN_S, collected, drifted, jumped
from trimtab.lab.costs.deviations import Window, deviating, placed, restated, with_new_bases
from trimtab.lab.costs.features import features
from trimtab.lab.costs.fit import fitted
from trimtab.lab.costs.knowledge import (
    CORES,
    OTHERS_USED,
    REMAINDER,
    USED,
    WRITTEN,
    Knowledge,
    with_brokers,
    with_bundles,
)
from trimtab.lab.costs.level import Filtered, Sample, compared, levelled, usable, verified
from trimtab.lab.costs.load import BESIDE, costs, load
from trimtab.lab.costs.look import FULL, Look, Windows, has_measured
from trimtab.lab.costs.predict import predicted
from trimtab.lab.costs.resize import resized
from trimtab.pulsar.model import Flags, Floats, Ints

# Windows over which a bundle's traffic is averaged, about.
_TRAFFIC_WINDOWS = 3.0
# More than any broker counts in a second.
_COUNT_MAX = 1e12


def learned(known: Knowledge, look: Look, windows: Windows) -> Knowledge:
    """Return what is known after a look.

    Properties:
        Nothing that comes later than the look is used.
        The same looks give the same numbers, whether saved in between or not.
    """
    look = _sane(look)
    known = dataclasses.replace(known, time_s=look.time_s)
    known = _started(resized(known, look), look)
    known = _moved(known, look)
    known = _counted(known, look, windows)
    of_lines = features(look.counts)
    sample = _sample(known, look, of_lines)
    rows = usable(known, sample)
    filtered = compared(known, sample, rows, windows)
    known = levelled(verified(_with_report(known, sample), filtered), sample, rows, filtered)
    known = jumped(collected(known, sample, rows, filtered, windows), filtered)
    known = drifted(known)
    each = features(known.bundles.counts)
    work = each @ np.exp(known.shared[:-1])
    beside = work * known.bundles.deviation
    known = placed(known, work)
    window = _window(known, look, of_lines, sample, filtered)
    known = deviating(known, window, windows)
    known = with_new_bases(known, filtered.broker[filtered.is_jump])
    before, known = known, fitted(known)
    works = work, each @ np.exp(known.shared[:-1])
    known = restated(before, known, works)
    return _with_levels(known, works[1] * known.bundles.deviation - beside)


def _with_levels(known: Knowledge, beside: Floats) -> Knowledge:
    """Return what is known with levels that what was learned of bundles, (n_bundles,), leaves."""
    owner = known.bundles.owner
    owned = np.flatnonzero(owner >= 0)
    of_levels = known.brokers.level_load.copy()
    of_levels[:, BESIDE] += _sums(owner[owned], beside[owned], len(of_levels))
    return with_brokers(known, level_load=of_levels)


def _window(
    known: Knowledge, look: Look, of_lines: Floats, sample: Sample, filtered: Filtered
) -> Window:
    """Return what brokers used beside the work of the bundles that they list."""
    of, n = known.deviations, sample.broker.size
    quick = known.brokers.by_cores * np.exp(known.brokers.slowness)
    who = look.broker[look.report]
    work = quick[who] * (of_lines @ np.exp(known.shared[:-1]))
    place = np.full(len(known.bundle_names), -1)
    there = of.place >= 0
    place[of.place[there]] = np.nonzero(there)[1]
    mine = (place[look.bundle] >= 0) & (known.bundles.owner[look.bundle] == who)
    at = look.report * (WRITTEN + 1) + np.where(mine, place[look.bundle], REMAINDER)
    columns = _sums(at, work, n * (WRITTEN + 1)).reshape(n, WRITTEN + 1)
    columns[:, USED] = sample.cpu
    columns[:, OTHERS_USED] = np.nan_to_num(sample.others)
    columns[:, WRITTEN] = sample.written_s
    rows = np.flatnonzero(np.isin(sample.broker, filtered.broker))
    age_s = sample.written_s[rows] - known.brokers.started_s[filtered.broker]
    is_sound = filtered.is_settled & ~filtered.is_doubted & (sample.cpu[rows] < FULL)
    return Window(sample.broker[rows], columns[rows], is_sound & (age_s > GROWN_S))


def _sane(look: Look) -> Look:
    """Return a look without figures that cannot be; who says no CPU has not measured it."""
    cpu = np.where(np.isfinite(look.cpu), np.clip(look.cpu, 0.0, 100.0), 0.0)
    others = np.where(np.isfinite(look.others), np.clip(look.others, 0.0, cpu), np.nan)
    counts = np.where(np.isfinite(look.counts), np.clip(look.counts, 0.0, _COUNT_MAX), 0.0)
    return dataclasses.replace(look, cpu=cpu, others=others, counts=counts)


def _started(known: Knowledge, look: Look) -> Knowledge:
    """Return what is known where some brokers have a new process: it carries nothing yet."""
    brokers, who = known.brokers, look.broker
    started_s, by_cores = brokers.started_s.copy(), brokers.by_cores.copy()
    touched_s, level = brokers.touched_s.copy(), brokers.level.copy()
    says = ~np.isnan(look.started_s)
    is_new = says & (look.started_s > started_s[who] + 1.0)
    fresh = who[is_new]
    started_s[fresh] = look.started_s[is_new]
    touched_s[fresh] = np.maximum(touched_s[fresh], look.started_s[is_new])
    level[fresh] = np.nan
    sized = (look.cores > 0) & has_measured(look.cpu)
    by_cores[who[sized]] = CORES / look.cores[sized]
    return with_brokers(
        known, started_s=started_s, touched_s=touched_s, level=level, by_cores=by_cores
    )


def _moved(known: Knowledge, look: Look) -> Knowledge:
    """Return what is known where bundles have changed hands: levels there are less sure."""
    if look.moved.size == 0:
        return known
    brokers, bundles = known.brokers, known.bundles
    # Of several moves of one bundle, all touch and the last decides.
    bundle = look.moved[::-1]
    bundle, last = np.unique(bundle, return_index=True)
    to = look.moved_to[::-1][last]
    owner, moved_s = bundles.owner.copy(), bundles.moved_s.copy()
    level_variance, unverified = brokers.level_variance.copy(), brokers.unverified.copy()
    touched_s, levels = brokers.touched_s.copy(), brokers.levels.copy()
    known_traffic = bundles.windows[bundle] > 0
    change = predicted(known, bundle[known_traffic], to[known_traffic])
    level_variance[change.broker] += change.change_deviation**2
    unverified[change.broker] += change.change_deviation**2
    for which in (look.moved_from, look.moved_to):
        there = which >= 0
        np.maximum.at(touched_s, which[there], look.moved_s[there])
        levels[which[there]] = np.nan
    owner[bundle] = to
    np.maximum.at(moved_s, look.moved, look.moved_s)
    known = with_brokers(
        known,
        level_variance=level_variance,
        unverified=unverified,
        touched_s=touched_s,
        levels=levels,
    )
    return with_bundles(known, owner=owner, moved_s=moved_s)


def _counted(known: Knowledge, look: Look, windows: Windows) -> Knowledge:
    """Return what is known with the traffic of bundles that reports tell of.

    The window in which a bundle changed hands tells nothing of it: its clients come back one
    after the other, with what has piled up.
    """
    bundles = known.bundles
    owner, counts, count = bundles.owner.copy(), bundles.counts.copy(), bundles.windows.copy()
    broker, written_s = look.broker[look.report], look.written_s[look.report]
    bundle, late_s = look.bundle, bundles.moved_s[look.bundle] + windows.bundle_s + 5.0
    is_sound = (written_s > late_s) | (written_s < bundles.moved_s[bundle])
    is_unknown = is_sound & (count[bundle] == 0)
    takes_over = (owner[bundle] < 0) | (written_s > late_s + windows.settled_s)
    owner[bundle[takes_over]] = broker[takes_over]
    is_sound &= owner[bundle] == broker
    rows = np.flatnonzero(is_sound | is_unknown)
    kept, fresh = bundle[rows], look.counts[rows]
    silent_s = written_s[rows] - known.brokers.written_s[broker[rows]]
    count[kept] = np.minimum(count[kept] + 1.0, _TRAFFIC_WINDOWS)
    # Who was silent for several windows says more of now than a window would.
    passed = np.maximum(silent_s / windows.bundle_s, 1.0)
    gain = 1.0 - (1.0 - 1.0 / count[kept]) ** passed
    counts[kept] += (fresh - counts[kept]) * gain[:, None]
    gone = _gone(known, look, windows, owner)
    owner[gone], counts[gone] = -1, 0.0
    return with_bundles(known, owner=owner, counts=counts, windows=count)


def _gone(known: Knowledge, look: Look, windows: Windows, owner: Ints) -> Flags:
    """Return which bundles their owner does not have any more, (n_bundles,): split, or deleted."""
    written_s = np.full(len(known.broker_names), -np.inf)
    written_s[look.broker] = look.written_s
    listed = np.zeros(owner.size, np.bool_)
    listed[look.bundle] = True
    owned = owner >= 0
    late_s = known.bundles.moved_s + windows.settled_s
    return np.asarray(owned & ~listed & (written_s[owner] > late_s))


def _with_report(known: Knowledge, sample: Sample) -> Knowledge:
    """Return what is known with the times of reports and what others took."""
    brokers, who = known.brokers, sample.broker
    written_s, others = brokers.written_s.copy(), brokers.others.copy()
    is_measured = brokers.is_measured.copy()
    written_s[who] = np.maximum(written_s[who], sample.written_s)
    others[who] = sample.others
    is_measured[who] = ~np.isnan(sample.others)
    return with_brokers(known, written_s=written_s, others=others, is_measured=is_measured)


def _sample(known: Knowledge, look: Look, of_lines: Floats) -> Sample:
    """Return what brokers used beside what their own reports list."""
    n = look.broker.size
    lines = load(known, look.bundle, of_lines)
    sums = np.stack([_sums(look.report, each, n) for each in lines.T], axis=1)
    work = lines @ costs(known)
    squares, total = _sums(look.report, work**2, n), _sums(look.report, work, n)
    return Sample(
        broker=look.broker,
        written_s=look.written_s,
        cpu=look.cpu,
        others=look.others,
        load=sums,
        concentration=_divided(squares, total**2),
    )


def _sums(place: Ints, values: Floats, count: int) -> Floats:
    return np.bincount(place, values, count).astype(np.float64)


def _divided(values: Floats, by: Floats) -> Floats:
    return np.divide(values, by, out=np.ones(values.size), where=by > 0)
