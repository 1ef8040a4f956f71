"""What a fleet was made of, held against what `explain` and `trends` say of it."""

from __future__ import annotations

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tools.fleet.making import truth_of
from tools.fleet.plan import REASONS, SILENT, Plan, Recorded
from trimtab.explanation.fleet.command import all_rows
from trimtab.explanation.fleet.row import FAILED
from trimtab.explanation.fleet.work import PAGE
from trimtab.explanation.trends.nights import MEASURES, measured

Row = Mapping[str, Any]
#: What every recording has set, whatever is planned.
_ALWAYS = {
    "loadManagerClassName": "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl"
}
#: Hours by which a recording may be longer or shorter than it was simulated.
_HOURS_OFF = 0.05


def faults(plan: Plan) -> list[str]:
    """Return a line for all that the rows of a fleet say and that is not so."""
    rows = {row["folder"]: row for row in all_rows(plan.folder / "explained")}
    nights = list(plan.each())
    lines = [f"{night.key}: {fault}" for night in nights for fault in _of_night(plan, night, rows)]
    lines += [f"{folder}: no such night" for folder in rows.keys() - {it.key for it in nights}]
    return [*lines, *_of_fingerprints(nights, rows)]


def _of_night(plan: Plan, night: Recorded, rows: Mapping[str, Row]) -> Iterator[str]:
    row = rows.get(night.key)
    if row is None:
        yield "has no row"
    elif night.spoilt in REASONS:
        if row["status"] != FAILED or REASONS[night.spoilt] not in row["error"]:
            yield f"{row['status']}: {row['error']}; expected {REASONS[night.spoilt]}"
    elif row["status"] == FAILED:
        yield f"failed: {row['error']}"
    else:
        expected = _expected(plan, night)
        for name, value in expected.items():
            if row[name] != value:
                yield f"{name} {row[name]}; expected {value}"
        if abs(row["hours"] - plan.minutes / 60) > _HOURS_OFF:
            yield f"{row['hours']} hours; expected {plan.minutes / 60}"
        if not (plan.folder / "explained" / night.key / PAGE).is_file():
            yield "has no page"


def _expected(plan: Plan, night: Recorded) -> dict[str, Any]:
    """Return the columns of a row that the plan and the simulation decide."""
    truth = json.loads(truth_of(night).read_text(encoding="utf-8"))
    expected = {"cluster": night.name, "brokers": plan.brokers, **truth, "release": night.release}
    if night.spoilt == SILENT:
        return expected | {"settings": {}}
    classes = {"shedding": "ThresholdShedder", "placement": "LeastResourceUsageWithWeight"}
    return expected | classes | {"settings": {**night.settings, **_ALWAYS}}


def _of_fingerprints(nights: Sequence[Recorded], rows: Mapping[str, Row]) -> Iterator[str]:
    """Yield where nights with the same settings have two fingerprints, or with others the same."""
    prints = defaultdict(set)
    for night in nights:
        if not night.spoilt and night.key in rows:
            state = night.release, tuple(sorted(night.settings.items()))
            prints[state].add(rows[night.key].get("fingerprint"))
    for state, those in prints.items():
        if len(those) != 1:
            yield f"{state} has the fingerprints {those}"
    if len(set().union(*prints.values())) < len(prints):
        yield "other settings have the same fingerprint"


@dataclass(frozen=True, slots=True)
class Named:
    """How many clusters with a planted change are named as they should be."""

    planted: int
    named: int
    dated: int
    #: Clusters without one of which one is told.
    wrong: tuple[str, ...]


