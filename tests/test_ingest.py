"""A recording becomes tables: every row where it should be, every line accounted for."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark import SparkContext

from trimtab.files.partitions import part_files
from trimtab.files.tables import INGESTED
from trimtab.ingest import pipeline, splits
from trimtab.ingest.accounting import Accounting, IngestError
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import UnusedFile, open_recording
from trimtab.ingest.split_result import CLASSES

LINE = "2026-11-21T06:00:00,000+0000 [main] INFO  x.Y - z\n"
BUNDLE = "public/default/0x00000000_0x80000000"
#: The mixed recording begins at 22:00 in Greenwich.
TEN = datetime(2026, 11, 20, 22, tzinfo=UTC)

STATS = {"rate_in": 4.5, "rate_out": 4.25, "throughput_in": 4308.25, "throughput_out": 4239.5}
#: The report that all brokers of the mixed recording give.
LOAD = {
    "updated": TEN + timedelta(milliseconds=500),
    "started": datetime(2026, 11, 20, 21, 43, 20, tzinfo=UTC),
    "release": "4.0.8",
    "load_manager": "ModularLoadManagerImpl",
    "cpu_usage": 23.5,
    "cpu_limit": 80.0,
    "memory_usage": 69.5,
    "memory_limit": 247.5,
    "direct_memory_usage": 16.0,
    "direct_memory_limit": 192.0,
    "bandwidth_in_usage": -1.0,
    "bandwidth_in_limit": -1.0,
    "bandwidth_out_usage": 27.5,
    "bandwidth_out_limit": 1.0e4,
    **STATS,
    "topics": 1,
    "bundles": [BUNDLE],
}
BUNDLE_LOAD = {
    "bundle": BUNDLE,
    **STATS,
    "topics": 1,
    "producers": 2,
    "consumers": 3,
    "cache_size": 7,
}


def at(second: float) -> datetime:
    return TEN + timedelta(seconds=second)


REST = {"time": at(1), "broker": "10.0.0.1:8080", "origin": "rest"}
STORE = REST | {"origin": "store", "version": 3, "written": at(0.75)}
REST_LINE = {"file": "load-reports.jsonl", "line": 1}
SHORT = {"rate_in": 3.5, "rate_out": 4.5, "throughput_in": 1.5, "throughput_out": 2.5}
PROM = "metrics/broker1/2026-11-21T06-00-00.250Z.prom"
STORED = {"broker": "10.0.0.2:8080", "origin": "store", "file": "store/brokers.jsonl"}

#: Every row of the mixed recording, columns without a value left out.
EXPECTED: dict[str, list[dict[str, Any]]] = {
    "recording": [
        {"key": "name", "value": "mixed"},
        {"key": "cluster", "value": "mixed"},
        {"key": "pulsar", "value": "4.0.8"},
        {"key": "time_zone", "value": "+08:00"},
        {"key": "from", "value": "2026-11-21T06:00:00+08:00"},
        {"key": "brokers.broker1.id", "value": "10.0.0.1:8080"},
    ],
    "log_events": [
        {
            "time": at(1),
            "log_broker": "broker1",
            "file": "logs/broker1/pulsar-broker.log",
            "line": 1,
            "thread": "pulsar-load-manager-1-1",
            "level": "INFO",
            "logger": "ModularLoadManagerImpl",
            "kind": "unload",
            "strategy": "ThresholdShedder",
            "broker": "10.0.0.1:8080",
            "bundle": BUNDLE,
            "target": "10.0.0.2:8080",
            "text": f"[ThresholdShedder] Unloading bundle: {BUNDLE} "
            "from broker 10.0.0.1:8080 to dest broker 10.0.0.2:8080",
        }
    ],
    "load_reports": [
        REST | {"is_gone": False} | LOAD | REST_LINE,
        STORE | {"is_gone": False, "file": "store/brokers.jsonl", "line": 1} | LOAD,
        STORED
        | {
            "time": at(2),
            "version": 0,
            "written": at(1.5),
            "is_gone": False,
            "started": LOAD["started"],
            "release": "4.0.8",
            "load_manager": "ExtensibleLoadManagerImpl",
            "line": 2,
        },
        STORED | {"time": at(3), "is_gone": True, "line": 3},
    ],
    "bundle_reports": [
        REST | BUNDLE_LOAD | REST_LINE,
        STORE | BUNDLE_LOAD | {"file": "store/brokers.jsonl", "line": 1},
    ],
    "bundle_averages": [
        {
            "time": at(0),
            "written": at(0),
            "bundle": BUNDLE,
            "short_samples": 10,
            **{f"short_{key}": value for key, value in SHORT.items()},
            "long_samples": 40,
            **{f"long_{key}": value for key, value in SHORT.items()},
            "topics": 2,
            "file": "store/bundles.jsonl",
            "line": 1,
        }
    ],
    "broker_averages": [
        {
            "time": at(0),
            "written": at(0),
            "broker": "10.0.0.1:8080",
            **{f"short_{key}": 0.5 for key in SHORT},
            **{f"long_{key}": 0.25 for key in SHORT},
            "file": "store/bundles.jsonl",
            "line": 1,
        }
    ],
    "bundle_states": [
        {
            "time": at(0),
            "origin": "topic",
            "bundle": BUNDLE,
            "is_gone": False,
            "state": "Releasing",
            "target": "10.0.0.2:8080",
            "source": "10.0.0.1:8080",
            "is_forced": False,
            "stamped": at(0.5),
            "state_version": 3,
            "file": "store/service-unit-state.jsonl",
            "line": 1,
        },
        {
            "time": at(1),
            "origin": "topic",
            "bundle": BUNDLE,
            "is_gone": True,
            "file": "store/service-unit-state.jsonl",
            "line": 2,
        },
    ],
    "published_loads": [],
    "published_bundles": [],
    "store_moves": [],
    "store_writes": [],
    "store_files": [],
    "leaders": [
        {"time": at(line - 1), "file": "store/leader.jsonl", "line": line} | leader
        for line, leader in (
            (1, {"version": 0, "written": at(0.25), "broker": "10.0.0.1:8080"}),
            (2, {}),
            (3, {"version": 1, "written": at(2.25), "broker": "10.0.0.2:8080"}),
        )
    ],
    "ownership": [
        {"time": at(line - 1), "file": "store/ownership.jsonl", "line": line} | change
        for line, change in (
            (1, {"is_full": True, "bundle": BUNDLE, "broker": "10.0.0.1:8080"}),
            (2, {"is_full": False, "bundle": BUNDLE}),
            (3, {"is_full": True}),
        )
    ],
    "settings": [
        {"log_broker": "broker1", "key": key, "value": value, "origin": origin}
        | {"file": file, "line": line}
        for origin, file, line, key, value in (
            ("conf", "conf/broker1.conf", 2, "loadBalancerEnabled", "true"),
            ("conf", "conf/broker1.conf", 4, "minUnloadMessageThroughput", "10 * 1024 * 1024"),
            ("conf", "conf/broker1.conf", 5, "loadBalancerSheddingIntervalMinutes", "1"),
            ("runtime", "runtime-config/broker1.json", 2, "loadBalancerEnabled", "true"),
            ("runtime", "runtime-config/broker1.json", 3, "maxUnloadPercentage", "0.2"),
        )
    ],
    "metrics": [
        {
            "time": at(0),
            "log_broker": "broker1",
            "name": "pulsar_rate_in",
            "labels": [("cluster", "a"), ("namespace", "public/default")],
            "value": 15.0,
            "file": PROM,
            "line": 5,
        },
        *(
            {
                "time": at(second),
                "name": "pulsar_lb_cpu_usage",
                "labels": [("broker", "10.0.0.1")],
                "value": value,
                "file": "metrics/cpu.json",
                "line": 1,
            }
            for second, value in ((0.5, 24.5), (15.5, 25.5))
        ),
        # The next day.
        {
            "time": datetime(2026, 11, 21, 6, 0, 0, 250000, tzinfo=UTC),
            "log_broker": "broker1",
            "name": "pulsar_lb_cpu_usage",
            "labels": [("cluster", "a"), ("broker", "10.0.0.1"), ("metric", "loadBalancing")],
            "value": 24.70339,
            "file": PROM,
            "line": 2,
        },
    ],
    "actions": [
        {
            "time": at(0),
            "event": "broker_start",
            "broker": "10.0.0.2:8080",
            "detail": '{"time": "2026-11-20T22:00:00Z", "event": "broker_start", '
            '"broker": 2, "id": "10.0.0.2:8080"}',
            "file": "actions.jsonl",
            "line": 1,
        }
    ],
    "files": [
        {"file": file, "source": source, "lines": sum(classes)}
        | dict(zip(CLASSES, classes, strict=True))
        for file, source, classes in (
            ("recording.toml", "recording", (6, 2, 0, 0)),
            ("conf/broker1.conf", "conf", (3, 2, 0, 1)),
            ("runtime-config/broker1.json", "runtime-config", (4, 0, 0, 0)),
            ("runtime-config/broker2.json", "runtime-config", (0, 0, 0, 1)),
            ("logs/broker1/pulsar-broker.log", "log", (1, 2, 2, 1)),
            ("load-reports.jsonl", "load-reports", (1, 1, 0, 2)),
            ("store/brokers.jsonl", "store-brokers", (3, 0, 0, 0)),
            ("store/leader.jsonl", "store-leader", (3, 0, 0, 0)),
            ("store/bundles.jsonl", "store-bundles", (1, 1, 0, 0)),
            ("store/ownership.jsonl", "store-ownership", (3, 0, 0, 1)),
            ("store/service-unit-state.jsonl", "store-states", (2, 0, 0, 1)),
            (PROM, "metrics", (2, 3, 0, 2)),
            ("metrics/cpu.json", "metrics-export", (1, 0, 0, 0)),
            ("actions.jsonl", "actions", (1, 0, 0, 1)),
        )
    ],
}
#: Where lines were rejected, and how the reason and the text begin.
REJECTED = [
    ("conf/broker1.conf", 6, "found 'loadBalancerSheddingGrace", "loadBalancerSheddingGrace"),
    ("runtime-config/broker2.json", 1, "not JSON at column 32: ", '{"loadBalancerEnabled"'),
    ("logs/broker1/pulsar-broker.log", 6, "no time at the start", "caf\ufffd rubbish"),
    ("load-reports.jsonl", 3, "not JSON at column 10: Expecting value", '{"time": oops'),
    ("load-reports.jsonl", 4, "key report.cpu.limit: missing", '{"time": "2026-11-21T06:00:02'),
    ("store/ownership.jsonl", 4, "found [1, 2], expected an object", "[1, 2]"),
    ("store/service-unit-state.jsonl", 3, "key bundle: missing", '{"time": "2026-11-20T22'),
    (PROM, 6, "found labels", 'pulsar_bundle_msg_rate_in{cluster="a} 3'),
    (PROM, 7, "found '<html>401</html>', expected a sample", "<html>401</html>"),
    ("actions.jsonl", 2, 'key time: found "2026-11-20T22:00:01", expected', '{"time": "2026'),
]


def read(tables: Path, name: str) -> list[dict[str, Any]]:
    """Read a table's rows, columns without a value left out."""
    return [
        {key: value for key, value in row.items() if value is not None}
        for path in sorted((tables / name).glob("cluster=*/**/*.parquet"))
        for row in pq.ParquetFile(path).read().to_pylist()
    ]


