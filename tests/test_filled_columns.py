"""A column that is declared and that nothing fills stops whoever reads its source.

It does so whatever the recordings hold: those that ship may not have its key at all.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from datetime import UTC, date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.test_columns import BUNDLE, TIME, USUAL
from tests.test_store_columns import written
from tests.test_topics_of_loads import BUNDLE as HEAVY
from tests.test_topics_of_loads import LOAD
from tests.zookeeper_files import log, record
from trimtab.files.tables import INGESTED, KEYS, column
from trimtab.ingest.accounting import FileAccount
from trimtab.ingest.columns import table_of
from trimtab.ingest.json_fields import fields_of
from trimtab.ingest.outcome import Origin
from trimtab.ingest.splits import cut
from trimtab.ingest.worker import (
    DOCUMENT_PARSERS,
    DOCUMENT_SIEVES,
    LINE_PARSERS,
    SIEVES,
    parse_split,
)
from trimtab.ingest.zookeeper import SOURCE as ZOOKEEPER

PUBLISHED = {"time": TIME, "published": TIME, "broker": "b:1"}
ODD = json.dumps(USUAL["load-reports"][0]).replace("23.5", '"NaN"', 1)
GONE = json.dumps({"time": TIME, "broker": "b:1", "report": None})
NO_LOAD = json.dumps({"time": TIME, "broker": "b:1", "report": {"brokerVersion": "4.0.8"}})
ODD_AVERAGES = json.dumps(USUAL["store-bundles"][0]).replace("1.5", '"NaN"', 1)
LOG = (
    "2026-11-21T06:37:17,331{zone} [main] INFO  org.apache.pulsar.broker.namespace.OwnershipCache"
    " - Trying to acquire ownership of public/default/0x00000000_0x80000000\n"
)
#: Source → texts of it, read as usual ones are and as odd ones are, and the tables of their rows.
TEXTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "load-reports": (
        (json.dumps(USUAL["load-reports"][0]), ODD, NO_LOAD),
        ("load_reports", "bundle_reports"),
    ),
    "store-brokers": (
        (json.dumps(USUAL["store-brokers"][0]), ODD, NO_LOAD, GONE),
        ("load_reports", "bundle_reports"),
    ),
    "store-bundles": (
        (json.dumps(USUAL["store-bundles"][0]), ODD_AVERAGES),
        ("bundle_averages", "broker_averages"),
    ),
    "store-leader": ((json.dumps({"time": TIME, "leader": None}),), ("leaders",)),
    "store-ownership": (
        (
            json.dumps({"time": TIME, "full": True, "change": {}}),
            json.dumps({"time": TIME, "full": False, "change": {BUNDLE: "b:1"}}),
        ),
        ("ownership",),
    ),
    "store-states": (
        (
            json.dumps(USUAL["store-states"][0]),
            json.dumps(USUAL["store-states"][0]).replace("false", 'false, "versionId": 1e0', 1),
            json.dumps({"time": TIME, "bundle": BUNDLE, "record": None}),
        ),
        ("bundle_states",),
    ),
    "store-loads": (
        (
            json.dumps(PUBLISHED | {"record": LOAD}),
            json.dumps(PUBLISHED | {"record": None}),
            json.dumps({"time": TIME, "is_heard": True}),
        ),
        ("published_loads",),
    ),
    "store-top-bundles": (
        (
            json.dumps(PUBLISHED | {"record": {"topBundlesLoadData": [HEAVY]}}),
            json.dumps(PUBLISHED | {"record": {"topBundlesLoadData": []}}),
            json.dumps(PUBLISHED | {"record": None}),
            json.dumps({"time": TIME, "is_heard": False}),
        ),
        ("published_bundles",),
    ),
    "metrics": (("pulsar_lb_cpu_usage 1 1795255200000",), ("metrics",)),
    "metrics-export": ((json.dumps(USUAL["metrics-export"][0]),), ("metrics",)),
    "conf": (("a=1",), ("settings",)),
    "helm-values": (("broker:\n  configData:\n    a: '1'\n",), ("settings",)),
    "runtime-config": (('{"a": "b"}',), ("settings",)),
    "actions": ((json.dumps({"time": TIME, "event": "kill"}),), ("actions",)),
    # With a zone that the distribution does not print, a line is read singly.
    "log": ((LOG.format(zone=" +08:00"),), ("log_events",)),
}
READ_AT_IMPORT = ("log_events", *(table for table, keys in KEYS.items() if keys))
CASES = [
    (source, text, table)
    for source, (texts, tables) in TEXTS.items()
    for text in texts
    for table in tables
]


def with_unfilled(table: str) -> pa.Schema:
    """Return a table's schema with a column that no source fills."""
    return INGESTED[table].append(column("unfilled", "string", "nothing yet"))


