"""Windows of brokers → what single bundles cost beside what their traffic does.

A broker's usage is its base, what its traffic costs, with 1 + the deviation of each of its
heaviest bundles, and noise that lasts for a minute or two.  Traffic varies, and bundles come and
go: what usage then does beside what was expected tells of deviations.  All of a broker's are
estimated together, with its base, since it is their sum that is measured.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from trimtab.lab.costs.arithmetic import put
from trimtab.lab.costs.curve import curved
from trimtab.lab.costs.knowledge import (
    BEFORE,
    DEVIATION,
    HEAVIEST,
    LATEST,
    MIXED,
    OTHERS_USED,
    REMAINDER,
    USED,
    WRITTEN,
    Deviations,
    Knowledge,
    with_bundles,
)
from trimtab.lab.costs.lags import lagged, shares
from trimtab.lab.costs.look import Windows
from trimtab.pulsar.model import MINUTE_S, Flags, Floats, Ints

#: Share of noise that is left after a minute.
LEFT = 0.5
# Variance that a base gains in a minute, points squared, and share of the variance of a deviation
# that is forgotten in a minute.
_BASE_WANDERS = 0.02
_FORGOTTEN = 1.0 / (7 * 1440)
# Share of the square of a step by which costs have changed that is not sure to be in the base.
_STEP_SHARE = 0.25
# Square over its variance from which a window is taken to tell of something else, and how many in
# a row say that the base is another; variance of that.
_SURPRISE_MAX = 12.0
_SURPRISES = 3.0
_BASE_ANEW = 100.0
# What is off in a window is alike in many in a row, and goes with traffic that is not told apart:
# it counts as so many times the noise that it is.
_ALIKE = 2.0
# Share of a new square in the variance of noise, bounds of the square, and the least variance.
_NOISE_SHARE = 0.03
_NOISE_BOUNDS = (0.05, 9.0)
_NOISE_MIN = 0.02
# Least that is left of what a bundle's traffic costs, as a share.
_LEAST = 0.2


class Window(NamedTuple):
    """What some brokers used beside what their bundles did; all are (n, …)."""

    broker: Ints
    #: (n, columns) work of the bundles in places, and the other columns of what is kept.
    columns: Floats
    #: It tells something; else it only parts the windows before from those after.
    is_sound: Flags


class _Mixed(NamedTuple):
    """Windows, with traffic of the time of their usage, beside the same before; all (n, …)."""

    broker: Ints
    #: (n, columns) now, and before; NaN where there is none.
    now: Floats
    before: Floats
    #: Share of the noise before that is left.
    left: Floats


def deviating(known: Knowledge, window: Window, windows: Windows) -> Knowledge:
    """Return what is known of single bundles after a window of some brokers."""
    of = known.deviations
    kept = of.kept.copy()
    who = window.broker
    latest, time_s = kept[who, LATEST], window.columns[:, WRITTEN]
    follows = _follows(time_s - latest[:, WRITTEN], windows)
    follows &= window.is_sound
    there = ~np.isnan(latest[:, WRITTEN])
    rows = np.flatnonzero(there)
    if rows.size:
        after = np.where(follows[:, None], window.columns, latest)[rows]
        mixed, of = _mixed(known, who[rows], after, follows[rows])
        known = _updated(dataclasses.replace(known, deviations=of), mixed)
        kept[who[rows], MIXED] = mixed.now
    broken = ~window.is_sound
    kept[who, BEFORE] = np.where((follows & there)[:, None], latest, np.nan)
    kept[who, LATEST] = np.where(broken[:, None], np.nan, window.columns)
    kept[who[broken], MIXED] = np.nan
    return dataclasses.replace(known, deviations=dataclasses.replace(known.deviations, kept=kept))


def _follows(step_s: Floats, windows: Windows) -> Flags:
    return np.asarray(np.abs(step_s / windows.host_s - 1.0) < 0.5)


def _mixed(known: Knowledge, who: Ints, after: Floats, follows: Flags) -> tuple[_Mixed, Deviations]:
    """Return windows with traffic of the time of their usage, and what is learned of lags.

    Hosts and bundles are measured over windows that end at different times: what a host used is
    of two windows of traffic, in parts that are learned.
    """
    of = known.deviations
    middle, first = of.kept[who, LATEST], of.kept[who, BEFORE]
    has_first = ~np.isnan(first[:, WRITTEN])
    first = np.where(has_first[:, None], first, middle)
    share = shares(of.lags[who])
    late = np.where(follows, share.late, 0.0)[:, None]
    early = np.where(has_first, share.early, 0.0)[:, None]
    traffic = slice(USED)
    now = middle.copy()
    now[:, traffic] += late * (after - middle)[:, traffic] + early * (first - middle)[:, traffic]
    others = np.where(has_first, share.others, 0.0)
    now[:, OTHERS_USED] += others * (first - middle)[:, OTHERS_USED]
    before = of.kept[who, MIXED]
    gap_s = now[:, WRITTEN] - before[:, WRITTEN]
    left = np.where(gap_s > 0, LEFT ** (np.nan_to_num(gap_s, nan=1.0) / MINUTE_S), 0.0)
    sums, missed = lagged(of, who, (first, middle, after), float(known.shared[-1]))
    is_whole = (follows & has_first)[:, None]
    of = dataclasses.replace(
        of,
        lags=put(of.lags, who, np.where(is_whole, sums, of.lags[who])),
        lags_missed=put(of.lags_missed, who, np.where(is_whole, missed, np.nan)),
    )
    return _Mixed(who, now, before, left), of


def _updated(known: Knowledge, mixed: _Mixed) -> Knowledge:
    """Return what is known of bases and deviations with what windows say against them."""
    of, who = known.deviations, mixed.broker
    has_before = mixed.left > 0
    exponent = float(known.shared[-1])
    missed, slopes = _against(of.mean[who], mixed.now, exponent)
    missed_before, slopes_before = _against(of.mean[who], mixed.before, exponent)
    left = mixed.left[:, None]
    missed = missed - np.where(has_before, mixed.left * np.nan_to_num(missed_before), 0.0)
    slopes = slopes - left * np.where(has_before[:, None], np.nan_to_num(slopes_before), 0.0)
    noise = of.noise[who] * (1.0 - mixed.left**2)
    covariance: Floats = of.covariance[who].astype(np.float64)
    follows = np.einsum("bij,bj->bi", covariance, slopes)
    known_by = np.einsum("bi,bi->b", slopes, follows)
    variance = known_by + _ALIKE * noise
    is_odd = missed**2 > _SURPRISE_MAX * variance
    gain = np.where(is_odd[:, None], 0.0, follows / variance[:, None])
    mean = of.mean[who] + gain * missed[:, None]
    mean[:, :HEAVIEST] = np.maximum(mean[:, :HEAVIEST], _LEAST - 1.0)
    covariance = covariance - gain[:, :, None] * follows[:, None, :]
    surprises = np.where(is_odd, of.surprises[who] + 1.0, 0.0)
    anew = surprises >= _SURPRISES
    covariance[anew, HEAVIEST, HEAVIEST] += _BASE_ANEW
    surprises[anew] = 0.0
    covariances = of.covariance.copy()
    covariances[who] = _wandered(covariance, mixed)
    square = np.clip((missed**2 - known_by) / noise, *_NOISE_BOUNDS)
    share = np.where(is_odd | ~has_before, 0.0, _NOISE_SHARE)
    moved = np.maximum(of.noise[who] * (1.0 + share * (square - 1.0)), _NOISE_MIN)
    of = dataclasses.replace(
        of,
        mean=put(of.mean, who, mean),
        covariance=covariances,
        noise=put(of.noise, who, moved),
        surprises=put(of.surprises, who, surprises),
    )
    return mirrored(dataclasses.replace(known, deviations=of), who)


def _wandered(covariance: Floats, mixed: _Mixed) -> Floats:
    """Return covariances a little wider: bases wander, and bundles change."""
    gap_s = mixed.now[:, WRITTEN] - mixed.before[:, WRITTEN]
    minutes = np.clip(np.nan_to_num(gap_s, nan=MINUTE_S) / MINUTE_S, 0.0, 60.0)
    each = np.arange(HEAVIEST)
    untold = covariance[:, each, each]
    covariance = covariance.copy()
    forgotten = _FORGOTTEN * minutes[:, None] * np.maximum(DEVIATION**2 - untold, 0.0)
    covariance[:, each, each] += np.where(untold > 0, forgotten, 0.0)
    covariance[:, HEAVIEST, HEAVIEST] += _BASE_WANDERS * minutes
    return covariance


def _against(mean: Floats, columns: Floats, log_exponent: float) -> tuple[Floats, Floats]:
    """Return what windows are off by, and by how much that depends on deviations and base."""
    parts = columns[:, :HEAVIEST]
    work = (parts * (1.0 + mean[:, :HEAVIEST])).sum(axis=1) + columns[:, REMAINDER]
    curve = curved(work, log_exponent)
    used = columns[:, USED] - columns[:, OTHERS_USED]
    slopes = np.concatenate((curve.slope[:, None] * parts, np.ones((len(parts), 1))), axis=1)
    return used - curve.cpu - mean[:, HEAVIEST], slopes


def placed(known: Knowledge, work: Floats) -> Knowledge:
    """Return what is known with the heaviest bundles of each broker in its places.

    What is known of a bundle goes with it; what it has in common with others is left behind.
    """
    of, owner = known.deviations, known.bundles.owner
    everyone = np.arange(len(known.broker_names))[:, None]
    there = of.place >= 0
    is_gone = there & (owner[of.place] != everyone) if owner.size else there
    has_place = np.zeros(owner.size, np.bool_)
    has_place[of.place[there & ~is_gone]] = True
    fresh = _heaviest(owner, work, _able(of, owner, work, has_place))
    fresh = fresh[~has_place[fresh]]
    of = _without(of, is_gone)
    if fresh.size:
        of = _with(known, of, work, fresh)
    return known if of is known.deviations else dataclasses.replace(known, deviations=of)


def _able(of: Deviations, owner: Ints, work: Floats, has_place: Flags) -> Ints:
    """Return the bundles that may be among the heaviest of their owner, at little cost.

    Those that have places, and those that are no lighter than the lightest of these.
    """
    is_mine = (of.place >= 0) & has_place[of.place] if work.size else of.place >= 0
    lightest = np.where(is_mine, work[of.place], 0.0).min(axis=1) if work.size else np.zeros(0)
    owned = np.flatnonzero((owner >= 0) & (work > 0))
    return owned[has_place[owned] | (work[owned] >= lightest[owner[owned]])]


def _heaviest(owner: Ints, work: Floats, able: Ints) -> Ints:
    """Return those of some bundles that are among the heaviest of their owner, those first."""
    order = able[np.lexsort((-work[able], owner[able]))]
    rank = np.arange(order.size) - np.searchsorted(owner[order], owner[order])
    return np.asarray(order[rank < HEAVIEST])


def _without(of: Deviations, is_gone: Flags) -> Deviations:
    """Return the same with some places free."""
    if not is_gone.any():
        return of
    broker, place = np.nonzero(is_gone)
    mean, covariance, kept = of.mean.copy(), of.covariance.copy(), of.kept.copy()
    covariance[broker, place, :] = covariance[broker, :, place] = 0.0
    mean[broker, place] = 0.0
    # What it carried is of nobody that is known by itself.
    kept[broker, :, REMAINDER] += kept[broker, :, place]
    kept[broker, :, place] = 0.0
    return dataclasses.replace(
        of, place=np.where(is_gone, -1, of.place), mean=mean, covariance=covariance, kept=kept
    )


def _with(known: Knowledge, of: Deviations, work: Floats, fresh: Ints) -> Deviations:
    """Return the same with some bundles in free places, as far as there are any.

    The lightest give way where none is free: what is known of them is kept with the bundles.
    """
    bundles = known.bundles
    broker = bundles.owner[fresh]
    count = np.bincount(broker, minlength=len(of.place))
    weight = np.where(of.place >= 0, work[of.place], -1.0)
    order = np.argsort(weight, axis=1, kind="stable")
    gives_way = np.zeros(of.place.shape, np.bool_)
    np.put_along_axis(gives_way, order, np.arange(HEAVIEST) < count[:, None], axis=1)
    of = _without(of, gives_way & (of.place >= 0))
    sorted_by = np.argsort(broker, kind="stable")
    fresh, broker = fresh[sorted_by], broker[sorted_by]
    rank = np.arange(fresh.size) - np.searchsorted(broker, broker)
    place = order[broker, rank]
    places, mean, covariance = of.place.copy(), of.mean.copy(), of.covariance.copy()
    places[broker, place] = fresh
    mean[broker, place] = bundles.deviation[fresh]
    covariance[broker, place, place] = bundles.untold[fresh] * DEVIATION**2
    kept = of.kept.copy()
    # Windows before have it among the rest.
    kept[np.unique(broker)] = np.nan
    return dataclasses.replace(of, place=places, mean=mean, covariance=covariance, kept=kept)


def mirrored(known: Knowledge, who: Ints) -> Knowledge:
    """Return what is known with what places of some brokers say of their bundles, beside these."""
    of = known.deviations
    place = of.place[who]
    there = place >= 0
    each = np.arange(HEAVIEST)
    deviation, untold = known.bundles.deviation.copy(), known.bundles.untold.copy()
    deviation[place[there]] = of.mean[who][:, :HEAVIEST][there]
    share = of.covariance[who][:, each, each] / DEVIATION**2
    untold[place[there]] = np.clip(share[there], 0.0, 1.0)
    return with_bundles(known, deviation=deviation, untold=untold)


def with_new_bases(known: Knowledge, who: Ints) -> Knowledge:
    """Return what is known where others began to use some brokers, or ceased to."""
    if who.size == 0:
        return known
    covariance, kept = known.deviations.covariance.copy(), known.deviations.kept.copy()
    covariance[who, HEAVIEST, HEAVIEST] += _BASE_ANEW
    kept[who] = np.nan
    of = dataclasses.replace(known.deviations, covariance=covariance, kept=kept)
    return dataclasses.replace(known, deviations=of)


def restated(before: Knowledge, known: Knowledge, works: tuple[Floats, Floats]) -> Knowledge:
    """Return what is known with deviations from costs as they are now.

    What was told of a bundle was what it costs: as far as it was, that stays.

    Args:
        before: with costs as they were, of the same bundles in the same places.
        known: with costs as they are.
        works: (n_bundles,) the work of bundles before and now.
    """
    of = known.deviations
    there, place = of.place >= 0, np.maximum(of.place, 0)
    quick = _speed(known) / _speed(before)
    ratio = np.divide(works[1], works[0], out=np.ones(works[0].size), where=works[0] > 0)
    by_place = np.where(there, ratio[place] if ratio.size else 1.0, 1.0) * quick[:, None]
    each = np.arange(HEAVIEST)
    is_told = np.clip(1.0 - of.covariance[:, each, each] / DEVIATION**2, 0.0, 1.0)
    mean, kept = of.mean.copy(), of.kept.copy()
    stays = (1.0 + mean[:, :HEAVIEST]) * by_place ** -np.where(there, is_told, 0.0)
    mean[:, :HEAVIEST] = np.where(there, np.maximum(stays, _LEAST) - 1.0, 0.0)
    kept[:, :, :HEAVIEST] *= by_place[:, None, :]
    all_ratio = works[1].sum() / max(works[0].sum(), 1e-9) if works[0].size else 1.0
    kept[:, :, REMAINDER] *= (all_ratio if all_ratio > 0 else 1.0) * quick[:, None]
    covariance = of.covariance.copy()
    step = _level(before.deviations, before) - _level(
        dataclasses.replace(of, mean=mean, kept=kept), known
    )
    step = np.nan_to_num(step)
    mean[:, HEAVIEST] += step
    covariance[:, HEAVIEST, HEAVIEST] += _STEP_SHARE * step**2
    of = dataclasses.replace(of, mean=mean, covariance=covariance, kept=kept)
    return mirrored(dataclasses.replace(known, deviations=of), np.arange(len(mean)))


def _level(of: Deviations, known: Knowledge) -> Floats:
    """Return what the traffic of brokers takes in the latest window, NaN where there is none."""
    latest = of.kept[:, LATEST]
    parts = latest[:, :HEAVIEST] * (1.0 + of.mean[:, :HEAVIEST])
    return curved(parts.sum(axis=1) + latest[:, REMAINDER], float(known.shared[-1])).cpu


def _speed(known: Knowledge) -> Floats:
    return np.asarray(known.brokers.by_cores * np.exp(known.brokers.slowness))
