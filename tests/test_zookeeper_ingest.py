"""Rows out of ZooKeeper's own files: those that polling gives, and the ones that it misses."""

from __future__ import annotations

import bisect
import gzip
import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark import SparkContext

from trimtab.ingest.accounting import Accounting
from trimtab.ingest.outcome import Origin
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import open_recording
from trimtab.ingest.recording_toml import RecordingError
from trimtab.ingest.split_result import TableRows
from trimtab.ingest.splits import cut
from trimtab.ingest.worker import parse_split
from zookeeper_files import (
    TWO,
    close,
    create,
    delete,
    log,
    multi,
    node,
    put,
    record,
    snapshot,
)

UNIFORM = Path(__file__).parent.parent / "recordings" / "uniform"
LOG = "store/zookeeper/log.1"
BROKER, LEADER = "/loadbalance/brokers/b1:8080", "/loadbalance/leader"
OWNER = "/namespace/shop/orders/0x00000000_0x80000000"
BUNDLE_DATA = "/loadbalance/bundle-data/shop/orders"
Tables = dict[str, list[dict[str, Any]]]


def parsed(path: Path, source: str, name: str) -> Tables:
    """Parse one file without Spark."""
    tables: Tables = {}
    [split] = cut(path, Origin(name, "", UTC, None), source)
    for part in parse_split(split):
        if isinstance(part, TableRows):
            tables.setdefault(part.table, []).extend(part.rows.to_pylist())
    return tables


def run(spark: SparkContext, folder: Path) -> tuple[Accounting, Path]:
    tables = folder.with_name(folder.name + "-tables")
    with open_recording(folder) as recording:
        return ingest(spark, recording, tables), tables


def rows(tables: Path, name: str) -> list[dict[str, Any]]:
    return [
        row
        for path in sorted((tables / name).glob("cluster=*/**/*.parquet"))
        for row in pq.ParquetFile(path).read().to_pylist()
    ]


