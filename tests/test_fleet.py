"""Many recordings in one run: which are meant, what is done again, what is a night that fails."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from pyspark import SparkContext

from folder_files import tree
from trimtab.cli import main
from trimtab.explanation.fleet import command
from trimtab.explanation.fleet.nights import NightsError, are_several, content, nights_of
from trimtab.explanation.fleet.row import night_row
from trimtab.explanation.fleet.work import Task
from trimtab.files.tables import FLEET
from trimtab.spark.runner import Runner

UNLOAD = (
    "2026-11-{day:02}T06:00:00,000+0000 [main] INFO  o.a.p.b.l.impl.ModularLoadManagerImpl - "
    "[ThresholdShedder] Unloading bundle: public/default/0x00000000_0x80000000 "
    "from broker 10.0.0.1:8080 to dest broker 10.0.0.2:8080\n"
)
CONF = (
    "loadBalancerLoadSheddingStrategy=org.apache.pulsar.broker.loadbalance.impl.ThresholdShedder\n"
)


def recorded(root: Path, cluster: str, day: int, toml: str = "") -> Path:
    """Write a night of one line."""
    night = root / cluster / f"2026-11-{day:02}"
    (night / "logs" / "b1").mkdir(parents=True)
    (night / "logs" / "b1" / "broker.log").write_text(UNLOAD.format(day=day))
    (night / "conf").mkdir()
    (night / "conf" / "b1.conf").write_text(f"{CONF}brokerServicePort=6650\n")
    (night / "recording.toml").write_text(toml or f'cluster = "{cluster}"\npulsar = "4.0.8"\n')
    return night


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Three clusters with two nights each."""
    for cluster in ("a", "b", "c"):
        for day in (21, 22):
            recorded(tmp_path / "logs", cluster, day)
    return tmp_path / "logs"


# ------------------------------------------------------------ what is meant


def folders(*words: object) -> list[str]:
    return [night.folder for night in nights_of(list(map(str, words)))]


def test_patterns_folders_and_paths_name_the_same_nights(logs: Path) -> None:
    all_six = [f"{cluster}/2026-11-{day}" for cluster in "abc" for day in (21, 22)]
    assert folders(logs) == folders(f"{logs}/*/2026-11-*/") == all_six
    assert folders(logs / "a", *(logs / "b").iterdir(), f"{logs}/c/*") == all_six
    assert folders(logs / "a" / "2026-11-21", logs / "a") == all_six[:2]


