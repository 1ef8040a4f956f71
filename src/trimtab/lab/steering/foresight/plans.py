"""A picture that is out of balance → the moves that are worth making now."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trimtab.lab.frontier import NO_MOVES, Moves, Question
from trimtab.lab.frontier.band import POSITIONS, banded
from trimtab.lab.steering.foresight.memory import Memory
from trimtab.lab.steering.foresight.settings import Settings
from trimtab.lab.steering.foresight.trigger import Verdict, unseen
from trimtab.lab.steering.view import View
from trimtab.pulsar.model import Flags, Floats

# Points by which a plan must bring brokers nearer to the band: at all, and for each move.
_GAIN, _GAIN_EACH = 1.5, 0.4
# Bundles from which a plan is searched for in fewer positions, and for one inner band alone.
_LARGE, _POSITIONS_LARGE = 20_000, 5
# s for which a bundle that was moved stays.
_STAYS_S = 300.0
# Messages/s in and out below which a bundle is not worth a move.
_BUSY = 0.5
# Brokers beyond which one is always far out, and the quantiles between which nine in ten are.
_MANY, _INNER = 50, (0.05, 0.95)
# Share of all bundles that is moved at once, and bundles that always may be.
_AT_ONCE, _AT_ONCE_MIN = 0.10, 20


class Plan(NamedTuple):
    """Moves, and why these or none."""

    moves: Moves
    reason: str


def plan(memory: Memory, view: View, verdict: Verdict, settings: Settings) -> Plan:
    """Return the moves that are worth making now."""
    picture = memory.picture
    question = _question(memory, view, verdict, settings)
    levels = picture.levels[question.is_counted]
    if levels.size < 2:
        return Plan(NO_MOVES, "too few brokers may be touched now")
    outer = settings.episode_outer if verdict.goes_on else settings.outer
    if _are_mostly_even(levels, settings.episode_outer):
        outer = settings.trigger
    inner = settings.inner if settings.two_bands else outer
    inners = {min(each, outer) for each in (inner, max(inner, settings.lenient))}
    mean = float(levels.mean())
    middle = (
        (min(mean, picture.water), max(mean, picture.water)) if settings.water else (mean, mean)
    )
    positions = POSITIONS
    if view.is_movable.size > _LARGE:
        inners, positions = {min(inners)}, _POSITIONS_LARGE
    plans = [banded(question, middle, (width, outer), positions) for width in sorted(inners)]
    found = min(plans, key=lambda each: (each.n_outside, each.moves.bundle.size))
    count = found.moves.bundle.size
    gain = found.before - found.after
    if count == 0 or gain < max(_GAIN, _GAIN_EACH * count):
        return Plan(NO_MOVES, "the spread is out of bounds, and no moves are worth it")
    is_first = settings.staging and not memory.mood.is_open
    moves, staged = _staged(found.moves, picture.owner.size, settings, is_first)
    reason = (
        f"{np.ptp(levels):.0f} points of spread: brokers outside"
        f" {found.edges.outer_low:.0f} to {found.edges.outer_high:.0f} %"
        f" come inside {found.edges.low:.0f} to {found.edges.high:.0f} %{staged}"
    )
    return Plan(moves, reason)


def _are_mostly_even(levels: Floats, width: float) -> bool:
    """Return whether nine in ten of many brokers are within a width of each other.

    Then only those far out are worth moves: near the edges of a narrow band there always are some.
    """
    return levels.size > _MANY and float(np.ptp(np.quantile(levels, _INNER))) <= width


def _staged(moves: Moves, n_bundles: int, settings: Settings, is_first: bool) -> tuple[Moves, str]:
    """Return the first part of many moves, the rest to be planned again by what comes of them.

    What comes of the first plan of an episode tells enough for the next to be carried out whole.
    """
    count = moves.bundle.size
    most = max(_AT_ONCE_MIN, int(_AT_ONCE * n_bundles))
    if is_first and count > settings.staged_from:
        most = min(most, max(settings.staged_from, int(settings.staged * count)))
    if count <= most:
        return moves, ""
    return Moves(moves.bundle[:most], moves.to[:most]), f"; the first {most} of {count} moves"


def _question(memory: Memory, view: View, verdict: Verdict, settings: Settings) -> Question:
    """Return who might give what to whom."""
    picture, known = memory.picture, memory.known
    n = len(picture.usage)
    counted = ~np.isnan(picture.levels) & ~unseen(memory, view.windows.settled_s, settings.unseen_s)
    counted &= ~picture.is_aside
    if verdict.left_alone is not None:
        counted &= ~verdict.left_alone
    busy: Flags = memory.rates[-1][:, :2].sum(axis=1) > _BUSY
    stays = known.bundles.moved_s > view.time_s - _STAYS_S
    return Question(
        usage=np.nan_to_num(picture.movable_usage),
        speed=picture.speed,
        cost=picture.cost,
        owner=picture.owner,
        is_movable=view.is_movable & busy & ~stays & (picture.owner >= 0),
        kind=np.zeros(picture.owner.size, np.int64),
        allowed=counted[None].copy(),
        ceiling=np.full(n, np.inf),
        is_counted=counted,
    )
