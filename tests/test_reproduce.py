"""Published experiments: those that are brought, what is said of them, and the command."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark import SparkContext

from sweep_rows import row
from trimtab.cli import main
from trimtab.files.fields import FieldError
from trimtab.report.marks import BEGINS, ENDS, NoMarksError, replaced
from trimtab.report.reproduction_picture import picture_alone
from trimtab.report.reproductions import render_reproductions, reproductions_text
from trimtab.trials.reproduce.definition import (
    Arm,
    DefinitionError,
    arms,
    chosen,
    definition,
    names,
    scenarios_of,
)
from trimtab.trials.reproduce.pipeline import (
    REPRODUCTIONS,
    document,
    judged,
    lines,
    picture,
    planned,
)
from trimtab.trials.trial import run, write_docs

SEEDS = range(4)
MINE = definition(
    """
[experiment]
title = "A test of <mine>"
source = "Nowhere"
scenario = "S05"
strategy = "AvgShedder"
[[published]]
number = "unloads"
value = 8
says = "eight"
[[published]]
number = "random_streak"
value = 4
or_more = true
says = "four in a row"
[[variants]]
name = "few"
condition = "there are few bundles"
changes = { bundles = { count = 16 } }
[[variants]]
name = "many"
condition = "there are many"
changes = { bundles = { count = 128 } }
""",
    "mine",
)


def rows_of(arm: Arm, unloads: list[float], streaks: list[float]) -> dict[Any, dict[str, Any]]:
    """Make the rows of an arm, a seed each."""
    made = {}
    for seed in SEEDS:
        task = arm.task(seed)
        key = (task.shedder, task.placement, task.release, task.settings)
        numbers = [("random_streak", streaks[seed])]
        made[task] = row(task.scenario, key, seed, {"unloads": unloads[seed]}, numbers=numbers)
    return made


def said(*of_arms: list[float], streak: float = 4.0) -> dict[str, Any]:
    """Judge the test's experiment by the unloads of each arm."""
    laid_out = arms(MINE)
    rows = {}
    for arm, unloads in zip(laid_out, of_arms, strict=True):
        rows |= rows_of(arm, unloads, [streak] * 4)
    return document([judged(MINE, laid_out, rows, SEEDS)], len(SEEDS))


# ---------------------------------------------------------------- those that are brought


def test_every_experiment_can_be_laid_out() -> None:
    definitions = chosen(())

    assert len(definitions) == len(names()) >= 12
    laid_out = [arm for each in definitions for arm in arms(each)]
    assert len(scenarios_of(laid_out)) > 20
    assert len(laid_out) > len(definitions)


def test_a_variant_changes_what_it_says_and_nothing_else() -> None:
    first, few, _ = arms(MINE)

    assert ("S05", 64) == (first.scenario_name, first.scenario.n_bundles)
    assert ("S05 (few)", 16) == (few.scenario_name, few.scenario.n_bundles)
    assert (first.scenario.machines, first.scenario.events, first.scenario.question) == (
        few.scenario.machines,
        few.scenario.events,
        few.scenario.question,
    )


def test_two_scenarios_of_one_name_are_told_apart() -> None:
    first, few, many = arms(MINE)
    other = Arm("few", "", few.scenario_name, many.scenario, few.strategy)

    with pytest.raises(DefinitionError, match=r"two scenarios are called 'S05 \(few\)'"):
        scenarios_of([first, few, other])


# ------------------------------------------------------------------------- what is said


def test_it_comes_out_as_published() -> None:
    (found,) = said([8, 8, 8, 20], [1, 1, 1, 1], [9, 9, 9, 9])["experiments"]

    assert "comes out" == found["verdict"]["outcome"]
    assert "comes out: all at once in 3 of 4 runs" == found["verdict"]["sentence"]
    assert [3, 4] == [each["within"] for each in found["arms"][0]["numbers"]]


