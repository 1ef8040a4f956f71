"""Replays every tenure of leadership on Spark: tables in, tables out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from trimtab.diagnose.replay.replay import replay
from trimtab.diagnose.replay.result_tables import in_order, result_tables
from trimtab.diagnose.replay.script import script
from trimtab.diagnose.replay.tenures import Tenure
from trimtab.diagnose.store_source import Span
from trimtab.files.packing import packed, unpacked
from trimtab.spark.runner import Runner, results


def recompute(
    spark: Runner,
    folder_and_cluster: tuple[Path, str],
    tenures: Sequence[Tenure],
    spans: Sequence[Span],
) -> dict[str, pa.Table]:
    """Return each table of DIAGNOSED, in order of tenure and time; one task a tenure.

    Every executor must be able to read the ingested tables; `spans` are when ZooKeeper's logs
    tell of every write.
    """
    if not tenures:
        return in_order([])
    tenure_list, logged = list(tenures), tuple(spans)

    def play(number: int) -> dict[str, bytes]:
        tables = result_tables(replay(script(folder_and_cluster, tenure_list[number], logged)))
        return {name: packed(table) for name, table in tables.items()}

    played = results(spark, play, range(len(tenure_list)))
    return in_order([{name: unpacked(table) for name, table in each.items()} for each in played])
