"""When release, classes or settings of a cluster changed, and how its nights were after it.  Pure.

A change is a fact of two nights.  Its effect is what the nights after it are beside those before
it, less what the same time did to clusters in which nothing changed.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trimtab.explanation.trends.controls import Courses, Span, shifts
from trimtab.explanation.trends.difference import Estimate, combined
from trimtab.explanation.trends.nights import MEASURES, Measure, Night, differences

#: Nights before and after below which one cluster's effect is not decidable.
NIGHTS_MIN = 3
#: Nights before and after with which a cluster counts beside others, and such clusters.
NIGHTS_BESIDE_MIN, CLUSTERS_MIN = 2, 3
#: Clusters without any change below which nothing is held against them.
CONTROLS_MIN = 2
#: Columns of a night that say what ran.
_RAN = ("release", "shedding", "placement", "settings")
FELL, ROSE, NONE_SHOWN, OPEN = "fell", "rose", "no difference shown", "not decidable"


@dataclass(frozen=True, slots=True)
class Change:
    """One cluster ran something else from a night on."""

    cluster: str
    what: tuple[str, ...]
    #: The last night that tells that it did not have it.
    last: Night
    #: The nights since the change before, and those until the next one; without those between
    #: `last` and the first that has it, which may have run either.
    before: tuple[Night, ...]
    after: tuple[Night, ...]

    @property
    def since(self) -> datetime:
        """Return when the last night began that did not have it."""
        return self.last.begin

    @property
    def begin(self) -> datetime:
        """Return when the first night began that has it."""
        return self.after[0].begin


@dataclass(frozen=True, slots=True)
class Effect:
    """What came of a change in one measure, in one cluster or in all that have it."""

    measure: Measure
    #: Means over nights, or over clusters; None without any.
    before: float | None
    after: float | None
    #: After less before, less the same of the controls; None: not decidable.
    difference: Estimate | None
    n_before: int
    n_after: int
    #: Clusters without a change that it is held against; 0: against none.
    n_controls: int
    #: What would decide it; empty if it is decided.
    why_not: str

    @property
    def verdict(self) -> str:
        """Return what may be said of the measure."""
        if self.difference is None:
            return OPEN
        if self.difference.high < 0:
            return FELL
        return ROSE if self.difference.low > 0 else NONE_SHOWN


def by_cluster(nights: Sequence[Night]) -> dict[str, list[Night]]:
    """Return the nights of each cluster, in order of time."""
    clusters: dict[str, list[Night]] = {}
    for night in nights:
        clusters.setdefault(night.cluster, []).append(night)
    return clusters


def changes_of(nights: Sequence[Night]) -> list[Change]:
    """Return the changes in one cluster, of its nights in order of time, one at least."""
    starts, ends = [0], list[int]()
    contents = list[tuple[tuple[str, ...], Night]]()
    state: dict[str, Any] = dict(nights[0].row)
    # Column → the last night that tells it.
    told = dict.fromkeys(_RAN, 0)
    for i, night in enumerate(nights[1:], 1):
        # A night that does not tell of its settings says nothing of them.
        known = {name: night.row[name] for name in _RAN if night.row[name]}
        what = differences(state, night.row)
        if what:
            changed = [name for name in known if state[name] and known[name] != state[name]]
            last = min(told[name] for name in changed)
            ends.append(max(last, starts[-1]) + 1)
            starts.append(i)
            contents.append((what, nights[last]))
        state |= known
        told |= dict.fromkeys(known, i)
    stretches = [
        tuple(nights[start:end]) for start, end in zip(starts, [*ends, len(nights)], strict=True)
    ]
    return [
        Change(before[0].cluster, what, last_night, before, after)
        for (what, last_night), before, after in zip(
            contents, stretches[:-1], stretches[1:], strict=True
        )
    ]


def alike(changes: Sequence[Change]) -> list[list[Change]]:
    """Return changes of the same thing together, the one that most clusters have first."""
    groups: dict[tuple[str, ...], list[Change]] = {}
    for change in changes:
        groups.setdefault(change.what, []).append(change)
    return sorted(groups.values(), key=lambda those: (-len(those), those[0].begin, those[0].what))


def effects(change: Change, controls: Sequence[Courses]) -> list[Effect]:
    """Return what came of a change in one cluster, by measure, with its nights as the units."""
    beside = shifts(_span(change), controls)
    return [
        _of_cluster(change, measure, [each[i] for each in beside])
        for i, measure in enumerate(MEASURES)
    ]


def effects_of_all(changes: Sequence[Change], controls: Sequence[Courses]) -> list[Effect]:
    """Return what came of one change in all clusters that have it, which are the units."""
    beside = [shifts(_span(change), controls) for change in changes]
    return [
        _of_all(changes, measure, [[each[i] for each in those] for those in beside])
        for i, measure in enumerate(MEASURES)
    ]


def _of_cluster(change: Change, measure: Measure, beside: Sequence[float | None]) -> Effect:
    before, after = (_values(nights, measure) for nights in (change.before, change.after))
    drifts = _if_enough([drift for drift in beside if drift is not None])
    why_not = ""
    if min(len(before), len(after)) < NIGHTS_MIN:
        why_not = (
            f"found {len(before)} nights before and {len(after)} after of which it is known, "
            f"expected {NIGHTS_MIN} of each"
        )
    terms = [(-1.0, drifts)] if drifts else []
    difference = None if why_not else combined((1.0, after), (-1.0, before), *terms)
    counts = len(before), len(after), len(drifts)
    return Effect(measure, _mean(before), _mean(after), difference, *counts, why_not)


def _of_all(
    changes: Sequence[Change], measure: Measure, beside: Sequence[Sequence[float | None]]
) -> Effect:
    pairs = [
        (statistics.fmean(before), statistics.fmean(after), drifts)
        for change, drifts in zip(changes, beside, strict=True)
        for before, after in [[_values(each, measure) for each in (change.before, change.after)]]
        if min(len(before), len(after)) >= NIGHTS_BESIDE_MIN
    ]
    firsts, seconds = [before for before, _, _ in pairs], [after for _, after, _ in pairs]
    of_each = zip(*(drifts for _, _, drifts in pairs), strict=True)
    known = [[drift for drift in each if drift is not None] for each in of_each]
    # A control counts by its mean over the dates, and only if it was there at each of them.
    drifts = _if_enough([statistics.fmean(each) for each in known if len(each) == len(pairs)])
    why_not = ""
    if len(pairs) < CLUSTERS_MIN:
        why_not = (
            f"found {len(pairs)} clusters with {NIGHTS_BESIDE_MIN} nights before and after of "
            f"which it is known, expected {CLUSTERS_MIN}"
        )
    differences = [after - before for before, after in zip(firsts, seconds, strict=True)]
    terms = [(-1.0, drifts)] if drifts else []
    difference = None if why_not else combined((1.0, differences), *terms)
    counts = len(pairs), len(pairs), len(drifts)
    return Effect(measure, _mean(firsts), _mean(seconds), difference, *counts, why_not)


def _if_enough(drifts: list[float]) -> list[float]:
    """Return what the controls did; nothing where they are too few."""
    return drifts if len(drifts) >= CONTROLS_MIN else []


def _span(change: Change) -> Span:
    """Return the time that a change is looked at over."""
    # Nights of a fleet do not begin at the same second.
    margin = (change.begin - change.since) / 2
    return Span(
        change.before[0].begin - margin, change.since + margin, change.after[-1].begin + margin
    )


def _values(nights: Sequence[Night], measure: Measure) -> list[float]:
    return [night.values[measure.name] for night in nights if measure.name in night.values]


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None
