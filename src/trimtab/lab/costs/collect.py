"""Windows of brokers → their blocks, and how levels drift."""

from __future__ import annotations

import dataclasses

import numpy as np

from trimtab.lab.costs.blocks import closed
from trimtab.lab.costs.knowledge import (
    CONCENTRATION,
    CORES,
    COUNT,
    CPU,
    FIRST,
    LAGS,
    LEVEL_STEP_S,
    NOISE,
    TIME,
    Knowledge,
    with_brokers,
)
from trimtab.lab.costs.level import Filtered, Sample
from trimtab.lab.costs.load import BESIDE
from trimtab.lab.costs.look import Windows
from trimtab.lab.costs.predict import level_now
from trimtab.pulsar.model import Ints

# What a process that compiles itself takes at first, points of one core, and how long, s.
_YOUNG_POINTS = 17.0
_YOUNG_S = 200.0
#: s after which a process has compiled itself.
GROWN_S = 5 * _YOUNG_S
# s for which a broker that was touched may still change by that, and not by other processes.
_TOUCHED_S = 420.0
# Squares that a drift is learned from are forgotten at this rate.
_DRIFT_KEPT = 0.995
# s within which a process still becomes cheaper by itself, which is no drift.
_DRIFTS_FROM_S = 600.0
# Most that a broker's slowness is believed to be known when its blocks are thrown away.
_WEIGHT_MAX = 100.0


def collected(
    known: Knowledge, sample: Sample, rows: Ints, filtered: Filtered, windows: Windows
) -> Knowledge:
    """Return what is known with sound windows in the open blocks, closed where it is time."""
    b, who = known.brokers, filtered.broker
    usable = ~filtered.is_doubted
    written_s = sample.written_s[rows]
    age_s = np.maximum(written_s - b.started_s[who], 0.0)
    young = _YOUNG_POINTS * b.by_cores[who] / CORES * np.exp(-age_s / _YOUNG_S)
    columns = np.zeros((rows.size, FIRST + BESIDE))
    columns[:, COUNT] = 1.0
    columns[:, CPU] = filtered.own
    columns[:, CONCENTRATION] = sample.concentration[rows]
    columns[:, TIME] = written_s
    columns[:, NOISE] = young**2 + filtered.mixed
    columns[:, FIRST:] = sample.load[rows, :BESIDE]
    sums = b.open
    touched = np.zeros(len(sums), np.bool_)
    opened_s = sums[:, TIME] / np.maximum(sums[:, COUNT], 1.0)
    touched[:] = (sums[:, COUNT] > 0) & (opened_s < b.touched_s)
    blocks, sums = closed(b.blocks, sums, touched)
    sums[who[usable]] += columns[usable]
    blocks, sums = closed(blocks, sums, sums[:, COUNT] >= windows.in_block)
    return with_brokers(known, blocks=blocks, open=sums)


def jumped(known: Knowledge, filtered: Filtered) -> Knowledge:
    """Return what is known without the blocks of brokers that others began to use, or ceased to.

    What was learned of their speed is kept.
    """
    return forgotten(known, filtered.broker[filtered.is_jump])


def forgotten(known: Knowledge, jumps: Ints) -> Knowledge:
    """Return what is known without the blocks of brokers whose levels have jumped untouched.

    How slow they are is remembered as it was believed, not as blocks alone had it: what brokers
    are alike in pulls anew each time, and who jumps often becomes ever more like the others.
    """
    b = known.brokers
    who = jumps[known.time_s - b.touched_s[jumps] > _TOUCHED_S]
    if who.size == 0:
        return known
    blocks, sums = b.blocks.copy(), b.open.copy()
    before, weight = b.slowness_before.copy(), b.weight_before.copy()
    blocks[who], sums[who] = 0.0, 0.0
    total = 1.0 / np.maximum(known.own_covariance[who, 0, 0], 1e-6)
    weight[who] = np.clip(total - 1.0 / known.alike_variance[0], 0.0, _WEIGHT_MAX)
    before[who] = b.slowness[who]
    return with_brokers(
        known, blocks=blocks, open=sums, slowness_before=before, weight_before=weight
    )


def drifted(known: Knowledge) -> Knowledge:
    """Return what is known with the levels of now beside those of some time ago."""
    b = known.brokers
    due = (known.time_s - b.levels_s >= LEVEL_STEP_S) & ~np.isnan(b.level)
    if not due.any():
        return known
    levels, levels_s, drift = b.levels.copy(), b.levels_s.copy(), known.drift.copy()
    levels[due, 1:] = levels[due, :-1]
    levels[due, 0] = level_now(known)[due]
    levels[due & (known.time_s - b.started_s < _DRIFTS_FROM_S), 0] = np.nan
    skipped = due & (known.time_s - levels_s >= 2 * LEVEL_STEP_S)
    levels[skipped, 1:] = np.nan
    levels_s[due] = known.time_s
    for place, lag in enumerate(LAGS):
        squares = (levels[due, 0] - levels[due, lag]) ** 2
        squares = squares[~np.isnan(squares)]
        if squares.size:
            kept = _DRIFT_KEPT**squares.size
            drift[place] = kept * drift[place] + np.array((float(squares.sum()), squares.size))
    known = dataclasses.replace(known, drift=drift)
    return with_brokers(known, levels=levels, levels_s=levels_s)
