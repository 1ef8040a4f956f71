"""What changed over clusters and weeks, and whether it helped: by rows whose truth is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from fleet_rows import SETTING, failed, fleet, night
from pages_in_chromium import Open, browser, open_page
from trimtab.cli import main
from trimtab.explanation.trends.changes import by_cluster, changes_of
from trimtab.explanation.trends.difference import combined
from trimtab.explanation.trends.document import trends_document
from trimtab.explanation.trends.lines import lines
from trimtab.explanation.trends.nights import nights_of
from trimtab.files.tables import FLEET
from trimtab.report.trends import render_trends

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["browser", "open_page"]  # the fixtures

HOSTILE = "<script>alert(1)</script>\x1b[31m\"'&" + "b" * 10_000
WHAT = f"{SETTING} 3 → 12"


def effect_of(document: dict[str, Any], measure: str = "useless_per_hour") -> dict[str, Any]:
    (change,) = document["changes"]
    return next(each for each in change["effects"] if each["measure"] == measure)


def link(folder: str) -> str:
    return f"../explained/{folder}/report.html"


# -------------------------------------------------------------- intervals


def test_of_a_hundred_intervals_of_three_nights_ninety_five_hold_the_truth() -> None:
    random = np.random.default_rng(1)
    hits = 0
    for _ in range(1000):
        before, after = random.normal(5, 2, 3), random.normal(4, 2, 3)
        ends = combined((1.0, after.tolist()), (-1.0, before.tolist()))
        hits += ends.low <= -1.0 <= ends.high
    # Welch's is a little too wide with so few.
    assert 0.94 <= hits / 1000 <= 0.99


def test_where_all_values_are_alike_the_interval_has_no_width() -> None:
    ends = combined((1.0, [2.0, 2.0]), (-1.0, [3.0, 3.0]))
    assert (ends.value, ends.low, ends.high) == (-1.0, -1.0, -1.0)


# ---------------------------------------------------------------- changes


def test_a_planted_change_is_named_and_dated_and_the_others_have_none() -> None:
    document = trends_document(fleet({"c01": 3, "c04": 3, "c07": 2, "c08": 3}, -30.0))
    (change,) = document["changes"]

    assert change["what"] == WHAT
    assert {each["cluster"]: each["begin"][:10] for each in change["clusters"]} == {
        "c01": "2026-09-22",
        "c04": "2026-09-22",
        "c07": "2026-09-17",
        "c08": "2026-09-22",
    }
    assert all(each["since"] < each["begin"] for each in change["clusters"])
    assert document["unchanged"] == ["c00", "c02", "c03", "c05", "c06", "c09"]


def test_its_effect_is_held_by_the_interval_as_often_as_is_said() -> None:
    planted = {"c01": 3, "c04": 3, "c07": 2, "c08": 3}
    effects = [effect_of(trends_document(fleet(planted, -30.0, seed=seed))) for seed in range(60)]
    # Thirty useless moves less in two hours.
    hits = sum(each["low"] <= -15.0 <= each["high"] for each in effects)
    assert hits >= 53
    assert {each["verdict"] for each in effects} == {"fell"}


def test_what_changes_nothing_is_not_said_to_help_more_often_than_is_said() -> None:
    planted = {"c01": 3, "c04": 3, "c07": 2, "c08": 3}
    effects = [effect_of(trends_document(fleet(planted, 0.0, seed=seed))) for seed in range(60)]
    assert sum(each["verdict"] != "no difference shown" for each in effects) <= 7


def test_what_the_time_did_to_all_is_not_the_change() -> None:
    rows = fleet({"c01": 3, "c04": 3, "c07": 3, "c08": 3}, 0.0, seed=3)
    # From the fourth night on everybody has more.
    later = [{**row, "useless": row["useless"] + 60} for row in rows if row["begin"] > "2026-09-20"]
    rows = [row for row in rows if row["begin"] < "2026-09-20"] + later
    effect = effect_of(trends_document(rows))

    assert effect["after"] - effect["before"] > 25
    assert effect["controls"] == 6
    assert effect["verdict"] == "no difference shown"


def test_without_others_to_hold_it_against_it_says_so() -> None:
    rows = fleet({"c00": 3, "c01": 3, "c02": 3}, -30.0, clusters=3)
    effect = effect_of(trends_document(rows))
    assert effect["controls"] == 0
    assert effect["verdict"] == "fell"


def test_with_too_few_nights_nothing_is_decided() -> None:
    document = trends_document(fleet({"c01": 4}, -30.0))
    (change,) = document["changes"]
    effects = {each["measure"]: each for each in change["clusters"][0]["effects"]}

    assert {each["verdict"] for each in effects.values()} == {"not decidable"}
    assert effects["moves_per_hour"]["effect"] is None
    assert effects["moves_per_hour"]["why_not"] == (
        "found 4 nights before and 2 after of which it is known, expected 3 of each"
    )
    assert "not decidable" in document["sting"]


def changes(*rows: dict[str, Any]) -> list[tuple[str, ...]]:
    """Give what changed from night to night of one cluster."""
    (nights,) = by_cluster(nights_of(rows)).values()
    return [change.what for change in changes_of(nights)]


DEFAULT = {SETTING: "10"}


def test_a_key_that_is_written_out_at_its_default_is_no_change() -> None:
    plain = {"loadBalancerEnabled": "true"}
    assert changes(night("a", 0, 1, settings=plain), night("a", 1, 1, settings=DEFAULT)) == []


def test_a_key_that_goes_has_its_default_again() -> None:
    plain = {"loadBalancerEnabled": "true"}
    (what,) = changes(night("a", 0, 1), night("a", 1, 1, settings=plain))
    assert what == (f"{SETTING} 3 → 10",)


def test_releases_and_classes_change_too() -> None:
    later = night("a", 1, 1, release="4.1.0", shedding="AvgShedder")
    assert changes(night("a", 0, 1), later) == [
        ("Pulsar 4.0.8 → 4.1.0", "shedding ThresholdShedder → AvgShedder")
    ]


def test_a_night_that_does_not_tell_its_settings_is_no_change() -> None:
    silent = night("a", 1, 1, settings={}, release=None)
    assert changes(night("a", 0, 1), silent, night("a", 2, 1)) == []
    (what,) = changes(night("a", 0, 1), silent, night("a", 2, 1, settings=DEFAULT))
    assert what == (f"{SETTING} 3 → 10",)


def test_a_change_lies_after_the_last_night_that_tells_what_ran() -> None:
    told = [night("a", day, 1, settings={SETTING: each}) for day, each in enumerate("33--55")]
    rows = [row if day not in (2, 3) else {**row, "settings": {}} for day, row in enumerate(told)]
    (change,) = changes_of(nights_of(rows))

    assert (change.since.day, change.begin.day) == (8, 11)
    # What ran on the nights between is not known.
    assert [it.begin.day for it in change.before] == [7, 8]
    assert [it.begin.day for it in change.after] == [11, 12]


def test_a_key_that_was_not_told_since_another_change_may_have_changed_before_it() -> None:
    silent = {"settings": {}, "release": "4.1.0"}
    last = night("a", 3, 1, settings={SETTING: "5"}, release="4.1.0")
    nights = nights_of([night("a", 0, 1), *(night("a", at, 1, **silent) for at in (1, 2)), last])
    first, second = changes_of(nights)

    assert (first.what, first.since.day, first.begin.day) == (("Pulsar 4.0.8 → 4.1.0",), 7, 8)
    assert (second.what, second.since.day, second.begin.day) == ((f"{SETTING} 3 → 5",), 7, 10)


def test_what_is_set_and_taken_back_is_two_changes() -> None:
    rows = [night("a", day, 1, settings={SETTING: each}) for day, each in enumerate("3553")]
    assert changes(*rows) == [(f"{SETTING} 3 → 5",), (f"{SETTING} 5 → 3",)]


# ------------------------------------------------------- weeks and nights


def test_weeks_are_sums_over_hours_and_not_means_of_nights() -> None:
    long = night("a", 1, 4, hours=6.0, regret_points=3.0, regret_rounds=1)
    document = trends_document([night("a", 0, 12, regret_points=1.0, regret_rounds=3), long])
    (week,) = document["clusters_by_week"]
    assert week["week"] == "2026-W37"
    assert (week["useless_per_hour"], week["regret_points"]) == (2.0, 1.5)


def test_what_is_not_known_is_not_nothing() -> None:
    open_night = night("a", 0, 0, undecided=8, over_min=None, regret_points=None, regret_rounds=0)
    (week,) = trends_document([open_night])["clusters_by_week"]
    assert week["moves"] == week["undecided"] == 8
    assert week["useless_per_hour"] is week["over_min_per_hour"] is week["regret_points"] is None


def test_the_nights_to_look_at_have_the_largest_shares() -> None:
    rows = [night("a", day, 10) for day in range(12)] + [night("b", 3, 90, over_min=0.0)]
    looked_at = trends_document(rows)["look_at"]
    assert len(looked_at) == 10
    assert looked_at[0]["folder"] == "b/2026-09-10"
    assert looked_at[0]["why"] == "43 % of all useless moves, 43 % of all regret"


def test_causes_are_counted_by_cluster_and_week() -> None:
    rows = [night("a", 0, 1), night("a", 1, 1), night("a", 7, 1, findings={"ping-pong": 5})]
    assert [tuple(row.values()) for row in trends_document(rows)["causes"]] == [
        ("a", "2026-W37", "over-placement", 2, 2),
        ("a", "2026-W37", "random-placement", 2, 4),
        ("a", "2026-W38", "ping-pong", 1, 5),
    ]


# ------------------------------------------------------------ what is said


def test_the_first_sentence_names_the_change_and_what_it_did() -> None:
    document = trends_document(fleet({"c01": 3, "c04": 3, "c07": 3}, -30.0))
    first, *_ = lines(document)
    assert WHAT in first
    assert "in c01, c04, c07 (2026-09-22): useless moves fell by 1" in first


def test_a_fleet_of_failed_nights_has_a_page() -> None:
    document = trends_document([failed("a", "monday", "nothing to read")])
    assert document["headline"] == "0 of 0 moves in 0 nights of 1 clusters did no good."
    assert document["sting"] == "Nothing was changed."
    assert "nothing to read" in render_trends(document, link)


def test_the_page_has_changes_weeks_causes_and_nights() -> None:
    rows = [*fleet({"c01": 3, "c04": 3, "c07": 3}, -30.0), failed("c03", "late", "torn")]
    page = render_trends(trends_document(rows), link)
    places = [page.index(f'id="{name}"') for name in ("changes", "weeks", "causes", "nights")]
    assert places == sorted(places)
    assert page.count("<svg") == 6
    assert 'href="../explained/c01/2026-09-22/report.html"' in page
    assert "torn" in page


def test_whatever_things_are_called_is_text() -> None:
    names = {"night": HOSTILE, "headline": HOSTILE}
    rows = [
        night(HOSTILE, 0, 5, **names, settings={SETTING: HOSTILE}),
        night(HOSTILE, 9, 5, **names, findings={HOSTILE: 1}),
        failed(HOSTILE, HOSTILE, HOSTILE),
    ]
    document = {**trends_document(rows), "command": HOSTILE}
    assert "<script" not in render_trends(document, link)


def test_the_document_is_json_and_every_number_in_it_is_finite() -> None:
    document = trends_document(fleet({"c01": 3}, -30.0))
    assert json.loads(json.dumps(document, allow_nan=False)) == document


# -------------------------------------------------------------- the command


@pytest.fixture
def explained(tmp_path: Path) -> Path:
    for row in [*fleet({"c01": 3, "c04": 3, "c07": 3}, -30.0), failed("c03", "late", "torn")]:
        folder = tmp_path / "explained" / (row["folder"] or "c03/late")
        folder.mkdir(parents=True)
        whole = {**row, "folder": row["folder"] or "c03/late"}
        (folder / "night.json").write_text(json.dumps(whole), encoding="utf-8")
    return tmp_path / "explained"


def test_the_command_writes_a_page_json_and_tables(explained: Path, tmp_path: Path) -> None:
    output = tmp_path / "out" / "trends"
    done = CliRunner().invoke(main, ["trends", str(explained), "-o", str(output)])

    assert done.exit_code == 0, done.output
    assert f"Changed: {WHAT}" in done.output
    for name in ("weeks", "causes", "changes"):
        table = pq.read_table(output / f"{name}.parquet")
        assert table.schema.equals(FLEET[f"trend_{name}"])
        assert len(table)
    rows = pq.read_table(output / "changes.parquet").to_pylist()
    assert rows[0]["cluster"] is None
    assert {each["cluster"] for each in rows[4:]} == {"c01", "c04", "c07"}
    page = (output / "trends.html").read_text(encoding="utf-8")
    assert 'href="../../explained/c01/2026-09-22/report.html"' in page


def test_the_same_nights_give_the_same_bytes(explained: Path, tmp_path: Path) -> None:
    arguments = ["trends", str(explained), "-o", str(tmp_path / "trends")]
    written = []
    for _ in range(2):
        assert CliRunner().invoke(main, arguments).exit_code == 0
        files = sorted((tmp_path / "trends").iterdir())
        written.append([file.read_bytes() for file in files])
    assert written[0] == written[1]


def test_a_folder_without_nights_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["trends", str(tmp_path), "-o", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert "found no nights in it, expected what `trimtab explain` writes" in done.output
    assert not (tmp_path / "out").exists()


ROOT = Path(__file__).parent.parent
ROWS = ROOT / "tests" / "testdata" / "fleet" / "nights.jsonl"


def test_the_docs_show_what_is_printed_of_the_fleet_with_planted_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for line in ROWS.read_text(encoding="utf-8").splitlines():
        folder = tmp_path / "explained" / json.loads(line)["folder"]
        folder.mkdir(parents=True)
        (folder / "night.json").write_text(line, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["trends", "explained", "-o", "trends"])
    page = (ROOT / "docs" / "trends.md").read_text(encoding="utf-8")

    assert f"$ trimtab trends explained -o trends\n{done.output}```" in page


@pytest.mark.slow
@pytest.mark.browser
def test_nothing_overflows_on_any_screen(open_page: Open, tmp_path: Path) -> None:
    file = tmp_path / "trends.html"
    rows = fleet({"c01": 3, "c04": 3, "c07": 3}, -30.0, nights=9)
    file.write_text(render_trends(trends_document(rows), link), encoding="utf-8")
    page: Page
    for width in (320, 360, 1100):
        page = open_page(file, width=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
