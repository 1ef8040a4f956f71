"""A seed → which moves a recording has, what is done to brokers meanwhile, what is held out.

All of it is written down before anything runs.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

BROKERS = 6
#: s before the first moves: processes that are young compile themselves.
WARM_S = 480.0
#: s from one slot to the next: a minute after a move usage is averaged, for another minute.
SLOT_S = 120.0
#: Every second pair of slots is held out: what was moved in one goes back in the other.
RULE = "slot // 2 is odd: held out; else tuned on"

What = Literal["", "restart", "slow", "neighbour", "undo"]


@dataclass(frozen=True, slots=True)
class Slot:
    """What happens at one time."""

    number: int
    #: s from the beginning of the load.
    at_s: float
    #: Moves at once, of brokers that have nothing to do with each other: from, to, and where
    #: among the bundles of the first that are large enough the moved one stands (0 to 1).
    moves: tuple[tuple[int, int, float], ...]
    #: The bundles of the slot before go back.
    is_return: bool
    is_held_out: bool
    #: What is done the length of a slot before, and to whom; `undo` ends what was done.
    what: What = ""
    broker: int = 0


@dataclass(frozen=True, slots=True)
class Schedule:
    """Everything that is to happen."""

    seed: int
    slots: tuple[Slot, ...]

    @property
    def varies_from_s(self) -> float:
        """Return from when on the load varies, s: half of the moves are made while it is steady."""
        return self.slots[len(self.slots) // 2].at_s - SLOT_S / 2

    @property
    def end_s(self) -> float:
        """Return when all has been scored, s."""
        return self.slots[-1].at_s + SLOT_S

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "seed": self.seed,
            "rule": RULE,
            "varies_from_s": self.varies_from_s,
            "end_s": self.end_s,
            "slots": [asdict(each) for each in self.slots],
        }


def schedule(seed: int, n_moves: int, warm_s: float = WARM_S, slot_s: float = SLOT_S) -> Schedule:
    """Return what happens, three moves a slot, there and back.

    Half of the moves come while the load is steady, half while it varies; in each half first
    nothing is wrong, then a broker has been restarted, one is slowed, and one has a neighbour.

    Properties:
        The same arguments give the same schedule.
        What is held out depends on nothing that is measured.
    """
    random = np.random.default_rng([seed, int.from_bytes(hashlib.sha256(b"moves").digest()[:4])])
    n_pairs = max(1, -(-n_moves // BROKERS))
    slots, at_s = list[Slot](), warm_s
    for pair in range(n_pairs):
        brokers = (random.permutation(BROKERS) + 1).tolist()
        picks = random.random(BROKERS // 2).tolist()
        there = tuple(zip(brokers[::2], brokers[1::2], picks, strict=True))
        what, broker = _disturbance(pair, n_pairs, brokers)
        if what:
            # Nothing is moved while what was done is not yet seen.
            at_s += slot_s
        for is_return in (False, True):
            number = len(slots)
            moves = tuple((t, s, p) for s, t, p in there) if is_return else there
            slot = Slot(number, at_s, moves, is_return, is_held_out=pair % 2 == 1)
            slots.append(slot if is_return else replace(slot, what=what, broker=broker))
            at_s += slot_s
    return Schedule(seed, tuple(slots))


def _disturbance(pair: int, n_pairs: int, brokers: list[int]) -> tuple[What, int]:
    """Return what is done before a pair of slots: the same in each half of all pairs."""
    half = max(1, n_pairs // 2)
    place, quarter = pair % half, max(1, half // 4)
    steps: dict[int, What] = {quarter: "restart", 2 * quarter: "slow", 3 * quarter: "neighbour"}
    if pair and place == 0:
        return "undo", 0
    if place not in steps:
        return "", 0
    # Who has just been restarted owns nothing, and can only be moved to.
    return steps[place], brokers[1 if steps[place] == "restart" else 0]
