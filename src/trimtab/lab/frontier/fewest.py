"""How few moves bring a cluster's peak below a bar."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.lab.frontier.bound import Bound
from trimtab.lab.frontier.exact import CHOICES_MAX, choices, fewest_moves
from trimtab.lab.frontier.question import NO_MOVES, ROUNDING, Moves, Question, holdings
from trimtab.lab.frontier.search import below


@dataclass(frozen=True, slots=True)
class Fewest:
    """The fewest moves that were found, and how few they cannot be."""

    #: None if none were found.
    moves: Moves | None
    #: Infinite if more than allowed are needed, or no number of moves would do.
    bound: float

    @property
    def is_exact(self) -> bool:
        """Return whether fewer moves would not do, or none at all."""
        if self.moves is None:
            return self.bound == float("inf")
        return self.moves.bundle.size <= self.bound + ROUNDING


def fewest(
    question: Question, peak: float, moves_max: int, choices_max: int = CHOICES_MAX
) -> Fewest:
    """Return the fewest moves that bring the peak to a bar, at most so many.

    Args:
        question: a cluster.
        peak: the bar, percent.
        moves_max: at most so many.
        choices_max: pairs of bundles and brokers up to which integer programming decides.

    Properties:
        None are needed where the peak is at the bar already.
    """
    if question.peak <= peak + ROUNDING:
        return Fewest(NO_MOVES, 0.0)
    held = holdings(question)
    bound = Bound(question, held, moves_max).moves(peak)
    if bound > moves_max:
        return Fewest(None, float("inf"))
    moves, count = None, int(bound)
    while moves is None and count <= moves_max:
        moves = below(question, held, peak, count)
        count = max(count + 1, int(count * 1.03))
    if moves is not None and moves.bundle.size <= bound:
        return Fewest(moves, bound)
    possible = choices(question, held, peak)
    if not 0 < possible.bundle.size <= choices_max:
        return Fewest(moves, bound)
    exact = fewest_moves(question, possible, peak, bound)
    if exact.moves is None:
        return Fewest(moves, exact.bound)
    return Fewest(exact.moves, min(exact.bound, float(exact.moves.bundle.size)))
