"""A session of a Spark Connect server as one that runs tasks: as a data frame, for want of RDDs.

Nothing of Spark is imported until it is there.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.connect.session import SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Bytes of a row: whatever is sent is cut between rows, and a message has its limit.
_PIECE_BYTES = 1 << 20


def is_remote(master: str) -> bool:
    """Return whether it is the URL of a Spark Connect server, and no master's."""
    return master.startswith("sc://")


@dataclass(slots=True)
class Remote:
    """A session of a server whose workers have this program."""

    session: SparkSession
    #: Where it is, without what nobody else is to know.
    url: str
    #: Spark's operation → its groups, tasks of it that are done, and all.
    _operations: dict[str, tuple[set[str], int, int]] = field(default_factory=dict)
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
        for row in rows.toArrow().to_pylist():
            pieces[row["item"]][row["start"]] = row["bytes"]
        return [
            pickle.loads(b"".join(piece for _, piece in sorted(pieces[item].items())))
            for item in range(n)
        ]

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
        operations = list(self._operations.values())
        mine = [(done, n) for groups, done, n in operations if not group or group in groups]
        return sum(done for done, _ in mine), sum(n for _, n in mine)

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
        stages = list(stages or ())
        if operation_id and stages:
            n_done = sum(stage.num_completed_tasks for stage in stages)
            n_tasks = sum(stage.num_tasks for stage in stages)
            self._operations[operation_id] = self.session.getTags(), n_done, n_tasks