def named(plan: Plan, document: Mapping[str, Any]) -> Named:
    """Return of how many clusters the right change is told, and in the right window."""
    changes = [
        (each["cluster"], change["entries"], (each["since"][:10], each["begin"][:10]))
        for change in document["changes"]
        for each in change["clusters"]
    ]
    right = {
        f"c{cluster:02}": (_entry(plan, cluster), _window(plan, cluster))
        for cluster in plan.planted
    }
    hits = [it for it in changes if it[0] in right and right[it[0]][0] == it[1]]
    dated = [it for it in hits if right[it[0]][1] == it[2]]
    wrong = [f"{name}: {'; '.join(what)}" for name, what, _ in changes if name not in right]
    wrong += [f"{it[0]}: {'; '.join(it[1])}" for it in changes if it[0] in right and it not in hits]
    return Named(len(right), len(hits), len(dated), tuple(wrong))


def _entry(plan: Plan, cluster: int) -> list[str]:
    planted = plan.planted[cluster]
    if not planted.settings:
        return [f"Pulsar {plan.release(cluster, 0)} → {planted.release}"]
    before = {"loadBalancerReportUpdateMaxIntervalMinutes": "15", **plan.settings(cluster, 0)}
    return [f"{key} {before[key]} → {value}" for key, value in planted.settings.items()]


def _window(plan: Plan, cluster: int) -> tuple[str, str]:
    """Return the last night that tells what ran before a change, and the first that does after."""
    planted, border = plan.planted[cluster], plan.planted[cluster].night
    # Brokers' reports have their release, whoever took the settings away.
    telling_kinds = {""} if planted.settings else {"", SILENT}
    telling = [
        it for it in range(plan.nights) if plan.spoilt.get((cluster, it), "") in telling_kinds
    ]
    last = max(night for night in telling if night < border)
    first = min(night for night in telling if night >= border)
    # A night begins with the time that its recording.toml has, a little before the simulation.
    return f"{plan.begin(last):%Y-%m-%d}", f"{plan.begin(first):%Y-%m-%d}"


def true_effects(plan: Plan) -> dict[str, dict[str, float]]:
    """Return what each change really did to its cluster: with it less without it, by measure."""
    rows, without = (
        {row["folder"]: measured(row) for row in all_rows(plan.folder / folder) if row.get("hours")}
        for folder in ("explained", "explained-otherwise")
    )
    effects = {}
    for cluster in plan.planted:
        name = f"c{cluster:02}"
        both = [it for it in rows.keys() & without if it.startswith(f"{name}/")]
        effects[name] = {
            each.name: statistics.fmean(values)
            for each in MEASURES
            if (values := _differences(each.name, [(rows[it], without[it]) for it in both]))
        }
    return effects


def _differences(
    name: str, pairs: Sequence[tuple[Mapping[str, float], Mapping[str, float]]]
) -> list[float]:
    return [
        changed[name] - without[name]
        for changed, without in pairs
        if name in changed and name in without
    ]


def beside(plan: Plan, document: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return rows: a change, a measure, what it really did, what is told, whether it holds it."""
    truth = true_effects(plan)
    return list(_beside(document, truth))


def _beside(
    document: Mapping[str, Any], truth: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[str, ...]]:
    for change in document["changes"]:
        clusters = [each["cluster"] for each in change["clusters"]]
        effects = change["effects"] if len(clusters) > 1 else change["clusters"][0]["effects"]
        really = [truth[cluster] for cluster in clusters if cluster in truth]
        for effect, measure in zip(effects, MEASURES, strict=True):
            values = [each[measure.name] for each in really if measure.name in each]
            true = statistics.fmean(values) if values else math.nan
            said = _said(effect, true)
            name = f"{change['what']} ({', '.join(clusters)})"
            yield name, f"{measure.title}, {measure.unit}", f"{true:+.2f}", said


def _said(effect: Mapping[str, Any], true: float) -> str:
    if effect["effect"] is None:
        return f"not decidable: {effect['why_not']}"
    is_held = effect["low"] <= true <= effect["high"]
    ends = f"{effect['effect']:+.2f} ({effect['low']:+.2f} to {effect['high']:+.2f})"
    return f"{ends}: {effect['verdict']}; {'holds' if is_held else 'misses'} the truth"
