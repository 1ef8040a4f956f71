"""Families of nights under the extensible load manager."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from tools.precision.channel_night import Fault, Night, played
from tools.precision.shedder_faults import (
    climbs,
    comes,
    counts_anew,
    exchanges,
    in_grace,
    lags,
    partly_in_grace,
    pauses,
    slow_moment,
    starts,
    too_early,
    without_data,
)
from tools.precision.truth import Planted

Random = np.random.Generator
_HELD_BACK = frozenset({counts_anew, too_early, without_data, in_grace})


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


def shedding_held_back(case: Case, random: Random) -> None:
    """TransferShedder sheds for a while, and is then kept from it."""
    before = [climbs, pauses, comes, partly_in_grace][int(random.integers(4))]
    fault = sorted(_HELD_BACK, key=lambda each: each.__name__)[int(random.integers(4))]
    _night(case, random, [before, fault])


def exchange_not_counted(case: Case, random: Random) -> None:
    """TransferShedder exchanges bundles, and is not in debug mode."""
    rounds = [sheds] * int(random.integers(0, 3))
    faults = [*rounds, *[exchanges] * int(random.integers(1, 5))]
    _night(case, random, faults, origin="topic", is_debugging=False)


def table_view_behind(case: Case, random: Random) -> None:
    """A broker hears of records late, while others hear of them at once."""
    before = [slow_moment] if random.random() < 0.5 else [starts]
    _night(case, random, [*before, lags], origin=str(random.choice(["log", "both"])))


def clean_channel(case: Case, random: Random) -> None:
    """Nothing is wrong: rounds transfer, brokers die and are cleaned up after, a leader goes."""
    changes = [elected] if random.random() < 0.5 else []
    of_shedder = [climbs, pauses, comes, partly_in_grace][int(random.integers(4))]
    of_views = [slow_moment, starts][int(random.integers(2))]
    _night(case, random, [of_views, sheds, sheds, relieves, *changes, of_shedder])


def _night(
    case: Case,
    random: Random,
    faults: Sequence[Fault],
    origin: str = "",
    *,
    is_debugging: bool = True,
) -> None:
    """Have a night with faults in their order, and leave room for what takes many rounds."""
    minutes = np.sort(random.uniform(3, 24, len(faults)))
    if _HELD_BACK & set(faults):
        minutes = np.array([random.uniform(3, 5), random.uniform(12, 14)])
    how = origin or str(random.choice(["topic", "log", "both"]))
    is_leader_stored = bool(random.random() < 0.5)

    def written(root: Path) -> tuple[Planted, ...]:
        night = played(random, list(zip(minutes.tolist(), faults, strict=True)))
        write(night, root, how, is_leader_stored=is_leader_stored, is_debugging=is_debugging)
        changes = [Planted("leader-change", time, time) for time, _ in night.elections[1:]]
        # Nothing has a load here: whether a round was of any good is left open.
        open_ones = [Planted(code, is_marginal=True) for code in ("ping-pong", "over-placement")]
        return (*night.planted, *_behind(night), *changes, *open_ones)

    case.written = written


def _behind(night: Night) -> Iterator[Planted]:
    """Yield whose view was behind, by what each heard late in the end."""
    for broker, since, until, by in night.lags:
        heard = [
            time
            for time, bundle, record in night.records
            if since <= time < until
            and time + by < min(night.end_ms, night.dead.get(broker, night.end_ms)) - 100
            and record is not None
            and not bundle.startswith("race ")
        ]
        if by > 10_020 and len(heard) > 2:
            last = max(heard) + by
            yield Planted("table-view-behind", since, last, (night.brokers[broker],))
