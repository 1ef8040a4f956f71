"""Sides of the ingest benchmark do the same work, on logs that are what they say."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark import SparkContext

from bench.ingest import compare
from bench.ingest_duckdb import ingest_duckdb
from bench.ingest_polars import ingest_polars
from bench.logs import ROWS_SHARE, TRACES_SHARE, logs
from bench.process_tree import taken
from bench.table import DifferenceError
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import open_recording

SIZE = 12_000_000


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs") / "recording"
    logs(folder, SIZE, files=2, seed=1)
    return folder


def written(recording: Path) -> list[Path]:
    return sorted(recording.glob("logs/*/*"))


@pytest.mark.spark
def test_all_sides_write_the_same(spark: SparkContext, recording: Path, tmp_path: Path) -> None:
    with open_recording(recording) as opened:
        found = ingest(spark, opened, tmp_path / "trimtab").totals
    ingest_polars(written(recording), tmp_path / "polars")
    ingest_duckdb(written(recording), tmp_path / "duckdb", threads=1)

    compare(*(tmp_path / name for name in ("trimtab", "polars", "duckdb")))

    assert found["rejected"] > 1
    assert found["rows"] == pytest.approx(ROWS_SHARE * found["lines"], rel=0.2)
    assert found["continuation"] == pytest.approx(TRACES_SHARE * found["lines"], rel=0.2)


@pytest.mark.spark
def test_a_difference_is_an_error(spark: SparkContext, recording: Path, tmp_path: Path) -> None:
    with open_recording(recording) as opened:
        ingest(spark, opened, tmp_path / "trimtab")
    ingest_polars(written(recording), tmp_path / "polars")
    path = tmp_path / "polars" / "log_events.parquet"
    rows = pq.read_table(path)
    pq.write_table(rows.slice(1), path)

    with pytest.raises(DifferenceError, match=r"polars has another [a-z]+ in log_events"):
        compare(tmp_path / "trimtab", tmp_path / "polars")


@pytest.mark.slow
def test_the_same_seed_gives_the_same_logs(recording: Path, tmp_path: Path) -> None:
    size = logs(tmp_path / "packed", SIZE, files=2, seed=1, is_packed=True)
    logs(tmp_path / "other", SIZE, files=2, seed=2)

    plain = [path.read_bytes() for path in written(recording)]
    assert plain == [gzip.decompress(path.read_bytes()) for path in written(tmp_path / "packed")]
    assert plain != [path.read_bytes() for path in written(tmp_path / "other")]
    assert size == sum(map(len, plain))
    assert SIZE <= size < SIZE * 1.01


def test_what_work_takes_is_counted() -> None:
    with taken() as found:
        kept = bytearray(range(256)) * 400_000
        sum(kept)

    assert found.cpu_s > 0
    assert found.peak_bytes > len(kept)