def run(spark: SparkContext, recording: Path, tables: Path) -> Accounting:
    with open_recording(recording) as opened:
        return ingest(spark, opened, tables)


@pytest.fixture(scope="module")
def mixed(
    spark: SparkContext, recordings: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Accounting, Path]:
    tables = tmp_path_factory.mktemp("mixed") / "tables"
    return run(spark, recordings / "mixed", tables), tables


@pytest.mark.parametrize("table", [name for name in INGESTED if name != "rejects"])
def test_rows_are_exactly_these(mixed: tuple[Accounting, Path], table: str) -> None:
    assert EXPECTED[table] == read(mixed[1], table)


def test_rejects_say_where_and_why(mixed: tuple[Accounting, Path]) -> None:
    found = read(mixed[1], "rejects")

    assert REJECTED == [
        (row["file"], row["line"], row["reason"][: len(reason)], row["text"][: len(text)])
        for row, (_, _, reason, text) in zip(found, REJECTED, strict=True)
    ]


@pytest.mark.parametrize("table", INGESTED)
def test_tables_have_their_schema_with_meanings_and_units(
    mixed: tuple[Accounting, Path], table: str
) -> None:
    found = pq.read_schema(part_files(mixed[1], table, "mixed")[0])

    assert INGESTED[table].equals(found)
    assert INGESTED[table].metadata == found.metadata
    assert [column.metadata for column in INGESTED[table]] == [column.metadata for column in found]


