"""Clusters in which everybody is hot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np

from trimtab.diagnose.cure import Proposal
from trimtab.diagnose.night import Finding, Night
from trimtab.diagnose.other_events import round_at
from trimtab.diagnose.usages import Usages, places_by_broker

#: Mean usage from which no placing helps, and what the coolest must have at least.
_FULL, _COOLEST = 0.75, 0.65
#: Mean usage at which one of three brokers may fail and the rest stays below 90 %.
_WANTED = 0.60
#: So many shedding intervals it must last.
_INTERVALS = 10


def no_headroom(night: Night) -> list[Finding]:
    """Find stretches in which all brokers were hot: what is missing is brokers, not balance.

    The mean of the reported usage at 75 % or more and the coolest broker at 65 % or more, for
    ten shedding intervals.  It says how many brokers of the same kind bring the mean to 60 %.
    High; the longest stretch alone is told.
    """
    stretches = _stretches(night)
    if not stretches:
        return []
    since, until, worst = max(stretches, key=lambda each: each[1] - each[0])
    count, mean, coolest = worst
    more = max(1, math.ceil(count * mean / _WANTED) - count)
    return [
        Finding(
            "no-headroom",
            "high",
            since,
            round_at(night, since),
            numbers={
                "minutes": (until - since).total_seconds() / 60,
                "mean_usage": mean,
                "brokers": count,
                "more": more,
            },
            values={"coolest": coolest, "enough": count + more, "wanted": _WANTED},
        )
    ]


#: Brokers, their mean usage, and that of the coolest.
_Worst = tuple[int, float, float]


def _stretches(night: Night) -> list[tuple[datetime, datetime, _Worst]]:
    """Return since, until and the worst moment of every long stretch."""
    stretches: list[tuple[datetime, datetime, _Worst]] = []
    latest: dict[str, float] = {}
    since: datetime | None = None
    worst: _Worst = (0, 0.0, 0.0)
    total, cool = 0.0, 0
    for usage in night.usages if _is_ever_hot(night.usages) else ():
        before = latest.pop(usage.broker, None)
        if before is not None:
            total, cool = total - before, cool - (before < _COOLEST)
        if usage.usage is not None:
            latest[usage.broker] = usage.usage
            total, cool = total + usage.usage, cool + (usage.usage < _COOLEST)
        if len(latest) < 2 or cool or total / len(latest) < _FULL:
            since, worst = None, (0, 0.0, 0.0)
            continue
        since = since or usage.time
        if (len(latest), total / len(latest)) > worst[:2]:
            worst = len(latest), total / len(latest), min(latest.values())
        if (usage.time - since).total_seconds() >= _INTERVALS * night.interval_s:
            if stretches and stretches[-1][0] == since:
                stretches.pop()
            stretches.append((since, usage.time, worst))
    return stretches


def _is_ever_hot(usages: Usages) -> bool:
    """Return whether ever two brokers or more were there and none was cool: on few nights."""
    is_there, is_cool = ~np.isnan(usages.fractions), usages.fractions < _COOLEST
    there, cool = np.zeros((2, len(usages)), np.int64)
    for mine in places_by_broker(usages).values():
        for change, now in ((there, is_there), (cool, is_cool)):
            change[mine] = np.diff(now[mine].astype(np.int64), prepend=0)
    return bool(np.any((np.cumsum(there) > 1) & (np.cumsum(cool) == 0)))


def cure(night: Night, findings: Mapping[str, Sequence[Finding]]) -> Proposal | None:
    """Return the proposal to add brokers: no setting helps, so it comes before all others."""
    del night
    full = next(iter(findings["no-headroom"]), None)
    if full is None:
        return None
    mean_percent = full.numbers["mean_usage"] * 100
    return Proposal(1_000_000, {**full.numbers, "mean_percent": mean_percent})
