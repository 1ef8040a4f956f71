"""Stretches in which brokers stood far apart and nothing was done."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trimtab.diagnose.night import Decisions, Finding, Night
from trimtab.pulsar.model import WITHIN_BAR

#: Points between the hottest broker and the coolest that somebody would want to be gone.
_WIDE = 0.25
#: Rounds in a row without an unload: a grace period of AvgShedder's low threshold and more.
_ROUNDS = 10
#: Shedders of which it is said what they compare.
_COMPARED = frozenset({"ThresholdShedder", "UniformLoadShedder", "OverloadShedder", "AvgShedder"})


def blind_to_imbalance(night: Night) -> list[Finding]:
    """Find stretches of ten rounds or more with brokers far apart, and no bundle moved.

    Far is 25 points of reported usage between the hottest broker and the coolest, in every
    round.  In none of the rounds, decided again, did a broker pass the bar: one that was to be
    relieved and of which nothing could go is another cause's.  Medium; the hottest broker below
    half of its strength harms nobody yet: low.

    Source:
        impl/ThresholdShedder.java, impl/AvgShedder.java, impl/UniformLoadShedder.java and
        impl/OverloadShedder.java findBundlesForUnloading, 4.0.8
    """
    if not night.has_settings:
        # Other thresholds than the defaults would have other rounds.
        return []
    begins = _begins(night)
    return [_finding(night, *stretch) for stretch in _stretches(night.decisions, begins)]


def _begins(night: Night) -> int:
    """Return the position of the first round of the recording: earlier ones left no line here."""
    if night.begin is None:
        return 0
    return sum(time < night.begin for time in night.decisions.times)


def _stretches(decisions: Decisions, begins: int) -> Iterator[tuple[int, int]]:
    """Yield (first, end) of each stretch of rounds from a round on."""
    first: int | None = None
    for i in range(begins, len(decisions.times) + 1):
        is_blind = (
            i < len(decisions.times) and _is_within(decisions, i) and _spread(decisions, i) >= _WIDE
        )
        is_same = first is not None and is_blind and decisions.terms[i] == decisions.terms[first]
        if is_same:
            continue
        if first is not None and i - first >= _ROUNDS:
            yield first, i
        first = i if is_blind else None


def _is_within(decisions: Decisions, i: int) -> bool:
    """Return whether no broker passed the bar in a round."""
    return WITHIN_BAR.issuperset(decisions.reasons[decisions.offsets[i] : decisions.offsets[i + 1]])


def _spread(decisions: Decisions, i: int) -> float:
    usage = decisions.usage[decisions.offsets[i] : decisions.offsets[i + 1]]
    return float(usage.max() - usage.min()) if len(usage) > 1 else 0.0


def _finding(night: Night, first: int, end: int) -> Finding:
    decisions = night.decisions
    widest = max(range(first, end), key=lambda i: _spread(decisions, i))
    start, stop = int(decisions.offsets[widest]), int(decisions.offsets[widest + 1])
    hot, cool = (start + int(pick(decisions.usage[start:stop])) for pick in (np.argmax, np.argmin))
    usage, spread = float(decisions.usage[hot]), _spread(decisions, widest)
    return Finding(
        f"blind-to-imbalance.{night.shedder if night.shedder in _COMPARED else 'other'}",
        "medium" if usage >= 0.5 else "low",
        decisions.times[first],
        max(decisions.numbers[: first + 1]),
        brokers=(decisions.brokers[hot], decisions.brokers[cool]),
        numbers={"rounds": end - first, "spread": spread},
        values={
            "usage": usage,
            "least": float(decisions.usage[cool]),
            "score": float(decisions.scores[hot]),
            "bar": (decisions.averages[widest] or 0.0) + night.threshold,
        },
    )
