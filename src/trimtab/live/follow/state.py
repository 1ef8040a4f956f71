"""The running state in Spark: facts of stored batches in, each broker's state out.

State stands in RocksDB and is kept with the offsets, so that a fact counts once whatever
is killed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
    ValueState,
)
from pyspark.sql.types import StructType

from trimtab.files.whole_files import write_whole
from trimtab.live.follow.batches import Batches
from trimtab.live.follow.broker_totals import Fact, Rhythm, Running, folded
from trimtab.live.follow.facts import FACTS
from trimtab.live.follow.places import FACTS_FOLDER, batch_of, parts_of

#: Facts with the order in which they were read.
_COLUMNS = FACTS.append(pa.field("place", pa.int64()))
_RUNNING = (
    "lines long, events long, unloads long, rounds long, printed double, reports long, "
    "usage double, smoothed double, round_us long, is_stored boolean"
)
#: Batches whose facts are taken in at once: they are sorted in memory.
_BATCHES_AT_ONCE = 64


class StoredFacts(DataSource):
    """Registers the source of facts with Spark; its option `books` is a folder."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return "trimtab-facts"

    def schema(self) -> StructType:
        """Return the columns."""
        return from_arrow_schema(_COLUMNS)

    def streamReader(self, schema: StructType) -> FactsReader:  # noqa: N802  # Spark's name
        """Return what reads."""
        return FactsReader(self.options)


class FactsReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the facts of batches that are stored; an offset is the last batch's number."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """Take the options of the source."""
        self.folder = Path(options["books"]) / FACTS_FOLDER
        self.totals = Path(options["books"]) / "through.json"
        self.bound: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  # Spark's name
        """Return where everything begins."""
        return {"batch": -1}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # Spark's name
        """Return that the limit is ours."""
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's name
        """Remember the last batch that is there now."""
        self.bound = self._through()

    def latestOffset(  # noqa: N802  # Spark's name
        self, start: dict[str, int], limit: ReadLimit
    ) -> dict[str, int]:
        """Return the last batch that is taken in next."""
        last = self._through() if self.bound is None else self.bound
        return {"batch": max(start["batch"], min(last, start["batch"] + _BATCHES_AT_ONCE))}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Return one task for all facts: they are few, and their order counts."""
        batches = range(start["batch"] + 1, end["batch"] + 1)
        return [InputPartition(batches)] if batches else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return facts in the order in which they were found; runs in Spark's workers."""
        place = 0
        for batch in partition.value:
            for path in parts_of(self.folder, batch):
                facts = pq.read_table(path)
                places = pa.array(range(place, place + len(facts)), pa.int64())
                place += len(facts)
                numbered = facts.append_column("place", places).cast(_COLUMNS)
                yield from numbered.combine_chunks().to_batches()

    def commit(self, end: dict[str, int]) -> None:
        """Remove what has been taken in."""
        for path in self.folder.glob("part-*"):
            if batch_of(path) <= end["batch"]:
                path.unlink(missing_ok=True)

    def _through(self) -> int:
        if not self.totals.exists():
            return -1
        return int(json.loads(self.totals.read_text(encoding="utf-8")))


class RunningState(StatefulProcessor):
    """Keeps what is known of each broker, and gives it whenever it changes."""

    def __init__(self, rhythm: Rhythm) -> None:
        """Take how the leader smooths."""
        self.rhythm = rhythm
        self.state: ValueState

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self.state = handle.getValueState("running", _RUNNING)

    def handleInputRows(  # noqa: N802  # Spark's name
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: N803  # Spark's name
    ) -> Iterator[Row]:
        """Return a broker's state after more facts, which come in any order."""
        stored = self.state.get()
        before = Running() if stored is None else Running(*stored)
        facts = (
            Fact(row.kind, row.time_us, row.value)
            for row in sorted(rows, key=lambda row: row.place)
        )
        after = folded(before, facts, self.rhythm)
        self.state.update(astuple(after))
        yield Row(broker=key[0], **asdict(after))

    def close(self) -> None:
        """Do nothing: the state closes itself."""


def started_state(
    spark: SparkSession, batches: Batches, rhythm: Rhythm, start: Callable[[Any], Any]
) -> StreamingQuery:
    """Return the query that keeps the running state; `start` sets the trigger of its writer."""
    spark.dataSource.register(StoredFacts)
    facts = spark.readStream.format(StoredFacts.name()).option("books", str(batches.books)).load()
    states = facts.groupBy("broker").transformWithState(
        RunningState(rhythm), f"broker string, {_RUNNING}", "update", "none"
    )

    def store(frame: DataFrame, batch: int) -> None:
        # What is known replaces what was known: done again it changes nothing.
        running = read_state(batches) | {row.broker: _running(row) for row in frame.collect()}
        document = {broker: asdict(running[broker]) for broker in sorted(running)}
        write_whole(batches.tables / "running.json", json.dumps(document, indent=1) + "\n")

    writer = states.writeStream.outputMode("update").foreachBatch(store)
    writer = start(writer.option("checkpointLocation", str(batches.books / "state")))
    query: StreamingQuery = writer.start()
    return query


def read_state(batches: Batches) -> dict[str, Running]:
    """Return what is known of each broker."""
    path = batches.tables / "running.json"
    if not path.exists():
        return {}
    document = json.loads(path.read_text(encoding="utf-8"))
    return {broker: Running(**fields) for broker, fields in document.items()}


def _running(row: Row) -> Running:
    return Running(*(row[field.name] for field in fields(Running)))
