"""A growing recording as a source of Spark's: new bytes in, rows of all tables out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from io import FileIO
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from trimtab.files.packing import packed
from trimtab.ingest.growing.disk import Disk
from trimtab.ingest.growing.incarnations import Register
from trimtab.ingest.growing.items import Item, items_of
from trimtab.ingest.growing.looks import Looks
from trimtab.ingest.growing.plan import Limits, advanced
from trimtab.ingest.outcome import Origin
from trimtab.ingest.recording import Recording, open_growing
from trimtab.ingest.split_result import TableRows
from trimtab.ingest.splits import DamagedError
from trimtab.ingest.worker import parse_blocks
from trimtab.live.follow.ledger import Ledger
from trimtab.live.follow.lock import locked
from trimtab.live.follow.places import columns

#: Bytes that one task parses; smaller pieces cost more files than they save time.
_TASK_SIZE = 16 << 20
#: What the source gives: in each row either rows of one table, packed as an Arrow stream,
#: or the accounting of one item.
COLUMNS = columns(
    "item int32, name string, source string, log_broker string, before int64, "
    "tab string, rows binary, account string"
)
_PLANNER_ENDS_WITHIN_S = 60.0


class GrowingRecording(DataSource):
    """Registers the source with Spark.

    Options: `recording`, `meta` (a folder with recording.toml as it was at first) and `ledger`
    are folders, `batchSize` is in bytes, `rest` in seconds.
    """

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return "trimtab-recording"

    def schema(self) -> StructType:
        """Return the columns."""
        return from_arrow_schema(COLUMNS)

    def streamReader(self, schema: StructType) -> RecordingReader:  # noqa: N802  # Spark's name
        """Return what reads."""
        return RecordingReader(self.options)


class RecordingReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans in a process beside the driver, reads in Spark's workers.

    An offset is the number of a plan: everything else stands in the ledger.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        """Take the options of the source."""
        self.meta = Path(options["meta"])
        self.ledger = Ledger(Path(options["ledger"]))
        self.limits = Limits(int(options["batchSize"]), float(options["rest"]))
        self.looks = Looks(Path(options["recording"]), Disk(self.limits.rest_s))
        #: The last plan, and what is known since.
        self.latest: tuple[int, Register] = (-1, Register())
        self.lock: FileIO | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  # Spark's name
        """Return where a follower begins."""
        return {"plan": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # Spark's name
        """Return how much is read at once."""
        return ReadMaxBytes(self.limits.batch_size)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's name
        """Remember what is there now, to read that and nothing that comes later."""
        self.looks.bound()

    def latestOffset(  # noqa: N802  # Spark's name
        self, start: dict[str, int], limit: ReadLimit
    ) -> dict[str, int]:
        """Return the offset after the next batch, whose bytes are copied; the same for nothing."""
        if self.lock is None:
            # A planner of a follower that was killed may still be at work.
            self.lock = locked(self.ledger.folder / "planner.lock", wait_s=_PLANNER_ENDS_WITHIN_S)
        size = 1 << 62 if isinstance(limit, ReadAllAvailable) else self.limits.batch_size
        return {"plan": self._next(start["plan"], replace(self.limits, batch_size=size))}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Return the items of the plans, cut into tasks."""
        parts: list[InputPartition] = []
        for number in range(start["plan"] + 1, end["plan"] + 1):
            items = self.ledger.items(number)
            first, room = 0, _TASK_SIZE
            for i, item in enumerate(items):
                size = item.stop - item.start
                if size > room and i > first:
                    parts.append(InputPartition((number, first, items[first:i])))
                    first, room = i, _TASK_SIZE
                room -= size
            if first < len(items):
                parts.append(InputPartition((number, first, items[first:])))
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the rows of items; runs in Spark's workers."""
        plan, first, items = partition.value
        # As it was when the first line was read: done again, a batch must give the same rows.
        recording = open_growing(self.meta)
        for number, item in enumerate(items, first):
            yield from self._parsed(recording, plan, number, item)

    def commit(self, end: dict[str, int]) -> None:
        """Forget what will not be read again."""
        self.ledger.forget(end["plan"])

    def stop(self) -> None:
        """Let another planner at the ledger."""
        if self.lock is not None:
            self.lock.close()
            self.lock = None

    def _next(self, before: int, limits: Limits) -> int:
        """Return the number of the next plan, made if there is anything to plan."""
        if self.latest[0] != before:
            self.latest = (before, self.ledger.register(before))
        take = partial(self.ledger.take, before + 1)
        it = self.looks.planned(self.latest[1], limits, take)
        if it.is_empty:
            self.latest = (before, it.register)
            return before
        after = advanced(it.register, it.plan, it.copied)
        self.ledger.keep(before + 1, items_of(it.plan, it.copied, it.register), after)
        self.latest = (before + 1, after)
        return before + 1

    def _parsed(
        self, recording: Recording, plan: int, number: int, item: Item
    ) -> Iterator[pa.RecordBatch]:
        root = recording.meta.get("store_root", "")
        origin = Origin(item.name, item.log_broker, recording.zone, recording.day, root)
        about = {"item": number} | asdict(item)
        for part in parse_blocks(origin, item.source, self._blocks(plan, item)):
            if isinstance(part, TableRows):
                row = {"tab": part.table, "rows": packed(part.rows)}
            else:
                row = {"account": json.dumps(asdict(part))}
            yield pa.RecordBatch.from_pylist([about | row], COLUMNS)

    def _blocks(self, plan: int, item: Item) -> Iterator[bytes]:
        if item.lost is not None:
            raise DamagedError("", item.lost)
        yield from self.ledger.blocks(plan, item)
