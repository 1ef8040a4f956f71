"""Tables of a recording → what it tells: which rows count, who unloaded what, what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trimtab.files.tables import DIAGNOSED, INGESTED
from trimtab.lab.reconstruct.cluster import NothingToSimulateError
from trimtab.lab.reconstruct.evidence import Evidence
from trimtab.pulsar.settings import load_manager_settings
from trimtab.trials.recorded_cluster import recorded, refuse_unrecorded
from trimtab.trials.recorded_cluster.reading import read

START = datetime(2026, 11, 21, 7, tzinfo=UTC)
LOGGED, POLLED, ASKED = "store/zookeeper/log.1", "store/brokers.jsonl", "load-reports.jsonl"
FIRST, SECOND = "b1:8080", "b2:8080"
BUNDLE = "t/n/0x00000000_0x80000000"
OTHER = "t/n/0x80000000_0xffffffff"
FINDINGS: Mapping[str, Any] = {
    "release": "4.0.8",
    "strategies": {
        "shedding": "ThresholdShedder",
        "placement": "LeastResourceUsageWithWeight",
    },
    "round_list": [],
    "unloads": [],
}
OFF = {"loadBalancerSheddingEnabled": "false"}

Tables = dict[str, list[dict[str, Any]]]


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def write(folder: Path, tables: Tables) -> Path:
    """Write the rows of some tables, and all others without any."""
    for name, schema in (INGESTED | DIAGNOSED).items():
        (folder / name).mkdir(parents=True)
        table = pa.Table.from_pylist(tables.get(name, []), schema=schema)
        pq.write_table(table, folder / name / "part-00000.parquet")
    return folder


def report(file: str, line: int, second: float, **more: Any) -> dict[str, Any]:
    """What a broker said: to the store at that second, or when it was asked."""
    is_stored = file != ASKED
    return {
        "time": at(second + (1 if file == POLLED else 0)),
        "broker": FIRST,
        "origin": "store" if is_stored else "rest",
        "version": line if is_stored else None,
        "written": at(second) if is_stored else None,
        "is_gone": False,
        "started": START,
        "load_manager": "ModularLoadManagerImpl",
        "cpu_usage": 30.0,
        "cpu_limit": 100.0,
        "file": file,
        "line": line,
    } | more


def said(of: Mapping[str, Any], bundle: str = BUNDLE, rate: float = 5.0) -> dict[str, Any]:
    """What a report says of a bundle."""
    kept = ("time", "broker", "origin", "version", "written", "file", "line")
    rates = dict.fromkeys(("rate_in", "rate_out"), rate)
    sizes = dict.fromkeys(("throughput_in", "throughput_out"), 100 * rate)
    return (
        {name: of[name] for name in kept}
        | {"bundle": bundle, "topics": 1, "producers": 1}
        | (rates | sizes)
    )


def owned(file: str, line: int, second: float, broker: str | None) -> dict[str, Any]:
    late = 4 if file == POLLED else 0
    place = {"is_full": False, "bundle": BUNDLE, "broker": broker, "file": file, "line": line}
    return {"time": at(second + late)} | place


def told(folder: Path, tables: Tables, conf: Mapping[str, str], **more: Any) -> Evidence:
    return read(write(folder, tables), FINDINGS | more, load_manager_settings(conf, "4.0.8"))


def both_sources() -> Tables:
    """One report at 10 s that was logged, polled and asked for, and one of each beyond."""
    reports = [
        report(LOGGED, 1, 10),
        report(POLLED, 1, 10),
        report(LOGGED, 2, 20),
        report(POLLED, 3, 50),
        report(ASKED, 1, 11),
    ]
    return {
        "load_reports": reports,
        "bundle_reports": [said(each, rate=i + 1.0) for i, each in enumerate(reports)],
        "ownership": [
            owned(file, i + 1, 5 + 10 * i, broker)
            for i, broker in enumerate((FIRST, SECOND))
            for file in (LOGGED, POLLED)
        ],
        "leaders": [
            {
                "time": at(1),
                "version": 0,
                "written": at(1),
                "broker": FIRST,
                "file": file,
                "line": 1,
            }
            for file in (LOGGED, "store/leader.jsonl")
        ],
        "store_files": [
            {"file": LOGGED, "kind": "log", "records": 40, "first": 1, "last": 40}
            | {"start": at(0), "end": at(30)}
        ],
    }


# ---------------------------------------------------------------- which rows count


def test_what_the_stores_own_log_tells_stands_for_what_was_polled(tmp_path: Path) -> None:
    found = told(tmp_path, both_sources(), {})
    seconds = found.reports.time_s - START.timestamp()
    # Polled rows count only behind the log's end; what brokers were asked for always does.
    assert seconds.tolist() == [10, 11, 20, 50]
    assert found.reports.is_stored.tolist() == [True, False, True, True]
    assert found.lines.rates[:, 0].tolist() == [1.0, 5.0, 3.0, 4.0]
    # Before version 3 the second write was seen, before what was asked for nobody knows.
    assert found.lines.is_prompt.tolist() == [False, False, True, True]
    # Owners change when the log says so, and not again four seconds later.
    assert (found.owners.time_s - START.timestamp()).tolist() == [5, 15]
    assert found.leaders == ((at(1).timestamp(), 0),)


def test_without_such_a_log_all_that_was_polled_counts(tmp_path: Path) -> None:
    tables = both_sources()
    only = {name: [row for row in rows if row["file"] != LOGGED] for name, rows in tables.items()}
    found = told(tmp_path, only, {})
    assert (found.reports.time_s - START.timestamp()).tolist() == [10, 11, 50]
    assert (found.owners.time_s - START.timestamp()).tolist() == [9, 19]


def test_bundles_of_pulsars_own_are_left_out(tmp_path: Path) -> None:
    one = report(POLLED, 1, 10)
    own = "pulsar/b1:8080/0x00000000_0xffffffff"
    tables: Tables = {"load_reports": [one], "bundle_reports": [said(one), said(one, own)]}
    assert told(tmp_path, tables, {}).bundles == (BUNDLE,)


# ---------------------------------------------------------------- who unloaded what


def moving(actions: Sequence[dict[str, Any]]) -> Tables:
    one = report(POLLED, 1, 10)
    return {
        "load_reports": [one, report(POLLED, 2, 20, broker=SECOND)],
        "bundle_reports": [said(one)],
        "ownership": [
            owned(POLLED, 1, 5, FIRST),
            owned(POLLED, 2, 36, SECOND),
            owned(POLLED, 3, 40, FIRST),
        ],
        "actions": [
            {"time": at(each["second"]), "event": each["event"], "broker": None}
            | {"detail": json.dumps(each), "file": "actions.jsonl", "line": i + 1}
            for i, each in enumerate(actions)
        ],
    }


def test_an_unload_that_was_logged_or_written_down_says_when(tmp_path: Path) -> None:
    by_hand = {"second": 30, "event": "manual_unload", "bundle": BUNDLE}
    found = told(tmp_path / "hand", moving([by_hand]), {})
    assert (found.owners.time_s - START.timestamp()).tolist() == [9, 30, 44]
    assert found.owners.is_shed.tolist() == [False, False, False]
    logged = {"bundle": BUNDLE, "time": at(35).isoformat(), "round": 1, "target": SECOND}
    moment = at(34).isoformat()
    rounds = [{"round": 1, "time": moment, "end": moment, "leader": "b1"}]
    tables = moving([]) | {"log_events": [{"time": at(34), "log_broker": "b1", "kind": "unload"}]}
    shed = told(tmp_path / "shed", tables, {}, unloads=[logged], round_list=rounds)
    assert [each.time_s for each in shed.rounds] == [at(34).timestamp()]
    # The second change within 20 s of it has another reason.
    assert (shed.owners.time_s - START.timestamp()).tolist() == [9, 35, 44]
    assert shed.owners.is_shed.tolist() == [False, True, False]


@pytest.mark.parametrize(("log", "n_rounds"), [("b1", 1), ("b2", 0), ("another", 1), (None, 0)])
def test_rounds_are_known_from_the_log_of_a_leader(
    tmp_path: Path, log: str | None, n_rounds: int
) -> None:
    """Of `another` nobody says which broker it is of."""
    one = report(POLLED, 1, 10)
    again = {"time": at(70), "brokers": [], "is_smoothed": False, "average": 0.0, "term": 1}
    tables: Tables = {
        "load_reports": [one],
        "bundle_reports": [said(one)],
        "replayed_rounds": [again],
        "recording": [
            {"key": "brokers.b1.id", "value": FIRST},
            {"key": "brokers.b2.id", "value": SECOND},
        ],
        "leaders": [
            {"time": at(1), "version": 0, "written": at(1), "broker": FIRST}
            | {"file": "store/leader.jsonl", "line": 1}
        ],
        "log_events": [{"time": at(2), "log_broker": log, "kind": "unload"}] if log else [],
    }
    found = told(tmp_path, tables, {})
    assert len(found.rounds) == n_rounds
    assert found.is_attributed == (n_rounds > 0)


def test_who_moved_bundles_is_known_if_the_leader_is_or_may_not(tmp_path: Path) -> None:
    assert not told(tmp_path / "on", moving([]), {}).is_attributed
    assert told(tmp_path / "off", moving([]), OFF).is_attributed


def test_silence_before_a_log_begins_is_no_silent_round(tmp_path: Path) -> None:
    one = report(POLLED, 1, 10)
    silent = {"brokers": [], "is_smoothed": False, "average": 0.0, "term": 1, "leader": "b1"}
    tables: Tables = {
        "load_reports": [one],
        "bundle_reports": [said(one)],
        "replayed_rounds": [silent | {"time": at(70)}, silent | {"time": at(130)}],
        "log_events": [{"time": at(100), "log_broker": "b1", "kind": "unload"}],
    }
    found = told(tmp_path, tables, {})
    assert [each.time_s for each in found.rounds] == [at(130).timestamp()]


def test_silence_of_a_leader_without_a_log_is_no_silent_round(tmp_path: Path) -> None:
    one = report(POLLED, 1, 10)
    silent = {"brokers": [], "is_smoothed": False, "average": 0.0, "term": 1}
    tables: Tables = {
        "load_reports": [one],
        "bundle_reports": [said(one)],
        "replayed_rounds": [
            silent | {"time": at(130), "leader": "b1"},
            silent | {"time": at(190), "leader": "b2", "term": 2},
        ],
        "recording": [
            {"key": "brokers.b1.id", "value": FIRST},
            {"key": "brokers.b2.id", "value": SECOND},
        ],
        "log_events": [{"time": at(100), "log_broker": "b1", "kind": "unload"}],
    }
    found = told(tmp_path, tables, {})
    assert [each.time_s for each in found.rounds] == [at(130).timestamp()]


def test_what_a_leader_stored_and_printed_of_its_memory_is_read(tmp_path: Path) -> None:
    one = report(POLLED, 1, 10)
    line = {"log_broker": "b1", "file": "b1.log"}
    counted = {
        "kind": "hit-counts",
        "scores": [(FIRST, 2.0), (SECOND, 1.0)],
        "numbers": [(f"low:{FIRST}", 4.0)],
    }
    fired = {"kind": "avg-shed-attempt", "broker": FIRST, "target": SECOND}
    over = {
        "kind": "shed-attempt",
        "broker": SECOND,
        "numbers": [("usage_percent", 51.5), ("average_percent", 36.0)],
    }
    lines = [(counted, 34.0), (fired, 34.1), (over, 94.0), (over | {"broker": FIRST}, 200.0)]
    rates = {f"{term}_rate_{way}": 3.0 for term in ("short", "long") for way in ("in", "out")}
    stored = {"time": at(40), "written": at(39), "bundle": BUNDLE, "topics": 1}
    tables: Tables = {
        "load_reports": [one],
        "bundle_reports": [said(one)],
        "bundle_averages": [
            stored | rates | {"short_samples": 7, "long_samples": 70, "file": POLLED, "line": 1}
        ],
        "log_events": [line | each | {"time": at(second)} for each, second in lines],
    }
    rounds = [
        {"round": i + 1, "time": at(begin).isoformat(), "end": at(end).isoformat(), "leader": "b1"}
        for i, (begin, end) in enumerate([(34, 35), (94, 94), (154, 154)])
    ]
    found = told(tmp_path, tables, {}, round_list=rounds)
    counters, smoothed, nothing = (each.printed for each in found.rounds)
    assert (counters.hits_high, counters.hits_low) == ({FIRST: 2, SECOND: 1}, {FIRST: 4})
    assert counters.dropped == {FIRST, SECOND}
    assert (smoothed.smoothed, smoothed.average) == ({SECOND: 0.515}, 0.36)
    assert smoothed.hits_low is None
    assert nothing.smoothed == {}
    assert found.averages.time_s.tolist() == [at(39).timestamp()]
    assert found.averages.samples.tolist() == [[7, 70]]
    assert found.averages.rates.tolist() == [[[3.0, 3.0], [3.0, 3.0]]]
    assert found.logged_s == at(34).timestamp()


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, "no load report tells of a bundle; expected store/zookeeper/, store/brokers.jsonl"),
        (
            {"load_reports": [report(POLLED, 7, 10, load_manager="ExtensibleLoadManagerImpl")]},
            "store/brokers.jsonl:7: the load manager: found ExtensibleLoadManagerImpl",
        ),
        (
            {
                "settings": [
                    {
                        "log_broker": "b1",
                        "key": "loadManagerClassName",
                        "value": "org.apache.pulsar.broker.loadbalance.extensions."
                        "ExtensibleLoadManagerImpl",
                        "origin": "conf",
                        "file": "conf/b1.conf",
                        "line": 3,
                    }
                ]
            },
            "conf/b1.conf:3: loadManagerClassName: found ExtensibleLoadManagerImpl",
        ),
    ],
    ids=["nothing told", "extensible reports", "extensible settings"],
)
def test_what_tells_of_no_bundles_is_refused(tmp_path: Path, tables: Tables, message: str) -> None:
    folder = write(tmp_path / "tables", tables)
    with pytest.raises(NothingToSimulateError) as error:
        refuse_unrecorded(folder)
    assert message in str(error.value)
    with pytest.raises(NothingToSimulateError):
        recorded(folder, FINDINGS)
