"""Bundles moved for a peak of a minute."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from trimtab.diagnose.night import Finding, Move, Night

#: A peak is so many times the median before, and the median after.
_PEAK = 1.5
#: How far it is looked back and ahead, and how many reports there must be on each side.
_SPAN, _REPORTS = timedelta(minutes=10), 3
#: A report of the old owner may still come, and the new one's first window is not full.
_SETTLING = timedelta(minutes=2)
#: Strategies that act on a single report.
_HASTY = frozenset({"UniformLoadShedder", "OverloadShedder"})


def jitter_chasing(night: Night) -> list[Finding]:
    """Find moves of bundles that were at a passing peak, by strategies that act on one report.

    The bundle's traffic in the last report before the unload was at least half as much again
    as the median of the ten minutes before and as that of the ten minutes from two minutes
    after.  Three reports or more must be on each side.  UniformLoadShedder, OverloadShedder,
    and ThresholdShedder without history.  One finding a round, medium.

    Source:
        impl/UniformLoadShedder.java findBundlesForUnloading, 4.0.8
    """
    found = []
    for logged in night.rounds:
        if logged.strategy in _HASTY or night.history_share == 0:
            peaks = [(move, peak) for move in logged.moves if (peak := _peak(night, move))]
            if peaks:
                found.append(_finding(len(logged.moves), peaks))
    return found


def _peak(night: Night, move: Move) -> tuple[float, float, float] | None:
    """Return the traffic before, at and after a move, bytes/s; None if it was no peak."""
    reports = night.bundles.get(move.bundle)
    at = reports.at(move.time) if reports else None
    if reports is None or at is None:
        return None
    times = reports.times
    before = [i for i in range(at) if times[at] - times[i] <= _SPAN]
    after = [
        i
        for i in range(at + 1, len(times))
        if _SETTLING <= times[i] - move.time <= _SETTLING + _SPAN
    ]
    if min(len(before), len(after)) < _REPORTS:
        return None
    was, then = (float(np.median(reports.throughput[side])) for side in (before, after))
    peak = float(reports.throughput[at])
    return (was, peak, then) if peak > 0 and peak >= _PEAK * max(was, then) else None


def _finding(moved: int, peaks: list[tuple[Move, tuple[float, float, float]]]) -> Finding:
    first, (was, peak, then) = peaks[0]
    return Finding(
        code="jitter-chasing",
        severity="medium",
        time=first.time,
        round=first.round,
        title=f"{len(peaks)} bundle(s) were moved for a passing peak",
        text=(
            f"Of the {moved} bundle(s) of the round {len(peaks)} were at a peak that did not last: "
            f"{first.bundle} went from {was / 1e6:.3f} MB/s up to {peak / 1e6:.3f} and back to "
            f"{then / 1e6:.3f}."
        ),
        better="wait whether it lasts",
        advice=(
            "Use a strategy that waits: AvgShedder counts rounds, ThresholdShedder smooths. "
            "Otherwise raise the thresholds above what the traffic does by itself."
        ),
        brokers=tuple(dict.fromkeys(move.source for move, _ in peaks)),
        bundles=tuple(move.bundle for move, _ in peaks),
        moves=tuple(move.id for move, _ in peaks),
        evidence=tuple(event for move, _ in peaks[:5] for event in move.evidence[-1:]),
        numbers={"moves": len(peaks), "before": was, "throughput": peak, "after": then},
    )
