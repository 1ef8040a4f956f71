"""A picture, and what has been going on → whether it is time to plan, or why not."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from trimtab.lab.costs import Knowledge
from trimtab.lab.costs.knowledge import with_bundles
from trimtab.lab.costs.predict import works
from trimtab.lab.steering.foresight.excursions import falling, young
from trimtab.lab.steering.foresight.memory import Memory, Mood, Picture
from trimtab.lab.steering.foresight.restless import restless
from trimtab.lab.steering.foresight.settings import Settings
from trimtab.lab.steering.view import Change, View
from trimtab.pulsar.model import Flags, Floats

# s for which it holds still after a broker went or came back, and for which it is away at most if
# it is a restart.
_HOLD_S = 200.0
_RESTART_S = 900.0
# Percent from which nothing is waited for.
_FULL = 88.0
_BURST_FULL = 92.0
# Evidence beyond which there is no more of it: what is long over is soon forgotten.
_EVIDENCE_MAX = 2.0
# Share by which all traffic may be off its filtered sum before a plan waits.
_RAMP = 0.12
# s after a member came or went in which a plan need not have settled either.
_MEMBER_S = 240.0
# s after which an episode is over whatever the spread.
_EPISODE_S = 1500.0
# s for which a bundle has to be too large before its split is advised: no hurry, and no burst.
_ADVISED_S = 600.0
# What is looked at in a report and in its filter, points and as a share of how far it is off.
_DISAGREES = (6.0, 0.4)
# The same for a report that is nearer to the others: what a burst leaves as it ends.
_RETURNS = (4.0, 0.25)
# Share of brokers that may be in doubt and left alone, while the others are balanced; and share of
# the spread that is left without them where they make no difference.
_IN_DOUBT = 0.05
_AS_FAR = 0.95
# Share of a window after which the next report is waited for, and s after it for which it may be
# late.
_DUE, _LATE_S = 0.66, 30.0
# Windows of a bundle below which nothing is known of it.
_WINDOWS_MIN = 3
# Of many brokers the extremes are noise: how much of it is expected, and from how many on.
_EXTREME, _FEW = 1.0, 1.8
# Share of it that is left in the spread when an episode is over.
_OVER = 0.5


class Verdict(NamedTuple):
    """Whether to plan, why, and what it means for the mood."""

    plans: bool
    reason: str
    mood: Mood
    #: The plan goes on with an episode.
    goes_on: bool = False
    #: (n_brokers,) brokers that the plan leaves alone; None is nobody.
    left_alone: Flags | None = None


def with_members(memory: Memory, view: View) -> Memory:
    """Return the memory with who has come and gone."""
    left_s, came_s, mood = memory.left_s.copy(), memory.came_s.copy(), memory.mood
    for each in view.members:
        if each.change is Change.LEAVE:
            left_s[each.broker] = each.time_s
            mood = replace(mood, hold_s=each.time_s + _HOLD_S)
            continue
        came_s[each.broker] = each.time_s
        if each.time_s - left_s[each.broker] < _RESTART_S:
            mood = replace(mood, hold_s=each.time_s + _HOLD_S)
        else:
            mood = replace(mood, has_new=True)
    return replace(memory, left_s=left_s, came_s=came_s, mood=mood, is_there=view.is_there)


def unseen(memory: Memory, settled_s: float, silent_s: float) -> Flags:
    """Return which brokers were touched and have not said since what it did, (n_brokers,)."""
    known = memory.known
    touched_s, written_s = known.brokers.touched_s, known.brokers.written_s
    is_late = touched_s > known.time_s - silent_s
    has_begun = np.isfinite(touched_s) & (touched_s > memory.came_s + 1.0)
    return np.asarray(is_late & has_begun & (written_s <= touched_s + settled_s))


def verdict(memory: Memory, view: View, believed: Knowledge, settings: Settings) -> Verdict:
    """Return whether it is time to plan."""
    picture, time_s = memory.picture, view.time_s
    # Whoever holds a bundle that is too large is as it will be.
    levels = np.where(picture.is_aside, np.nan, picture.levels)
    there = np.flatnonzero(~np.isnan(levels))
    mood = replace(memory.mood, large_s=_since(memory, time_s))
    if np.count_nonzero(~np.isnan(picture.levels)) < 2:
        return Verdict(False, "fewer than two brokers are known", mood)
    if np.median(memory.n_rates) < _WINDOWS_MIN:
        return Verdict(False, "too little has been seen to tell a burst from a step", mood)
    spread = float(np.ptp(levels[there])) if there.size else 0.0
    # Full is who says so itself.
    said = np.minimum(levels, memory.excursions.usage[-1])[there]
    peak = float(np.nan_to_num(said).max(initial=0.0))
    noise = _noise(memory, there.size)
    excess = spread - settings.trigger - noise
    passed = min(1.0, (time_s - mood.weighed_s) / view.windows.host_s)
    step = float(np.clip(excess / settings.evidence, -1.0, 1.0)) * passed
    evidence = float(np.clip(mood.evidence + step, 0.0, _EVIDENCE_MAX))
    evidence = evidence if settings.sequential else float(excess > 0)
    mood = replace(mood, evidence=evidence, weighed_s=time_s)
    hidden = unseen(memory, view.windows.settled_s, settings.unseen_s)[there]
    # What moves were to do is no evidence that it is over.
    if spread <= settings.episode + _OVER * noise and not hidden.any():
        mood = replace(mood, is_open=False)
    is_due = evidence >= 1.0 and excess > 0
    bound = settings.trigger + noise
    doubtful = surging = np.zeros(levels.size, np.bool_)
    if settings.patience and peak < _BURST_FULL and there.size:
        doubtful = _doubtful(memory, view, levels, bound, settings.sound_s)
        surging = memory.excursions.by_traffic & young(memory.excursions, time_s, 0.0)
    may_plan = is_due or mood.is_open or mood.has_new
    held = (
        _held(memory, view, believed, settings, (levels, peak, bound, doubtful)) if may_plan else ""
    )
    if mood.has_new and not held:
        is_due, mood = excess > 0, replace(mood, has_new=False)
    since_s = time_s - mood.planned_s
    goes_on = (
        settings.episodes
        and mood.is_open
        and not is_due
        and spread > settings.episode + _OVER * noise
        and settings.settle_s <= since_s < _EPISODE_S
        and not hidden.any()
    )
    if not (is_due or goes_on):
        return Verdict(False, _quiet(picture, mood, excess), mood)
    if held:
        return Verdict(False, held, mood)
    is_new_member = time_s - max(_latest(memory.left_s), _latest(memory.came_s)) < _MEMBER_S
    is_hidden = np.count_nonzero(hidden) > _IN_DOUBT * there.size
    waits = since_s < settings.settle_s or (is_hidden and since_s < settings.seen_s)
    if is_due and waits and not is_new_member:
        return Verdict(False, "the last plan has not settled", mood)
    # Who writes only what has changed is not waited for.
    is_pressing = peak >= _FULL or is_new_member or settings.calm or not settings.patience
    if not is_pressing and _are_due(memory, view, np.where(doubtful, np.nan, levels), bound):
        return Verdict(False, "the next reports of who is out of bounds are due", mood)
    return Verdict(True, "", mood, goes_on, doubtful | surging)


def _quiet(picture: Picture, mood: Mood, excess: float) -> str:
    """Return why nothing is due."""
    if excess > 0:
        return "the spread is out of bounds, and not for long enough to believe it"
    if mood.is_open:
        return "the episode is open, and the last moves have not settled"
    if picture.is_too_large.any():
        return "a bundle too large to balance has to be split"
    return "the spread is within bounds"


def advised(picture: Picture, mood: Mood, view: View) -> tuple[str, ...]:
    """Return which bundles an operator is advised to split: those too large for long enough."""
    if view.time_s - mood.large_s < _ADVISED_S:
        return ()
    which = np.flatnonzero(picture.is_too_large & (picture.owner >= 0)).tolist()
    return tuple(
        f"split {view.bundles[bundle]}: it alone holds {view.brokers[picture.owner[bundle]]} above"
        " the others"
        for bundle in which
    )


def _since(memory: Memory, time_s: float) -> float:
    """Return since when a bundle has been too large, s; infinite if none is."""
    is_any = bool(memory.picture.is_too_large.any())
    return min(memory.mood.large_s, time_s) if is_any else np.inf


def _latest(times_s: Floats) -> float:
    return float(times_s.max(initial=-np.inf))


def _noise(memory: Memory, count: int) -> float:
    """Return the points that extremes of many brokers are apart by noise alone."""
    variance = memory.known.brokers.window_variance[memory.is_there]
    usual = float(np.sqrt(np.median(variance)))
    return _EXTREME * usual * max(0.0, float(np.sqrt(2 * np.log(count))) - _FEW)


def _held(
    memory: Memory,
    view: View,
    believed: Knowledge,
    settings: Settings,
    seen: tuple[Floats, float, float, Flags],
) -> str:
    """Return why a plan has to wait; nothing if it need not."""
    levels, peak, bound, doubtful = seen
    if view.time_s < memory.mood.hold_s and peak < _FULL:
        return "a broker has just gone or come back: what it left is placed by lookups first"
    if settings.robust:
        newest = with_bundles(believed, counts=memory.rates[-1])
        now, filtered = float(works(newest).sum()), float(works(believed).sum())
        if abs(now - filtered) > _RAMP * max(now, filtered) and now + filtered > 1.0:
            return "the traffic of the whole cluster is changing"
    if not settings.patience or peak >= _BURST_FULL:
        return ""
    sure = np.where(doubtful, np.nan, levels)
    if doubtful.any() and not _are_balanced_alone(memory, levels, doubtful, bound, settings):
        return "the newest reports and the filtered levels disagree"
    return _burst(memory, view, sure, bound)


def _are_balanced_alone(
    memory: Memory, levels: Floats, doubtful: Flags, bound: float, settings: Settings
) -> bool:
    """Return whether brokers are balanced among themselves without those that are in doubt.

    A few of many may be left alone, and more of them where it makes no difference: where others
    are as far apart as all are, whichever is believed of these.
    """
    count, of = np.count_nonzero(doubtful), np.count_nonzero(~np.isnan(levels))
    if count > max(_IN_DOUBT, settings.in_doubt) * of:
        return False
    sure = levels[~doubtful]
    apart = np.nanmax(sure) - np.nanmin(sure)
    if count <= _IN_DOUBT * of:
        return bool(apart >= bound)
    either = np.concatenate((levels, memory.excursions.usage[-1][doubtful]))
    return bool(apart >= max(bound, _AS_FAR * (np.nanmax(either) - np.nanmin(either))))


def _are_due(memory: Memory, view: View, levels: Floats, bound: float) -> bool:
    """Return whether all who are out of bounds are about to report again."""
    age_s, host_s = view.time_s - memory.known.brokers.written_s, view.windows.host_s
    is_due = (age_s > _DUE * host_s) & (age_s < host_s + _LATE_S)
    is_out = _is_out(_off(levels), bound)
    return host_s >= _LATE_S and bool(is_out.any() and is_due[is_out].all())


def _doubtful(memory: Memory, view: View, levels: Floats, bound: float, sound_s: float) -> Flags:
    """Return which brokers levels and newest reports do not agree about, (n_brokers,).

    One or the other says that they are out of bounds.  Of those that were just touched the level
    is what the moves were to do: a whole window that says something else is not to be planned by,
    and no more is the level.
    """
    off, out = _off(levels), _off(memory.excursions.usage[-1], levels)
    brokers, windows = memory.known.brokers, view.windows
    settled = brokers.written_s > brokers.touched_s + windows.settled_s + sound_s
    # What has not been contradicted for so long is as believed as it will be.
    settled &= brokers.written_s > view.time_s - windows.in_doubt * windows.host_s
    free = memory.picture.beyond < 1.0
    differs = np.abs(memory.excursions.usage[-1] - levels)
    limit, returned = (np.maximum(low, share * off) for low, share in (_DISAGREES, _RETURNS))
    is_other = (differs > limit) | (off - out > returned)
    is_other |= falling(memory.excursions, memory.known, memory.rates)
    is_out = _is_out(np.maximum(off, out), bound)
    return np.asarray(is_out & settled & free & is_other)


def _burst(memory: Memory, view: View, levels: Floats, bound: float) -> str:
    """Return that what is seen may be a burst; nothing if it is not.

    It is where those that may be in one are out of bounds, or others are by them alone.
    """
    windows, known = view.windows, ~np.isnan(levels)
    if not known.any():
        return ""
    is_young = young(memory.excursions, view.time_s, windows.in_doubt * windows.host_s)
    is_out = _is_out(_off(levels), bound)
    if np.ptp(levels[known]) >= bound:
        is_young |= restless(memory.known, memory.rates, known)
        is_out = known
    if not (is_out & is_young).any():
        return ""
    calm = levels[known & ~is_young]
    if calm.size > 1 and float(np.ptp(calm)) >= bound:
        return ""
    return "it may be a burst, and bursts here have been over soon"


def _is_out(off: Floats, bound: float) -> Flags:
    """Return which brokers are so many points off that a spread may be out of bounds by them."""
    return np.asarray(np.nan_to_num(off) > bound / 2 - 0.5)


def _off(usage: Floats, among: Floats | None = None) -> Floats:
    """Return the points between usages and the median of all, or of others."""
    of = usage if among is None else among
    return np.abs(usage - np.nanmedian(of))
