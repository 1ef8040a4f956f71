"""Who runs tasks: Spark or this process, and that it makes no difference to what comes out."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from pyspark import SparkContext

from trimtab.explanation.explain import explain
from trimtab.ingest.recording import open_recording
from trimtab.spark import choice
from trimtab.spark.choice import HERE_BYTES_MAX, shared_runner, work_bytes
from trimtab.spark.runner import Here, Lent, Runner, lent, results

RECORDINGS = Path(__file__).parents[1] / "recordings"


def written(runner: Runner, recording: str, output: Path) -> dict[str, bytes]:
    """Return all files that an explanation writes, by their names."""
    with open_recording(RECORDINGS / recording) as opened:
        explain(runner, opened, output)
    files = (path for path in output.rglob("*") if path.is_file())
    return {path.relative_to(output).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("recording", ["avg", "seed-001"])
def test_both_write_the_same_bytes(spark: SparkContext, recording: str, tmp_path: Path) -> None:
    here = written(Here(), recording, tmp_path / "here")

    assert here == written(spark, recording, tmp_path / "spark")
    assert {"report.html", "findings.json"} <= set(here)


def test_results_stand_in_the_order_of_the_items() -> None:
    here = Here()

    assert [0, 1, 4, 9] == results(here, lambda n: n * n, range(4))
    assert (here.n_done, here.n_tasks) == (4, 4)


def test_what_is_lent_is_there_wherever_tasks_run(spark: SparkContext) -> None:
    # Functions of a function's own travel, too.
    def once_more(number: int) -> int:
        return number + 1

    def applied(there: Lent[tuple[Callable[[int], int], NDArray[np.int64]]], number: int) -> int:
        function, values = there.value
        return int(values[function(number)])

    for runner in (Here(), spark):
        with lent(runner, (once_more, np.arange(0, 80, 10))) as there:
            assert results(runner, partial(applied, there), range(3)) == [10, 20, 30]
            assert results(runner, partial(applied, there), [5]) == [60]


def test_packed_files_count_unpacked(tmp_path: Path) -> None:
    plain, packed, no_gzip = (tmp_path / name for name in ("a.log", "b.log.gz", "c.gz"))
    plain.write_bytes(b"x" * 10)
    packed.write_bytes(gzip.compress(b"y" * 1_000_000))
    no_gzip.write_bytes(b"no")

    assert work_bytes([plain, packed, no_gzip]) == 10 + 1_000_000 + 2


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.log"
    path.write_bytes(b"one line\n")
    return path


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large.log"
    with path.open("wb") as file:
        file.truncate(HERE_BYTES_MAX + 1)
    return path


def test_what_is_small_needs_no_spark(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "_running", lambda: None)

    with shared_runner([small], cores=2, master=None) as runner:
        assert isinstance(runner, Here)


def test_what_is_large_is_read_here_where_there_is_no_spark(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "_running", lambda: None)
    monkeypatch.setattr(choice, "has_spark", lambda: False)

    with shared_runner([large], cores=2, master=None) as runner:
        assert isinstance(runner, Here)


def test_what_is_large_is_sparks(
    large: Path, spark: SparkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "_running", lambda: None)

    with shared_runner([large], cores=2, master=None) as runner:
        assert runner is spark


def test_a_spark_that_runs_is_taken_whatever_the_size(small: Path, spark: SparkContext) -> None:
    with shared_runner([small], cores=2, master=None) as runner:
        assert runner is spark
