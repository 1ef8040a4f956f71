"""A line that stands in an export and in a plain log counts once, and that is said."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import trimtab
from tests.test_wrapped import few_logs, parsed_split
from tests.wrapped_logs import SHAPES
from trimtab.ingest.outcome import Origin
from trimtab.ingest.recording import open_recording
from trimtab.ingest.shared_lines import with_shared_lines
from trimtab.ingest.splits import cut


def read(folder: Path) -> tuple[Mapping[str, list[dict[str, Any]]], list[str], dict[str, int]]:
    """Read a recording: its messages by broker in their order, what is said, lines by file."""
    with open_recording(folder) as opened:
        recording, overlaps = with_shared_lines(opened)
    events: dict[str, list[dict[str, Any]]] = {}
    lines = {}
    for source in ("log", "wrapped-log"):
        for file in recording.files.get(source, ()):
            origin = Origin(file.name, file.log_broker, recording.zone, None, shared=file.shared)
            [split] = cut(file.path, origin, source, size=1 << 30)
            mine, account, reasons = parsed_split(split)
            assert not reasons
            lines[file.name] = account.lines
            for broker, rows in mine.items():
                events.setdefault(broker, []).extend(rows)
    for rows in events.values():
        rows.sort(key=lambda row: (row["time"], row["text"]))
    return events, [overlap.sentence for overlap in overlaps], lines


def text_of(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[dict[str, Any]]]:
    """What the plain logs say, each line once."""
    files = {f"logs/{broker}/broker.log": text_of(lines) for broker, lines in few_logs().items()}
    return read(write(tmp_path_factory.mktemp("alone"), files))[0]


@pytest.mark.parametrize("shape", ["Loki's API", "Kibana, CSV", "kubectl --prefix"])
def test_an_export_beside_the_plain_logs_adds_nothing(
    shape: str, alone: Mapping[str, Any], tmp_path: Path
) -> None:
    of_all = few_logs()
    files = {f"logs/{broker}/broker.log": text_of(lines) for broker, lines in of_all.items()}
    files["logs/export.json"] = SHAPES[shape](of_all)
    events, said, lines = read(write(tmp_path, files))
    assert events == alone
    assert len(said) == len(of_all)
    assert said[0].startswith("logs/export.json: ")
    assert said[0].endswith(
        "with a time stand in logs/broker1/broker.log, too: they count once, there"
    )
    # And each line of the export is accounted for all the same.
    assert lines["logs/export.json"] >= sum(map(len, of_all.values()))


@pytest.mark.parametrize("overlap", [0, 1, 40])
def test_exports_that_overlap_give_each_line_once(
    overlap: int, alone: Mapping[str, Any], tmp_path: Path
) -> None:
    rows = SHAPES["logcli -o jsonl"](few_logs()).splitlines(keepends=True)
    half = len(rows) // 2
    files = {
        "logs/1.jsonl": b"".join(rows[: half + overlap]),
        "logs/2.jsonl": b"".join(reversed(rows[half:])),
    }
    events, said, _ = read(write(tmp_path, files))
    assert events == alone
    assert bool(said) == bool(overlap)


def test_a_broker_of_two_names_has_that_of_its_plain_log(
    alone: Mapping[str, Any], tmp_path: Path
) -> None:
    """Also for the lines that stand in the export alone, and in one that shares none."""
    of_all = few_logs()
    files = {
        f"logs/{broker}/broker.log": text_of(lines[: len(lines) // 3])
        for broker, lines in of_all.items()
    }
    for name, first, last in (("1", 0, 2), ("2", 2, 3)):
        pods = {
            f"pulsar-{broker}": lines[first * len(lines) // 3 : last * len(lines) // 3]
            for broker, lines in of_all.items()
        }
        files[f"logs/{name}.jsonl"] = SHAPES["logcli -o jsonl"](pods)
    events, said, _ = read(write(tmp_path, files))
    assert events == alone
    assert len(said) == len(of_all)


def test_a_line_that_a_log_has_twice_counts_as_often(tmp_path: Path) -> None:
    line = "2026-11-21T06:37:17,331+0000 [main] INFO  o.a.p.b.PulsarService - Closed"
    rows = [line, line, line.replace("17,", "18,")]
    again = {"line": line, "labels": {"pod": "b0"}, "timestamp": "2026-11-21T06:37:17Z"}
    files = {
        "logs/b0/broker.log": text_of(rows),
        "logs/export.jsonl": text_of([json.dumps(again)] * 3),
    }
    with open_recording(write(tmp_path, files)) as recording:
        _, [overlap] = with_shared_lines(recording)
    assert (overlap.count, overlap.lines) == (2, 3)


def test_brokers_that_print_the_same_now_and_then_are_two(tmp_path: Path) -> None:
    """What all brokers print at one moment is no sign that their logs are one."""
    head = "2026-11-21T06:{:02d}:17,331+0000 [main] INFO  o.a.p.b.PulsarService - "
    mine = [head.format(i) + ("same" if i % 3 == 0 else "mine") for i in range(50)]
    theirs = [head.format(i) + ("same" if i % 3 == 0 else "theirs") for i in range(50)]
    rows = [
        json.dumps({"line": it, "labels": {"pod": "b1"}, "timestamp": it[:19] + "Z"})
        for it in theirs
    ]
    files = {"logs/b0/broker.log": text_of(mine), "logs/export.jsonl": text_of(rows)}
    with open_recording(write(tmp_path, files)) as recording:
        assert with_shared_lines(recording) == (recording, [])


def test_a_single_log_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trimtab.ingest.shared_lines._lines", None)
    path = tmp_path / "export.jsonl"
    path.write_bytes(SHAPES["logcli -o jsonl"](few_logs()))
    with open_recording(path) as recording:
        assert with_shared_lines(recording) == (recording, [])


@pytest.mark.spark
def test_tables_have_each_line_once_and_say_so(alone: Mapping[str, Any], tmp_path: Path) -> None:
    of_all = few_logs()
    files = {f"logs/{broker}/broker.log": text_of(lines) for broker, lines in of_all.items()}
    folder = write(tmp_path / "night", files)
    export = {"logs/export.json": SHAPES["Loki's API"](of_all)}
    n_rows, n_faults = [], []
    # The export comes later: what is known of the folder must not hide what it shares.
    for more in ({}, export):
        tables = trimtab.read(write(folder, more), output=tmp_path / "tables")
        n_rows.append(tables["log_events"].count_rows())
        n_faults.append(sum("they count once" in fault for fault in tables.warnings))
    assert n_rows == [sum(map(len, alone.values()))] * 2
    assert n_faults == [0, len(of_all)]