@pytest.fixture(scope="module")
def uniform(spark: SparkContext, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of a cluster that was polled, and whose ZooKeeper's log was kept."""
    tables = tmp_path_factory.mktemp("uniform") / "tables"
    with open_recording(UNIFORM) as recording:
        ingest(spark, recording, tables)
    return tables


def told(tables: Path, table: str, *key: str) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """What the log tells and what polling told, by what names a write."""
    logged: dict[Any, Any] = {}
    polled: dict[Any, Any] = {}
    for row in rows(tables, table):
        if row["file"].startswith("store/"):
            found = logged if row["file"].startswith(LOG) else polled
            values = {k: v for k, v in row.items() if k not in {"file", "line", "time"}}
            found[tuple(row[column] for column in key)] = values
    return logged, polled


# ----------------------------------------------------------- a real cluster


@pytest.mark.parametrize(
    ("table", "key", "count"),
    [
        ("load_reports", ("broker", "version", "written"), 93),
        ("bundle_reports", ("broker", "bundle", "version", "written"), 768),
        ("bundle_averages", ("bundle", "written"), 348),
        ("broker_averages", ("broker", "written"), 51),
        ("leaders", ("version", "written"), 1),
    ],
)
def test_the_log_agrees_with_what_was_polled_value_for_value(
    uniform: Path, table: str, key: tuple[str, ...], count: int
) -> None:
    logged, polled = told(uniform, table, *key)
    logged = {name: row for name, row in logged.items() if row["written"] is not None}
    polled = {name: row for name, row in polled.items() if row["written"] is not None}

    assert len(logged) == count
    assert len(polled) > count / 4
    assert {name: logged[name] for name in polled} == polled


def test_no_version_of_any_report_is_missing(uniform: Path) -> None:
    versions: dict[str, list[int | None]] = {}
    for row in rows(uniform, "load_reports"):
        if row["file"].startswith(LOG):
            versions.setdefault(row["broker"], []).append(row["version"])
    lives = []
    for told_by in versions.values():
        while told_by:
            end = told_by.index(None) if None in told_by else len(told_by)
            lives.append(told_by[:end])
            del told_by[: end + 1]
    assert lives
    assert all(life == list(range(len(life))) for life in lives)
    # Four brokers, of which one was restarted.
    assert len(lives) == 5


def test_polled_owners_are_those_of_the_log_a_moment_before(uniform: Path) -> None:
    """The recorder looked every other second; 119 acquisitions and 91 releases are logged."""
    changes: dict[str, list[tuple[datetime, str | None]]] = {}
    polled = []
    for row in rows(uniform, "ownership"):
        if row["file"].startswith(LOG):
            changes.setdefault(row["bundle"], []).append((row["time"], row["broker"]))
        else:
            polled.append(row)
    assert len(polled) > 100
    for row in polled:
        known = changes[row["bundle"]]
        late = bisect.bisect_right([time for time, _ in known], row["time"])
        early = bisect.bisect_right([time for time, _ in known], row["time"] - timedelta(seconds=3))
        owners = [owner for _, owner in known[max(early - 1, 0) : late]]
        assert row["broker"] in owners
    acquired = Counter(owner is None for known in changes.values() for _, owner in known)
    assert acquired == {False: 129, True: 93}


def test_every_transaction_of_the_real_log_is_accounted_for(uniform: Path) -> None:
    [file] = [row for row in rows(uniform, "files") if row["source"] == "store-zookeeper"]
    assert (file["lines"], file["rows"], file["other"], file["rejected"]) == (2066, 438, 1628, 0)
    found = rows(uniform, "store_writes")
    assert len(found) == 782
    assert Counter(row["operation"] for row in found) == {"set": 410, "create": 233, "delete": 139}
    assert [row["zxid"] for row in found] == sorted(row["zxid"] for row in found)
    assert found[1]["session"] == "0x100005b8fcc0007"
    [covered] = rows(uniform, "store_files")
    assert (covered["kind"], covered["first"], covered["last"]) == ("log", 1, 2066)
    assert covered["start"] == datetime(2026, 11, 21, 7, 10, 15, 915000, tzinfo=UTC)
    assert covered["fault"] is None


# ------------------------------------------------------------- what is made


def report(rate: float) -> bytes:
    """The report that a broker writes, as the polled file of the same cluster holds it."""
    with gzip.open(UNIFORM / "store" / "brokers.jsonl.gz", "rt", encoding="utf-8") as lines:
        told: dict[str, Any] = json.loads(next(lines))["report"]
    return json.dumps(told | {"msgRateIn": rate}).encode()


def test_two_servers_and_a_snapshot_give_each_write_once(
    spark: SparkContext, tmp_path: Path
) -> None:
    """A session begins in one file and ends in another that does not list its nodes."""
    owner = b'{"nativeUrl": "pulsar://b1:6650", "httpUrl": "http://b1:8080", "disabled": false}'
    records = [
        record(2, create(BROKER, report(2.0), ephemeral=True), session=TWO),
        record(3, multi(create(OWNER, owner, ephemeral=True), create("/ledgers/1")), session=TWO),
        record(4, create("/ledgers/2")),
        record(5, put(BROKER, report(5.0), 1), session=TWO),
        record(6, close(is_listed=False), session=TWO),
        record(7, put(LEADER, b'{"serviceUrl": "http://b2:8080"}', 2)),
        record(8, delete(LEADER)),
    ]
    folder = tmp_path / "night"
    files = {
        "one/version-2/log.2": log(*records[:4]),
        "one/version-2/log.6": log(*records[4:], zeros=1000),
        "two/log.3.gz": gzip.compress(log(*records[1:6])),
        "one/version-2/snapshot.1": snapshot(
            node(LEADER, b'{"brokerId": "b1:8080"}', 1, 1, owner=TWO),
            node(BROKER, report(5.0), 5, 1, owner=TWO),
        ),
    }
    for name, content in files.items():
        path = folder / "store" / "zookeeper" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    accounting, tables = run(spark, folder)

    short = [(r["zxid"], r["operation"], r["path"]) for r in rows(tables, "store_writes")]
    assert sorted(short) == [
        (1, "set", LEADER),
        (2, "create", BROKER),
        (3, "create", OWNER),
        (5, "set", BROKER),
        (6, "delete", BROKER),
        (6, "delete", LEADER),
        (6, "delete", OWNER),
        (7, "set", LEADER),
        (8, "delete", LEADER),
    ]
    reports = [(r["version"], r["is_gone"], r["rate_in"]) for r in rows(tables, "load_reports")]
    assert reports == [(0, False, 2.0), (1, False, 5.0), (None, True, None)]
    assert [r["broker"] for r in rows(tables, "ownership")] == ["b1:8080", None]
    leaders = sorted((r["time"], r["broker"]) for r in rows(tables, "leaders"))
    assert [broker for _, broker in leaders] == ["b1:8080", None, "b2:8080", None]
    assert accounting.totals | {"files": 4, "rejected": 0} == accounting.totals
    assert accounting.totals["lines"] == 4 + 3 + 5 + 3
    # The same from whichever end the files come: their order by name decides who gives.
    assert [(f.file.split("/")[-1], f.rows, f.other) for f in accounting.files] == [
        ("log.2", 3, 1),
        ("log.6", 3, 0),
        ("snapshot.1", 1, 2),
        ("log.3.gz", 0, 5),
    ]


def test_broken_files_cost_their_rest_and_nothing_else(spark: SparkContext, tmp_path: Path) -> None:
    whole = log(record(1, create(BROKER, report(1.0))), record(2, put(BROKER, report(2.0), 1)))
    taken = snapshot(node(LEADER, b'{"brokerId": "b1:8080"}', 1, 1))
    folder = tmp_path / "night" / "store" / "zookeeper"
    folder.mkdir(parents=True)
    (folder / "log.1").write_bytes(whole[:-9])
    (folder / "log.2.gz").write_bytes(gzip.compress(log(record(9, delete(BROKER))), 0)[:-40])
    (folder / "log.3").write_bytes(b"")
    (folder / "log.4").write_bytes(b"2026-11-21 06:00:00 [main] INFO not what the name says\n")
    (folder / "snapshot.5").write_bytes(taken[:-15])
    (folder / "log.6").write_bytes(log(record(12, delete(BROKER))))

    accounting, tables = run(spark, folder.parent.parent)

    found = {row["file"].split("/")[-1]: row["reason"] for row in rows(tables, "rejects")}
    torn = len(whole) - len(record(2, put(BROKER, report(2.0), 1)))
    assert found["log.1"].startswith(f"byte {torn}: found a record torn after ")
    assert found["log.2.gz"].startswith("byte ")
    assert "(the gzip data is cut off), expected the rest of the file" in found["log.2.gz"]
    assert found["log.3"].startswith("byte 0: found the end of the file, expected a transaction")
    assert found["log.4"].startswith("byte 0: found b'2026', expected a transaction log")
    assert found["snapshot.5"].startswith("byte 265: found the end of the file")
    assert len(found) == accounting.totals["rejected"] == 5
    assert [row["zxid"] for row in rows(tables, "store_writes")] == [1, 12]
    faults = {row["file"].split("/")[-1]: row["fault"] for row in rows(tables, "store_files")}
    assert faults == found | {"log.6": None}


def test_a_value_that_cannot_be_read_costs_that_value(tmp_path: Path) -> None:
    path = tmp_path / "log.1"
    path.write_bytes(
        log(
            record(1, multi(put(BROKER, b"\xff{", 4), put(LEADER, b'{"brokerId": "b1:8080"}', 1))),
            record(2, put(BROKER, b"[1]", 5)),
            record(3, put(f"{BUNDLE_DATA}/0x0_0x1", b'{"topics": 1}', 1)),
            record(4, put(BUNDLE_DATA, b"", 1)),
        )
    )
    found = parsed(path, "store-zookeeper", LOG)

    assert [(row["line"], row["reason"]) for row in found["rejects"]] == [
        (1, f"{BROKER}: not JSON at column 1: Expecting value"),
        (2, f"{BROKER}: found [1], expected an object"),
        (3, f"{BUNDLE_DATA}/0x0_0x1: key shortTermData: missing"),
    ]
    assert len(found["store_writes"]) == 5
    assert [row["broker"] for row in found["leaders"]] == ["b1:8080"]
    assert "load_reports" not in found


def test_a_time_that_is_none_costs_its_write(tmp_path: Path) -> None:
    path = tmp_path / "log.1"
    path.write_bytes(log(record(10**15, delete(LEADER)), record(1, delete(LEADER))))

    found = parsed(path, "store-zookeeper", LOG)

    [reject] = found["rejects"]
    assert "expected a time in ms" in reject["reason"]
    assert [row["zxid"] for row in found["store_writes"]] == [1]


def test_a_cluster_below_another_path_is_found_by_it(spark: SparkContext, tmp_path: Path) -> None:
    folder = tmp_path / "night"
    store = folder / "store" / "zookeeper"
    store.mkdir(parents=True)
    (store / "log.1").write_bytes(
        log(
            record(1, create(f"/pulsar/east{LEADER}", b'{"brokerId": "b1:8080"}')),
            record(2, create(LEADER, b'{"brokerId": "b2:8080"}')),
        )
    )
    (folder / "recording.toml").write_text('store_root = "/pulsar/east"\n')
    _, tables = run(spark, folder)
    assert [row["path"] for row in rows(tables, "store_writes")] == [LEADER]
    assert [row["broker"] for row in rows(tables, "leaders")] == ["b1:8080"]

    (folder / "recording.toml").write_text('store_root = "pulsar/"\n')
    with pytest.raises(RecordingError, match="key store_root: found 'pulsar/', expected a path"):
        run(spark, folder)
