"""What a task does with a group: its rows are on the disk, or wait there, or do not fit."""

from __future__ import annotations

import gzip
import resource
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from trimtab.files.partitions import part_files
from trimtab.ingest import pipeline, worker
from trimtab.ingest.outcome import Origin
from trimtab.ingest.parts import Place, write_group, write_waiting
from trimtab.ingest.pieces import Group, Piece
from trimtab.ingest.split_result import SplitAccount, SplitItem, TableRows
from trimtab.ingest.splits import Split, cut
from trimtab.ingest.worker import parse_split, parse_together

ORIGIN = Origin("logs/b/x.log", "b", UTC, date(2026, 11, 21))
LINE = (
    "2026-11-21T06:00:00,{0:03}+0000 [main] INFO  o.a.p.b.n.OwnershipCache - "
    "Trying to acquire ownership of public/default/0x{0:08x}_0x80000000\n"
)
LINES = 40


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "tables", "c", "night")


def groups(folder: Path, size: int) -> list[Group]:
    """Cut a log into splits, each a group."""
    log = folder / "x.log"
    log.write_text("".join(map(LINE.format, range(LINES))))
    splits = cut(log, ORIGIN, "log", size=size)
    return [Group((Piece(number, split),), None) for number, split in enumerate(splits)]


@contextmanager
def full_disk() -> Iterator[None]:
    """No file may be longer than 500 bytes, which gives the same kind of error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


def scrapes(folder: Path) -> list[Split]:
    """Return scrapes of no sample and of some, one of them cut off."""
    splits = []
    for number, samples in enumerate((0, 1, 2, 9, 0, 4, 1)):
        path = folder / f"179520000{number}.prom.gz"
        text = "odd\n" + "".join(f"pulsar_lb_cpu_usage {value}\n" for value in range(samples))
        packed = gzip.compress(text.encode())
        path.write_bytes(packed[:-9] if samples == 4 else packed)
        splits += cut(path, Origin(f"metrics/b/{path.name}", "b", UTC, None), "metrics")
    return splits


def parsed(
    items: Iterable[SplitItem],
) -> tuple[list[SplitAccount], dict[str, list[dict[str, Any]]]]:
    """Return what was accounted for, and the rows of each table."""
    accounts: list[SplitAccount] = []
    rows: dict[str, list[dict[str, Any]]] = {}
    for item in items:
        if isinstance(item, TableRows):
            rows.setdefault(item.table, []).extend(item.rows.to_pylist())
        else:
            accounts.append(item)
    return accounts, rows


@pytest.mark.parametrize("batch", [1, 3, 12, 4096])
def test_files_that_are_parsed_together_give_what_each_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    splits = scrapes(tmp_path)
    monkeypatch.setattr(worker, "_BATCH_ROWS", batch)

    alone = parsed(item for split in splits for item in parse_split(split))
    together = list(parse_together(splits))

    assert alone == parsed(together)
    assert any(account.is_damaged for account in alone[0])
    tables = [item.table for item in together if isinstance(item, TableRows)]
    assert batch < 4096 or tables == ["metrics", "rejects"]


def test_what_begins_within_a_file_waits_for_the_lines_before(place: Place, tmp_path: Path) -> None:
    first, second = groups(tmp_path, 3000)

    written = write_group(place, [first, second], 0)
    kept = write_group(place, [first, second], 1)

    lines = [each.accounts[0].lines for each in (written, kept)]
    assert (LINES, False, True) == (sum(lines), written.waits, kept.waits)
    assert ({"log_events": lines[0]}, {}) == (written.rows, kept.rows)
    assert 1 == len(part_files(place.tables, "log_events", "c"))
    told = write_waiting(place, {1: lines[0]}, [1])
    assert {"log_events": lines[1]} == told.rows
    parts = part_files(place.tables, "log_events", "c")
    numbers = [n for path in parts for n in pq.ParquetFile(path).read()["line"].to_pylist()]
    assert list(range(1, LINES + 1)) == numbers


@pytest.mark.parametrize("number", [0, 1])
def test_a_disk_that_is_full_is_told(place: Place, tmp_path: Path, number: int) -> None:
    both = groups(tmp_path, 3000)

    with full_disk():
        told = write_group(place, both, number)

    assert told.fault.endswith("File too large")
    assert ((), {}) == (told.accounts, told.rows)


def test_what_waited_may_not_fit_either(place: Place, tmp_path: Path) -> None:
    write_group(place, groups(tmp_path, 3000), 1)

    with full_disk():
        told = write_waiting(place, {}, [1])

    assert told.fault.endswith("File too large")


def test_nothing_of_killed_tasks_stays(place: Place, tmp_path: Path) -> None:
    write_group(place, groups(tmp_path, 3000), 0)
    write_group(place, groups(tmp_path, 3000), 1)
    [part] = part_files(place.tables, "log_events", "c")
    (part.parent / ".7-0.draft").write_bytes(b"half a par")

    pipeline._remove_drafts(place)

    assert [part] == [path for path in place.tables.rglob("*") if path.is_file()]
    assert not place.waiting.exists()
