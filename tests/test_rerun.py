"""`trimtab rerun`: a recorded cluster simulated again, beside what really happened."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pyspark import SparkContext

from tools import fidelity
from trimtab.cli import main
from trimtab.trials.rerun.command import Question, QuestionError, moments

ROOT = Path(__file__).parent.parent
PULSAR = "org.apache.pulsar.broker.loadbalance"


def rerun(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["rerun", *arguments])


@pytest.fixture(scope="module")
def uniform(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], Path]:
    # The command takes the Spark that runs.
    request.getfixturevalue("spark")
    picture = tmp_path_factory.mktemp("rerun") / "beside.svg"
    recording = str(ROOT / "recordings" / "uniform")
    result = rerun(recording, "--seeds", "2", "--json", "--plot", str(picture))
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document, picture


@pytest.mark.spark
def test_the_simulated_leader_decides_as_the_real_one_did(
    uniform: tuple[dict[str, Any], Path],
) -> None:
    held = uniform[0]["held"]
    assert len(held["rounds"]) == 12
    assert held["same_trigger"] == 12
    assert held["unloads_real"] == 88
    assert held["unloads_same"] >= 85
    assert held["unloads_placed"] >= 80


@pytest.mark.spark
def test_the_page_shows_what_the_commands_say(spark: SparkContext) -> None:
    page = fidelity.PAGE.read_text(encoding="utf-8")
    shown = fidelity.commands(page)
    assert {command.partition(" ")[0] for command in shown} == set(fidelity.CUT)
    # `make fidelity` writes the page.
    found = fidelity.measured(spark, page)
    assert fidelity.rewritten(page, found).splitlines() == page.splitlines()
    again = fidelity.measured(spark, "```text\n$ trimtab rerun recordings/avg\n```\n")
    assert again["recordings/avg"].document == found["recordings/avg"].document


@pytest.mark.spark
def test_a_leader_that_is_left_to_itself_sheds_about_as_much(
    uniform: tuple[dict[str, Any], Path],
) -> None:
    free = uniform[0]["free"]
    assert free["seeds"] == 2
    assert free["triggers"]["real"] == 9
    assert 7 <= free["triggers"]["median"] <= 10
    assert 60 <= free["unloads"]["median"] <= 110
    by_round = {row["time"][11:19]: row for row in free["rounds"]}
    assert by_round["07:11:33"]["median"] == by_round["07:11:33"]["real"] == 14
    for found in free["spread"].values():
        assert found["real"] > 0
        related = found["correlation"]
        assert related["p10"] <= related["median"] <= related["p90"] <= 1.0


@pytest.mark.spark
def test_the_picture_shows_both_clusters(uniform: tuple[dict[str, Any], Path]) -> None:
    drawn = uniform[1].read_text(encoding="utf-8")
    assert drawn.startswith("<svg")
    for words in ("real: messages/s", "simulated, seed", "minutes from the beginning"):
        assert words in drawn


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("left_out", "added", "told"),
    [
        (
            ("store", "load-reports.jsonl.gz", "logs"),
            {},
            "no load report tells of a bundle; expected store/zookeeper/, store/brokers.jsonl",
        ),
        (("logs",), {}, "no round of a leader is known; expected the log of the broker that led"),
        (
            (),
            {"loadManagerClassName": f"{PULSAR}.extensions.ExtensibleLoadManagerImpl"},
            "conf/broker1.conf:1: loadManagerClassName: found ExtensibleLoadManagerImpl",
        ),
        (
            ("logs", "conf", "runtime-config"),
            {"loadBalancerLoadSheddingStrategy": "com.example.MyShedder"}
            | {"loadBalancerSheddingEnabled": "false"},
            "what led cannot be simulated: MyShedder is not in 4.0.8",
        ),
    ],
    ids=["no reports", "no logs", "extensible", "a strategy of its own"],
)
def test_what_cannot_be_simulated_is_refused(
    tmp_path: Path, left_out: tuple[str, ...], added: dict[str, str], told: str
) -> None:
    recording = tmp_path / "threshold"
    shutil.copytree(
        ROOT / "recordings" / "threshold",
        recording,
        ignore=shutil.ignore_patterns("metrics", "lab", *left_out),
    )
    conf = recording / "conf" / "broker1.conf"
    conf.parent.mkdir(exist_ok=True)
    if added:
        conf.write_text("".join(f"{key}={value}\n" for key, value in added.items()), "utf-8")
    result = rerun(str(recording), "--seeds", "1")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith("trimtab: ")
    assert told in result.stderr
    assert "Traceback" not in result.stderr


def test_what_cannot_be_drawn_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    result = rerun(str(tmp_path / "nowhere"), "--plot", "beside.pdf")
    assert result.exit_code == 2
    assert result.stderr == "trimtab: --plot: found 'beside.pdf', expected a name in .svg or .png\n"
    result = rerun(str(tmp_path / "nowhere"), "--plot", str(tmp_path / "no" / "beside.svg"))
    assert result.exit_code == 2
    assert "--plot: found no folder" in result.stderr


# 2026-11-21T07:10:00Z, and half an hour.
FROM_S, TO_S = 1795245000.0, 1795246800.0


@pytest.mark.parametrize(
    ("from_text", "to_text", "expected"),
    [
        ("", "", (0.0, 1800.0)),
        ("07:15", "", (300.0, 1800.0)),
        ("07:15:30", "07:20", (330.0, 600.0)),
        ("2026-11-21T07:20:00Z", "", (600.0, 1800.0)),
        ("2026-11-21T08:20:00+01:00", "2026-11-21T07:30:00", (600.0, 1200.0)),
    ],
)
def test_times_may_be_of_the_day_or_whole(
    from_text: str, to_text: str, expected: tuple[float, float]
) -> None:
    assert moments(Question(from_text, to_text), FROM_S, TO_S) == expected


@pytest.mark.parametrize(
    ("from_text", "to_text", "told"),
    [
        ("soon", "", "--from: found 'soon', expected a time such as 07:15"),
        ("", "25:00", "--to: found '25:00', expected a time such as 07:15"),
        ("06:00", "", "expected a stretch within 2026-11-21T07:10:00Z to 2026-11-21T07:40:00Z"),
        ("07:20", "07:15", "found 2026-11-21T07:20:00Z to 2026-11-21T07:15:00Z"),
    ],
)
def test_times_that_are_none_are_refused(from_text: str, to_text: str, told: str) -> None:
    with pytest.raises(QuestionError) as error:
        moments(Question(from_text, to_text), FROM_S, TO_S)
    assert told in str(error.value)
