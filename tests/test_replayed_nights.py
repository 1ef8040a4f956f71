"""What the replay of each shipped night has of every round and placement, to the last digit.

Without Java: a change of one number anywhere on the way from the store's files to a decision shows
here.  Whether the decisions are those of the real leader is asked by tests/test_recorded.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from trimtab.diagnose.diagnosis import diagnose
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import open_recording
from trimtab.spark.runner import Here

ROOT = Path(__file__).parent.parent
NIGHTS = {
    "avg": ROOT / "recordings" / "avg",
    "threshold": ROOT / "recordings" / "threshold",
    "uniform": ROOT / "recordings" / "uniform",
    "young": ROOT / "tests" / "testdata" / "recordings" / "young",
}


def rows(tables: Path, name: str) -> list[dict[str, Any]]:
    found = ds.dataset(tables / name, partitioning="hive").to_table().to_pylist()
    return sorted(found, key=lambda row: (row["term"], row["time"]))


def pairs(row: dict[str, Any], names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {row[name]!r}" for name in names)


def rounds(tables: Path) -> Iterator[str]:
    for row in rows(tables, "replayed_rounds"):
        yield f"term {row['term']} round {row['round']} {row['time']:%T.%f} by {row['leader']}"
        yield "  " + pairs(row, ("average", "is_smoothed", "hits_high", "hits_low"))
        yield from (f"  {it}: {row[it]}" for it in ("doubt", "bundle_doubt") if row[it])
        for broker in row["brokers"]:
            numbers = pairs(broker, ("usage", "score", "throughput", "rate", "offload", "bundles"))
            yield f"  {broker['broker']} {broker['reason']}: {numbers}"
        for kind in ("unloads", "too_large"):
            yield from (f"  {kind}: {pairs(it, tuple(it))}" for it in row[kind])


def placements(tables: Path) -> Iterator[str]:
    for row in rows(tables, "replayed_placements"):
        yield f"term {row['term']} {row['time']:%T.%f} line {row['line']} {row['bundle']}"
        scores = zip(row["candidates"], row["scores"] or [None] * 99, strict=False)
        yield f"  {'; '.join(f'{name} {score!r}' for name, score in scores)}"
        yield f"  {pairs(row, ('average', 'best', 'is_fallback'))}"
        yield from [f"  doubt: {row['doubt']}"] if row["doubt"] else []


@pytest.mark.parametrize("name", NIGHTS)
def test_every_round_and_placement_of_a_night_is_as_it_was(
    name: str, tmp_path: Path, file_regression: FileRegressionFixture
) -> None:
    with open_recording(NIGHTS[name]) as recording:
        ingest(Here(), recording, tmp_path / "tables")
    diagnose(Here(), tmp_path / "tables", name)
    lines = [*rounds(tmp_path / "tables"), *placements(tmp_path / "tables")]
    file_regression.check("\n".join([*lines, ""]), fullpath=FIXTURES / f"{name}.txt")


FIXTURES = ROOT / "tests" / "testdata" / "replayed"
