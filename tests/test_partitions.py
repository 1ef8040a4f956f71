"""Rows → files by cluster and day: which, with what bytes, and again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from folder_files import tree
from trimtab.files.partitions import NO_DAY, Part, clusters, escaped, part_files, write_rows
from trimtab.files.tables import INGESTED

SCHEMA = INGESTED["actions"]
TIMES = [
    datetime(2026, 11, 21, tzinfo=UTC),
    datetime(2026, 11, 21, tzinfo=UTC) - timedelta(microseconds=1),
    None,
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2026, 11, 21, 23, 59, 59, 999_999, tzinfo=UTC),
]


def actions(times: list[datetime | None]) -> pa.Table:
    rows = [{"time": time, "event": f"e{i}", "line": i} for i, time in enumerate(times)]
    return pa.Table.from_pylist(rows, SCHEMA)


def test_rows_lie_under_their_day_in_greenwich(tmp_path: Path) -> None:
    written = write_rows(tmp_path, "a/b", "night-1", {"actions": actions(TIMES)})

    assert {"actions": 5} == written
    found = {
        path.parent.name: pq.ParquetFile(path).read().column("event").to_pylist()
        for path in part_files(tmp_path, "actions", "a/b")
    }
    assert {
        "day=1969-12-31": ["e3"],
        "day=2026-11-20": ["e1"],
        "day=2026-11-21": ["e0", "e4"],
        f"day={NO_DAY}": ["e2"],
    } == found
    assert {path.name for path in tmp_path.rglob("*.parquet")} == {"part-night-1.parquet"}
    assert ["a/b"] == clusters(tmp_path)


def test_the_same_part_again_changes_nothing_and_another_replaces_it(tmp_path: Path) -> None:
    settings = INGESTED["settings"].empty_table()
    write_rows(tmp_path, "c", "batch-7", {"actions": actions(TIMES), "settings": settings})
    write_rows(tmp_path, "c", "batch-8", {"actions": actions(TIMES[:1])})
    before = tree(tmp_path)

    write_rows(tmp_path, "c", "batch-7", {"actions": actions(TIMES), "settings": settings})
    assert before == tree(tmp_path)
    write_rows(tmp_path, "c", "batch-7", {"actions": actions(TIMES[:1])})

    assert {
        "actions/cluster=c/day=2026-11-21/part-batch-7.parquet",
        "actions/cluster=c/day=2026-11-21/part-batch-8.parquet",
        "settings/cluster=c/part-batch-7.parquet",
    } == set(tree(tmp_path))


def test_bytes_follow_from_the_rows_and_not_from_how_they_came(tmp_path: Path) -> None:
    rows = actions([TIMES[0] + timedelta(milliseconds=i) for i in range(150_000)])
    for name, size in (("one", len(rows)), ("pieces", 999)):
        part = Part(tmp_path / name, "c", "p")
        for start in range(0, len(rows), size):
            part.add("actions", rows.slice(start, size))
        part.close()

    assert tree(tmp_path / "one") == tree(tmp_path / "pieces")
    [path] = part_files(tmp_path / "one", "actions", "c")
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    assert [65_536, 65_536, 18_928] == [group.num_rows for group in groups]
    # The hour and the line that somebody asks for are found without reading the rest.
    lines = [group.column(SCHEMA.names.index("line")).statistics for group in groups]
    assert [(0, 65_535), (65_536, 131_071), (131_072, 149_999)] == [
        (it.min, it.max) for it in lines
    ]


@given(st.text(min_size=1))
def test_what_is_escaped_is_a_folders_name_and_comes_back(value: str) -> None:
    name = escaped(value)

    assert value == unquote(name)
    assert not set("/\\*?[]{}\"'#:=\0\n") & set(name)
