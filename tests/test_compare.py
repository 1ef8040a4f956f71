"""Comparing strategies: what the numbers are, what is asked, and what the page says."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from pyspark import SparkContext

from sweep_rows import KEYS, row, rows
from trimtab.cli import main
from trimtab.files.fields import FieldError
from trimtab.lab.outcomes import MEASURES
from trimtab.report.comparison import render_comparison
from trimtab.trials.compare.answer import answer
from trimtab.trials.compare.compare import Contest, planned
from trimtab.trials.compare.comparison import comparison, frontier
from trimtab.trials.sweep.grid import USUAL
from trimtab.trials.sweep.task import Task
from trimtab.trials.trial import run

THRESHOLD, AVG = KEYS[0], KEYS[4]
QUESTIONS = {"S05": "How soon?", "S02": ""}


def invoked(*arguments: str) -> Any:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def of(document: dict[str, Any], scenario: int, strategy: int, measure: str) -> dict[str, Any]:
    found: dict[str, Any] = document["scenarios"][scenario]["strategies"][strategy]
    return found["measures"][measure]  # type: ignore[no-any-return]  # a document of JSON


# ---------------------------------------------------------------------- numbers


def test_medians_are_over_seeds_and_differences_seed_by_seed() -> None:
    before = [row("S05", THRESHOLD, seed, {"unloads": 10.0 * seed}) for seed in range(5)]
    after = [row("S05", AVG, seed, {"unloads": 10.0 * seed + 3}) for seed in range(5)]

    found = comparison([*after, *before], [THRESHOLD, AVG], {"S05": ""})

    first, second = found["scenarios"][0]["strategies"]
    assert [True, False] == [first["is_baseline"], second["is_baseline"]]
    unloads = second["measures"]["unloads"]
    assert (23.0, 5) == (unloads["median"]["estimate"], unloads["median"]["count"])
    assert unloads["median"]["low"] < 23.0 < unloads["median"]["high"]
    # However far seeds lie apart, on each the difference is 3.
    assert {"estimate": 3.0, "low": 3.0, "high": 3.0, "count": 5} == unloads["difference"]["median"]
    assert (0, 0, 5) == tuple(unloads["difference"][it] for it in ("smaller", "equal", "larger"))


def test_a_seed_on_which_one_failed_is_in_no_difference() -> None:
    before = [row("S05", THRESHOLD, seed, {"unloads": 1.0}) for seed in range(3)]
    after = [row("S05", AVG, seed, {"unloads": 2.0 + seed}) for seed in range(3)]
    before[0] |= {"status": "error", "error": "ValueError: x", "unloads": None}
    after[1] |= {"status": "cut", "unloads": math.nan}

    found = comparison([*before, *after], [THRESHOLD, AVG], {"S05": ""})

    first, second = found["scenarios"][0]["strategies"]
    assert [{"seed": 0, "status": "error", "error": "ValueError: x"}] == first["failures"]
    assert [{"seed": 1, "status": "cut", "error": None}] == second["failures"]
    assert (2, 2) == (first["runs"], second["runs"])
    assert 1 == second["measures"]["unloads"]["difference"]["median"]["count"]
    assert 3.0 == second["measures"]["unloads"]["difference"]["median"]["estimate"]


def test_what_never_came_is_larger_than_all_and_json_can_say_so() -> None:
    minutes = "time_to_balance_min"
    before = [row("S05", THRESHOLD, seed, {minutes: math.inf}) for seed in range(4)]
    after = [row("S05", AVG, seed, {minutes: 20.0, "wasted": math.nan}) for seed in range(4)]

    found = comparison([*before, *after], [THRESHOLD, AVG], {"S05": ""})

    assert "Infinity" == of(found, 0, 0, minutes)["median"]["estimate"]
    assert 4 == of(found, 0, 0, minutes)["never"]
    assert "-Infinity" == of(found, 0, 1, minutes)["difference"]["median"]["estimate"]
    assert None is of(found, 0, 1, "wasted")["median"]["estimate"]
    assert found == json.loads(json.dumps(found, allow_nan=False))


def test_a_comparison_does_not_depend_on_the_order_of_rows() -> None:
    some = rows("S05", 6) + rows("S02", 6)

    assert comparison(some, KEYS, QUESTIONS) == comparison(some[::-1], KEYS, QUESTIONS)


def test_the_frontier_is_not_beaten_in_both() -> None:
    found = comparison(rows("S05", 12), KEYS, {"S05": ""})

    assert [True, False, False, False, True, True] == [
        each["is_on_frontier"] for each in found["scenarios"][0]["strategies"]
    ]


numbers = st.one_of(st.floats(0, 100), st.just(math.inf), st.just(math.nan))


@given(st.lists(st.tuples(numbers, numbers)), st.tuples(numbers, numbers))
def test_frontier(points: list[tuple[float, float]], another: tuple[float, float]) -> None:
    on = frontier(points)

    known = [point for point in points if not any(map(math.isnan, point))]
    assert any(on) == bool(known)
    for point, is_on in zip(points, on, strict=True):
        beaten = any(a <= point[0] and b <= point[1] and (a, b) != point for a, b in known)
        assert is_on == (point in known and not beaten)
    # One more takes some off, and puts none on.
    assert all(
        before or not after for before, after in zip(on, frontier([*points, another]), strict=False)
    )


# --------------------------------------------------------------------- question


def test_the_usual_strategies_are_asked_about_if_none_are_named() -> None:
    grid = Contest(("S05",)).grid({"4.0.8"})

    assert list(USUAL) == [f"{each.shedder}+{each.placement}" for each in grid.strategies]
    assert 10 == len(grid.seeds)


def test_what_a_release_has_not_is_not_usual_there() -> None:
    pairs = {
        f"{each.shedder}+{each.placement}"
        for each in Contest(("S05",)).grid({"4.0", "2.10"}).strategies
    }

    assert {each for each in USUAL if "Avg" not in each and "WithWeight" not in each} == pairs


def test_the_baseline_comes_first_and_once() -> None:
    grid = Contest(("S05",), "none,AvgShedder", baseline="AvgShedder+AvgShedder").grid({"4.0.8"})

    assert ["AvgShedder", "none"] == [each.shedder for each in grid.strategies]


def test_a_key_that_is_set_twice_is_compared() -> None:
    key = "loadBalancerBrokerThresholdShedderPercentage"
    grid = Contest(("S05",), "none", settings=(f"{key}=10", f"{key} = 20")).grid({"4.0.8"})

    assert [{key: "10"}, {key: "20"}] == [each.settings for each in grid.strategies]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["S99"], "scenario 'S99': expected "),
        (["nowhere.toml"], "nowhere.toml: No such file or directory"),
        (["S05", "--strategies", "AvgSheder"], "--strategies: found 'AvgSheder', expected 'Avg"),
        (["S05", "--baseline", "x"], "--baseline: found 'x', expected one of"),
        (["S05", "--release", "4"], "--release: found '4', expected a release like"),
        (
            ["S05", "--strategies", "AvgShedder", "--release", "2.10"],
            "found AvgShedder, expected something that Pulsar 2.10 has",
        ),
        (["S05", "--set", "x"], "--set: found 'x', expected key=value"),
        (["S05", "--set", "loadBalancerEnable=true"], "expected 'loadBalancerEnabled'"),
    ],
)
def test_a_slip_is_told_in_a_line_before_spark_starts(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = invoked("compare", *arguments, "-o", str(tmp_path / "out"))

    assert 2 == result.exit_code
    assert message in result.output
    assert 1 == len(result.output.splitlines())
    assert not (tmp_path / "out").exists()


def test_a_grid_that_is_not_there_is_told_in_a_line(tmp_path: Path) -> None:
    result = invoked("sweep", str(tmp_path / "no.toml"), "-o", str(tmp_path / "out"))

    assert (2, f"trimtab: {tmp_path}/no.toml: No such file or directory\n") == (
        result.exit_code,
        result.output,
    )


# ------------------------------------------------------------------ end to end


@pytest.fixture(scope="module")
def compared(spark: SparkContext, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of two strategies on a scenario that trimtab brings."""
    output = tmp_path_factory.mktemp("compared")
    contest = Contest(("S01",), "AvgShedder,none", n_seeds=3)
    run(partial(nullcontext, spark), planned(contest, "trimtab compare S01"), output)
    return output


