"""What Spark asks for a table of a recording that grows: `spark.readStream.format("trimtab")`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from trimtab.files.batches import batches
from trimtab.ingest.growing.disk import Disk, PackedContent
from trimtab.ingest.growing.incarnations import MovedError, Register
from trimtab.ingest.growing.items import copied_range, items_of
from trimtab.ingest.growing.looks import Looks
from trimtab.ingest.growing.part import GrowingPart, Piece, lost_error, lost_reason
from trimtab.ingest.growing.plan import (
    Copied,
    Limits,
    Loss,
    Plan,
    Range,
    advanced,
    reading_order,
)
from trimtab.ingest.growing.positions import (
    Begun,
    Document,
    Positions,
    begun_of,
    offset_of,
    positions_of,
)
from trimtab.ingest.growing.refusals import not_streamed, unstreamed_files
from trimtab.ingest.growing.stream_options import StreamOptions
from trimtab.ingest.recording import open_growing
from trimtab.ingest.recording_toml import RecordingError
from trimtab.ingest.table_parts import MadePart
from trimtab.ingest.table_reader import rows_of

#: Bytes that one task parses.
_TASK_SIZE = 16 << 20
#: What is packed cannot be read from its middle, and is parsed by one task.
_UNCUT = 1 << 62
#: Looks at files that move all the time before that ends a batch that is done again.
_TRIES = 3


@dataclass(slots=True)
class _Latest:
    """The last batch that was planned."""

    #: Offsets between which it lies.
    start: Document = field(default_factory=dict)
    end: Document = field(default_factory=dict)
    pieces: list[Piece] = field(default_factory=list)
    #: What is known behind the end, by looks that found nothing to read, too.
    register: Register = field(default_factory=Register)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans in a process beside the driver, reads in Spark's workers.

    An offset has all positions in it: a batch can be done again by whoever knows the offsets
    before and behind it, as long as the files have what they had.
    """

    def __init__(
        self,
        path: Path,
        table: str,
        schema: StructType,
        condition: ds.Expression | None,
        options: StreamOptions,
    ) -> None:
        """Take what is to be read.

        Raises:
            FieldError: the table cannot be streamed.
            RecordingError: the path is not the folder of a recording.
        """
        not_streamed(path, table)
        self.path, self.table, self.condition, self.options = path, table, condition, options
        self.columns = to_arrow_schema(schema, timezone="UTC")
        self.looks = Looks(path, Disk(options.rest_s))
        self.latest = _Latest()

    def initialOffset(self) -> Document:  # noqa: N802  # Spark's name
        """Return where every query begins."""
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # Spark's name
        """Return how much is read at once."""
        return self.options.limit

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's name
        """Remember what is there now, to read that and nothing that comes later."""
        self.looks.bound()

    def latestOffset(  # noqa: N802  # Spark's name
        self, start: Document, limit: ReadLimit
    ) -> Document:
        """Return the offset behind the next batch; the same where nothing is to be read."""
        unstreamed_files(self.path, self.table)
        before = positions_of(start, self.path)
        known = self.latest.register if start and start == self.latest.end else before.register
        begun = before.begun or begun_of(open_growing(self.path))
        it = self.looks.planned(known, self._limits(limit), _taken)
        is_begun = before.begun is not None
        if it.is_empty and (is_begun or not (it.register.incarnations or begun.accounts)):
            self.latest.register = it.register
            return start
        after = advanced(it.register, it.plan, it.copied)
        end = offset_of(replace(before, begun=begun).after(after, it.plan.losses), self.path)
        pieces = _pieces(it.plan, it.copied, it.register, after)
        self.latest = _Latest(start, end, pieces, after)
        return end

    def partitions(self, start: Document, end: Document) -> Sequence[InputPartition]:
        """Return the pieces between two offsets in tasks."""
        if start == end:
            return []
        before, after = positions_of(start, self.path), positions_of(end, self.path)
        if after.begun is None:
            return []
        is_planned = start == self.latest.start and end == self.latest.end
        pieces = self.latest.pieces if is_planned else self._again(before, after)
        # Workers look for themselves, and only for files that have moved.
        looks = Looks(self.path, Disk(self.options.rest_s))
        part = GrowingPart(looks, after.begun, self.table, self.options.is_loss_fine)
        tasks = batches(pieces, lambda piece: piece.size, _TASK_SIZE)
        parts: list[Any] = [replace(part, pieces=those) for those in tasks]
        if before.begun is None and (rows := _begun_rows(after.begun, self.table)):
            parts.insert(0, MadePart(after.begun.cluster, self.table, rows))
        return [InputPartition(part) for part in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the rows of some pieces; runs in Spark's workers."""
        if partition.value is not None:
            yield from rows_of(partition.value, self.columns, self.condition)

    def _limits(self, limit: ReadLimit) -> Limits:
        it = Limits(_UNCUT, self.options.rest_s)
        if isinstance(limit, ReadMaxBytes):
            return replace(it, batch_size=limit.max_bytes)
        return replace(it, n_files=limit.max_files) if isinstance(limit, ReadMaxFiles) else it

    def _again(self, before: Positions, after: Positions) -> list[Piece]:
        """Return the pieces of a batch that another process has planned.

        Raises:
            RecordingError: some are nowhere any more, or moved whenever they were looked at.
        """
        for _ in range(_TRIES):
            try:
                plan = self._plan_again(before, after)
                copied = _taken(plan)
            except MovedError as moved:
                last = moved
                continue
            counted = replace(after.register, lines=before.register.lines)
            return _pieces(plan, copied, counted, after.register)
        raise RecordingError(f"{last}: found it moving, expected it to stay while it is read")

    def _plan_again(self, before: Positions, after: Positions) -> Plan:
        starts = {number: it.offset for number, it in before.register.incarnations.items()}
        unread = {
            number: it
            for number, it in after.register.incarnations.items()
            if it.offset > starts.get(number, 0)
        }
        look = self.looks.recognized(replace(after.register, incarnations=unread))
        ranges, losses = [], []
        for each in sorted(after.register.incarnations.values(), key=reading_order):
            start = starts.get(each.number, 0)
            if each.number in unread:
                if file := look.standing.get(each.number):
                    ranges.append(Range(each.number, file, start, each.offset))
                elif self.options.is_loss_fine:
                    losses.append(Loss(each.number, lost_reason(each.offset - start)))
                else:
                    raise lost_error(each.name, start, each.offset)
            if each.number in after.losses and each.number not in before.losses:
                losses.append(Loss(each.number, after.losses[each.number]))
        return Plan(tuple(ranges), tuple(sorted(losses, key=lambda loss: loss.number)))


def _taken(plan: Plan) -> Mapping[int, Copied]:
    """Return what is in ranges, read to count their lines."""
    copied = {}
    for it in plan.ranges:
        sizes = {"piece_size": _UNCUT} if isinstance(it.file.content, PackedContent) else {}
        copied[it.number] = copied_range(it, len, **sizes)
    return copied


def _pieces(
    plan: Plan, copied: Mapping[int, Copied], counted: Register, after: Register
) -> list[Piece]:
    """Return what is to be parsed.

    Args:
        plan: ranges of files, and losses.
        copied: what is in the ranges.
        counted: the incarnations, and the lines before the plan.
        after: what is known behind it.
    """
    items = iter(items_of(plan, copied, counted))
    pieces = []
    for it in plan.ranges:
        start = it.start
        for size, _ in copied[it.number].pieces:
            incarnation = after.incarnations[it.number]
            pieces.append(Piece(next(items), incarnation, it.file.content, start, start + size))
            start += size
    lost = zip(items, plan.losses, strict=True)
    pieces += [Piece(item, after.incarnations[it.number], None, 0, 0) for item, it in lost]
    return pieces


def _begun_rows(begun: Begun, table: str) -> tuple[dict[str, Any], ...]:
    """Return the rows that are there before any file is parsed."""
    rows = {"recording": begun.rows, "files": begun.accounts}
    return tuple(dict(row) for row in rows.get(table, ()))
