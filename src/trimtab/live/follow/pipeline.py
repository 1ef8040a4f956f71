"""Follows a recording that grows: tables that grow with it, each line in them once."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from io import FileIO
from pathlib import Path

import msgspec
import pyarrow as pa
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from trimtab.files.partitions import write_rows
from trimtab.files.tables import INGESTED
from trimtab.files.whole_files import write_whole
from trimtab.ingest import folder
from trimtab.ingest.accounting import IngestError, meta_account
from trimtab.ingest.pipeline import meta_rows
from trimtab.ingest.recording import META, Recording, open_growing
from trimtab.live.follow.batches import BEGUN, Batches, Stored, Totals
from trimtab.live.follow.leader import Leader, leader_of
from trimtab.live.follow.lock import HeldError, locked
from trimtab.live.follow.places import FIRST_PART
from trimtab.live.follow.source import GrowingRecording
from trimtab.live.follow.state import started_state
from trimtab.spark.runner import SparkError, plain_faults

#: Java outlives a driver that was killed by a few seconds.
_JAVA_ENDS_WITHIN_S = 60.0
_WAIT_S = 0.5
#: Taking facts in costs a second of a core, however few they are.
_STATE_EVERY_S = 15.0
#: Folder in the books with recording.toml as it was then.
_META = "meta"


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
def opened_tables(recording: Path, tables: Path) -> Iterator[tuple[Batches, FileIO]]:
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
    spark: SparkContext,
    recording: Path,
    batches: Batches,
    pace: Pace,
    report: Callable[[Stored], None],
) -> Totals:
    """Return the totals after adding what is new in a recording to its tables, until stopped.

    Raises:
        IngestError: the accounting does not add up.
        SparkError: Spark failed.

    Properties:
        Each line that was there long enough to be seen is stored once, whenever the driver,
        Java or a worker was killed.
    """
    faults: list[IngestError] = []
    root = open_growing(recording).root
    leader = leader_followed(batches)

    def store(frame: DataFrame, batch: int) -> None:
        try:
            report(batches.store(frame, batch, leader.weights))
        except IngestError as fault:
            faults.append(fault)
            raise

    if batches.totals.through < (last := batches.last()):
        batches.finish(last)
    with plain_faults(), _java_may_end():
        streams = SparkSession(spark)
        try:
            if pace.is_until_idle:
                _finished([_started(streams, root, batches, pace, store)], faults)
                _finished([started_state(streams, batches, leader.rhythm, _at_once)], faults)
            else:
                query = _started(streams, root, batches, pace, store)
                every = partial(_every, max(pace.every_s, _STATE_EVERY_S))
                _finished([query, started_state(streams, batches, leader.rhythm, every)], faults)
        finally:
            for query in streams.streams.active:
                query.stop()
    return batches.totals


@contextmanager
def _java_may_end() -> Iterator[None]:
    """Turn the end of Java into one line, which py4j does not.

    Raises:
        SparkError: it has.
    """
    try:
        yield
    except (Py4JNetworkError, ConnectionError):
        raise SparkError("Java has ended; started again, it goes on from here") from None


def leader_followed(batches: Batches) -> Leader:
    """Return what the running state of some tables goes by, as it was when they were begun."""
    return msgspec.convert(batches.begun["leader"], Leader)


def _finished(queries: Sequence[StreamingQuery], faults: Sequence[IngestError]) -> None:
    """Wait until queries have ended; if one fails, say how."""
    while all(query.isActive for query in queries):
        time.sleep(_WAIT_S)
    if faults:
        raise faults[0]
    for query in queries:
        if not query.isActive:
            query.awaitTermination()


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
        .option("meta", str(batches.books / _META))
        .option("ledger", str(batches.books / "plans"))
        .option("batchSize", str(pace.batch_size))
        .option("rest", str(pace.rest_s))
        .load()
    )
    writer = stream.writeStream.foreachBatch(store).option(
        "checkpointLocation", str(batches.books / "checkpoint")
    )
    return (_at_once(writer) if pace.is_until_idle else _every(pace.every_s, writer)).start()


def _at_once(writer: DataStreamWriter) -> DataStreamWriter:
    return writer.trigger(availableNow=True)


def _every(every_s: float, writer: DataStreamWriter) -> DataStreamWriter:
    return writer.trigger(processingTime=f"{round(every_s * 1000)} milliseconds")


def _prepare(recording: Recording, batches: Batches) -> None:
    """Make the folder of tables, whole or not at all, unless it is there.

    Raises:
        IngestError: it follows another recording, holds something else or cannot be written.
    """
    tables = batches.tables
    if (batches.books / BEGUN).exists():
        followed = batches.begun["recording"]
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
    fresh = Batches(tables.with_name(f".{tables.name}.partial"))
    try:
        tables.parent.mkdir(parents=True, exist_ok=True)
        # A plain ingest that began before would put its tables in the place of these.
        with folder.locked(tables):
            shutil.rmtree(fresh.tables, ignore_errors=True)
            fresh.books.mkdir(parents=True)
            _begin(recording, fresh)
            fresh.tables.replace(tables)
    except OSError as error:
        raise IngestError(f"{tables}: cannot be written: {error.strerror}") from None


def _begin(recording: Recording, batches: Batches) -> None:
    """Write every table's schema, and what recording.toml says."""
    root = str(recording.root.resolve())
    named = {"cluster": recording.cluster, "name": recording.name}
    document = {"recording": root, **named, "leader": asdict(leader_of(recording))}
    write_whole(batches.books / BEGUN, json.dumps(document))
    meta = meta_rows(recording)
    rows = {
        table: pa.Table.from_pylist(meta if table == "recording" else [], schema)
        for table, schema in INGESTED.items()
    }
    write_rows(batches.tables, recording.cluster, FIRST_PART, rows)
    accounts = [account.row for account in meta_account(recording)]
    files = {account.pop("file"): account for account in accounts}
    batches.account(Totals(-1, files, {"recording": len(meta)}))
    (batches.books / _META).mkdir()
    if (recording.root / META).exists():
        shutil.copyfile(recording.root / META, batches.books / _META / META)
