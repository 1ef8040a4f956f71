"""Recordings of simulated clusters: what is written, and that it explains itself."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark import SparkContext

from trimtab.cli import main
from trimtab.diagnose.diagnosis import diagnose
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import open_recording
from trimtab.trials.record import Options, record
from trimtab.trials.record.leader import LeaderClock
from trimtab.trials.record.lines import double
from trimtab.trials.simulate.question import Question, experiment_of

QUIET = Options(noise_per_hour=60.0, metrics_s=600.0, rest_s=600.0, are_exported=True)
THRESHOLD = "ThresholdShedder+LeastResourceUsageWithWeight"


def recorded(
    root: Path, strategy: str, *, scenario: str = "S05", minutes: float = 75, **asked: Any
) -> Path:
    options = asked.pop("options", QUIET)
    asked.setdefault("settings", ())
    experiment = experiment_of(Question(scenario, strategy, minutes=minutes, **asked))
    parameters = experiment.scenario.parameters
    record(experiment.world, experiment.balancer, parameters, root, options)
    return root


def digest(root: Path) -> dict[str, str]:
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def truth(root: Path, what: str) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (root / "lab/truth.jsonl").read_text().splitlines()]
    return [row for row in rows if row["what"] == what]


@pytest.mark.spark
@pytest.mark.parametrize("strategy", [THRESHOLD, "UniformLoadShedder", "AvgShedder"])
def test_every_round_of_a_recording_is_decided_again(
    spark: SparkContext, tmp_path: Path, strategy: str
) -> None:
    """No line is left over, and each number that was printed comes out to its last digit."""
    root = recorded(tmp_path / "night", strategy)
    with open_recording(root) as recording:
        accounting = ingest(spark, recording, tmp_path / "tables")
        cluster = recording.cluster
    found = diagnose(spark, tmp_path / "tables", cluster).findings

    assert accounting.totals["rejected"] == 0
    assert [file.name for file in accounting.unused] == ["lab/truth.jsonl"]
    rounds = [row["recomputed"] for row in found["round_list"]]
    assert {row["equal"] for row in rounds} == {True}, rounds
    unloads = found["unloads"]
    assert Counter(row["recomputed"]["equal"] for row in unloads) == {True: len(unloads)}
    placed = [row["recomputed"]["numbers"].get("placement_equal") for row in unloads]
    assert set(placed) == {True}
    assert found["undecidable"] == []
    told = [(row["bundle"], row["source"], row["told"]) for row in truth(root, "move")]
    assert len(unloads) >= 5
    assert {(row["bundle"], row["source"], row["target"]) for row in unloads} <= set(told)


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    one, same, other = (
        digest(recorded(tmp_path / name, THRESHOLD, minutes=60, seed=seed))
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert one == same
    assert one.keys() == other.keys()
    assert one["store/brokers.jsonl"] != other["store/brokers.jsonl"]


def test_packed_it_is_the_same(tmp_path: Path) -> None:
    plain = recorded(tmp_path / "plain", "AvgShedder", minutes=60)
    options = replace(QUIET, is_packed=True)
    packed = recorded(tmp_path / "packed", "AvgShedder", minutes=60, options=options)
    names = [path.relative_to(packed) for path in packed.rglob("*.gz")]
    assert len(names) > 10
    for name in names:
        assert (
            gzip.decompress((packed / name).read_bytes())
            == (plain / name).with_suffix("").read_bytes()
        )


def test_a_broker_that_is_killed_says_nothing_more(tmp_path: Path) -> None:
    root = recorded(tmp_path / "night", THRESHOLD, scenario="book-kill2", minutes=90)
    (killed, *_) = [e for e in truth(root, "event") if e["kind"] == "kill"]
    host = killed["subjects"][0].rpartition(":")[0]
    log = (root / f"logs/{host}/pulsar-broker.log").read_text().splitlines()
    assert len(log) > 20
    assert log[-1][:19] <= killed["time"][:19]
    gone = [json.loads(line) for line in (root / "store/brokers.jsonl").read_text().splitlines()]
    assert killed["subjects"][0] in {row["broker"] for row in gone if row["report"] is None}


def test_logs_are_in_order_of_time(tmp_path: Path) -> None:
    root = recorded(tmp_path / "night", "UniformLoadShedder", options=Options())
    logs = list(root.glob("logs/*/*.log"))
    assert len(logs) == 5
    for log in logs:
        times = [line[:23] for line in log.read_text().splitlines()]
        assert times == sorted(times)
        assert len(times) > 300


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0.0, "0.0"),
        (-1.5, "-1.5"),
        (1e7, "1.0E7"),
        (123456789.0, "1.23456789E8"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.00012, "1.2E-4"),
        (-3.5e-10, "-3.5E-10"),
        (1e300, "1.0E300"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_numbers_are_printed_as_java_does(value: float, printed: str) -> None:
    assert double(value) == printed
    if not math.isnan(value):
        assert float(printed.replace("Infinity", "inf")) == value


def test_stamps_are_in_the_order_in_which_things_were_done() -> None:
    clock = LeaderClock(start_ms=0, now_ms=-1000)
    assert clock.is_written(5.0, early_ms=400) == 4600
    # A write of a tick that ends before the round is seen by it, whatever a reader takes
    # for the round's time.
    clock.round_s, clock.unseen_ms = 10.0, 200
    assert clock.is_written(10.0, early_ms=20) == 9750
    assert clock.happens(10.0) == 10000
    assert clock.happens(10.7) == 10700
    # What is written while the round goes on is not seen by it.
    clock.round_s = 70.7
    assert clock.is_written(15.0, early_ms=4900) == 10701


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    command = ["record", "S05", "--strategy", "AvgShedder", "-o", str(tmp_path)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2
    assert result.output == (
        f"trimtab: {tmp_path}: expected a folder that is empty or not there yet\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("was_there", [False, True])
def test_what_breaks_off_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_there: bool
) -> None:
    root = tmp_path / "night"
    if was_there:
        root.mkdir()

    def stop(*_: object) -> None:
        assert any(root.iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr("trimtab.trials.record.recording.write_truth", stop)
    arguments = ["record", "S05", "--strategy", "none", "--minutes", "50", "-o", str(root)]
    result = CliRunner().invoke(main, arguments)

    assert result.exit_code == 130
    assert (root.exists(), list(tmp_path.rglob("*"))) == (was_there, [root] if was_there else [])


def test_the_command_says_what_it_did(tmp_path: Path) -> None:
    out = tmp_path / "night"
    command = ["record", "S05", "--strategy", "AvgShedder", "-o", str(out), "--minutes", "60"]
    result = CliRunner().invoke(main, [*command, "--noise", "0", "--metrics-s", "0", "--gzip"])
    assert result.exit_code == 0, result.output
    assert "bundles were moved, in" in result.output
    assert not (out / "metrics").exists()
    assert (out / "load-reports.jsonl.gz").exists()
