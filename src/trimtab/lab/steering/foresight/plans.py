"""A picture that is out of balance → the moves that are worth making now."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trimtab.lab.frontier import NO_MOVES, Moves, Question
from trimtab.lab.frontier.band import POSITIONS, banded
from trimtab.lab.steering.foresight.memory import Memory, Picture
from trimtab.lab.steering.foresight.settings import Settings
from trimtab.lab.steering.foresight.trigger import Verdict, unseen
from trimtab.lab.steering.view import View
from trimtab.pulsar.model import Flags

# Points by which a plan must bring brokers nearer to the band: at all, and for each move.
_GAIN, _GAIN_EACH = 1.5, 0.4
# Bundles from which a plan is searched for in fewer positions, and for one inner band alone.
_LARGE, _POSITIONS_LARGE = 20_000, 5
# s for which a bundle that was moved stays.
_STAYS_S = 300.0
# Messages/s in and out below which a bundle is not worth a move.
_BUSY = 0.5
# Share of the band by which a broker that one bundle fills may stand above the mean of the others:
# they are in its lower part then.
_ASIDE = 0.75
# Share of all bundles that is moved at once, and bundles that always may be.
_AT_ONCE, _AT_ONCE_MIN = 0.10, 20


class Plan(NamedTuple):
    """Moves, why these or none, and what an operator is advised."""

    moves: Moves
    reason: str
    advice: tuple[str, ...]


def plan(memory: Memory, view: View, verdict: Verdict, settings: Settings) -> Plan:
    """Return the moves that are worth making now."""
    picture = memory.picture
    outer = settings.episode_outer if verdict.goes_on else settings.outer
    inner = settings.inner if settings.two_bands else outer
    inners = {min(each, outer) for each in (inner, settings.lenient)}
    giants = _giants(picture, outer) if settings.aside else {}
    advice = tuple(
        f"split {view.bundles[bundle]}: it alone holds {view.brokers[broker]} above the others"
        for broker, bundle in giants.items()
    )
    question = _question(memory, view, giants, settings)
    levels = picture.levels[question.is_counted]
    if levels.size < 2:
        return Plan(NO_MOVES, "too few brokers may be touched now", advice)
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
        why = "a bundle too large to balance has to be split" if giants else "no moves are worth it"
        return Plan(NO_MOVES, f"the spread is out of bounds, and {why}", advice)
    is_first = settings.staging and not memory.mood.is_open
    moves, staged = _staged(found.moves, picture.owner.size, settings, is_first)
    reason = (
        f"{np.ptp(picture.levels[~np.isnan(picture.levels)]):.0f} points of spread: brokers outside"
        f" {found.edges.outer_low:.0f} to {found.edges.outer_high:.0f} %"
        f" come inside {found.edges.low:.0f} to {found.edges.high:.0f} %{staged}"
    )
    return Plan(moves, reason, advice)


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


def _question(memory: Memory, view: View, giants: dict[int, int], settings: Settings) -> Question:
    """Return who might give what to whom."""
    picture, known = memory.picture, memory.known
    n = len(picture.usage)
    counted = ~np.isnan(picture.levels) & ~unseen(memory, view.windows.settled_s, settings.unseen_s)
    counted[list(giants)] = False
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


def _giants(picture: Picture, width: float) -> dict[int, int]:
    """Return brokers with a bundle that would hold any broker above the band by itself.

    Returns:
        Broker → the bundle.
    """
    there = np.flatnonzero(~np.isnan(picture.levels))
    owned = np.flatnonzero(picture.owner >= 0)
    if there.size < 2 or owned.size == 0:
        return {}
    usage, owner = np.nan_to_num(picture.movable_usage), picture.owner[owned]
    points = picture.speed[owner] * picture.cost[owned]
    carried = np.stack([np.bincount(owner, each, len(usage)) for each in points.T], axis=1)
    # Wherever it is: at the broker that carries least besides its bundles.
    alone = np.maximum((usage - carried)[there], 0.0).min(axis=0) + points
    # The others, when they have all that it can give up.
    others = usage[there].sum(axis=0) - usage[owner] + (carried[owner] - points)
    beyond = (alone - others / (there.size - 1)).max(axis=1) - _ASIDE * width
    giants = dict[int, int]()
    for place in np.argsort(beyond, kind="stable").tolist():
        if beyond[place] > 0:
            giants[int(owner[place])] = int(owned[place])
    return giants