def test_accounting_adds_up_and_is_written_down(mixed: tuple[Accounting, Path]) -> None:
    accounting, tables = mixed
    expected = {
        "files": 14,
        "lines": 54,
        "rows": 31,
        "other": 11,
        "continuation": 2,
        "rejected": 10,
    }
    written = json.loads((tables / "accounting.json").read_text())

    assert expected == accounting.totals
    [known] = written["recordings"]
    assert ("mixed", "mixed") == (known["cluster"], known["recording"])
    assert (accounting.totals, accounting.tables) == (known["totals"], known["tables"])
    assert {name: len(read(tables, name)) for name in INGESTED} == accounting.tables
    assert len(REJECTED) == len(accounting.rejects)
    assert {
        UnusedFile("README.md", "notes for people"),
        UnusedFile("lab/load.jsonl", "what a test cluster really did, which no operator knows"),
    } == set(accounting.unused)


def test_second_run_replaces_the_first(
    spark: SparkContext, recordings: Path, tmp_path: Path
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/b.log").write_text(LINE)

    run(spark, recordings / "mixed", tmp_path / "tables")
    accounting = run(spark, tmp_path / "logs", tmp_path / "tables")

    assert [] == read(tmp_path / "tables", "load_reports")
    assert 1 == accounting.totals["lines"]
    assert ["logs", "tables"] == sorted(path.name for path in tmp_path.iterdir())


def test_folder_of_something_else_is_left_alone(
    spark: SparkContext, recordings: Path, tmp_path: Path
) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")

    for target in (tmp_path, tmp_path / "thesis.txt"):
        with pytest.raises(IngestError, match="holds something that is not a folder of tables"):
            run(spark, recordings / "mixed", target)

    assert ["thesis.txt"] == [path.name for path in tmp_path.iterdir()]


def test_interruption_leaves_the_earlier_tables(
    spark: SparkContext, recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(spark, recordings / "mixed", tmp_path / "tables")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "check_lines", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(spark, recordings / "mixed", tmp_path / "tables")

    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_cut_file_counts_its_lines_through(
    spark: SparkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Splits of 100 bytes in many tasks: the rows are those of the whole file."""
    entry = '{{"time": {0}000, "event": "e{0}"}}'
    lines = [entry.format(i) if i % 7 else f"bad {i}" for i in range(200)]
    (tmp_path / "recording").mkdir()
    (tmp_path / "recording/actions.jsonl").write_text("\n".join(lines))
    monkeypatch.setattr(
        pipeline, "cut", lambda path, origin, source: splits.cut(path, origin, source, size=100)
    )
    monkeypatch.setattr(splits, "_TASK_WEIGHT_MIN", 1 << 18)

    accounting = run(spark, tmp_path / "recording", tmp_path / "tables")

    events = [(row["event"], row["line"]) for row in read(tmp_path / "tables", "actions")]
    rejects = [(row["text"], row["line"]) for row in read(tmp_path / "tables", "rejects")]
    assert [(f"e{i}", i + 1) for i in range(200) if i % 7] == events
    assert [(f"bad {i}", i + 1) for i in range(0, 200, 7)] == rejects
    assert (200, 1) == (accounting.totals["lines"], accounting.totals["files"])
    assert len(part_files(tmp_path / "tables", "actions", "recording")) > 1


def test_file_that_breaks_off_costs_one_line(spark: SparkContext, tmp_path: Path) -> None:
    entries = b"".join(b'{"time": %d, "event": "e"}\n' % i for i in range(1000))
    (tmp_path / "recording").mkdir()
    (tmp_path / "recording/actions.jsonl.gz").write_bytes(gzip.compress(entries)[:-200])

    accounting = run(spark, tmp_path / "recording", tmp_path / "tables")

    [file] = accounting.files
    [reject] = accounting.rejects
    assert 100 < file.rows < 1000
    assert (file.rows + 1, 1, 0) == (file.lines, file.rejected, file.other)
    assert (file.lines, "the file breaks off: the gzip data is cut off") == (
        reject["line"],
        reject["reason"],
    )
    assert [*range(1, file.rows + 1)] == [
        row["line"] for row in read(tmp_path / "tables", "actions")
    ]


def test_lost_row_is_noticed(
    spark: SparkContext, recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = pipeline._row_count
    monkeypatch.setattr(
        pipeline, "_row_count", lambda place, table: count(place, table) - (table == "settings")
    )

    with pytest.raises(IngestError, match="table settings: 5 rows parsed, 5 written, 4 on disk"):
        run(spark, recordings / "mixed", tmp_path / "tables")

    assert [] == list(tmp_path.iterdir())
