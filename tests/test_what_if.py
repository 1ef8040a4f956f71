"""`trimtab compare RECORDING` and `trimtab explain --what-if`, from files to pages."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from pyspark import SparkContext

from tools import what_if as page
from trimtab.cli import main
from trimtab.explanation.explain import explain
from trimtab.ingest.recording import open_recording
from trimtab.trials.compare.compare import Contest
from trimtab.trials.trial import Result
from trimtab.trials.what_if.command import advice, what_if

ROOT = Path(__file__).parent.parent
AVG = ROOT / "recordings" / "avg"
FEW = Contest(strategies="UniformLoadShedder,none", n_seeds=2)


@pytest.fixture(scope="module")
def answer(spark: SparkContext, tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = tmp_path_factory.mktemp("compare") / "out"
    with open_recording(AVG) as opened:
        return what_if(spark, opened, FEW, folder, anew=False)


@pytest.mark.spark
def test_a_recorded_night_is_reproduced_and_then_replayed_otherwise(answer: Result) -> None:
    found: dict[str, Any] = json.loads(answer.json.read_text(encoding="utf-8"))
    assert found == answer.document
    assert answer.is_good
    checks = {each["name"]: each for each in found["fidelity"]["checks"]}
    assert checks["to shed or not"]["found"] == "the same in 9 of 9 rounds"

    real, *others = found["strategies"]
    assert real["label"] == "AvgShedder"
    assert real["is_baseline"]
    assert {each["shedder"] for each in others} == {"UniformLoadShedder", "none"}
    assert all(each["runs"] == 2 and not each["failures"] for each in found["strategies"])
    spread = {
        each["shedder"]: each["measures"]["p95_spread_points"]["median"]["estimate"]
        for each in found["strategies"]
    }
    # Nobody shed: the broker that had everything keeps it.
    assert spread["none"] > 1.3 * spread["AvgShedder"]
    moved = {
        each["shedder"]: each["measures"]["unloads_a_day"]["median"]["estimate"]
        for each in found["strategies"]
    }
    assert moved["none"] == 0 < moved["AvgShedder"] < moved["UniformLoadShedder"]
    assert answer.page.read_text(encoding="utf-8").count("<svg") == 2


@pytest.mark.spark
def test_an_explained_night_holds_what_a_replay_advises(
    spark: SparkContext, tmp_path: Path
) -> None:
    more = partial(advice, spark, tmp_path / "what-if", FEW)
    with open_recording(AVG) as opened:
        found = explain(spark, opened, tmp_path, [more])
    document = json.loads((tmp_path / "findings.json").read_text(encoding="utf-8"))
    schema = json.loads((ROOT / "docs" / "findings.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(document)
    assert document["what_if"]["is_trusted"]
    assert document["what_if"]["tried"] >= 2
    assert 'id="what-if"' in found.report.read_text(encoding="utf-8")


@pytest.mark.spark
def test_of_a_log_alone_it_is_said_why_nothing_is_advised(
    spark: SparkContext, tmp_path: Path
) -> None:
    more = partial(advice, spark, tmp_path / "what-if", FEW)
    with open_recording(ROOT / "recordings" / "seed-001") as opened:
        found = explain(spark, opened, tmp_path, [more])
    assert not found.document["what_if"]["is_trusted"]
    assert "no load report tells of a bundle" in found.document["what_if"]["why_not"]
    assert "no load report tells of a bundle" in found.report.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([str(AVG), "S05"], "expected scenarios, or one recording"),
        ([str(AVG), "--baseline", "AvgShedder"], "none: it is what really steered"),
        ([str(AVG), "--strategies", "TransferShedder"], "it needs ExtensibleLoadManagerImpl"),
        ([str(AVG), "--strategies", "AvgShedder,NoSuchShedder"], "NoSuchShedder"),
        ([str(AVG), "--set", "loadBalancerEnabled"], "key=value"),
        (["nowhere.tar.gz"], "no such file or folder"),
    ],
)
def test_wrong_use_is_told_in_one_line(arguments: list[str], told: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["compare", *arguments, "-o", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert told in result.output
    assert len(result.output.splitlines()) == 1


# ---------------------------------------------------------------- docs/what-if.md


@pytest.mark.slow
def test_ranks_are_correlated_where_strategies_differ() -> None:
    def made(*values: float | None) -> dict[str, dict[str, float | None]]:
        names = ("unloads_a_day", "p95_spread_points", "above_percent")
        rest = ("disconnected_a_day", "unavailability_s_a_day")
        return {
            f"s{i}": dict.fromkeys(names, value) | dict.fromkeys(rest, 1.0)
            for i, value in enumerate(values)
        }

    found = page.correlations(made(1.0, 2.0, 3.0, None), made(10.0, 20.0, 30.0, 1.0))
    assert found["unloads_a_day"] == pytest.approx(1.0)
    assert str(found["disconnected_a_day"]) == "nan"
    turned = page.correlations(made(1.0, 2.0, 3.0), made(3.0, 2.0, 1.0))
    assert turned["p95_spread_points"] == pytest.approx(-1.0)


def test_the_page_shows_commands_of_the_recordings_that_come_along() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    shown = page.commands(text)
    assert [each.partition(" ")[0] for each in shown] == [
        f"recordings/{name}" for name in ("uniform", "threshold", "avg")
    ]
    said = page.rewritten(text, {each: ["said"] for each in shown}, [])
    assert said.count("said\n") == 3
    assert page.commands(said) == shown
    assert len({scenario for scenario, _, _ in page.NIGHTS}) >= 10
