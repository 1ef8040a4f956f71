"""Who owns what, and what it takes → how low the peak comes with so many moves, and how low not.

`frontier` finds for each number of moves the lowest peak, with the moves and a peak that no so
many moves come below; `fewest` finds how few moves bring the peak below a bar.
"""

from trimtab.lab.frontier.fewest import Fewest, fewest
from trimtab.lab.frontier.frontier import Frontier, frontier
from trimtab.lab.frontier.question import NO_MOVES, Moves, Question, moved, question

__all__ = [
    "NO_MOVES",
    "Fewest",
    "Frontier",
    "Moves",
    "Question",
    "fewest",
    "frontier",
    "moved",
    "question",
]
