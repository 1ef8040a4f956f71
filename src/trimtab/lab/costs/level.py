"""Samples of brokers → their filtered levels, and what these missed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trimtab.lab.costs.arithmetic import put
from trimtab.lab.costs.knowledge import WANDERING, Knowledge, with_brokers
from trimtab.lab.costs.look import FULL, Windows, has_measured
from trimtab.lab.costs.usage import change_variance, usage
from trimtab.pulsar.model import MINUTE_S, Flags, Floats, Ints

# Minutes beyond which a level that nobody tells of is not less sure any more: what a host does
# beside its traffic comes and goes in that time, and who gates reports and says nothing is near
# what it said.
_WANDERING_MIN = 2.0
# Deviations beyond which a window is doubted.
_DOUBTED = 3.5
# Points below which nothing is doubted.
_DOUBTED_MIN = 3.0
# Deviations beyond which a window counts less, the less the farther off it is.
_TRUSTED = 2.0
# Share of a surprise that is left in the next window if it lasts: of what comes and goes within
# three windows the last shows less than the one before.
_LASTS = 0.6
# Share of a new window in the variance of windows, and its bounds.
_VARIANCE_SHARE = 0.1
_VARIANCE_BOUNDS = (0.25, 36.0)
# Share of a change that may be in a window in which it came about, either way.
_MIXED = 0.5
# Largest square of a missed change over what was expected of it.
_MISSED_MAX = 9.0


@dataclass(frozen=True, slots=True)
class Sample:
    """What brokers used beside what they carried; all arrays are (n_reports, …)."""

    broker: Ints
    written_s: Floats
    #: Percent of CPU, and of that by others (NaN: not measured).
    cpu: Floats
    others: Floats
    load: Floats
    #: 1 if one bundle has all the work, 1/n if n share it evenly.
    concentration: Floats


class Filtered(NamedTuple):
    """What became of samples; all arrays are (n,)."""

    broker: Ints
    own: Floats
    missed: Floats
    is_doubted: Flags
    #: They go on with what the windows before said against the level.
    goes_on: Flags
    #: Levels that are believed to be others now, and those that are the first.
    is_jump: Flags
    is_first: Flags
    #: The windows were wholly after the last move of the broker.
    is_settled: Flags
    #: Variance of what is missed, if levels are as sure as they are taken to be, and of that
    #: what is of windows in which bundles came or went.
    variance: Floats
    mixed: Floats

    @property
    def is_in_doubt(self) -> Flags:
        """Return which windows are doubted, and not believed yet."""
        return np.asarray(self.is_doubted & ~self.is_jump)


def wandering(silent_s: Floats) -> Floats:
    """Return the variance that levels gain while brokers are silent, points squared."""
    return WANDERING * np.minimum(silent_s / MINUTE_S, _WANDERING_MIN)


def usable(known: Knowledge, sample: Sample) -> Ints:
    """Return the samples that say something: new ones of brokers that have measured."""
    is_new = sample.written_s > known.brokers.written_s[sample.broker]
    return np.flatnonzero(is_new & has_measured(sample.cpu))


def compared(known: Knowledge, sample: Sample, rows: Ints, windows: Windows) -> Filtered:
    """Return samples beside what levels and traffic made expect of them."""
    b, who, load = known.brokers, sample.broker[rows], sample.load[rows]
    own = sample.cpu[rows] - np.nan_to_num(sample.others[rows])
    is_first = np.isnan(b.level[who])
    is_settled = sample.written_s[rows] > b.touched_s[who] + windows.settled_s
    then, now = usage(known, who, b.level_load[who]), usage(known, who, load)
    step = now.cpu - then.cpu
    missed = np.where(is_first, 0.0, own - b.level[who] - step)
    mixed = np.where(is_settled, 0.0, (_MIXED * np.where(is_first, own, step)) ** 2)
    wandered = wandering(sample.written_s[rows] - b.written_s[who])
    # What traffic costs that has changed by much is as unsure as costs are.
    stepped = change_variance(known, who, then, now)
    variance = np.where(is_first, 1e4, b.level_variance[who] + wandered + stepped)
    variance = variance + b.window_variance[who] + mixed
    limit = np.maximum(_DOUBTED_MIN, _DOUBTED * np.sqrt(variance))
    is_doubted = np.abs(missed) > limit
    before = b.doubt[who]
    lasts = np.abs(missed) >= np.minimum(_LASTS * np.abs(before), np.abs(before) - limit)
    goes_on = lasts & (np.sign(missed) == np.sign(before))
    is_jump = is_doubted & goes_on & (b.doubts[who] + 1.0 >= windows.in_doubt)
    return Filtered(
        broker=who,
        own=own,
        missed=missed,
        is_doubted=is_doubted,
        goes_on=goes_on,
        is_jump=is_jump,
        is_first=is_first,
        is_settled=is_settled,
        variance=variance,
        mixed=mixed,
    )


def levelled(known: Knowledge, sample: Sample, rows: Ints, filtered: Filtered) -> Knowledge:
    """Return what is known with levels moved towards samples, as far as these are surer."""
    b, who, load = known.brokers, filtered.broker, sample.load[rows]
    is_in_doubt, is_jump = filtered.is_in_doubt, filtered.is_jump
    window = b.window_variance[who] + filtered.mixed
    before = filtered.variance - window
    off = np.abs(filtered.missed) / np.sqrt(filtered.variance)
    trusted = _TRUSTED / np.maximum(off, _TRUSTED)
    gain = np.where(is_jump, 1.0, np.where(is_in_doubt, 0.0, trusted * before / filtered.variance))
    left = np.where(is_jump, window, (1.0 - gain) * before)
    # One that is doubted says nothing, full or not.
    is_full = (sample.cpu[rows] >= FULL) & ~is_in_doubt
    left = np.where(is_full, np.maximum(left, 100.0), left)
    doubts = np.where(filtered.goes_on, b.doubts[who] + 1.0, 1.0)
    level = np.where(filtered.is_first, filtered.own, b.level[who])
    before_load = b.level_load[who]
    return with_brokers(
        known,
        level=put(b.level, who, level + gain * (filtered.own - level)),
        level_load=put(b.level_load, who, before_load + gain[:, None] * (load - before_load)),
        level_variance=put(b.level_variance, who, left),
        window_variance=put(b.window_variance, who, _window_variance(b.window_variance, filtered)),
        doubts=put(b.doubts, who, np.where(is_in_doubt, doubts, 0.0)),
        doubt=put(b.doubt, who, np.where(is_in_doubt, filtered.missed, 0.0)),
    )


def verified(known: Knowledge, filtered: Filtered) -> Knowledge:
    """Return what is known with changes verified by the first window that shows them.

    A window that is doubted may be of a load that comes and goes: the next one verifies.
    A change that is sure, or lost in the noise, says little about how sure changes are.
    """
    rows = np.flatnonzero(filtered.is_settled & ~filtered.is_in_doubt)
    who, variance = filtered.broker[rows], filtered.variance[rows]
    weight = known.brokers.unverified[who] / variance
    square = np.minimum(filtered.missed[rows] ** 2 / variance, _MISSED_MAX)
    missed = known.missed + np.array((float((weight * square).sum()), float(weight.sum())))
    known = with_brokers(known, unverified=put(known.brokers.unverified, who, np.zeros(who.size)))
    return dataclasses.replace(known, missed=missed)


def _window_variance(variances: Floats, filtered: Filtered) -> Floats:
    """Return the variance of a window, moved towards what this one missed, if it was calm."""
    window = variances[filtered.broker]
    noise = filtered.missed**2 - (filtered.variance - window)
    moved = window + _VARIANCE_SHARE * (np.clip(noise, *_VARIANCE_BOUNDS) - window)
    is_calm = ~filtered.is_doubted & ~filtered.is_first & filtered.is_settled
    return np.where(is_calm, moved, window)
