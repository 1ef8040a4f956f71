"""Once the metadata store has moved, nothing is concluded from ZooKeeper, which stands still."""

from __future__ import annotations

import gzip
import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from struct import unpack_from
from typing import Any

import pytest

from tests.zookeeper_files import LOG_HEADER, create, delete, log, put, record
from trimtab.diagnose.diagnosis import diagnose
from trimtab.diagnose.store_source import Move, move_of
from trimtab.ingest.outcome import Origin
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import open_recording
from trimtab.ingest.splits import cut
from trimtab.ingest.worker import parse_split
from trimtab.ingest.zookeeper import MIGRATION, SOURCE
from trimtab.spark.runner import Here

UNIFORM = Path(__file__).parent.parent / "recordings" / "uniform"
START = datetime(2026, 11, 21, 7, tzinfo=UTC)
OXIA = "oxia://oxia:6648/broker"


def state(phase: str, target: str | None = OXIA) -> bytes:
    """The node's value as the class writes it."""
    return json.dumps({"phase": phase, "targetUrl": target}).encode()


def rows(*phases: str | None) -> list[dict[str, Any]]:
    return [
        {
            "time": START + timedelta(minutes=i),
            "phase": phase,
            "target": OXIA,
            "file": "f",
            "line": i,
        }
        for i, phase in enumerate(phases)
    ]


def at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def test_the_move_begins_when_brokers_may_not_write_any_more() -> None:
    assert move_of([]) is None
    assert move_of(rows("NOT_STARTED")) is None
    assert move_of(rows("NOT_STARTED", "PREPARATION")) == Move(at(1), "PREPARATION", OXIA)
    whole = rows("PREPARATION", "COPYING", "COMPLETED")
    assert move_of(whole) == Move(at(0), "COMPLETED", OXIA)
    # What a tool does to the node afterwards, no broker looks at.
    assert move_of([*whole, *rows(*[None] * 4)[3:]]) == Move(at(0), "COMPLETED", OXIA)


def test_a_move_that_failed_is_none() -> None:
    assert move_of(rows("PREPARATION", "COPYING", "FAILED")) is None
    assert move_of(rows("PREPARATION", None)) is None
    assert move_of(rows("PREPARATION", "FAILED", "PREPARATION")) == Move(at(2), "PREPARATION", OXIA)


def test_the_node_is_read_from_transaction_logs(tmp_path: Path) -> None:
    writes = (
        create(MIGRATION, state("NOT_STARTED", None)),
        put(MIGRATION, state("PREPARATION"), 1),
        put(MIGRATION, b"[]", 2),
        delete(MIGRATION),
    )
    path = tmp_path / "log.1"
    path.write_bytes(log(*(record(n, it) for n, it in enumerate(writes, 1))))
    [split] = cut(path, Origin("store/zookeeper/log.1", "", UTC, None), SOURCE)
    tables = {it.table: it.rows.to_pylist() for it in parse_split(split) if hasattr(it, "table")}
    assert [(row["phase"], row["target"]) for row in tables["store_moves"]] == [
        ("NOT_STARTED", None),
        ("PREPARATION", OXIA),
        (None, None),
    ]
    assert [row["reason"] for row in tables["rejects"]] == [
        f"{MIGRATION}: found [], expected an object"
    ]
    assert len(tables["store_writes"]) == 4


@pytest.mark.slow
def test_nothing_is_said_of_the_time_after_a_real_log_has_the_node(tmp_path: Path) -> None:
    night = tmp_path / "night"
    shutil.copytree(UNIFORM, night, ignore=shutil.ignore_patterns("log.1.gz"))
    content = gzip.decompress((UNIFORM / "store/zookeeper/log.1.gz").read_bytes())
    records, moved_ms = moved(content)
    place = night / "store" / "zookeeper" / "log.1"
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(LOG_HEADER + records)
    with open_recording(night) as recording:
        ingest(Here(), recording, tmp_path / "tables")

    document = diagnose(Here(), tmp_path / "tables", "uniform").findings

    since = datetime.fromtimestamp(moved_ms / 1000, UTC)
    assert 0 < document["rounds"] < 9, "the whole night has nine"
    assert datetime.fromisoformat(document["to"]) == since
    for each in (*document["round_list"], *document["unloads"], *document["findings"]):
        assert datetime.fromisoformat(each["time"]) < since
    assert "the metadata store was moved to oxia://oxia:6648/broker at" in document["warnings"][0]
    assert "nothing is concluded" in document["undecidable"][0]["why"]


def moved(content: bytes) -> tuple[bytes, int]:
    """A real log up to its middle, then the move's records; and when the first was written."""
    place, parts = len(LOG_HEADER), []
    while place < len(content) and (length := unpack_from(">qi", content, place)[1]):
        parts.append(content[place : place + 13 + length])
        place += 13 + length
    kept = parts[: 2 * len(parts) // 3]
    _, _, zxid, time_ms = unpack_from(">qiqq", kept[-1], 12)
    phases = ("PREPARATION", "COPYING", "COMPLETED")
    writes = [create(MIGRATION, state(phases[0]))]
    writes += [put(MIGRATION, state(phase), i) for i, phase in enumerate(phases[1:], 1)]
    added = [
        record(zxid + i, write, time_ms=time_ms + 500 * i) for i, write in enumerate(writes, 1)
    ]
    return b"".join([*kept, *added]), time_ms + 500
