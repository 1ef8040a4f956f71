"""Truths of load that goes up and down by itself, whatever the balancer does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tools.nights.leader import Move
from tools.nights.night import REPORTS, Night
from tools.nights.of_rounds import done, rounds_of
from tools.nights.traffic import Floats
from tools.nights.truth import Truth, at

#: Traffic is looked at so often, s, and so many looks are two minutes.
_LOOK_S, _LOOKS = 15.0, 8


def ping_pong_of_load(night: Night) -> Iterator[Truth]:
    """Yield the moves that followed load which goes up and down by itself.

    A bundle's traffic was high, low and high again in the recording, each for two minutes; it was
    moved while it was high, and so were such bundles in two rounds.  High is three quarters of its
    largest value, low half of it.  It is certain where they were high for three minutes by then.
    """
    traffic, zero_ms = night.cluster.traffic, night.cluster.zero_ms
    seconds = np.arange(night.minute(0), night.minute(night.minutes), _LOOK_S)
    series = np.array([traffic.over_minute(second) for second in seconds])
    share = series / np.maximum(series.max(axis=0), 1e-9)
    followed: list[tuple[int, Move, bool]] = []
    for played in rounds_of(night):
        for move in done(played):
            mine = share[:, night.cluster.at[move.bundle]]
            second = (move.time_ms - zero_ms) / 1000
            now = min(int((second - seconds[0]) / _LOOK_S), seconds.size - 1)
            if turns(mine) >= 3 and mine[now] >= 0.7:
                is_sure = bool((mine[max(0, now - 12) : now + 1] >= 0.8).all())
                followed.append((played.time_ms, move, is_sure))
    if len({time_ms for time_ms, _, _ in followed}) >= 2:
        sure = {time_ms for time_ms, _, is_sure in followed if is_sure}
        yield at(
            "ping-pong",
            (followed[0][0], followed[-1][0]),
            {move.source for _, move, _ in followed},
            [move.bundle for _, move, _ in followed],
            is_open=len(sure) < 2 or not night.has_store or night.form == REPORTS,
        )


def turns(share: Floats) -> int:
    """Return how many stretches of two minutes take turns in being high and low, from a high."""
    count, run, is_high = 0, 0, False
    for value in share.tolist():
        if 0.5 < value < 0.75:
            run = 0
            continue
        run = run + 1 if run and is_high == (value >= 0.75) else 1
        is_high = value >= 0.75
        count += run == _LOOKS and is_high == (count % 2 == 0)
    return count