def test_a_comparison_is_written_and_can_be_read(compared: Path) -> None:
    found = json.loads((compared / "comparison.json").read_text(encoding="utf-8"))

    (scenario,) = found["scenarios"]
    assert "Three pressure tests" in scenario["question"]
    assert ["AvgShedder", "no shedding"] == [each["label"] for each in scenario["strategies"]]
    assert [3, 3] == [each["runs"] for each in scenario["strategies"]]
    nobody = scenario["strategies"][1]["measures"]
    assert 0.0 == nobody["unloads"]["median"]["estimate"]
    assert list(MEASURES) == [measure["name"] for measure in found["measures"]]
    page = (compared / "comparison.html").read_text(encoding="utf-8")
    assert "<code>trimtab compare S01</code>" in page


def test_what_a_scenario_expects_is_judged_over_its_seeds(compared: Path) -> None:
    found = json.loads((compared / "comparison.json").read_text(encoding="utf-8"))

    avg, nobody = found["scenarios"][0]["strategies"]
    assert [] == nobody["expectations"]
    medians = [each for each in avg["expectations"] if "median over seeds" in each["expected"]]
    assert medians
    assert all(each["is_met"] or each["known"] for each in avg["expectations"])
    page = (compared / "comparison.html").read_text(encoding="utf-8")
    met = [each["is_met"] for each in avg["expectations"]]
    assert (met.count(True), met.count(False)) == (page.count("✓"), page.count("✗"))
    assert all(each["because"] in page for each in avg["expectations"])