def test_it_comes_out_only_if() -> None:
    (found,) = said([1, 1, 1, 1], [5, 5, 5, 5], [9, 9, 9, 9])["experiments"]

    assert "comes out only if" == found["verdict"]["outcome"]
    assert (
        "comes out only if there are few bundles: all at once in 4 of 4 runs; also with: many"
        == found["verdict"]["sentence"]
    )


def test_it_does_not_come_out_and_the_numbers_say_why() -> None:
    (found,) = said([1, 1, 1, 1], [2, 2, 3, 3], [99, 99, 99, 99], streak=1)["experiments"]

    assert (
        "does not come out because unloads is 1 (1 to 1) and not 8; "
        "random placements in a row is 1 (1 to 1) and not 4 or more" == found["verdict"]["sentence"]
    )


def test_what_is_not_there_is_said_not_to_be() -> None:
    (found,) = said(*[[8.0] * 4] * 3, streak=math.nan)["experiments"]

    assert (
        "is not there to be measured, and 4 or more was published" in (found["verdict"]["sentence"])
    )
    assert found == json.loads(json.dumps(found, allow_nan=False))


def test_runs_that_failed_count_for_nothing_and_are_named() -> None:
    laid_out = arms(MINE)
    rows = {task: one for arm in laid_out for task, one in rows_of(arm, [8] * 4, [4] * 4).items()}
    rows[laid_out[0].task(1)] |= {"status": "error", "error": "ValueError: x", "unloads": None}

    found = document([judged(MINE, laid_out, rows, SEEDS)], 4)["experiments"][0]["arms"][0]

    assert (3, 3) == (found["runs"], found["numbers"][0]["count"])
    assert [{"seed": 1, "status": "error", "error": "ValueError: x"}] == found["failures"]


def test_an_experiment_without_a_run_is_told_all_the_same() -> None:
    laid_out = arms(MINE)
    rows = {task: one for arm in laid_out for task, one in rows_of(arm, [8] * 4, [4] * 4).items()}
    for one in rows.values():
        one |= {"status": "timeout", "unloads": None, "numbers": None}
    judge = judged(MINE, laid_out, rows, SEEDS)

    assert judge.typical_seed is None
    page = render_reproductions({"trimtab": "1", **document([judge], 4)})
    assert "4 runs failed" in page
    assert "A test of &lt;mine&gt;" in page


# -------------------------------------------------------------------- pictures and pages


def reproduced() -> dict[str, Any]:
    """Give a document with a picture."""
    found = {"trimtab": "1.2.3", "command": "trimtab reproduce", **said(*[[8.0] * 4] * 3)}
    found["experiments"][0]["picture"] = picture(arms(MINE)[1], 0, MINE.published)
    return found


@pytest.fixture(scope="module")
def drawn() -> dict[str, Any]:
    """A document with a picture."""
    return reproduced()


def test_a_picture_has_a_line_a_broker_since_shortly_before_the_event(
    drawn: dict[str, Any],
) -> None:
    found = drawn["experiments"][0]["picture"]

    assert -5 <= found["minutes"][0] < -4 < 80 < found["minutes"][-1] <= 90
    assert len(found["minutes"]) <= 240
    assert [f"broker-{i}" for i in range(5)] == [each["name"] for each in found["series"]]
    assert {len(found["minutes"])} == {len(each["usage"]) for each in found["series"]}
    # The fifth broker joins with the event.
    assert None is found["series"][4]["usage"][0]
    assert found["unloads"]
    assert all(each["minute"] >= 0 for each in found["unloads"])


def test_a_page_is_complete_and_the_same_each_time(drawn: dict[str, Any]) -> None:
    page = render_reproductions(drawn)

    assert page == render_reproductions(json.loads(json.dumps(drawn)))
    assert "<svg" in page
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "Of 1 published experiment, 1 comes out as published" in page


def test_a_picture_of_its_own_has_colours_of_its_own(drawn: dict[str, Any]) -> None:
    alone = picture_alone(drawn["experiments"][0])

    assert alone is not None
    assert "var(" not in alone
    assert alone.startswith("<svg")


