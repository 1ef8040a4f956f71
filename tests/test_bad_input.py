"""What is wrong with the input is said in one clear line; what can be explained still is."""

from __future__ import annotations

import errno
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from trimtab.cli import main

ROOT = Path(__file__).parent.parent
SEED_LOG = ROOT / "recordings" / "seed-001" / "logs" / "leader" / "pulsar-broker.log"
REPORT = {
    "time": "2024-06-11T15:33:00+08:00",
    "broker": "XXX.83:8081",
    "version": 1,
    "mtime": 1718091180000,
    "report": {
        "cpu": {"usage": 50.0, "limit": 100.0},
        "memory": {"usage": 1.0, "limit": 2.0},
        "directMemory": {"usage": 1.0, "limit": 2.0},
        "bandwidthIn": {"usage": 1.0, "limit": 100.0},
        "bandwidthOut": {"usage": 1.0, "limit": 100.0},
        "msgRateIn": 1.0,
        "msgRateOut": 1.0,
        "msgThroughputIn": 1.0,
        "msgThroughputOut": 1.0,
        "lastUpdate": 1718091180000,
        "lastStats": {},
        "bundles": [],
        "numTopics": 0,
        "brokerVersionString": "4.0.8",
    },
}


def explain(recording: Path, output: Path) -> Result:
    arguments = ["explain", str(recording), "-o", str(output)]
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def findings(output: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((output / "findings.json").read_text(encoding="utf-8"))
    return read


def rejects(output: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = findings(output)["accounting"]["rejects"]
    return found


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """The seed's log as a recording that a test may spoil."""
    folder = tmp_path / "night"
    (folder / "logs" / "leader").mkdir(parents=True)
    (folder / "logs" / "leader" / "broker.log").write_bytes(SEED_LOG.read_bytes())
    return folder


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = explain(tmp_path / "nowhere", tmp_path / "out")
    assert result.exit_code == 2
    assert "nowhere" in result.output
    assert "no such file" in result.output


def test_an_empty_folder_has_nothing_to_read(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = explain(tmp_path / "empty", tmp_path / "out")
    assert result.exit_code == 2
    assert len(result.output.strip().splitlines()) == 1
    assert "empty" in result.output
    assert not (tmp_path / "out").exists()


def test_a_folder_of_pictures_has_nothing_to_read(tmp_path: Path) -> None:
    folder = tmp_path / "holiday"
    folder.mkdir()
    for name in ("beach.jpg", "sea.jpeg"):
        (folder / name).write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00")
    result = explain(folder, tmp_path / "out")
    assert result.exit_code == 2
    assert len(result.output.strip().splitlines()) == 1
    assert "logs/" in result.output


@pytest.mark.usefixtures("spark")
def test_a_log_of_nothing_but_noise_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "noise" / "logs" / "b1"
    folder.mkdir(parents=True)
    (folder / "broker.log").write_text("hello\nworld\n", encoding="utf-8")
    result = explain(tmp_path / "noise", tmp_path / "out")
    assert result.exit_code == 2
    assert "none of 2 lines" in result.output
    assert "expected" in result.output


@pytest.mark.usefixtures("spark")
def test_a_recording_of_which_only_recording_toml_is_readable_is_refused(
    recording: Path, tmp_path: Path
) -> None:
    (recording / "recording.toml").write_text('cluster = "shop"\n', encoding="utf-8")
    log = recording / "logs" / "leader" / "broker.log"
    log.write_text(log.read_text(encoding="utf-8"), encoding="utf-16")
    result = explain(recording, tmp_path / "out")
    assert result.exit_code == 2
    assert "none of 12 lines in 1 files could be read: the text is UTF-16" in result.output


@pytest.mark.usefixtures("spark")
def test_files_that_were_not_read_are_warned_of(recording: Path, tmp_path: Path) -> None:
    log = recording / "logs" / "leader" / "broker.log"
    text = log.read_text(encoding="utf-8")
    for i in range(10):
        folder = recording / "logs" / f"b{i}"
        folder.mkdir()
        (folder / "broker.log").write_text(text, encoding="utf-16")
    log.with_name("broker.log.1.xz").write_bytes(b"\xfd7zXZ")
    (recording / "README.md").write_text("for people", encoding="utf-8")
    result = explain(recording, tmp_path / "out")
    assert result.exit_code == 0
    warnings = findings(tmp_path / "out")["warnings"]
    assert warnings[0].startswith(
        "logs/b0/broker.log: none of 12 lines could be read: the text is UTF-16, as PowerShell"
    )
    assert warnings[9] == "logs/b9/broker.log: none of 12 lines could be read"
    assert warnings[10] == "1 more file was not read: see the end of the page"
    assert all(f"warning: {each}" in result.output for each in warnings)


@pytest.mark.usefixtures("spark")
def test_logs_that_are_not_read_are_warned_of(recording: Path, tmp_path: Path) -> None:
    for name in ("logs/leader/broker.log.1.xz", "logs/leader.txt", "conf/log4j2.yaml", "a.txt"):
        (recording / name).parent.mkdir(exist_ok=True)
        (recording / name).write_bytes(b"\xfd7zXZ")
    assert explain(recording, tmp_path / "out").exit_code == 0
    assert findings(tmp_path / "out")["warnings"] == [
        "logs/leader.txt: not read: not part of a recording's layout",
        "logs/leader/broker.log.1.xz: not read: of the packed files only gzip is read",
    ]


@pytest.mark.usefixtures("spark")
def test_a_truncated_gz_is_explained_up_to_the_damage(recording: Path, tmp_path: Path) -> None:
    log = recording / "logs" / "leader" / "broker.log"
    more = log.read_bytes() + b"".join(
        b"2024-06-13T10:24:02,%03d+0800 [x-%d] INFO  a.B - filler %d\n" % (i % 1000, i, i * 7919)
        for i in range(20_000)
    )
    log.with_name("broker.log.gz").write_bytes(gzip.compress(more)[:-4000])
    log.unlink()
    assert explain(recording, tmp_path / "out").exit_code == 0
    assert len(findings(tmp_path / "out")["unloads"]) == 2
    (damage,) = rejects(tmp_path / "out")
    assert damage["file"] == "logs/leader/broker.log.gz"
    assert damage["line"] > 11
    assert "gz" in damage["reason"]
    lines = f"{damage['line']:,}"
    assert findings(tmp_path / "out")["warnings"] == [
        f"logs/leader/broker.log.gz: breaks off after {lines} lines; what followed is not known"
    ]


@pytest.mark.usefixtures("spark")
def test_a_log_in_another_zone_is_told(recording: Path, tmp_path: Path) -> None:
    log = recording / "logs" / "leader" / "broker.log"
    log.write_text(log.read_text(encoding="utf-8").replace("+0800", "Z"), encoding="utf-8")
    (recording / "store").mkdir()
    (recording / "store" / "brokers.jsonl").write_text(
        "".join(
            json.dumps(REPORT | {"mtime": mtime, "version": version}) + "\n"
            for version, mtime in enumerate((1718091180000, 1718159000000))
        ),
        encoding="utf-8",
    )
    late = "".join(
        line for line in log.read_text(encoding="utf-8").splitlines(True) if "06-12T" in line
    )
    log.write_text(late, encoding="utf-8")
    result = explain(recording, tmp_path / "out")
    assert result.exit_code == 0
    (warning,) = [w for w in findings(tmp_path / "out")["warnings"] if "time_zone" in w]
    assert warning.startswith("logs/leader/broker.log: ")
    assert "expected the same clock" in warning


@pytest.mark.usefixtures("spark")
def test_two_layouts_in_one_log_are_both_read(recording: Path, tmp_path: Path) -> None:
    log = recording / "logs" / "leader" / "broker.log"
    text = log.read_text(encoding="utf-8")
    other = text.replace("2024-06-12T10:24:02,245+0800 [", "2024-06-12 10:24:02.245 [")
    assert other != text
    log.write_text(other, encoding="utf-8")
    (recording / "recording.toml").write_text('time_zone = "+08:00"\n', encoding="utf-8")
    assert explain(recording, tmp_path / "out").exit_code == 0
    times = [round_["time"] for round_ in findings(tmp_path / "out")["round_list"]]
    assert times == ["2024-06-11T07:33:42.642Z", "2024-06-12T02:24:02.245Z"]


@pytest.mark.usefixtures("spark")
def test_a_report_that_is_not_json_is_a_reject_and_the_rest_is_explained(
    recording: Path, tmp_path: Path
) -> None:
    lines = [json.dumps(REPORT), "{not json", json.dumps({"time": REPORT["time"]})]
    (recording / "load-reports.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert explain(recording, tmp_path / "out").exit_code == 0
    assert len(findings(tmp_path / "out")["unloads"]) == 2
    first, second = rejects(tmp_path / "out")
    assert (first["file"], first["line"]) == ("load-reports.jsonl", 2)
    assert "JSON" in first["reason"]
    assert second["line"] == 3
    assert "broker" in second["reason"]


@pytest.mark.usefixtures("spark")
def test_unknown_keys_and_bad_values_of_a_conf_are_told(recording: Path, tmp_path: Path) -> None:
    (recording / "conf").mkdir()
    (recording / "conf" / "b1.conf").write_text(
        "brokerServicePort=6650\n"
        "loadBalancerHistoryResourcePercentag=0.5\n"
        "loadBalancerBrokerThresholdShedderPercentage=ten\n"
        "loadBalancerSheddingIntervalMinutes=0\n",
        encoding="utf-8",
    )
    assert explain(recording, tmp_path / "out").exit_code == 0
    warnings = findings(tmp_path / "out")["warnings"]
    misspelt = next(w for w in warnings if "Percentag " in w)
    assert misspelt.startswith("conf/b1.conf:2: ")
    assert "did you mean loadBalancerHistoryResourcePercentage?" in misspelt
    bad = next(w for w in warnings if "'ten'" in w)
    assert bad.startswith("conf/b1.conf:3: ")
    assert "whole number" in bad
    assert (
        "conf/b1.conf:4: loadBalancerSheddingIntervalMinutes: found '0', expected more than 0; "
        "the default is taken"
    ) in warnings


@pytest.mark.usefixtures("spark")
def test_rounds_without_load_reports_say_what_is_missing(recording: Path, tmp_path: Path) -> None:
    assert explain(recording, tmp_path / "out").exit_code == 0
    questions = findings(tmp_path / "out")["undecidable"]
    assert any("store/brokers.jsonl" in question["missing"] for question in questions)


@pytest.mark.slow
def test_a_foreign_folder_is_not_overwritten(recording: Path, tmp_path: Path) -> None:
    tables = tmp_path / "out" / "tables"
    tables.mkdir(parents=True)
    (tables / "thesis.tex").write_text("years of work", encoding="utf-8")
    result = explain(recording, tmp_path / "out")
    assert result.exit_code == 2
    assert (tables / "thesis.tex").read_text(encoding="utf-8") == "years of work"
    assert not (tmp_path / "out" / "report.html").exists()


@pytest.mark.usefixtures("spark")
def test_an_output_folder_that_cannot_be_made_is_named(recording: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file", encoding="utf-8")
    result = explain(recording, tmp_path / "out" / "night")
    assert (result.exit_code, result.output) == (
        2,
        f"trimtab: {tmp_path}/out/night: Not a directory\n",
    )


@pytest.mark.parametrize("command", ["lint", "decide"])
def test_ctrl_c_ends_any_command_with_130(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("trimtab.explanation.conf_files.read_conf", stop)
    monkeypatch.setattr("trimtab.trials.decide.decisions", stop)
    result = CliRunner().invoke(main, [command, "-"])
    assert (result.exit_code, result.output) == (
        130,
        "trimtab: stopped; nothing half written was left behind\n",
    )


def test_what_fails_because_of_ctrl_c_is_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            # As PySpark does, which closes a file that it has not opened yet.
            raise UnboundLocalError("sockfile") from None

    monkeypatch.setattr("trimtab.explanation.conf_files.read_conf", stop)
    result = CliRunner().invoke(main, ["lint", "-"])
    assert result.exit_code == 130


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "No space left on device"),
        (PermissionError(errno.EACCES, "Permission denied", "x"), "x: Permission denied"),
        (MemoryError(), "there is too little memory for this"),
        (MemoryError("1 TiB"), "there is too little memory for this: 1 TiB"),
    ],
)
def test_what_the_system_refuses_is_one_line(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr("trimtab.explanation.conf_files.read_conf", refuse)
    result = CliRunner().invoke(main, ["lint", "-"])
    assert (result.exit_code, result.output) == (2, f"trimtab: {said}\n")


@pytest.mark.usefixtures("spark")
def test_names_from_the_input_are_text_in_the_page(recording: Path, tmp_path: Path) -> None:
    log = recording / "logs" / "leader" / "broker.log"
    evil = "public/<script>alert(1)</script>/0x70000000_0x80000000"
    text = log.read_text(encoding="utf-8")
    log.write_text(text.replace("public/default/0x70000000_0x80000000", evil), encoding="utf-8")
    assert explain(recording, tmp_path / "out").exit_code == 0
    assert evil in {unload["bundle"] for unload in findings(tmp_path / "out")["unloads"]}
    assert "<script>alert" not in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
