"""Samples of brokers → their filtered levels, their blocks, and how levels drift."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trimtab.lab.costs.blocks import BLOCK_WINDOWS, closed
from trimtab.lab.costs.curve import curved
from trimtab.lab.costs.knowledge import (
    CONCENTRATION,
    COUNT,
    CPU,
    FIRST,
    LAGS,
    LEVEL_STEP_S,
    NOISE,
    TIME,
    Brokers,
    Knowledge,
    with_brokers,
)
from trimtab.lab.costs.look import Windows
from trimtab.lab.costs.predict import level_now
from trimtab.pulsar.model import Flags, Floats, Ints

# Percent from which a CPU only says that it is full.
_FULL = 97.0
# Variance that what is unexplained gains in a minute, points squared.
_WANDERING = 0.5
# Deviations beyond which a window is doubted, and doubted windows in a row that are believed.
_DOUBTED = 3.5
_DOUBTS_MAX = 3.0
# Points below which nothing is doubted.
_DOUBTED_MIN = 3.0
# s for which a broker that was touched may still change by that, and not by other processes.
_TOUCHED_S = 420.0
# What a process that compiles itself takes at first, points of one core, and how long, s.
_YOUNG_POINTS = 17.0
_YOUNG_S = 200.0
_CORES = 16.0
# Share of a new window in the variance of windows, and its bounds.
_VARIANCE_SHARE = 0.05
_VARIANCE_BOUNDS = (0.25, 36.0)
# Squares that a drift is learned from are forgotten at this rate.
_DRIFT_KEPT = 0.995
# Largest square of a missed change over what was expected of it.
_MISSED_MAX = 9.0
# Most that a broker's slowness is believed to be known when its blocks are thrown away.
_WEIGHT_MAX = 100.0


@dataclass(frozen=True, slots=True)
class Sample:
    """What brokers used beside what they carried; all arrays are (n_reports, …)."""

    broker: Ints
    written_s: Floats
    #: Percent of CPU, and of that by others (NaN: not measured).
    cpu: Floats
    others: Floats
    features: Floats
    #: 1 if one bundle has all the work, 1/n if n share it evenly.
    concentration: Floats


class Filtered(NamedTuple):
    """What became of the samples that were sound; all arrays are (n,)."""

    broker: Ints
    own: Floats
    missed: Floats
    is_doubted: Flags
    #: Levels that are believed to be others now, and those that are the first.
    is_jump: Flags
    is_first: Flags
    #: Variance of what is missed, if levels are as sure as they are taken to be.
    variance: Floats


def levelled(
    known: Knowledge, sample: Sample, windows: Windows
) -> tuple[Knowledge, Filtered | None]:
    """Return what is known with samples of brokers taken in, and what they missed."""
    filtered = None
    brokers = known.brokers
    is_new = sample.written_s > brokers.written_s[sample.broker]
    is_settled = sample.written_s > brokers.touched_s[sample.broker] + windows.settled_s
    sound = is_new & is_settled & (sample.cpu > 0)
    known = _heard(known, sample)
    rows = np.flatnonzero(sound)
    if rows.size:
        known, filtered = _filtered(known, sample, rows)
        known = _collected(known, sample, rows, filtered)
        known = _jumped(known, filtered)
    return _drifted(known), filtered


def _heard(known: Knowledge, sample: Sample) -> Knowledge:
    """Return what is known with the times of reports and what others took."""
    brokers, who = known.brokers, sample.broker
    written_s, others = brokers.written_s.copy(), brokers.others.copy()
    is_measured = brokers.is_measured.copy()
    written_s[who] = np.maximum(written_s[who], sample.written_s)
    others[who] = sample.others
    is_measured[who] = ~np.isnan(sample.others)
    return with_brokers(known, written_s=written_s, others=others, is_measured=is_measured)


def explained(known: Knowledge, broker: Ints, load: Floats) -> Floats:
    """Return the points of CPU that features take on some brokers, (n,)."""
    speed = known.brokers.by_cores[broker] * np.exp(known.brokers.slowness[broker])
    work = speed * (load @ np.exp(known.shared[:-1]))
    return curved(work, float(known.shared[-1])).cpu


def _filtered(known: Knowledge, sample: Sample, rows: Ints) -> tuple[Knowledge, Filtered]:
    """Return levels moved towards samples, as far as these are surer than those."""
    b, who, load = known.brokers, sample.broker[rows], sample.features[rows]
    own = sample.cpu[rows] - np.nan_to_num(sample.others[rows])
    is_first = np.isnan(b.level[who])
    step = explained(known, who, load) - explained(known, who, b.level_features[who])
    missed = np.where(is_first, 0.0, own - b.level[who] - step)
    variance = np.where(is_first, 1e4, b.level_variance[who] + _WANDERING)
    window = b.window_variance[who]
    deviation = np.sqrt(variance + window)
    is_doubted = np.abs(missed) > np.maximum(_DOUBTED_MIN, _DOUBTED * deviation)
    same_side = np.sign(missed) == np.sign(b.doubt[who])
    doubts = np.where(is_doubted, np.where(same_side, b.doubts[who] + 1.0, 1.0), 0.0)
    is_jump = doubts >= _DOUBTS_MAX
    gain = np.where(is_jump, 1.0, np.where(is_doubted, 0.0, variance / (variance + window)))
    left = np.where(is_jump, window, (1.0 - gain) * variance)
    left = np.where(sample.cpu[rows] >= _FULL, np.maximum(left, 100.0), left)
    calm = ~is_doubted & ~is_first
    noise = np.clip(missed**2 - variance, *_VARIANCE_BOUNDS)
    new_window = np.where(calm, window + _VARIANCE_SHARE * (noise - window), window)
    known = _verified(known, who, missed**2 / deviation**2, deviation**2)
    arrays = {name: getattr(known.brokers, name).copy() for name in _OF_FILTER}
    level = np.where(is_first, own, b.level[who])
    arrays["level"][who] = level + gain * (own - level)
    before = b.level_features[who]
    arrays["level_features"][who] = before + gain[:, None] * (load - before)
    arrays["level_variance"][who], arrays["window_variance"][who] = left, new_window
    arrays["doubts"][who] = np.where(is_jump, 0.0, doubts)
    arrays["doubt"][who] = np.where(is_doubted & ~is_jump, missed, 0.0)
    return with_brokers(known, **arrays), Filtered(
        who, own, missed, is_doubted, is_jump, is_first, deviation**2
    )


_OF_FILTER = ("level", "level_features", "level_variance", "window_variance", "doubts", "doubt")


def _verified(known: Knowledge, who: Ints, square: Floats, variance: Floats) -> Knowledge:
    """Return what is known with changes verified by the first window that shows them.

    A change that is sure, or lost in the noise, says little about how sure changes are.
    """
    unverified = known.brokers.unverified.copy()
    weight = unverified[who] / variance
    missed = known.missed + (
        float((weight * np.minimum(square, _MISSED_MAX)).sum()),
        float(weight.sum()),
    )
    unverified[who] = 0.0
    known = with_brokers(known, unverified=unverified)
    return dataclasses.replace(known, missed=missed)


def _collected(known: Knowledge, sample: Sample, rows: Ints, filtered: Filtered) -> Knowledge:
    """Return what is known with sound windows in the open blocks, closed where it is time."""
    b, who = known.brokers, filtered.broker
    usable = ~filtered.is_doubted & (sample.cpu[rows] < _FULL)
    age_s = np.maximum(sample.written_s[rows] - b.started_s[who], 0.0)
    young = _YOUNG_POINTS * b.by_cores[who] / _CORES * np.exp(-age_s / _YOUNG_S)
    columns = np.zeros((rows.size, FIRST + sample.features.shape[1]))
    columns[:, COUNT] = 1.0
    columns[:, CPU] = filtered.own
    columns[:, CONCENTRATION] = sample.concentration[rows]
    columns[:, TIME] = sample.written_s[rows]
    columns[:, NOISE] = young**2
    columns[:, FIRST:] = sample.features[rows]
    sums = b.open
    touched = np.zeros(len(sums), np.bool_)
    opened_s = sums[:, TIME] / np.maximum(sums[:, COUNT], 1.0)
    touched[:] = (sums[:, COUNT] > 0) & (opened_s < b.touched_s)
    blocks, sums = closed(b.blocks, sums, touched)
    sums[who[usable]] += columns[usable]
    blocks, sums = closed(blocks, sums, sums[:, COUNT] >= BLOCK_WINDOWS)
    return with_brokers(known, blocks=blocks, open=sums)


def _jumped(known: Knowledge, filtered: Filtered) -> Knowledge:
    """Return what is known without the blocks of brokers that others began to use, or ceased to.

    What was learned of their speed is kept.
    """
    b = known.brokers
    calm = known.time_s - b.touched_s[filtered.broker] > _TOUCHED_S
    who = filtered.broker[filtered.is_jump & calm]
    if who.size == 0:
        return known
    blocks, sums = b.blocks.copy(), b.open.copy()
    before, weight = b.slowness_before.copy(), b.weight_before.copy()
    blocks[who], sums[who] = 0.0, 0.0
    before[who] = b.slowness[who]
    variance = known.own_covariance[who, 0, 0]
    weight[who] = np.minimum(1.0 / np.maximum(variance, 1e-6), _WEIGHT_MAX)
    return with_brokers(
        known, blocks=blocks, open=sums, slowness_before=before, weight_before=weight
    )


def _drifted(known: Knowledge) -> Knowledge:
    """Return what is known with the levels of now beside those of some time ago."""
    b = known.brokers
    due = (known.time_s - b.levels_s >= LEVEL_STEP_S) & ~np.isnan(b.level)
    if not due.any():
        return known
    levels, levels_s, drift = b.levels.copy(), b.levels_s.copy(), known.drift.copy()
    levels[due, 1:] = levels[due, :-1]
    levels[due, 0] = level_now(known)[due]
    skipped = due & (known.time_s - levels_s >= 2 * LEVEL_STEP_S)
    levels[skipped, 1:] = np.nan
    levels_s[due] = known.time_s
    for place, lag in enumerate(LAGS):
        squares = (levels[due, 0] - levels[due, lag]) ** 2
        squares = squares[~np.isnan(squares)]
        if squares.size:
            kept = _DRIFT_KEPT**squares.size
            drift[place] = kept * drift[place] + (float(squares.sum()), squares.size)
    known = dataclasses.replace(known, drift=drift)
    return with_brokers(known, levels=levels, levels_s=levels_s)


