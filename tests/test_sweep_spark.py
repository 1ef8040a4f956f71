"""Sweeps on Spark: the same bytes wherever they run, and rows for whatever goes wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark import SparkContext

from spark_cluster import two_workers
from sweep_alone import tasks, toy
from trimtab.spark.runner import SparkError
from trimtab.trials.sweep.folder import SweepError
from trimtab.trials.sweep.pipeline import Plan, sweep
from trimtab.trials.sweep.task import Ran, Task

pytestmark = pytest.mark.spark

HERE = Path(__file__).parent
N = 90


def alone(master: str, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Sweep in a process of its own."""
    path = os.pathsep.join([str(HERE.parent / "src"), str(HERE)])
    return subprocess.run(
        [sys.executable, str(HERE / "sweep_alone.py"), master, str(folder), str(N), *more],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def said(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert (0, "") == (run.returncode, run.stderr)
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


@pytest.fixture(scope="module")
def unbroken(spark: SparkContext, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The outcomes of a sweep on two cores that nobody stopped."""
    folder = tmp_path_factory.mktemp("unbroken") / "swept"
    swept = sweep(lambda: nullcontext(spark), Plan(tasks(N), toy(), {}, 60.0), folder)
    assert {"ok": N} == swept.statuses
    assert len(set(swept.outcomes["thrash_points"].to_pylist())) == N
    assert list(swept.outcomes["seed"].to_pylist()) == [*range(N // 3)] * 3
    return (folder / "outcomes.parquet").read_bytes()


def test_one_core_gives_the_same_bytes(unbroken: bytes, tmp_path: Path) -> None:
    answer = said(alone("local[1,4]", tmp_path / "swept"))

    assert 1 == answer["cores"]
    assert unbroken == (tmp_path / "swept" / "outcomes.parquet").read_bytes()


def test_two_workers_give_the_same_bytes_and_run_the_program_they_are_sent(
    unbroken: bytes, tmp_path: Path
) -> None:
    with two_workers(tmp_path) as url:
        answer = said(alone(url, tmp_path / "swept"))
        executors = list(tmp_path.glob("*/app-*/*"))

    assert unbroken == (tmp_path / "swept" / "outcomes.parquet").read_bytes()
    # Both had an executor, and each ran the copy of this program.
    assert 2 == len(executors)
    assert [1.0] * 4 == answer["zip"]


def test_a_sweep_whose_driver_was_killed_goes_on_with_what_is_missing(
    spark: SparkContext, unbroken: bytes, tmp_path: Path
) -> None:
    folder, log = tmp_path / "swept", tmp_path / "swept-log"
    killed = alone("local[2,4]", folder, "2")
    assert -signal.SIGKILL == killed.returncode
    parts = list((folder / ".parts").glob("*.parquet"))
    done = {
        (row["scenario"], row["seed"]) for part in parts for row in pq.read_table(part).to_pylist()
    }
    assert 2 == len(parts)
    assert 0 < len(done) < N
    assert 1 == len(list((folder / ".parts").glob(".*.draft")))
    before = {path.name: path.stat().st_size for path in log.iterdir()}

    swept = sweep(lambda: nullcontext(spark), Plan(tasks(N), toy(log), {}, 60.0), folder)

    assert len(done) == swept.n_kept
    assert unbroken == (folder / "outcomes.parquet").read_bytes()
    assert not (folder / ".parts").exists()
    # What was done is not done again; all else is.
    after = {path.name: path.stat().st_size for path in log.iterdir()}
    again = {name for name, size in after.items() if size > before.get(name, 0)}
    assert {f"{task.scenario}-{task.seed}" for task in tasks(N)} - {
        f"{scenario}-{seed}" for scenario, seed in done
    } == again


def test_a_sweep_that_is_done_is_not_done_again_and_may_grow(
    spark: SparkContext, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.mkdir()
    sweep(lambda: nullcontext(spark), Plan(tasks(6), toy(log), {}, 60.0), tmp_path / "swept")
    counted = sum(path.stat().st_size for path in log.iterdir())

    swept = sweep(
        lambda: nullcontext(spark), Plan(tasks(9), toy(log), {}, 60.0), tmp_path / "swept"
    )

    assert (6, 6) == (counted, swept.n_kept)
    assert 9 == sum(path.stat().st_size for path in log.iterdir())
    assert 9 == pq.read_metadata(tmp_path / "swept" / "outcomes.parquet").num_rows


def test_whatever_a_run_does_the_others_have_their_rows(
    spark: SparkContext, tmp_path: Path
) -> None:
    def work(task: Task) -> Ran:
        if task.seed == 1:
            raise ValueError("found 1")
        while task.seed == 2:
            time.sleep(0.01)
        if task.seed == 3:
            os._exit(3)
        if task.seed == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return Ran({"unloads": 1.0}, is_cut=task.seed == 5)

    asked = frozenset(Task("s", "A", "B", "4.0", "{}", seed) for seed in range(20))

    swept = sweep(lambda: nullcontext(spark), Plan(asked, work, {}, 1.0), tmp_path / "swept")

    rows = swept.outcomes.to_pylist()
    assert {"cut": 1, "error": 3, "ok": 15, "timeout": 1} == swept.statuses
    assert [
        (1, "ValueError: found 1"),
        (2, "not done after 1 s"),
        (3, "the process that ran it ended"),
        (4, "the process that ran it ended"),
    ] == [(row["seed"], row["error"]) for row in rows if row["error"]]
    assert [None] * 4 == [row["unloads"] for row in rows if row["error"]]


def test_what_is_no_runs_fault_ends_the_sweep(spark: SparkContext, tmp_path: Path) -> None:
    class Broken:
        def __call__(self, task: Task) -> Ran:
            raise AssertionError("never called")

        def __reduce__(self) -> tuple[Any, ...]:
            return _not_there, ()

    asked = frozenset({Task("s", "A", "B", "4.0", "{}", 1)})

    with pytest.raises(SparkError):
        sweep(lambda: nullcontext(spark), Plan(asked, Broken(), {}, 1.0), tmp_path / "swept")
    # What was kept stays, and the next start is not kept out.
    assert {"ok": 3} == sweep(
        lambda: nullcontext(spark), Plan(tasks(3), toy(), {}, 60.0), tmp_path / "swept"
    ).statuses


def _not_there() -> None:
    """Stands for something that a worker cannot import: this file."""


def test_rows_of_another_scenario_are_not_mixed_in(spark: SparkContext, tmp_path: Path) -> None:
    folder = tmp_path / "swept"
    sweep(lambda: nullcontext(spark), Plan(tasks(3), toy(), {"scenario s0": "old"}, 60.0), folder)
    asked = Plan(tasks(3), toy(), {"scenario s0": "new"}, 60.0)

    with pytest.raises(SweepError, match="another scenario s0; name another folder, or throw"):
        sweep(lambda: nullcontext(spark), asked, folder)

    assert 0 == sweep(lambda: nullcontext(spark), asked, folder, anew=True).n_kept


def test_progress_counts_runs(
    spark: SparkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    def work(task: Task) -> Ran:
        time.sleep(0.5)
        return Ran({})

    monkeypatch.setenv("FORCE_COLOR", "1")
    asked = frozenset(Task("s", "A", "B", "4.0", "{}", seed) for seed in range(24))

    sweep(lambda: nullcontext(spark), Plan(asked, work, {}, 60.0), tmp_path / "swept")

    shown = capfd.readouterr()
    assert "" == shown.out
    assert "running" in shown.err
    assert any(f"{share}%" in shown.err for share in range(30, 100))


@pytest.fixture(autouse=True)
def nothing_is_left_running(spark: SparkContext) -> Iterator[None]:
    """No job outlives its sweep."""
    yield
    assert [] == list(spark.statusTracker().getActiveJobsIds())
