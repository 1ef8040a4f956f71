"""Logs whose lines have a time and no date: which day they are of, and that no line is lost."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from trimtab.files.assumed_day import ASSUMED, ASSUMED_DAY
from trimtab.ingest.days import with_days
from trimtab.ingest.outcome import Origin
from trimtab.ingest.recording import Recording, open_recording
from trimtab.ingest.split_result import SplitAccount, TableRows
from trimtab.ingest.splits import cut
from trimtab.ingest.worker import parse_split

_LINE = (
    "[metadata-store-10-1] INFO  org.apache.pulsar.broker.PulsarService - "
    "This broker 10.213.0.11:8080 was elected leader"
)


def _log(*clocks: str) -> str:
    """Return lines at some times, each with a stack trace behind it."""
    return "".join(f"{clock} {_LINE}\n\tat a.b(C.java:1)\n" for clock in clocks)


def _times(recording: Recording) -> Mapping[str, list[datetime]]:
    """Return the times of each log's events, and check that every line is accounted for."""
    times: dict[str, list[datetime]] = {}
    for file in recording.files["log"]:
        origin = Origin(file.name, "b", recording.zone, file.day or recording.day, turns=file.turns)
        rows = []
        for split in cut(file.path, origin, "log"):
            for part in parse_split(split):
                if isinstance(part, TableRows):
                    rows += _events(part)
                    continue
                _check(part)
        times[file.name] = rows
    return times


def _events(part: TableRows) -> list[Any]:
    table: pa.Table = part.rows
    return [row["time"] for row in table.to_pylist()] if part.table == "log_events" else []


def _check(account: SplitAccount) -> None:
    classes = account.rows + account.other + account.continuation + account.rejected
    assert account.lines == classes


def _opened(folder: Path, logs: Mapping[str, str], meta: str = "") -> dict[str, list[str]]:
    """Return when the events of some logs are: `1970-01-02 00:10:00`."""
    for name, text in logs.items():
        path = folder / "logs" / name / "broker.log"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    if meta:
        (folder / "recording.toml").write_text(meta)
    with open_recording(folder) as recording:
        dated = with_days(recording)
        times = _times(dated)
        assert (ASSUMED in dated.meta) == any(
            time.date().year == ASSUMED_DAY.year for those in times.values() for time in those
        )
    return {
        name.split("/")[1]: [f"{time:%Y-%m-%d %H:%M:%S}" for time in those]
        for name, those in times.items()
    }


def test_day_is_assumed_where_nothing_says_it(tmp_path: Path) -> None:
    assert _opened(tmp_path, {"a": _log("10:45:39.001", "10:45:40.001")}) == {
        "a": ["1970-01-01 10:45:39", "1970-01-01 10:45:40"]
    }


def test_each_midnight_begins_a_day(tmp_path: Path) -> None:
    times = _opened(tmp_path, {"a": _log("23:59:59.9", "00:00:01.0", "23:00:00.0", "00:10:00.0")})
    assert [time[:10] for time in times["a"]] == [
        "1970-01-01",
        "1970-01-02",
        "1970-01-02",
        "1970-01-03",
    ]


def test_lines_in_disorder_pass_no_midnight(tmp_path: Path) -> None:
    times = _opened(tmp_path, {"a": _log("10:00:02.0", "10:00:01.0", "09:00:00.0")})
    assert {time[:10] for time in times["a"]} == {"1970-01-01"}


def test_recording_says_the_day(tmp_path: Path) -> None:
    meta = 'from = "2026-11-21T22:00:00Z"\n'
    logs = {"a": _log("22:10:00.0", "00:10:00.0"), "late": _log("00:30:00.0")}
    assert _opened(tmp_path, logs, meta) == {
        "a": ["2026-11-21 22:10:00", "2026-11-22 00:10:00"],
        "late": ["2026-11-22 00:30:00"],
    }


def test_log_that_begins_a_moment_before_the_recording_is_of_its_day(tmp_path: Path) -> None:
    meta = 'from = "2026-11-21T06:37:00Z"\n'
    assert _opened(tmp_path, {"a": _log("06:36:50.0")}, meta) == {"a": ["2026-11-21 06:36:50"]}


def test_dated_line_of_the_same_log_says_the_day(tmp_path: Path) -> None:
    dated = f"2026-11-22T00:20:00,000+0000 {_LINE}\n"
    times = _opened(tmp_path, {"a": _log("23:50:00.0", "00:10:00.0") + dated + _log("00:30:00.0")})
    assert times["a"] == [
        "2026-11-21 23:50:00",
        "2026-11-22 00:10:00",
        "2026-11-22 00:20:00",
        "2026-11-22 00:30:00",
    ]


@pytest.mark.parametrize(
    ("others", "placed"),
    [
        # At the same time, and right behind: of the same day.
        ({"b": ["10:20:00"]}, {"b": ["1970-01-01"]}),
        ({"b": ["11:10:00"], "c": ["12:00:00"]}, {"b": ["1970-01-01"], "c": ["1970-01-01"]}),
        # Hours apart: whose day comes first is not known.
        ({"b": ["20:00:00"]}, {"b": []}),
        # All around the clock: it may be of any day.
        ({"b": ["10:30:00", "23:00:00", "09:50:00"]}, {"b": []}),
    ],
)
def test_logs_line_up_only_in_a_single_way(
    tmp_path: Path, others: Mapping[str, list[str]], placed: Mapping[str, list[str]]
) -> None:
    largest = ["10:00:00", *["10:30:00"] * 20, "11:00:00"]
    logs = {name: _log(*clocks) for name, clocks in {"a": largest, **others}.items()}
    times = _opened(tmp_path, logs)
    assert {name: sorted({time[:10] for time in times[name]}) for name in others} == placed


def test_log_behind_midnight_lines_up_with_the_one_that_passed_it(tmp_path: Path) -> None:
    long = _log(*["23:30:00"] * 20, "00:30:00")
    times = _opened(tmp_path, {"a": long, "b": _log("00:10:00"), "c": _log("23:40:00", "00:05:00")})
    assert times["b"] == ["1970-01-02 00:10:00"]
    assert times["c"] == ["1970-01-01 23:40:00", "1970-01-02 00:05:00"]


def test_no_day_is_assumed_beside_what_has_dates(tmp_path: Path) -> None:
    report = tmp_path / "load-reports.jsonl"
    report.write_text('{"t": "2026-11-21T10:00:00Z"}\n')
    assert _opened(tmp_path, {"a": _log("10:45:39.0")}) == {"a": []}


def test_packed_log_passes_midnight_too(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "a" / "broker.log.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(_log("23:59:59.9", "00:00:01.0").encode()))
    with open_recording(tmp_path) as recording:
        [times] = _times(with_days(recording)).values()
    assert [time.date() for time in times] == [date(1970, 1, 1), date(1970, 1, 2)]