def test_one_recording_is_one_whatever_is_in_it(logs: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    (bare / "x" / "y").mkdir(parents=True)
    assert not are_several([str(logs / "a" / "2026-11-21")])
    assert not are_several([str(bare)])
    assert not are_several([str(tmp_path / "nothing")])
    assert are_several([str(logs)])
    assert are_several([f"{logs}/a/*21"])


def test_archives_and_logs_have_folders_of_their_own(logs: Path, tmp_path: Path) -> None:
    night = logs / "a" / "2026-11-21"
    archive = shutil.make_archive(str(tmp_path / "d" / "monday"), "gztar", night)
    log = tmp_path / "d" / "broker.log"
    shutil.copy(night / "logs" / "b1" / "broker.log", log)
    assert folders(archive, log) == ["d/broker.log", "d/monday"]


def test_a_name_with_signs_of_a_pattern_is_a_name_where_it_is_there(tmp_path: Path) -> None:
    recorded(tmp_path, "a[1]", 21)
    assert folders(tmp_path / "a[1]" / "2026-11-21") == ["a[1]/2026-11-21"]


@pytest.mark.parametrize(
    ("word", "what"), [("no/*/night", "matches nothing"), ("none", "no such file or folder")]
)
def test_a_word_that_names_nothing_is_refused(word: str, what: str) -> None:
    with pytest.raises(NightsError, match=what):
        nights_of([word, word])


def test_two_nights_for_one_folder_are_refused(logs: Path, tmp_path: Path) -> None:
    other = recorded(tmp_path / "elsewhere", "a", 21)
    with pytest.raises(NightsError, match="would both be written to a/2026-11-21"):
        nights_of([str(logs), str(other)])


def test_the_digest_is_of_every_name_and_byte_and_of_nothing_else(logs: Path) -> None:
    night, other = (logs / "a" / f"2026-11-{day}" for day in (21, 22))
    before = content(night).digest
    log = night / "logs" / "b1" / "broker.log"
    os.utime(log, (0, 0))
    assert content(night).digest == before != content(other).digest
    text = log.read_bytes()
    log.write_bytes(text.replace(b"10.0.0.2", b"10.0.0.3"))
    assert content(night).digest != before
    log.write_bytes(text)
    log.rename(log.with_name("other.log"))
    assert content(night).digest != before


# ----------------------------------------------------------- what is done


def run(*words: object) -> Result:
    return CliRunner().invoke(main, list(map(str, words)), catch_exceptions=False)


def explain(logs: Path, *words: object) -> tuple[Result, list[dict[str, Any]]]:
    """Explain in this process; give what was printed, and the rows."""
    output = logs.parent / "explained"
    # More cores than nights: none is worth a start of Spark.
    result = run("explain", logs, "-o", output, "--cores", "9", *words)
    lines = (output / "nights.jsonl").read_text(encoding="utf-8").splitlines()
    return result, [json.loads(line) for line in lines]


@pytest.mark.slow
def test_every_night_has_its_page_and_its_row(logs: Path) -> None:
    result, rows = explain(logs)

    assert result.exit_code == 0, result.output
    assert "6 nights of 3 clusters: 6 explained now" in result.output
    assert [row["folder"] for row in rows] == folders(logs)
    for row in rows:
        folder = logs.parent / "explained" / row["folder"]
        findings = json.loads((folder / "findings.json").read_text(encoding="utf-8"))
        assert (folder / "report.html").is_file()
        assert night_row(findings, row["cluster"]).items() <= row.items()
        assert (row["orders"], row["shedding"], row["release"]) == (1, "ThresholdShedder", "4.0.8")
        assert row["settings"] == {}
    table = pq.read_table(logs.parent / "explained" / "nights.parquet")
    assert table.schema.equals(FLEET["nights"])
    assert [dict(each) for each in table["findings"].to_pylist()] == [
        row["findings"] for row in rows
    ]
    # A port and a host are not the load balancer's: equal settings are equal.
    assert len({row["fingerprint"] for row in rows}) == 1


@pytest.mark.slow
def test_what_was_explained_is_not_explained_again(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explain(logs)
    explained: list[str] = []
    explain_night = command.explain_night

    def counted(runner: Runner, task: Task) -> dict[str, Any]:
        explained.append(task.night.folder)
        return explain_night(runner, task)

    monkeypatch.setattr(command, "explain_night", counted)
    before = tree(logs.parent / "explained")
    result, _ = explain(logs)
    assert explained == []
    assert "0 explained now" in result.output
    assert tree(logs.parent / "explained") == before

    conf = logs / "b" / "2026-11-22" / "conf" / "b1.conf"
    conf.write_text(f"{CONF}loadBalancerBrokerThresholdShedderPercentage=20\n")
    result, rows = explain(logs)
    assert explained == ["b/2026-11-22"]
    assert "1 explained now" in result.output
    settings = {row["folder"]: row["settings"] for row in rows}
    assert settings["b/2026-11-22"] == {"loadBalancerBrokerThresholdShedderPercentage": "20"}
    assert len({row["fingerprint"] for row in rows}) == 2

    # Another program may explain otherwise.
    monkeypatch.setattr(command, "digest", lambda: "another")
    explain(logs)
    assert len(explained) == 7


@pytest.mark.slow
def test_a_night_that_fails_is_a_row_and_the_others_are_there(logs: Path) -> None:
    log = logs / "b" / "2026-11-21" / "logs" / "b1" / "broker.log"
    explain(logs)
    shutil.rmtree(log.parent)
    (logs / "b" / "2026-11-21" / "conf" / "b1.conf").unlink()
    (logs / "c" / "2026-11-22" / "recording.toml").write_text("time_zone = 7\n")
    result, rows = explain(logs)

    assert result.exit_code == 1
    failed = {row["folder"]: row["error"] for row in rows if row["status"] == "failed"}
    assert set(failed) == {"b/2026-11-21", "c/2026-11-22"}
    assert "nothing to read" in failed["b/2026-11-21"]
    assert "time_zone" in failed["c/2026-11-22"]
    for error in failed.values():
        assert error in result.output
    assert sum(row["status"] == "explained" for row in rows) == 4
    # The page of what lay there before would lead astray.
    assert not (logs.parent / "explained" / "b" / "2026-11-21" / "report.html").exists()
    # It is tried again: what was in the way may be gone.
    log.parent.mkdir(parents=True)
    log.write_text(UNLOAD.format(day=21))
    (logs / "c" / "2026-11-22" / "recording.toml").write_text('cluster = "c"\n')
    result, rows = explain(logs)
    assert result.exit_code == 0
    assert {row["status"] for row in rows} == {"explained"}


@pytest.mark.slow
def test_a_slip_of_ours_in_one_night_is_its_row(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trimtab.explanation.fleet import work

    explain_one = work.explain

    def slips(runner: Runner, recording: Any, output: Path, more: Sequence[Any]) -> Any:
        if recording.cluster == "b":
            raise KeyError("slip")
        return explain_one(runner, recording, output, more)

    monkeypatch.setattr(work, "explain", slips)
    result, rows = explain(logs)
    assert result.exit_code == 1
    errors = {row["cluster"]: row["error"] for row in rows}
    assert errors["b"].startswith("KeyError: 'slip' (explanation/fleet/work.py, line ")
    assert errors["a"] is errors["c"] is None


@pytest.mark.slow
def test_nights_of_an_earlier_run_stay_in_the_table(logs: Path) -> None:
    explain(logs / "a")
    _, rows = explain(logs)
    assert len(rows) == 6
    output = logs.parent / "explained"
    result = run("explain", logs / "a", "-o", output, "--json")
    assert len(result.output.splitlines()) == 6


@pytest.mark.slow
def test_a_night_that_names_no_cluster_has_the_folder_around_it(tmp_path: Path) -> None:
    for day in (21, 22):
        recorded(tmp_path / "logs", "paris", day, toml='pulsar = "4.0.8"\n')
    _, rows = explain(tmp_path / "logs")
    assert {row["cluster"] for row in rows} == {"paris"}


def test_several_recordings_and_a_store_are_refused(logs: Path) -> None:
    for option in (("--what-if",), ("--loki", "http://127.0.0.1:1"), ("--from", "2026-11-21")):
        result = run("explain", logs, *option)
        assert result.exit_code == 2
        assert f"{option[0]}: found several recordings, expected one" in result.output


# ------------------------------------------------------------------- Spark


def test_spark_gives_the_same_bytes(logs: Path, spark: SparkContext, tmp_path: Path) -> None:
    assert spark
    explain(logs)
    others = tmp_path / "by-spark"
    result = run("explain", logs, "-o", others, "--cores", "2")
    assert result.exit_code == 0, result.output
    assert tree(others) == tree(logs.parent / "explained")


def test_a_night_that_ends_its_process_is_a_row(
    logs: Path, spark: SparkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spark
    explain_night = command.explain_night

    # Within the test, as workers do not have its module.
    def killer(runner: Runner, task: Task) -> dict[str, Any]:
        if task.night.folder == "b/2026-11-22":
            os._exit(1)
        return explain_night(runner, task)

    monkeypatch.setattr(command, "explain_night", killer)
    fleet = command.explain_fleet([str(logs)], tmp_path / "out", command.Start(2, None))
    assert [(row["folder"], row["error"]) for row in fleet.failed] == [
        ("b/2026-11-22", "the process that explained it ended")
    ]
    assert len(fleet.rows) == 6
