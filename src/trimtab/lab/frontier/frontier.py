"""The lowest peak for each number of moves: searched for, bounded, and where it is small exact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trimtab.lab.frontier.bound import Bound
from trimtab.lab.frontier.exact import CHOICES_MAX, Choices, choices, lowest_peak
from trimtab.lab.frontier.question import (
    NO_MOVES,
    Holdings,
    Moves,
    Question,
    holdings,
    moved,
    peak_of,
)
from trimtab.lab.frontier.search import below
from trimtab.pulsar.model import Flags, Floats

#: Points: nearer to each other two peaks are the same.
SAME = 0.05
_HALVINGS = 12
# Numbers of moves that are all looked at; beyond it each is larger by a share than the one before.
_DENSE = 32
_STEP = 1.06


@dataclass(frozen=True, slots=True)
class Frontier:
    """How low the peak comes with at most 0, 1, 2, … moves; all are (moves_max + 1,)."""

    #: Percent: reached by `moves`, and what no so many moves come below.
    peak: Floats
    bound: Floats
    moves: tuple[Moves, ...]

    @property
    def is_exact(self) -> Flags:
        """Return for which numbers of moves the peak is the lowest there is."""
        return self.peak <= self.bound + SAME


def frontier(question: Question, moves_max: int, choices_max: int = CHOICES_MAX) -> Frontier:
    """Return how low the peak comes with each number of moves.

    Where search and bound do not meet and the cluster is small, integer programming decides.
    Of more than some dozens of moves not every number is looked at; those between have what
    fewer moves reach.

    Args:
        question: a cluster.
        moves_max: at most so many.
        choices_max: pairs of bundles and brokers up to which a cluster is small; 0: none is.

    Properties:
        No peak is above the one before, and none below its bound.
        The same question gives the same moves.
    """
    held = holdings(question)
    bound = Bound(question, held, moves_max).peaks()
    peaks, moves = [question.peak], [NO_MOVES]
    looked_at = set(_counts(moves_max))
    for count in range(1, moves_max + 1):
        best = peaks[-1], moves[-1]
        if count in looked_at and best[0] > bound[count] + SAME:
            best = _searched(question, held, count, (float(bound[count]), best[0]), best[1])
            possible = _small(question, held, choices_max)
            if best[0] > bound[count] + SAME and possible is not None:
                best, bound[count] = _proved(question, possible, count, bound[count], best)
        peaks.append(best[0])
        moves.append(best[1])
    return Frontier(np.array(peaks), np.minimum(bound, peaks), tuple(moves))


def _counts(moves_max: int) -> Iterator[int]:
    """Yield the numbers of moves that are looked at."""
    count = 1
    while count <= moves_max:
        yield count
        count = max(count + 1, int(count * _STEP)) if count >= _DENSE else count + 1
    yield moves_max


def _searched(
    question: Question,
    held: Holdings,
    count: int,
    between: tuple[float, float],
    best: Moves,
) -> tuple[float, Moves]:
    """Return the lowest peak that is found with some moves, and these."""
    low, high = between
    bar = low
    for _ in range(_HALVINGS):
        if high - low <= SAME:
            break
        moves = below(question, held, bar, count)
        if moves is None:
            low = bar
        else:
            best, high = moves, min(bar, peak_of(question, moved(question, moves)))
        bar = (low + high) / 2
    return high, best


def _small(question: Question, held: Holdings, choices_max: int) -> Choices | None:
    """Return who might have what, None if that is too much to be tried."""
    if held.bundles.size * len(question.usage) > 2 * choices_max:
        return None
    possible = choices(question, held, question.peak)
    return possible if 0 < possible.bundle.size <= choices_max else None


def _proved(
    question: Question,
    possible: Choices,
    count: int,
    bound: float,
    best: tuple[float, Moves],
) -> tuple[tuple[float, Moves], float]:
    """Return the lowest peak with its moves, and what was proved of it."""
    exact = lowest_peak(question, possible, count, (bound, best[0] - SAME))
    if exact.moves is not None:
        peak = peak_of(question, moved(question, exact.moves))
        if peak < best[0]:
            best = peak, exact.moves
    # What is infinite was proved to be no lower than what was asked for.
    return best, max(bound, min(exact.bound, best[0] - (SAME if exact.moves is None else 0.0)))
