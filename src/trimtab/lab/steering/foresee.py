"""Foresee: learns what traffic costs, predicts what moves do, and makes few that it is sure of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trimtab.lab.costs import Knowledge, learned
from trimtab.lab.costs.look import has_measured
from trimtab.lab.costs.predict import predicted
from trimtab.lab.frontier import Moves
from trimtab.lab.steering.foresight.calm import calm
from trimtab.lab.steering.foresight.excursions import with_excursions
from trimtab.lab.steering.foresight.filters import (
    with_full,
    with_network,
    with_others,
    with_rates,
    with_silence,
)
from trimtab.lab.steering.foresight.growth import grown
from trimtab.lab.steering.foresight.memory import Memory, Picture, beginning
from trimtab.lab.steering.foresight.picture import believed, caught_up, picture
from trimtab.lab.steering.foresight.plans import plan
from trimtab.lab.steering.foresight.settings import Settings, sized
from trimtab.lab.steering.foresight.trigger import advised, verdict, with_members
from trimtab.lab.steering.view import Answer, Asked, Command, Prediction, View
from trimtab.pulsar.model import Flags, Floats

__all__ = ["Memory", "Settings", "foresee", "place"]

# Share of a window within which the very same figure is of the same window.
_SAME_WINDOW = 0.95


def foresee(view: View, memory: Memory | None, settings: Settings) -> tuple[Answer, Memory]:
    """Return the moves that are worth making now with what they will do, or why there are none.

    1. What the reports say is taken into the cost model, and filtered: traffic by the middle of
       the last windows, levels by a filter that doubts what jumps.
    2. Where the spread is out of bounds, evidence is collected; one window far out is enough,
       three are needed near the bounds.  A broker that has just joined needs no evidence.
    3. It waits while a broker restarts, while all traffic changes, and for what may be a burst.
    4. Brokers outside a band are brought well inside it, by as few moves as are found.  Of many
       moves the first are made, and the rest planned again.
    5. What it began it finishes: until the spread is small, smaller surpluses are repaired, too.
    """
    windows, settings = settings.windows, sized(settings, int(view.is_there.sum()))
    memory = beginning(view, windows) if memory is None else grown(memory, view, windows)
    memory = _after(memory, view, settings)
    known = believed(memory, view.windows, settings)
    memory = replace(memory, picture=picture(memory, known, settings))
    judged = verdict(memory, view, known, settings)
    memory = replace(memory, mood=judged.mood)
    levels = memory.picture.usage.max(axis=1)
    advice = advised(memory.picture, memory.mood, view)
    if not judged.plans:
        return Answer((), (), judged.reason, advice, levels), memory
    if settings.catching_up:
        memory = replace(memory, picture=caught_up(memory, view))
    found = plan(memory, view, judged, settings)
    commands = _commands(memory.picture, found.moves)
    predictions = _predictions(known, memory.picture, found.moves)
    if commands:
        mood = replace(memory.mood, evidence=0.0, is_open=True, planned_s=view.time_s)
        after = memory.picture
        for each in commands:
            after = _with(after, each.bundle, each.target)
        memory = replace(memory, mood=mood, picture=after)
    return Answer(commands, predictions, found.reason, advice, levels), memory


def _after(memory: Memory, view: View, settings: Settings) -> Memory:
    """Return the memory with all that a view tells of."""
    waits = np.empty(0, np.int64)
    if settings.calm:
        view, waiting = calm(view, memory.waiting, memory.known.brokers.touched_s)
        memory, waits = replace(memory, waiting=waiting), waiting.look.broker
    memory = with_members(memory, view)
    is_repeated = _is_repeated(memory, view)
    look = replace(view.look, cpu=np.where(is_repeated, 0.0, view.look.cpu))
    known = learned(memory.known, look, view.windows)
    memory = replace(memory, known=with_full(known, memory.excursions, view.windows))
    memory = with_rates(with_others(memory, view), view, memory.known)
    newest_s = memory.newest_s.copy()
    newest_s[view.look.broker[~is_repeated]] = view.time_s
    memory = replace(memory, newest=_newest(view, memory.newest), newest_s=newest_s)
    known = with_silence(memory, view.windows, waits)
    return with_excursions(with_network(replace(memory, known=known), view), view)


def place(asked: Asked, memory: Memory | None, settings: Settings) -> tuple[int, Memory | None]:
    """Return the candidate that will use least with the bundle; what was just placed counts."""
    if memory is None:
        return int(asked.candidates[0]), None
    picture = memory.picture
    usage = np.nan_to_num(picture.usage[asked.candidates])
    if settings.placement:
        usage = usage + picture.speed[asked.candidates] * picture.cost[asked.bundle]
    target = int(asked.candidates[np.argmin(usage.max(axis=1))])
    return target, replace(memory, picture=_with(picture, asked.bundle, target))


def _with(picture: Picture, bundle: int, to: int) -> Picture:
    """Return the picture with a bundle at another broker."""
    usage, owner = picture.usage.copy(), picture.owner.copy()
    source = int(owner[bundle])
    if source >= 0:
        usage[source] -= picture.speed[source] * picture.cost[bundle]
    usage[to] = np.nan_to_num(usage[to]) + picture.speed[to] * picture.cost[bundle]
    owner[bundle] = to
    return replace(picture, usage=usage, owner=owner)


def _is_repeated(memory: Memory, view: View) -> Flags:
    """Return which reports say the CPU of a window that an earlier one told of, (n_reports,).

    Where reports are lost, the next may have other traffic and the same window of the host: that
    says nothing twice.
    """
    look = view.look
    since_s = view.time_s - memory.newest_s[look.broker]
    is_same = look.cpu == memory.newest[look.broker]
    return np.asarray(is_same & (since_s < _SAME_WINDOW * view.windows.host_s))


def _newest(view: View, before: Floats) -> Floats:
    newest = before.copy()
    measured = has_measured(view.look.cpu)
    newest[view.look.broker[measured]] = view.look.cpu[measured]
    newest[~view.is_there] = np.nan
    return newest


def _commands(picture: Picture, moves: Moves) -> tuple[Command, ...]:
    """Return moves as commands, each with what it is to do to both brokers."""
    commands = list[Command]()
    usage = picture.usage.copy()
    for bundle, to in zip(moves.bundle.tolist(), moves.to.tolist(), strict=True):
        source = int(picture.owner[bundle])
        given, taken = (picture.speed[each] * picture.cost[bundle] for each in (source, to))
        text = (
            f"{usage[source].max():.0f} → {(usage[source] - given).max():.0f} %,"
            f" there {usage[to].max():.0f} → {(usage[to] + taken).max():.0f} %"
        )
        usage[source] -= given
        usage[to] += taken
        commands.append(Command(bundle, source, to, text))
    return tuple(commands)


def _predictions(known: Knowledge, picture: Picture, moves: Moves) -> tuple[Prediction, ...]:
    """Return what becomes of each broker that moves touch."""
    if moves.bundle.size == 0:
        return ()
    said = predicted(known, moves.bundle, moves.to)
    usage = picture.usage.copy()
    for bundle, to in zip(moves.bundle.tolist(), moves.to.tolist(), strict=True):
        source = int(picture.owner[bundle])
        usage[source] -= picture.speed[source] * picture.cost[bundle]
        usage[to] += picture.speed[to] * picture.cost[bundle]
    return tuple(
        Prediction(
            broker=broker,
            before=float(picture.usage[broker].max()),
            after=float(np.clip(usage[broker].max(), 0.0, 100.0)),
            change_deviation=float(said.change_deviation[i]),
            deviation=float(np.nan_to_num(said.deviation[i], nan=10.0)),
        )
        for i, broker in enumerate(said.broker.tolist())
    )
