"""Follows a recording that grows: tables that grow with it, each line in them once."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from trimtab.follow.batches import Batches, Stored, Totals
from trimtab.follow.ledger import write_whole
from trimtab.follow.lock import HeldError, Lock, locked
from trimtab.follow.source import GrowingRecording
from trimtab.ingest.pipeline import IngestError, meta_accounts, meta_rows
from trimtab.ingest.recording import Recording, open_growing
from trimtab.spark import plain_faults
from trimtab.tables import INGESTED

#: Java outlives a driver that was killed by a few seconds.
_JAVA_ENDS_WITHIN_S = 60.0
_WAIT_S = 0.5


@dataclass(frozen=True, slots=True)
class Pace:
    """How a recording is followed."""

    #: Read what is there and stop.
    is_until_idle: bool = False
    #: Seconds between looks.
    every_s: float = 5.0
    #: Seconds without a write after which a file is at rest.
    rest_s: float = 10.0
    #: Bytes of a batch.
    batch_size: int = 64 << 20


@contextmanager
def opened_tables(recording: Path, tables: Path) -> Iterator[tuple[Batches, Lock]]:
    """Give a block tables that this process alone adds to.

    Returns:
        The tables, and a lock that Java is to inherit: a driver that was killed leaves it
        running for some seconds, in which nobody else may begin.

    Raises:
        IngestError: another follower is at work, or the folder holds something else.
        RecordingError: the recording is not a folder, or recording.toml is wrong.
    """
    opened = open_growing(recording)
    batches = Batches(tables.absolute())
    _prepare(opened, batches)
    try:
        driver = locked(batches.books / "driver.lock")
    except HeldError:
        raise IngestError(f"{tables}: another `trimtab ingest --follow` writes there") from None
    try:
        java = locked(batches.books / "java.lock", wait_s=_JAVA_ENDS_WITHIN_S)
    except HeldError:
        driver.close()
        raise IngestError(
            f"{tables}: the Java of an earlier follower still runs and holds "
            f"{batches.books / 'java.lock'}; end it, then start again"
        ) from None
    try:
        yield batches, java
    finally:
        java.close()
        driver.close()


def follow(
    spark: SparkSession,
    recording: Path,
    batches: Batches,
    pace: Pace,
    seen: Callable[[Stored, Totals], None],
) -> Totals:
    """Add what is new in a recording to its tables, until told to stop.

    Args:
        spark: a session of `trimtab.spark.session`.
        recording: folder that grows.
        batches: what `opened_tables` gave.
        pace: how.
        seen: told of every batch once it is stored.

    Returns:
        The accounting of all that is in the tables.

    Raises:
        IngestError: the accounting does not add up.
        SparkError: Spark failed.

    Properties:
        Each line that was there long enough to be seen is stored once, whenever the driver,
        Java or a worker was killed.
    """
    faults: list[IngestError] = []
    root = open_growing(recording).root

    def store(frame: DataFrame, batch: int) -> None:
        try:
            seen(batches.store(frame, batch), batches.totals)
        except IngestError as fault:
            faults.append(fault)
            raise

    if batches.totals.through < (last := batches.last()):
        batches.finish(last)
    with plain_faults():
        query = _started(spark, root, batches, pace, store)
        try:
            while query.isActive:
                time.sleep(_WAIT_S)
            if faults:
                raise faults[0]
            query.awaitTermination()
        finally:
            if query.isActive:
                query.stop()
    return batches.totals


def _started(
    spark: SparkSession,
    root: Path,
    batches: Batches,
    pace: Pace,
    store: Callable[[DataFrame, int], None],
) -> StreamingQuery:
    spark.dataSource.register(GrowingRecording)
    stream = (
        spark.readStream.format(GrowingRecording.name())
        .option("recording", str(root))
        .option("ledger", str(batches.books / "plans"))
        .option("batchSize", str(pace.batch_size))
        .option("rest", str(pace.rest_s))
        .load()
    )
    writer = stream.writeStream.foreachBatch(store).option(
        "checkpointLocation", str(batches.books / "checkpoint")
    )
    if pace.is_until_idle:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{round(pace.every_s * 1000)} milliseconds").start()


def _prepare(recording: Recording, batches: Batches) -> None:
    """Make the folder of tables, whole or not at all, unless it is there.

    Raises:
        IngestError: it follows another recording, holds something else or cannot be written.
    """
    tables = batches.tables
    told = batches.books / "follow.json"
    if told.exists():
        followed = json.loads(told.read_text(encoding="utf-8"))["recording"]
        if followed != str(recording.root.resolve()):
            raise IngestError(
                f"{tables}: found tables that follow {followed}, "
                f"expected those of {recording.root.resolve()}; name another folder"
            )
        return
    if tables.exists() and (not tables.is_dir() or any(tables.iterdir())):
        raise IngestError(
            f"{tables}: not written: it holds something that no `trimtab ingest --follow` "
            "wrote; name a folder that does not exist"
        )
    made = Batches(tables.with_name(f".{tables.name}.partial"))
    shutil.rmtree(made.tables, ignore_errors=True)
    try:
        made.books.mkdir(parents=True)
    except OSError as error:
        raise IngestError(f"{tables}: cannot be written: {error.strerror}") from None
    _begin(recording, made)
    made.tables.replace(tables)


def _begin(recording: Recording, batches: Batches) -> None:
    """Write every table's schema, and what recording.toml says."""
    meta = meta_rows(recording)
    for table, schema in INGESTED.items():
        (batches.tables / table).mkdir()
        rows = pa.Table.from_pylist(meta if table == "recording" else [], schema)
        pq.write_table(rows, batches.tables / table / "part-00000.parquet")
    accounts = [asdict(account) for account in meta_accounts(recording)]
    files = {account.pop("file"): account for account in accounts}
    batches.account(Totals(-1, files, {"recording": len(meta)}))
    told = {"recording": str(recording.root.resolve())}
    write_whole(batches.books / "follow.json", json.dumps(told))