def test_what_is_not_met_is_said_and_the_exit_code_too(spark: SparkContext, tmp_path: Path) -> None:
    (tmp_path / "idle.toml").write_text(
        "# Does a balanced cluster stay as it is?\n[run]\nminutes = 20\n"
        "[[machines]]\ncount = 3\n[[bundles]]\ncount = 12\n[traffic]\ncpu_percent = 30\n"
        '[[expect]]\noutcome = "unloads"\nat_least = 1\nof = "median"\nbecause = "a slip"\n'
    )
    master = ("--master", str(spark.master))
    asked = ("compare", str(tmp_path / "idle.toml"), "--seeds", "2", *master)
    conf = ("--set", "loadBalancerOverrideBrokerNicSpeedGbps=10")

    as_it_is = invoked(*asked, "--strategies", "AvgShedder", "-o", str(tmp_path / "out"))
    otherwise = invoked(*asked, "--strategies", "AvgShedder", *conf, "-o", str(tmp_path / "out2"))

    assert 1 == as_it_is.exit_code
    assert "  not met: unloads at least 1, median over seeds; found 0" in as_it_is.output
    # What is expected is said of the scenario's own settings.
    assert 0 == otherwise.exit_code


def test_what_was_compared_is_compared_again_without_spark(compared: Path) -> None:
    def no_spark() -> Any:
        raise AssertionError("Spark was asked for")

    contest = Contest(("S01",), "AvgShedder,none", n_seeds=3)
    before = {path.name: path.read_bytes() for path in compared.glob("c*")}

    found = run(no_spark, planned(contest, "trimtab compare S01"), compared)

    assert before == {path.name: path.read_bytes() for path in compared.glob("c*")}
    assert {"comparison.html", "comparison.json"} == before.keys()
    answered, first, *lines = found.lines()
    assert answered.startswith("S01: ")
    assert "S01: median minutes to balance, unloads" == first
    assert 2 == len(lines)


