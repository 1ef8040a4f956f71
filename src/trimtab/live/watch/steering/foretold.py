"""What a model says of each move that is made, by whomever → how right it was.

A prediction is made of what was known before the move was seen, and held against the first report
of a window that began after it.  Further moves of a broker meanwhile are added to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trimtab.lab.costs import Knowledge, predicted
from trimtab.lab.steering import View
from trimtab.live.control.trust import Outcome
from trimtab.live.watch.nouns import Checked
from trimtab.pulsar.model import Ints

# s after which what was predicted is not held against anything any more.
_FORGOTTEN_S = 1800.0
_WHOLE = 100.0


@dataclass(frozen=True, slots=True)
class Open:
    """A prediction of one broker, whose outcome is not known yet."""

    broker: str
    #: Percent of CPU before the first move, and after the last.
    before: float
    after: float
    #: Of the usage after it.
    variance: float
    #: s of the last move, and how many there were.
    touched_s: float
    moves: int


def held_against(
    opens: Sequence[Open], known: Knowledge | None, view: View
) -> tuple[tuple[Open, ...], tuple[Checked, ...]]:
    """Return the predictions that are open after a view, and those that it tells the outcome of.

    Args:
        opens: predictions of before.
        known: what the model knew before this view; None if there is none.
        view: what has moved, and what brokers report.

    Properties:
        Of a broker that a bundle of unknown traffic comes to or leaves nothing is predicted, nor
        of one that went away or began anew.
    """
    now = {each.broker: each for each in opens}
    look, names = view.look, view.brokers
    for member in view.members:
        now.pop(names[member.broker], None)
    checked = tuple(_outcomes(now, known, view))
    for each in checked:
        del now[each.broker]
    if known is not None:
        rows = _foretellable(known, view)
        strange = np.setdiff1d(np.arange(look.moved.size), rows)
        for broker in (*look.moved_from[strange], *look.moved_to[strange]):
            now.pop(names[broker] if broker >= 0 else "", None)
        unknown = {int(each) for each in (*look.moved_from[strange], *look.moved_to[strange])}
        _predict(now, known, view, rows, unknown)
    now = {name: each for name, each in now.items() if each.touched_s > view.time_s - _FORGOTTEN_S}
    return tuple(now.values()), checked


def _foretellable(known: Knowledge, view: View) -> Ints:
    """Return the moves of a view, between brokers and of bundles that the model knows."""
    look = view.look
    n, m = len(known.broker_names), len(known.bundle_names)
    ends = np.stack((look.moved_from, look.moved_to))
    rows = np.flatnonzero(((ends >= 0) & (ends < n)).all(axis=0) & (look.moved < m))
    bundle, source = look.moved[rows], look.moved_from[rows]
    sound = (known.bundles.windows[bundle] > 0) & (known.bundles.owner[bundle] == source)
    return np.asarray(rows[sound])


def _predict(
    now: dict[str, Open], known: Knowledge, view: View, rows: Ints, unknown: set[int]
) -> None:
    """Add to the open predictions what the moves do."""
    if rows.size == 0:
        return
    look = view.look
    said = predicted(known, look.moved[rows], look.moved_to[rows])
    for i, broker in enumerate(said.broker.tolist()):
        change, deviation = float(said.change[i]), float(said.deviation[i])
        if broker in unknown or math.isnan(change + deviation):
            continue
        touching = (look.moved_from[rows] == broker) | (look.moved_to[rows] == broker)
        at_s, count = float(look.moved_s[rows][touching].max()), int(touching.sum())
        name, before = view.brokers[broker], float(said.before[i])
        earlier = now.get(name)
        if earlier is None:
            now[name] = Open(name, before, before + change, deviation**2, at_s, count)
            continue
        now[name] = replace(
            earlier,
            after=earlier.after + change,
            variance=earlier.variance + float(said.change_deviation[i]) ** 2,
            touched_s=at_s,
            moves=earlier.moves + count,
        )


def _outcomes(now: dict[str, Open], known: Knowledge | None, view: View) -> Iterator[Checked]:
    """Yield the predictions of which a report tells: of a window after the last move."""
    look = view.look
    touched = {int(each) for each in (*look.moved_from, *look.moved_to)}
    for i, broker in enumerate(look.broker.tolist()):
        each = now.get(view.brokers[broker])
        if each is None or broker in touched or known is None:
            continue
        if look.written_s[i] <= each.touched_s + view.windows.settled_s or not look.cpu[i] > 0:
            continue
        after = min(max(each.after, 0.0), _WHOLE)
        variance = each.variance + float(known.brokers.window_variance[broker])
        deviation, measured = math.sqrt(variance), float(look.cpu[i])
        outcome = Outcome(view.time_s, (measured - after) / deviation)
        yield Checked(each.broker, each.moves, each.before, after, deviation, measured, outcome)