def tables_of(path: Path, source: str) -> set[str]:
    """Parse a file; tell whose rows it gives."""
    origin = Origin("store/x.json", "b", UTC, date(2026, 11, 21))
    return {
        it.table
        for split in cut(path, origin, source)
        for it in parse_split(split)
        if hasattr(it, "table")
    }


def test_every_source_is_tried() -> None:
    assert set(TEXTS) == LINE_PARSERS.keys() | DOCUMENT_PARSERS.keys()
    small = {"recording", "files", "store_files", "rejects", "store_writes", "store_moves"}
    assert {table for *_, table in CASES} | small == set(INGESTED)


@pytest.mark.parametrize(("source", "text", "table"), CASES)
@pytest.mark.parametrize("is_singly", [False, True])
def test_rows_without_a_declared_column_stop_the_reading(
    source: str,
    text: str,
    table: str,
    *,
    is_singly: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "file").write_text(text)
    if is_singly:
        for sieves in (SIEVES, DOCUMENT_SIEVES):
            monkeypatch.delitem(sieves, source, raising=False)
    if table not in tables_of(tmp_path / "file", source):
        assert text in (NO_LOAD, GONE), "no rows"
        return
    monkeypatch.setitem(INGESTED, table, with_unfilled(table))

    with pytest.raises(ValueError, match="unfilled"):
        tables_of(tmp_path / "file", source)


@pytest.mark.parametrize(
    "table",
    [
        "store_writes",
        "load_reports",
        "bundle_reports",
        "bundle_averages",
        "broker_averages",
        "bundle_states",
    ],
)
def test_writes_to_the_store_without_a_declared_column_stop_the_reading(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log.1").write_bytes(log(*(record(i + 1, written(i)) for i in range(5))))
    assert table in tables_of(tmp_path / "log.1", ZOOKEEPER)
    monkeypatch.setitem(INGESTED, table, with_unfilled(table))

    with pytest.raises(ValueError, match="unfilled"):
        tables_of(tmp_path / "log.1", ZOOKEEPER)


@pytest.mark.parametrize("row", [asdict(FileAccount("f", "log", 1, 1, 0, 0, 0)), {}])
def test_small_tables_are_filled_too(row: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert not row or table_of("files", [row]).num_rows
    monkeypatch.setitem(INGESTED, "files", with_unfilled("files"))

    with pytest.raises(ValueError, match="found nothing, expected"):
        table_of("files", [row])


@pytest.mark.slow
@pytest.mark.parametrize("table", READ_AT_IMPORT)
def test_a_column_without_a_key_stops_the_import(table: str) -> None:
    program = (
        "import pyarrow as pa; from trimtab.files.tables import INGESTED; "
        f"INGESTED[{table!r}] = INGESTED[{table!r}].append(pa.field('unfilled', pa.string())); "
        "import trimtab.ingest.worker"
    )

    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)

    assert f"table {table}: found ['unfilled'] declared and not filled" in found.stderr.decode()


def test_a_key_without_a_column_stops_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KEYS["broker_averages"], "undeclared", "a.b")

    with pytest.raises(ValueError, match=r"\['undeclared'\] filled and not declared"):
        fields_of("broker_averages", ("time", "written", "broker"))