def test_what_was_measured_goes_between_the_marks(drawn: dict[str, Any], tmp_path: Path) -> None:
    page = tmp_path / "reproductions.md"
    page.write_text(f"# Top\n\n{BEGINS}\nold\n{ENDS}\n\nBottom\n", encoding="utf-8")

    write_docs(drawn, REPRODUCTIONS, tmp_path)

    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# Top\n\n{BEGINS}\n\nMeasured on 2")
    assert text.endswith(f"\n\n{ENDS}\n\nBottom\n")
    assert "old" not in text
    assert "with trimtab 1.2.3 over 4 seeds" in text
    assert (tmp_path / "reproductions" / "mine.svg").is_file()
    assert "(reproductions/mine.svg)" in text
    assert "# A test of" in reproductions_text(drawn, "2026-01-01")


@pytest.mark.parametrize("page", ["", BEGINS, f"{ENDS}{BEGINS}", f"{BEGINS}{BEGINS}{ENDS}"])
def test_a_page_without_marks_is_left_alone(page: str) -> None:
    with pytest.raises(NoMarksError, match="once each"):
        replaced(page, "new")


def test_docs_that_are_not_there_are_told(drawn: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(FieldError, match="expected a page of the docs"):
        write_docs(drawn, REPRODUCTIONS, tmp_path)
    (tmp_path / "reproductions.md").write_text("# Top\n", encoding="utf-8")
    with pytest.raises(FieldError, match=r"--docs: found .*expected <!-- measured -->"):
        write_docs(drawn, REPRODUCTIONS, tmp_path)


# --------------------------------------------------------------------------- the command


def invoked(*arguments: str) -> Any:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def test_the_list_names_every_experiment() -> None:
    result = invoked("reproduce", "--list")

    assert 0 == result.exit_code
    assert list(names()) == [line.split()[0] for line in result.output.splitlines()]


def test_an_experiment_that_is_not_there_is_told_in_a_line(tmp_path: Path) -> None:
    result = invoked("reproduce", "--only", "avg-scale", "-o", str(tmp_path / "out"))

    assert (2, 1) == (result.exit_code, len(result.output.splitlines()))
    assert "--only: found 'avg-scale', expected 'avg-scale-up'" in result.output
    assert not (tmp_path / "out").exists()


def test_end_to_end(spark: SparkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Somebody may be writing at the program while this runs; that rows of another program
    # are not taken up is a test of the sweep's.
    monkeypatch.setattr("trimtab.trials.sweep.pipeline.digest", lambda: "this program")
    trial = planned(chosen(("idle-eleventh",)), 2, "trimtab reproduce")
    started: list[int] = []

    def start() -> Any:
        started.append(1)
        return nullcontext(spark)

    found = run(start, trial, tmp_path / "out")

    (experiment,) = json.loads(found.json.read_text(encoding="utf-8"))["experiments"]
    assert 2 == experiment["arms"][0]["runs"]
    assert experiment["picture"]["seed"] in (0, 1)
    # Two brokers too many for a line each would be quantiles; these are eleven.
    assert 11 == len(experiment["picture"]["series"])
    assert "Ten brokers at 80 %" in found.page.read_text(encoding="utf-8")
    assert found.is_good
    (line,) = found.lines()
    assert line.startswith("Ten brokers at 80 % and one at 5 under ThresholdShedder: ")

    page = found.page.read_bytes()
    again = run(start, trial, tmp_path / "out")
    assert (page, [1]) == (again.page.read_bytes(), started)


def test_several_experiments_open_with_which_come_out() -> None:
    outcomes = {"a": "comes out", "b": "does not come out", "c": "comes out"}
    experiments = [
        {"name": name, "title": name.upper(), "verdict": {"outcome": outcome, "sentence": "x."}}
        for name, outcome in outcomes.items()
    ]

    first, *others = lines({"experiments": experiments})

    assert first == (
        "Comes out as published: a, c; comes out under a condition: none; does not come out: b."
    )
    assert others == ["A: x.", "B: x.", "C: x."]
