"""Stretches in which brokers stood far apart and nothing was done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from trimtab.diagnose.night import Decisions, Finding, Night
from trimtab.pulsar.model import Reason

#: Points between the hottest broker and the coolest that somebody would want to be gone.
_WIDE = 0.25
#: Rounds in a row without an unload: a grace period of AvgShedder's low threshold and more.
_ROUNDS = 10
#: Reasons that come after all others: the broker was to be relieved, and nothing could go.
_LAST = (Reason.LOW_THROUGHPUT, Reason.SOLE_BUNDLE, Reason.NO_BUNDLES)

#: Shedders of which it is said what they compare.
_COMPARED = frozenset({"ThresholdShedder", "UniformLoadShedder", "OverloadShedder", "AvgShedder"})


def blind_to_imbalance(night: Night) -> list[Finding]:
    """Find stretches of ten rounds or more with brokers far apart, and no bundle moved.

    Far is 25 points of reported usage between the hottest broker and the coolest, in every
    round.  Why nothing happened is what the rounds, decided again, give as the reason for the
    hottest broker in most of them; that it was to be relieved and nothing could go counts
    before all else.  Medium; the hottest broker below half of its strength
    harms nobody yet: low.

    Source:
        impl/ThresholdShedder.java, impl/AvgShedder.java, impl/UniformLoadShedder.java and
        impl/OverloadShedder.java findBundlesForUnloading, 4.0.8
    """
    if not night.has_settings:
        # Other thresholds than the defaults would have other rounds.
        return []
    return [_finding(night, *stretch) for stretch in _stretches(night.decisions)]


def _stretches(decisions: Decisions) -> Iterator[tuple[int, int]]:
    """Yield (first, end) of each stretch of rounds."""
    first: int | None = None
    for i in range(len(decisions.times) + 1):
        is_blind = (
            i < len(decisions.times) and not decisions.unloads[i] and _spread(decisions, i) >= _WIDE
        )
        is_same = first is not None and is_blind and decisions.terms[i] == decisions.terms[first]
        if is_same:
            continue
        if first is not None and i - first >= _ROUNDS:
            yield first, i
        first = i if is_blind else None


def _spread(decisions: Decisions, i: int) -> float:
    usage = decisions.usage[decisions.offsets[i] : decisions.offsets[i + 1]]
    return float(usage.max() - usage.min()) if len(usage) > 1 else 0.0


def _finding(night: Night, first: int, end: int) -> Finding:
    decisions = night.decisions
    reasons: Counter[str] = Counter()
    for i in range(first, end):
        start = int(decisions.offsets[i])
        hot = start + int(np.argmax(decisions.usage[start : decisions.offsets[i + 1]]))
        reasons[decisions.reasons[hot]] += 1
    widest = max(range(first, end), key=lambda i: _spread(decisions, i))
    start, stop = int(decisions.offsets[widest]), int(decisions.offsets[widest + 1])
    hot, cool = (start + int(pick(decisions.usage[start:stop])) for pick in (np.argmax, np.argmin))
    is_weak = bool(decisions.throughput[hot] < decisions.throughput[cool])
    usage, spread = float(decisions.usage[hot]), _spread(decisions, widest)
    return Finding(
        f"blind-to-imbalance.{_why(night, _decisive(reasons), is_weak)}",
        "medium" if usage >= 0.5 else "low",
        decisions.times[first],
        max(decisions.numbers[: first + 1]),
        brokers=(decisions.brokers[hot], decisions.brokers[cool]),
        numbers={"rounds": end - first, "spread": spread, "reasons": dict(reasons)},
        values={
            "usage": usage,
            "least": float(decisions.usage[cool]),
            "score": float(decisions.scores[hot]),
            "bar": (decisions.averages[widest] or 0.0) + night.threshold,
        },
    )


def _decisive(reasons: Counter[str]) -> str:
    """Return what held the broker back: waiting counts only where nothing followed it."""
    last = Counter({reason: reasons[reason] for reason in _LAST if reasons[reason]})
    return (last or reasons).most_common(1)[0][0]


def _why(night: Night, reason: str, is_weak: bool) -> str:
    """Return the wording of why the hottest broker was left alone, and of what to change."""
    if reason == Reason.HIT_COUNT:
        return "hit-count"
    if reason == Reason.LOW_THROUGHPUT:
        return "weak" if is_weak else "low-throughput"
    if reason in (Reason.SOLE_BUNDLE, Reason.NO_BUNDLES):
        return "no-bundles"
    return night.shedder if night.shedder in _COMPARED else "other"
