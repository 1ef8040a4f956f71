"""Replays every tenure of leadership on Spark: tables in, tables out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from trimtab.diagnose.envelopes import ENVELOPE, enveloped, unwrapped
from trimtab.diagnose.replay import replay
from trimtab.diagnose.script import script
from trimtab.diagnose.store_source import Span
from trimtab.diagnose.tenures import Tenure
from trimtab.tables import DIAGNOSED


def recompute(
    spark: SparkSession,
    held: tuple[Path, str],
    tenures: Sequence[Tenure],
    spans: Sequence[Span],
) -> dict[str, pa.Table]:
    """Decide every tenure again, one task a tenure.

    Args:
        spark: session.
        held: folder of the ingested tables, readable by every executor, and the cluster.
        tenures: what to replay.
        spans: when ZooKeeper's logs tell of every write.

    Returns:
        Each table of DIAGNOSED, in order of tenure and time.
    """
    if not tenures:
        return {name: schema.empty_table() for name, schema in DIAGNOSED.items()}
    listed, logged = list(tenures), tuple(spans)

    def play(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for i in batch.column(0).to_pylist():
                yield from enveloped(replay(script(held, listed[i], logged)))

    frame = spark.range(0, len(listed), 1, len(listed)).mapInArrow(
        play, from_arrow_schema(ENVELOPE)
    )
    return unwrapped(frame.toArrow())
