"""A session of a Spark Connect server as one that runs tasks: as a data frame, for want of RDDs.

Nothing of Spark is imported until it is there.
"""

from __future__ import annotations

import pickle
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Bytes of a row: whatever is sent is cut between rows, and a message has its limit.
_PIECE_BYTES = 1 << 20


def is_remote(master: str) -> bool:
    """Return whether it is the URL of a Spark Connect server, and no master's."""
    return master.startswith("sc://")


@dataclass(slots=True)
class _Work:
    """Tasks that were sent together: their groups, how many they are, and how many are done."""

    groups: set[str]
    n_tasks: int
    n_done: int = 0


@dataclass(slots=True)
class Remote:
    """A session of a server whose workers have this program."""

    session: SparkSession
    #: Where it is, without what nobody else is to know.
    url: str
    _works: list[_Work] = field(default_factory=list)
    #: Has the work that a thread waits for.
    _thread: threading.local = field(default_factory=threading.local)
    _cores: int = 0

    def results(self, task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the results of a task for each item, in their order."""
        import pyarrow as pa
        from pyspark.sql.pandas.types import from_arrow_schema

        piece = pa.schema([("item", pa.int64()), ("start", pa.int64()), ("bytes", pa.binary())])

        # A function within one travels whole, with all that it names.
        def run(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in numbers:
                for item in batch.column(0).to_pylist():
                    result = pickle.dumps(task(items[item]), pickle.HIGHEST_PROTOCOL)
                    for start in range(0, len(result), _PIECE_BYTES):
                        those = [item], [start], [result[start : start + _PIECE_BYTES]]
                        yield pa.RecordBatch.from_arrays(list(map(pa.array, those)), schema=piece)

        n = len(items)
        rows = self.session.range(0, n, 1, n).mapInArrow(run, from_arrow_schema(piece))
        pieces: dict[int, dict[int, bytes]] = defaultdict(dict)
        for row in self._rows(rows, n).to_pylist():
            pieces[row["item"]][row["start"]] = row["bytes"]
        return [
            pickle.loads(b"".join(piece for _, piece in sorted(pieces[item].items())))
            for item in range(n)
        ]

    def _rows(self, rows: DataFrame, n_tasks: int) -> pa.Table:
        """Return the rows of so many tasks, which are counted while this thread waits for them."""
        work = _Work(self.session.getTags(), n_tasks)
        self._works.append(work)
        self._thread.work = work
        try:
            table = rows.toArrow()
        finally:
            self._thread.work = None
        # What the server says of the last tasks may come after what they gave, or never.
        work.n_done = n_tasks
        return table

    @property
    def cores(self) -> int:
        """Return how many tasks the server would make of a range, which is one a core."""
        from pyspark.sql.connect.functions import spark_partition_id

        if not self._cores:
            parts = self.session.range(1 << 16).select(spark_partition_id()).distinct()
            self._cores = max(1, parts.count())
        return self._cores

    def join(self, group: str) -> None:
        """Have what this thread asks for from now on belong to a group, and to no other."""
        self.session.clearTags()
        self.session.addTag(group)

    def cancel(self, group: str) -> None:
        """End what belongs to a group."""
        self.session.interruptTag(group)

    def counted(self, group: str = "") -> tuple[int, int]:
        """Return the count of tasks, of a group if it is named: completed, and all known so far."""
        works = [it for it in self._works if not group or group in it.groups]
        return sum(it.n_done for it in works), sum(it.n_tasks for it in works)

    def take_progress(
        self,
        stages: Iterable[Any] | None,
        inflight_tasks: int,
        operation_id: str | None,
        done: bool,
    ) -> None:
        """Take in what the server says of an operation; arguments as Spark names them.

        It is called in the thread that asked for the operation.
        """
        work: _Work | None = getattr(self._thread, "work", None)
        if work is not None:
            n_done = sum(stage.num_completed_tasks for stage in stages or ())
            work.n_done = min(max(work.n_done, n_done), work.n_tasks)
