"""A trajectory written as text, so that a test shows what it is about.

    b0 80x5 50x30              percent x minutes, one broker a line
    b1 50x5 down x10 60x20     a broker that is down has no usage
    round 1 2 3                minutes at which rounds ran that moved nothing
    move 3 x b0>b1 80>60 20>40 mean=50 outage=3 share=0.1 topics=7

A move has its minute, its bundle, who gave it to whom, the usage of both before the move and
at the end of the round, and what it cost; what is left out is not known.  `place` is a move
that no round asked for.  Moves of the same minute are of one round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trimtab.lab.outcomes.trajectory import Trajectory
from trimtab.lab.simulate.world import Moves

STEP_S = 15.0


def trajectory_of(
    lines: Sequence[str], *, event: float = 0.0, best: float = 0.0, lost: str = "?"
) -> Trajectory:
    """Read a trajectory; `event` is in minutes, `lost` is bytes lost of bytes offered."""
    rows = [line.split() for line in lines]
    moves = [row for row in rows if row[0] in ("move", "place")]
    quiet = [float(word) for row in rows if row[0] == "round" for word in row[1:]]
    brokers = {row[0]: row[1:] for row in rows if row[0] not in ("move", "place", "round")}
    usage = np.array([series(words) for words in brokers.values()], np.float32).T
    shedding = sorted({*quiet, *(float(row[1]) for row in moves if row[0] == "move")})
    moved = _moves(moves, list(brokers), shedding)
    asked, offered = (np.nan, np.nan) if lost == "?" else map(float, lost.split("/"))
    return Trajectory(
        brokers=tuple(brokers),
        step_s=STEP_S,
        usage=usage,
        best_spread=np.full(len(usage), best),
        event_s=60 * event,
        round_s=60 * np.array(shedding),
        round_moved=np.bincount(moved.round[moved.round >= 0], minlength=len(shedding)),
        moves=moved,
        moved_topics=np.array([_named(row, "topics") for row in moves], np.float64),
        offered=np.full(len(usage), offered / len(usage)),
        lost=np.full(len(usage), asked / len(usage)),
    )


def series(words: Sequence[str]) -> list[float]:
    """Read `80x5 down x10`: a usage and the minutes that it lasts."""
    found: list[float] = []
    for word in " ".join(words).replace("down x", "nanx").split():
        value, _, minutes = word.partition("x")
        found += [float(value)] * round(float(minutes or 0.25) * 60 / STEP_S)
    return found


def _moves(rows: Sequence[Sequence[str]], brokers: Sequence[str], rounds: Sequence[float]) -> Moves:
    bundles: Mapping[str, int] = {b: i for i, b in enumerate(sorted({row[2] for row in rows}))}
    ends = [row[3].partition(">") for row in rows]
    usages = [[*_pair(row, 4), *_pair(row, 5)] for row in rows]
    percent = np.array(usages, np.float64).reshape(-1, 4)
    unknown = np.full(len(rows), np.nan)
    place = {broker: i for i, broker in enumerate(brokers)}
    return Moves(
        time_s=np.array([60 * float(row[1]) for row in rows]),
        round=np.array(
            [rounds.index(float(row[1])) if row[0] == "move" else -1 for row in rows], np.int64
        ),
        bundle=np.array([bundles[row[2]] for row in rows], np.int64),
        source=np.array([place.get(source, -1) for source, _, _ in ends], np.int64),
        target=np.array([place.get(target, -1) for _, _, target in ends], np.int64),
        source_before=percent[:, 0],
        source_after=unknown,
        target_before=percent[:, 2],
        target_after=unknown,
        source_end=percent[:, 1],
        target_end=percent[:, 3],
        mean=np.array([_named(row, "mean") for row in rows], np.float64),
        outage_s=np.array([_named(row, "outage") for row in rows], np.float64),
        traffic_share=np.array([_named(row, "share") for row in rows], np.float64),
        is_fallback=np.zeros(len(rows), np.bool_),
    )


def _pair(row: Sequence[str], place: int) -> tuple[float, float]:
    """Read `80>60`; `?` is not known."""
    words = [word for word in row[4:] if "=" not in word]
    before, _, after = (words[place - 4] if place - 4 < len(words) else "?>?").partition(">")
    return _number(before), _number(after)


def _named(row: Sequence[str], name: str) -> float:
    return next((_number(w.partition("=")[2]) for w in row if w.startswith(f"{name}=")), np.nan)


def _number(word: str) -> float:
    return np.nan if word in ("?", "") else float(word)
