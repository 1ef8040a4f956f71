"""The rating: the one that is brought, what is said of made-up runs, and the command."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark import SparkContext

from trimtab.cli import main
from trimtab.files.fields import FieldError
from trimtab.report.marks import BEGINS, ENDS
from trimtab.report.ratings import render_ratings
from trimtab.trials.rate.definition import built_in_rating, rating
from trimtab.trials.rate.pipeline import RATINGS, Basis, document, planned, rates_of
from trimtab.trials.rate.statistics import STATISTICS, RunValue, rated
from trimtab.trials.trial import run, write_docs

SMALL = """
[[dimensions]]
name = "stability"
asks = "How much is moved?"
number = "unloads"
statistic = "per hour"
scenarios = ["eleven-80-one-5"]
good_to = 2
fair_to = 10

[[dimensions]]
name = "speed"
asks = "How soon?"
number = "time_to_balance_min"
statistic = "median"
scenarios = ["eleven-80-one-5"]
good_to = 10
fair_to = 45

[[strategies]]
name = "T"
strategy = "ThresholdShedder+LeastResourceUsageWithWeight"

[[strategies]]
name = "A"
strategy = "AvgShedder"
settings = { maxUnloadPercentage = 0.5 }

[[cases]]
dimension = "speed"
strategies = ["A"]
number = "random_streak"
scenarios = ["eleven-80-one-5"]
because = "it is a test"

[[said]]
dimension = "stability"
strategy = "T"
word = "poor"
says = "it moves <much>"
"""


def made(values: dict[tuple[str, str], list[float]], n_failed: int = 0) -> dict[str, Any]:
    """Rate made-up runs: name of a dimension and of a strategy → values of the runs."""
    read = rating(SMALL, "small.toml")
    rates = rates_of(read, 2)
    cells = {}
    for dimension in read.dimensions:
        for contender in read.strategies:
            of = read.basis(dimension, contender)
            runs = [
                RunValue("eleven-80-one-5", seed, value, 1.0, 1.0)
                for seed, value in enumerate(values[dimension.name, contender.name])
            ]
            statistic = STATISTICS[dimension.statistic]
            found = rated(runs, statistic, dimension.good_to, dimension.fair_to)
            task = rates.task(contender, of.scenarios[0], 0)
            cells[dimension.name, contender.name] = Basis(found, of, n_failed, task)
    return {
        "trimtab": "1.2.3",
        "command": "trimtab rate",
        "seeds": 2,
        **document(read, cells),
    }


@pytest.fixture
def told() -> dict[str, Any]:
    """A rating of made-up runs."""
    never = math.inf
    return made(
        {
            ("stability", "T"): [1.0, 1.6],
            ("stability", "A"): [4.0, 20.0],
            ("speed", "T"): [never, never],
            ("speed", "A"): [math.nan, math.nan],
        }
    )


def test_the_rating_that_is_brought_can_be_laid_out() -> None:
    read = built_in_rating()
    rates = rates_of(read, 2)

    assert {"adaptability", "stability", "over-placement", "over-unloading", "speed"} <= {
        each.name for each in read.dimensions
    }
    tasks = rates.tasks()
    assert {0, 1} == {task.seed for task in tasks}
    assert {"none"} < {task.shedder for task in tasks}
    # What no cell rests on is not run: S09 is a matter of one strategy.
    assert {"UniformLoadShedder", "none"} == {t.shedder for t in tasks if t.scenario == "S09"}


def test_words_and_numbers_stand_beside_what_was_published(told: dict[str, Any]) -> None:
    first, second = told["strategies"]

    assert ["good", "poor"] == [cell["word"] for cell in first["cells"]]
    assert ["poor", "unknown"] == [cell["word"] for cell in second["cells"]]
    assert (1.3, True) == (first["cells"][0]["estimate"], first["cells"][0]["is_sure"])
    assert ("Infinity", 2) == (first["cells"][1]["estimate"], first["cells"][1]["never"])
    assert {"word": "poor", "says": "it moves <much>"} == first["cells"][0]["published"]
    assert not second["cells"][0]["is_sure"]
    assert told == json.loads(json.dumps(told, allow_nan=False))


def test_disagreements_are_named_with_numbers(told: dict[str, Any]) -> None:
    (found,) = told["disagreements"]

    assert ("T", "stability", "good", "poor") == tuple(
        found[name] for name in ("strategy", "dimension", "measured", "published")
    )
    assert (
        "T in stability: published poor, measured good with 1.3 (1 to 1.6); "
        "poor would be more than 10." == found["sentence"]
    )


def test_every_cell_says_which_rows_it_rests_on(told: dict[str, Any]) -> None:
    cell = told["strategies"][1]["cells"][1]

    assert {
        "scenarios": ["eleven-80-one-5"],
        "shedder": "AvgShedder",
        "placement": "AvgShedder",
        "release": "4.0.8",
        "settings": {"maxUnloadPercentage": "0.5"},
        "number": "random_streak",
    } == cell["rows"]
    assert (2, "it is a test") == (cell["runs"], cell["because"])


def test_the_page_is_complete_and_the_same_each_time(told: dict[str, Any]) -> None:
    page = render_ratings(told)

    assert page == render_ratings(json.loads(json.dumps(told)))
    assert "4 words measured; of 1 that were published, 0 come out the same." in page
    assert "it moves &lt;much&gt;" in page
    assert "unloads of eleven-80-one-5: 2 rows" in page
    assert 'href="outcomes.parquet"' in page


def test_the_page_of_the_docs_is_filled(told: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(FieldError, match="expected a page of the docs"):
        write_docs(told, RATINGS, tmp_path)
    page = tmp_path / "ratings.md"
    page.write_text(f"# Top\n\n{BEGINS}\n{ENDS}\n", encoding="utf-8")

    write_docs(told, RATINGS, tmp_path)

    text = page.read_text(encoding="utf-8")
    assert "over 2 seeds" in text
    assert "- T in stability: published poor, measured good" in text
    assert "| T | speed | time_to_balance_min of eleven-80-one-5: 2 rows, 2 never |" in text


def test_a_file_that_is_no_rating_is_told_in_a_line(tmp_path: Path) -> None:
    for given, message in (("nowhere.toml", "No such file"), ("wrong.toml", "expected TOML")):
        (tmp_path / "wrong.toml").write_text("[", encoding="utf-8")
        arguments = ["rate", "--definition", str(tmp_path / given), "-o", str(tmp_path / "out")]
        result = CliRunner().invoke(main, arguments, catch_exceptions=False)

        assert (2, 1) == (result.exit_code, len(result.output.splitlines()))
        assert message in result.output
    assert not (tmp_path / "out").exists()


def test_end_to_end(spark: SparkContext, tmp_path: Path) -> None:
    trial = planned(rating(SMALL, "small.toml"), 2, "trimtab rate")

    found = run(lambda: nullcontext(spark), trial, tmp_path / "out")

    written = json.loads(found.json.read_text(encoding="utf-8"))
    runs = [[cell["runs"] for cell in each["cells"]] for each in written["strategies"]]
    assert [[2, 2], [2, 2]] == runs
    # Its words rest on what was run: ThresholdShedder leaves ten brokers at 80 % alone.
    assert "good" == written["strategies"][0]["cells"][0]["word"]
    assert "The rating" in found.page.read_text(encoding="utf-8")
    assert found.is_good
    answer, *lines = found.lines()
    assert "good most often, in " in answer
    assert 3 == len(lines)
