"""`spark.readStream.format("trimtab")` as Spark runs it: checkpoints, kills and limits."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[1]
NIGHT = ROOT / "recordings" / "threshold"
#: A machine that is shared may take minutes to start Java.
_PATIENCE_S = 600.0
#: Reads a recording into a folder for each batch, and never comes to the end of the second one.
KILLED = """
import sys, time
from pathlib import Path
from pyspark.sql import SparkSession
from trimtab.spark.session import started

recording, folder = sys.argv[1:]

def store(frame, batch):
    frame.write.mode("overwrite").parquet(f"{folder}/rows/batch={batch}")
    Path(folder, f"written-{batch}").touch()
    while batch == 1:
        time.sleep(1)

spark = SparkSession(started(log=Path(folder, "spark.log")))
stream = spark.readStream.format("trimtab").option("maxBytesPerTrigger", "400k").load(recording)
writer = stream.writeStream.foreachBatch(store).trigger(availableNow=True)
writer.option("checkpointLocation", f"{folder}/checkpoint").start().awaitTermination()
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The night with its logs as they were while they grew."""
    night = shutil.copytree(NIGHT, tmp_path_factory.mktemp("whole") / "night")
    for path in night.rglob("*.log.gz"):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    return night


@pytest.fixture
def session(spark: SparkContext) -> SparkSession:
    return SparkSession(spark)


def stream(session: SparkSession, path: Path, **options: str) -> DataFrame:
    return session.readStream.format("trimtab").options(rest="0", **options).load(str(path))


def rows(frame: DataFrame) -> list[str]:
    return sorted(repr(row) for row in frame.select(sorted(frame.columns)).collect())


def run(
    frame: DataFrame, folder: Path, store: Callable[[DataFrame, int], None] | None = None
) -> StreamingQuery:
    """Read what is there now; each batch becomes a folder, written over if it comes again."""

    def stored(batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").parquet(str(folder / "rows" / f"batch={number}"))

    writer = frame.writeStream.foreachBatch(store or stored).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
    query.awaitTermination()
    return query


def batches(folder: Path) -> int:
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


def halved(recording: Path, into: Path) -> None:
    """Copy what there was of a recording when its logs were half as long."""
    shutil.copytree(recording, into)
    for path in (*into.rglob("*.log"), *into.rglob("*.jsonl")):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def grown(recording: Path, into: Path) -> None:
    """Append what is missing of each file."""
    for path in filter(Path.is_file, recording.rglob("*")):
        target = into / path.relative_to(recording)
        with target.open("ab") as file:
            file.write(path.read_bytes()[target.stat().st_size :])


def test_a_driver_that_is_killed_between_write_and_commit_stores_each_row_once(
    session: SparkSession, whole: Path, tmp_path: Path
) -> None:
    night = tmp_path / "night"
    halved(whole, night)
    driver = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(night), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        start_new_session=True,
    )
    until_s = time.monotonic() + _PATIENCE_S
    try:
        while not (tmp_path / "written-1").exists():
            assert driver.poll() is None
            assert time.monotonic() < until_s, "no second batch in ten minutes"
            time.sleep(0.05)
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    assert 1 == batches(tmp_path)
    torn = session.read.parquet(str(tmp_path / "rows/batch=1")).drop("batch")
    before = rows(torn)
    grown(whole, night)

    run(stream(session, night), tmp_path)

    again = session.read.parquet(str(tmp_path / "rows/batch=1")).drop("batch")
    assert before == rows(again)
    stored = session.read.parquet(str(tmp_path / "rows")).drop("batch")
    expected = session.read.format("trimtab").load(str(night))
    assert rows(expected) == rows(stored)
    assert batches(tmp_path) >= 3


def test_a_batch_that_failed_is_the_same_when_its_log_was_rotated_meanwhile(
    session: SparkSession, whole: Path, tmp_path: Path
) -> None:
    night = tmp_path / "night"
    halved(whole, night)
    log = max(night.rglob("*.log"), key=lambda path: path.stat().st_size)

    def fail(batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").parquet(str(tmp_path / f"failed-{number}"))
        raise OSError("the disk is full")

    with pytest.raises(StreamingQueryException, match="the disk is full"):
        run(stream(session, night), tmp_path, fail)
    rest = (whole / log.relative_to(night)).read_bytes()[log.stat().st_size :]
    old = log.with_name(f"{log.name}.1")
    log.rename(old)
    log.write_bytes(b"")
    with old.open("ab") as file:
        file.write(rest)

    run(stream(session, night), tmp_path)

    failed = rows(session.read.parquet(str(tmp_path / "failed-0")))
    stored = session.read.parquet(str(tmp_path / "rows")).drop("batch")
    assert failed == rows(session.read.parquet(str(tmp_path / "rows/batch=0")))
    mine = stored.where(f"file = '{log.relative_to(night).as_posix()}'")
    expected = session.read.format("trimtab").load(str(whole))
    theirs = expected.where(f"file = '{log.relative_to(night).as_posix()}'")
    assert rows(theirs) == rows(mine)


def test_each_line_comes_once_while_logs_are_written_rotated_and_packed(
    session: SparkSession, tmp_path: Path
) -> None:
    night = tmp_path / "night"
    night.mkdir()
    # Nothing that is torn is taken for whole, however slow the writer is.
    live = session.readStream.format("trimtab").options(rest="1000").load(str(night))
    writer = subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "follow_writer.py"), str(night), "7"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    places = {"checkpointLocation": str(tmp_path / "checkpoint"), "path": str(tmp_path / "rows")}
    try:
        for n_batches in (4, 8, 12):
            query = live.writeStream.format("parquet").options(**places)
            query = query.trigger(processingTime="200 milliseconds").start()
            until_s = time.monotonic() + _PATIENCE_S
            while batches(tmp_path) < n_batches:
                assert query.isActive, query.exception()
                assert time.monotonic() < until_s, "no batches in ten minutes"
                time.sleep(0.1)
            query.stop()
    finally:
        written = json.loads(writer.communicate()[0])
    last = stream(session, night).writeStream.format("parquet").options(**places)
    last.trigger(availableNow=True).start().awaitTermination()

    read = session.read.parquet(str(tmp_path / "rows"))
    bundles = Counter(row.bundle for row in read.select("bundle").collect())
    assert bundles == Counter(f"t/n/0x{i:08x}_0xffffffff" for i in range(written["unloads"]))
    assert written["unloads"] == read.select("file", "line").distinct().count()


def test_accounting_and_limits_are_those_of_the_recording(
    session: SparkSession, tmp_path: Path
) -> None:
    accounting = stream(session, NIGHT, table="files", maxFilesPerTrigger="40")
    run(accounting, tmp_path)

    stored = session.read.parquet(str(tmp_path / "rows"))
    expected = session.read.format("trimtab").option("table", "files").load(str(NIGHT))
    found, wanted = (
        rows(frame.groupBy("file").agg({"lines": "sum", "rows": "sum", "other": "sum"}))
        for frame in (stored, expected)
    )
    assert wanted == found
    n_files = expected.count() - 1
    assert batches(tmp_path) == -(-n_files // 40)


def test_options_reach_the_reader_and_filters_of_spark_do_not(
    session: SparkSession, tmp_path: Path
) -> None:
    n_rows = session.read.format("trimtab").load(str(NIGHT)).count()
    n_unloads = session.read.format("trimtab").load(str(NIGHT)).where("kind = 'unload'").count()
    by_option = run(stream(session, NIGHT, kind="unload"), tmp_path / "option")
    by_filter = run(stream(session, NIGHT).where("kind = 'unload'"), tmp_path / "filter")

    for name, query, n_read in (("option", by_option, n_unloads), ("filter", by_filter, n_rows)):
        assert n_unloads == session.read.parquet(str(tmp_path / name / "rows")).count()
        assert n_read == sum(it["numInputRows"] for it in query.recentProgress)
    few = session.readStream.format("trimtab").schema("kind string, bundle string")
    run(few.load(str(NIGHT)), tmp_path / "few")
    assert {"kind", "bundle", "batch"} == set(
        session.read.parquet(str(tmp_path / "few" / "rows")).columns
    )


def test_what_cannot_be_streamed_is_refused_in_one_line(
    session: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(
        StreamingQueryException,
        match=r"FieldError: table: found store_writes, expected one that is read line by line: "
        r"recording, [a-z_, ]+; read it with spark.read\n",
    ):
        run(stream(session, NIGHT, table="store_writes"), tmp_path)
