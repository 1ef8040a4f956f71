"""The fleet that trends are held against: what is planted in it, and what counts as right."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from fleet_rows import failed, night
from tools.fleet.making import truth_of
from tools.fleet.plan import BEFORE, EMPTY, GARBLED, SILENT, Plan, Planted, large, small
from tools.fleet.truth import beside, faults, named
from trimtab.explanation.trends.document import trends_document

KEY = "loadBalancerBrokerThresholdShedderPercentage"
MANAGER = "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl"


def plan(root: Path, spoilt: dict[tuple[int, int], str] | None = None) -> Plan:
    """Three clusters with six nights; the second has another setting from the fourth on."""
    planted = {1: Planted(3, {KEY: "5"})}
    return Plan(3, 6, 6, 120, timedelta(days=1), planted, spoilt or {}, root)


def rows(made: Plan) -> dict[str, dict[str, Any]]:
    """Write the rows of a plan as they should be, with their truth; give them by folder."""
    whole = {}
    for i, each in enumerate(made.each()):
        settings = {**each.settings, "loadManagerClassName": MANAGER}
        row = night(each.name, each.night, 5 + i % 2, brokers=6, orders=13 + i % 2)
        row |= {"settings": settings, "fingerprint": each.settings[KEY]}
        whole[each.key] = row
        truth = truth_of(each)
        truth.parent.mkdir(parents=True, exist_ok=True)
        truth.write_text(json.dumps({"moves": row["moves"], "orders": row["orders"]}))
    return whole


def kept(made: Plan, whole: dict[str, dict[str, Any]], into: str = "explained") -> Plan:
    for folder, row in whole.items():
        place = made.folder / into / folder
        place.mkdir(parents=True, exist_ok=True)
        (place / "night.json").write_text(json.dumps(row), encoding="utf-8")
        (place / "report.html").touch()
    return made


def test_a_large_fleet_has_its_changes_in_two_waves_and_spoilt_nights_beside_them() -> None:
    made = large(Path("build"), (50, 30), 6, 60, 10)
    useful = {at: it.night for at, it in made.planted.items() if it.settings.get(KEY) == "5"}
    assert sorted(useful.values()) == [10] * 5 + [20] * 5
    assert sum(it.release != made.release(at, 0) for at, it in made.planted.items()) == 3
    assert len(made.planted) == 15
    assert set(made.spoilt.values()) == {EMPTY, GARBLED, SILENT}
    beside_changes = [at for at in made.spoilt if at[1] - useful.get(at[0], 99) in (0, -1)]
    assert len(beside_changes) >= 4
    # What is without the change is without it on every night.
    assert {each.settings.get(KEY) for each in made.otherwise()} == {BEFORE[KEY]}
    assert made.truth() == large(Path("build"), (50, 30), 6, 60, 10).truth()


def test_the_small_fleet_is_the_one_of_the_page() -> None:
    made = small(Path("build"))
    assert made.count == 72
    assert {at: it.night for at, it in made.planted.items()} == dict.fromkeys((2, 4, 7, 10, 8), 3)
    assert not made.spoilt


def test_rows_that_say_what_was_planned_have_no_fault(tmp_path: Path) -> None:
    made = plan(tmp_path)
    assert faults(kept(made, rows(made))) == []


def test_every_column_that_is_wrong_is_a_fault(tmp_path: Path) -> None:
    made = plan(tmp_path)
    whole = rows(made)
    first, *others = whole
    moves = whole[first]["moves"]
    whole[first] |= {"moves": moves - 1}
    whole[others[0]] |= {"hours": 1.5}
    whole[others[1]] |= {"fingerprint": "5"}
    whole[others[2]] = failed("c00", "2026-09-10", "torn") | {"folder": others[2]}
    lines = faults(kept(made, whole))

    assert lines[:3] == [
        f"{first}: moves {moves - 1}; expected {moves}",
        f"{others[0]}: 1.5 hours; expected 2.0",
        f"{others[2]}: failed: torn",
    ]
    assert "has the fingerprints" in lines[3]


def test_a_spoilt_night_has_to_say_why_it_fails_or_to_tell_no_settings(tmp_path: Path) -> None:
    made = plan(tmp_path, {(0, 0): EMPTY, (0, 1): GARBLED, (0, 2): SILENT})
    whole = rows(made)
    empty, garbled, silent, *_ = whole
    lines = faults(kept(made, whole))
    assert [each.partition(":")[0] for each in lines] == [empty, garbled, silent]

    whole[empty] = failed("c00", "a", "found nothing to read") | {"folder": empty}
    whole[garbled] = failed("c00", "b", "time_zone: found 7") | {"folder": garbled}
    whole[silent] |= {"settings": {}}
    assert faults(kept(made, whole)) == []


def test_a_change_is_dated_by_the_nights_that_tell_of_it(tmp_path: Path) -> None:
    made = plan(tmp_path, {(1, 2): SILENT, (1, 3): EMPTY})
    whole = rows(made)
    whole["c01/2026-09-09"] |= {"settings": {}}
    del whole["c01/2026-09-10"]
    document = trends_document(list(whole.values()))
    result = named(made, document)
    assert (result.planted, result.named, result.dated, result.wrong) == (1, 1, 1, ())

    # Another night, another key, another cluster.
    later = {1: replace(made.planted[1], night=5)}
    assert named(replace(made, planted=later), document).dated == 0
    other = {1: Planted(3, {"loadBalancerReportUpdateMaxIntervalMinutes": "10"})}
    assert named(replace(made, planted=other), document).wrong == (f"c01: {KEY} 3 → 5",)
    elsewhere = named(replace(made, planted={2: made.planted[1]}), document)
    assert (elsewhere.named, elsewhere.wrong) == (0, (f"c01: {KEY} 3 → 5",))


def test_what_a_change_did_is_with_it_less_without_it(tmp_path: Path) -> None:
    made = plan(tmp_path)
    whole = rows(made)
    changed = [folder for folder in whole if folder.startswith("c01/2026-09-1")]
    without = {
        folder: {**whole[folder], "useless": whole[folder]["useless"] + 4} for folder in changed
    }
    kept(kept(made, whole), without, "explained-otherwise")
    (useless, *_) = beside(made, trends_document(list(whole.values())))
    assert useless[:3] == (f"{KEY} 3 → 5 (c01)", "useless moves, an hour", "-2.00")
