"""A frontier with how sure each point of it is → where its curve ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.pulsar.model import Flags, Floats, Ints

#: Of cases that an interval is to hold.
HELD = 0.9
# Points that are no gain at all.
_LEAST = 1e-6


@dataclass(frozen=True, slots=True)
class Recommendation:
    """How many moves, and why not more."""

    moves: int
    #: Points that further moves would gain, and how many of these if they were worth it, else 0.
    next_gain: float
    next_moves: int
    #: They would be worth it, but their gain is within its own uncertainty.
    is_unsure: bool


def recommended(
    peaks: Floats, drawn: Floats, gain_min: float, only_if_sure: bool = True
) -> Recommendation:
    """Return how many moves are worth making: as far as the curve falls steeply enough.

    Each step goes to the number of moves that gains most a move, of those that gain enough and
    after which the peak is lower in nineteen of twenty draws.

    Args:
        peaks: (n,) peak with at most 0, 1, 2, … moves.
        drawn: (n, n_draws) the same as it may be.
        gain_min: points that a move must gain.
        only_if_sure: no step whose gain is within its own uncertainty.
    """
    here = 0
    while True:
        ahead = np.arange(here + 1, peaks.size)
        gains = peaks[here] - peaks[ahead]
        worth = gains >= np.maximum(gain_min * (ahead - here), _LEAST)
        surely = np.quantile(drawn[here] - drawn[ahead], (1.0 - HELD) / 2, axis=1) > 0.0
        taken = worth & surely if only_if_sure else worth
        if not taken.any():
            left = _steepest(gains, ahead - here, worth) if worth.any() else -1
            gain = float(gains[left]) if worth.any() else float(gains.max(initial=0.0))
            return Recommendation(here, gain, left + 1, is_unsure=bool(worth.any()))
        here = int(ahead[_steepest(gains, ahead - here, taken)])


def _steepest(gains: Floats, moves: Ints, which: Flags) -> int:
    """Return which of some gains most a move; of equal ones the first."""
    return int(np.where(which, gains / moves, -np.inf).argmax())


def interval(drawn: Floats) -> tuple[Floats, Floats]:
    """Return between what each row lies in nine of ten draws."""
    low, high = np.quantile(drawn, ((1.0 - HELD) / 2, (1.0 + HELD) / 2), axis=1)
    return low, high
