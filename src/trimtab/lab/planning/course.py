"""Moves one after the other → where both brokers stand before and after each, and how sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.lab.frontier import Moves, Question, moved
from trimtab.lab.frontier.question import peak_of, taken
from trimtab.lab.planning.columns import Column
from trimtab.lab.planning.draws import drawn_usages
from trimtab.pulsar.model import Floats


@dataclass(frozen=True, slots=True)
class Course:
    """Where the source and the destination of each move stand, (n_moves, 2) percent each."""

    before: Floats
    after: Floats
    before_deviation: Floats
    after_deviation: Floats
    #: (n_moves + 1,) the peak, and the lowest usage, before the first and after each.
    highest: Floats
    lowest: Floats


def in_order(question: Question, moves: Moves) -> Moves:
    """Return the same moves so that the peak falls as soon as it can.

    Properties:
        No move but the last of equal ones is put off that brings the peak down at once.
    """
    usage, left = question.usage.copy(), list(range(moves.bundle.size))
    order = list[int]()
    while left:
        tried = [(_after(question, usage, moves, i), i) for i in left]
        (_, best) = min(tried)
        usage = _with(question, usage, moves, best)
        order.append(best)
        left.remove(best)
    return Moves(moves.bundle[order], moves.to[order])


def _after(question: Question, usage: Floats, moves: Moves, i: int) -> tuple[float, float]:
    """Return the peak after a move, and where its source stands then: the highest goes first."""
    after = _with(question, usage, moves, i)
    return peak_of(question, after), -float(usage[question.owner[moves.bundle[i]]].max())


def _with(question: Question, usage: Floats, moves: Moves, i: int) -> Floats:
    bundle, to = int(moves.bundle[i]), int(moves.to[i])
    source = int(question.owner[bundle])
    after = usage.copy()
    after[source] -= taken(question, bundle, source)
    after[to] += taken(question, bundle, to)
    return after


def course(
    question: Question, columns: Sequence[Column], moves: Moves, random: np.random.Generator
) -> Course:
    """Return where the brokers of each move stand before and after it."""
    n = moves.bundle.size
    before, after = np.zeros((n, 2)), np.zeros((n, 2))
    highest, lowest = np.zeros(n + 1), np.zeros(n + 1)
    for i in range(n + 1):
        usage = moved(question, Moves(moves.bundle[:i], moves.to[:i]))
        highest[i] = peak_of(question, usage)
        lowest[i] = min(usage.max(axis=1)[question.is_counted].min(initial=np.inf), highest[i])
        full = usage.max(axis=1)
        if i < n:
            before[i] = full[question.owner[moves.bundle[i]]], full[moves.to[i]]
        if i > 0:
            after[i - 1] = full[question.owner[moves.bundle[i - 1]]], full[moves.to[i - 1]]
    deviations = drawn_usages(question, columns, moves, random).std(axis=3)
    return Course(before, after, deviations[:, 0], deviations[:, 1], highest, lowest)
