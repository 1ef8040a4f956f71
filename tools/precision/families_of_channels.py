"""Families of nights under the extensible load manager."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tools.precision.case import Case
from tools.precision.channel_faults import (
    elected,
    hangs,
    orphans,
    past_the_check,
    relieves,
    second_owner,
    sheds,
    sheds_nowhere,
    uses_up,
)
from tools.precision.channel_files import write
from tools.precision.channel_night import Fault, played
from tools.precision.truth import Planted

Random = np.random.Generator


def stuck_in_state(case: Case, random: Random) -> None:
    """Bundles hang between two owners."""
    _night(case, random, [hangs] * int(random.integers(1, 4)))


def orphaned_bundle(case: Case, random: Random) -> None:
    """A broker dies, and some of its bundles are not taken over in time."""
    _night(case, random, [orphans])


def illegal_transition(case: Case, random: Random) -> None:
    """Records are written that must not follow, and brokers act by them."""
    _night(case, random, [past_the_check] * int(random.integers(1, 4)), origin="log")


def shed_without_destination(case: Case, random: Random) -> None:
    """TransferShedder transfers, and then transfers no more."""
    rounds = [sheds] * int(random.integers(1, 4))
    _night(case, random, [*rounds, sheds_nowhere])


def top_bundles_used_up(case: Case, random: Random) -> None:
    """A broker is to be relieved, and has published too few bundles for it."""
    rounds = [relieves] * int(random.integers(0, 3))
    _night(case, random, [*rounds, *[uses_up] * int(random.integers(1, 3))])


def two_channel_owners(case: Case, random: Random) -> None:
    """A leader that is none any more goes on with its monitor."""
    _night(case, random, [second_owner])


def clean_channel(case: Case, random: Random) -> None:
    """Nothing is wrong: rounds transfer, brokers die and are cleaned up after, a leader goes."""
    changes = [elected] if random.random() < 0.5 else []
    _night(case, random, [sheds, sheds, relieves, *changes])


def _night(case: Case, random: Random, faults: list[Fault], origin: str = "") -> None:
    minutes = np.sort(random.uniform(3, 24, len(faults)))
    how = origin or str(random.choice(["topic", "log", "both"]))
    is_leader_stored = bool(random.random() < 0.5)

    def written(root: Path) -> tuple[Planted, ...]:
        night = played(random, list(zip(minutes.tolist(), faults, strict=True)))
        write(night, root, how, is_leader_stored=is_leader_stored)
        changes = [Planted("leader-change", time, time) for time, _ in night.elections[1:]]
        # Nothing has a load here: whether a round was of any good is left open.
        open_ones = [Planted(code, is_marginal=True) for code in ("ping-pong", "over-placement")]
        return (*night.planted, *changes, *open_ones)

    case.written = written
