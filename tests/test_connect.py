"""On a Spark Connect server: the same bytes, by tasks that the session brought along."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from folder_files import tree
from spark_connect import connect_server
from trimtab.ingest.data_source import TrimtabSource
from trimtab.spark import connect
from trimtab.spark.remote import Remote
from trimtab.spark.runner import SparkError, plain_faults, results

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parent.parent
NIGHT = ROOT / "recordings" / "threshold"
#: A command line for which each file of a table is a share of its own, so that workers are asked.
SHARED = """
from trimtab.cli import main
from trimtab.diagnose import cluster_tables

cluster_tables._SHARE_BYTES = 1
main(prog_name="trimtab")
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("connect")) as running:
        yield running


@pytest.fixture(scope="module")
def remote(url: str) -> Iterator[Remote]:
    yield connect.opened(url)
    connect.end_ours()


def trimtab(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SHARED, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_tables_findings_and_report_are_the_same(url: str, tmp_path: Path) -> None:
    for name, words in (("here", ()), ("remote", ("--remote", url))):
        done = trimtab("explain", NIGHT, "-o", tmp_path / name, *words)
        assert (0, "") == (done.returncode, done.stderr)

    expected = tree(tmp_path / "here")
    assert {"findings.json", "report.html", "tables/accounting.json"} <= set(expected)
    # Several tasks, so that workers share them.
    assert any(path.endswith("-00003.parquet") for path in expected)
    assert expected == tree(tmp_path / "remote")


def test_ingest_is_the_same(url: str, tmp_path: Path) -> None:
    for name, words in (("local", ("--master", "local[1,4]")), ("remote", ("--remote", url))):
        done = trimtab("ingest", NIGHT, "-o", tmp_path / name, *words)
        assert 0 == done.returncode, done.stderr

    assert tree(tmp_path / "local") == tree(tmp_path / "remote")


def test_simulations_are_the_same(url: str, tmp_path: Path) -> None:
    compared = ("compare", "S05", "--strategies", "none,ThresholdShedder", "--seeds", "2")
    for name, words in (("local", ("--master", "local[2,4]")), ("remote", ("--remote", url))):
        done = trimtab(*compared, "-o", tmp_path / name, *words)
        assert (0, "") == (done.returncode, done.stderr)

    local, there = ((tmp_path / name / "outcomes.parquet") for name in ("local", "remote"))
    assert local.read_bytes() == there.read_bytes()


def test_the_program_travels_with_the_session(remote: Remote) -> None:
    def place(_: int) -> str:
        import trimtab

        return str(trimtab.__file__)

    assert all("trimtab.zip" in it for it in results(remote, place, range(2)))


def test_results_stand_in_the_order_of_the_items_however_large_they_are(remote: Remote) -> None:
    items = [b"one", b"", b"x" * 3_000_001]

    assert [2 * item for item in items] == results(remote, lambda item: 2 * item, items)
    assert [] == results(remote, lambda item: item, [])


def test_progress_is_counted_by_group(remote: Remote) -> None:
    remote.join("this")
    results(remote, abs, range(5))
    remote.join("other")

    assert remote.counted("this") == (5, 5)
    assert remote.counted("none of them") == (0, 0)
    assert remote.cores == 2
    assert remote.counted("other") == (0, 0)


def test_progress_ends_at_all_tasks_whatever_the_server_said_of_the_last(remote: Remote) -> None:
    remote.session.clearProgressHandlers()
    try:
        remote.join("silent")
        results(remote, abs, range(3))
    finally:
        handler: Any = remote.take_progress
        remote.session.registerProgressHandler(handler)

    assert remote.counted("silent") == (3, 3)


def test_a_task_that_fails_is_one_line(remote: Remote) -> None:
    def fail(number: int) -> float:
        return 1 / number

    with pytest.raises(SparkError, match=r"^ZeroDivisionError: division by zero$"), plain_faults():
        results(remote, fail, [0])


def test_a_server_that_is_not_there_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "_ANSWERS_WITHIN_S", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"sc://127.0.0.1:{free.getsockname()[1]}"

        with pytest.raises(SparkError, match=f"^{place}: no Spark Connect server answers there"):
            connect.opened(f"{place}/;user_id=secret")


def test_the_source_is_read_there(remote: Remote) -> None:
    remote.session.dataSource.register(TrimtabSource)
    unloads = remote.session.read.format("trimtab").option("kind", "unload").load(str(NIGHT))

    assert 0 < unloads.count() == unloads.where("kind = 'unload'").count()


def streamed(session: SparkSession, folder: Path) -> int:
    """Return how many unloads of the night a stream gives."""
    session.dataSource.register(TrimtabSource)
    unloads = session.readStream.format("trimtab").option("kind", "unload").load(str(NIGHT))
    writer = unloads.writeStream.format("parquet").trigger(availableNow=True)
    places = {"checkpointLocation": str(folder / "checkpoint"), "path": str(folder / "rows")}
    writer.options(**places).start().awaitTermination()
    return session.read.parquet(str(folder / "rows")).count()


def test_the_source_is_not_streamed_there(remote: Remote, tmp_path: Path) -> None:
    """A fault of Spark 4.3.0: it looks for what a session brought in another folder.

    Once this fails, streams may work there as batches do.
    """
    with pytest.raises(PySparkException, match="No module named 'trimtab"):
        streamed(remote.session, tmp_path)


def test_the_source_is_streamed_where_trimtab_is_installed(tmp_path: Path) -> None:
    with connect_server(tmp_path, installed=ROOT / "src") as place:
        session = connect.opened(place).session
        try:
            unloads = session.read.format("trimtab").option("kind", "unload").load(str(NIGHT))
            assert 0 < unloads.count() == streamed(session, tmp_path)
        finally:
            connect._ours.pop(place).session.stop()


def test_a_server_that_vanishes_ends_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "_RETRIES", 2)
    with connect_server(tmp_path) as place:
        lost = connect.opened(place)
        assert [1] == results(lost, abs, [-1])

    message = r"^the Spark Connect server answers no more: .+$"
    with pytest.raises(SparkError, match=message), plain_faults():
        results(lost, abs, [-1])
    connect._ours.pop(place).session.stop()


def test_to_follow_takes_a_master(url: str, tmp_path: Path) -> None:
    done = trimtab("ingest", NIGHT, "-o", tmp_path / "tables", "--follow", "--remote", url)

    assert done.returncode == 2
    assert done.stderr.endswith(
        f"trimtab: {url}: found a Spark Connect server, expected a Spark master here\n"
    )
