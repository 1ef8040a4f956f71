"""What a task does with a group: its rows are on the disk, or wait there, or do not fit."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from trimtab.files.partitions import part_files
from trimtab.ingest import pipeline
from trimtab.ingest.outcome import Origin
from trimtab.ingest.parts import Place, write_group, write_waiting
from trimtab.ingest.pieces import Group, Piece
from trimtab.ingest.splits import cut

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