def test_both_commands_run_what_is_missing(spark: SparkContext, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        "# Nothing happens.\n[run]\nminutes = 20\n"
        "[[machines]]\ncount = 3\n[[bundles]]\ncount = 12\n[traffic]\ncpu_percent = 30\n"
    )
    (tmp_path / "grid.toml").write_text(
        'scenarios = ["mine.toml"]\nstrategies = ["none"]\nseeds = 2\n'
    )
    # The commands use the session that runs, if its master is the same.
    master = ("--master", str(spark.master))
    output = str(tmp_path / "out")

    swept = invoked("sweep", str(tmp_path / "grid.toml"), "-o", output, *master, "--json")
    compared = invoked(
        "compare", str(tmp_path / "mine.toml"), "--strategies", "none", "--seeds", "3",
        "-o", output, *master,
    )  # fmt: skip

    assert {"outcomes": f"{output}/outcomes.parquet", "kept": 0, "statuses": {"ok": 2}} == (
        json.loads(swept.output)
    )
    assert 0 == compared.exit_code
    answered, head, _, page_line = compared.output.splitlines()
    assert answered.startswith("mine: ")
    assert ["mine: median minutes to balance, unloads", f"Page: {output}/comparison.html"] == (
        [head, page_line]
    )
    page = (tmp_path / "out" / "comparison.html").read_text(encoding="utf-8")
    command = f"trimtab compare {tmp_path}/mine.toml --strategies none --seeds 3 --time-limit 600"
    assert f"<code>{command} -o {output}</code>" in page


# ----------------------------------------------------------------------- answer


def answered(ours: dict[str, float], theirs: dict[str, float], seeds: int = 8) -> str:
    """Return who is best, the baseline having our numbers."""
    before = [row("S05", THRESHOLD, seed, ours) for seed in range(seeds)]
    after = [row("S05", AVG, seed, theirs) for seed in range(seeds)]
    document = comparison([*before, *after], [THRESHOLD, AVG], {"S05": ""})
    return answer(document["scenarios"][0]["strategies"], document["confidence"])


def outcome(minutes: float, unloads: float) -> dict[str, float]:
    return {"time_to_balance_min": minutes, "unloads": unloads}


def test_the_answer_names_who_is_best_by_how_much_and_how_sure() -> None:
    text = answered(outcome(20.0, 9.0), outcome(5.0, 4.0))

    assert text.startswith("AvgShedder")
    assert "after 5 min with 4 unloads (15 min sooner than the baseline, sure at 95%)" in text
    assert text.endswith("none unloads less.")


def test_where_nobody_is_best_in_both_the_answer_names_two() -> None:
    text = answered(outcome(20.0, 2.0), outcome(5.0, 4.0))

    assert "ThresholdShedder" in text.partition("; ")[2]
    assert "unloads least, 2 times, and is balanced after 20 min." in text


def test_the_answer_says_what_is_not_sure_or_not_known() -> None:
    never = outcome(math.inf, 3.0)

    assert "by too few seeds" in answered(outcome(20.0, 9.0), outcome(5.0, 4.0), seeds=1)
    assert "the baseline never is" in answered(never, outcome(5.0, 4.0))
    assert answered(never, never).startswith("No strategy balances in the time simulated")
    assert answer([], 0.95) == "No run came to its end, so that nothing is known."


# ------------------------------------------------------------------------- page


@pytest.mark.slow
def test_the_page_asks_nobody_and_is_the_same_each_time() -> None:
    document = comparison(rows("S05", 4), KEYS, {"S05": "How soon?"})
    page = render_comparison(document)

    assert page == render_comparison(json.loads(json.dumps(document)))
    assert "http" not in page.replace("http://www.w3.org/", "").replace("http-equiv", "")
    assert "default-src &#39;none&#39;" in page


def test_whatever_stands_in_the_input_is_text() -> None:
    bad = "<script>alert(1)</script>"
    some = [row(bad, THRESHOLD, seed, {}) for seed in range(2)]
    some[0] |= {"status": "error", "error": bad}
    document = comparison(some, [THRESHOLD], {bad: bad})

    page = render_comparison({**document, "command": bad})

    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 4


def test_the_page_of_nothing_says_so() -> None:
    some = [row("S05", THRESHOLD, 0, {}, status="error", error="ValueError: x")]

    page = render_comparison(comparison(some, [THRESHOLD], {"S05": ""}))

    assert "No run of this scenario came to an end" in page
    assert "1 run of 1 failed" in page
    assert "<code>ValueError: x</code>" in page


def test_a_row_is_known_by_its_task() -> None:
    assert list(Task.__slots__) == list(row("S05", THRESHOLD, 0, {}))[:6]


def test_a_question_is_checked_as_it_is_asked() -> None:
    with pytest.raises(FieldError, match="--strategies"):
        Contest(("S05",), "?").grid({"4.0.8"})
