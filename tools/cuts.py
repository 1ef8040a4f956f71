"""Recordings that begin in the middle, and in how many rounds the replayed leader agrees.

A recorder that begins at some time finds what the metadata store holds then, and hears nothing of
what came before: no line of a log, no report but the last of each broker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyspark import SparkContext

from tools.precision.explained import explained
from trimtab.diagnose.store_source import is_logged
from trimtab.files.partitions import cluster_folder, write_rows
from trimtab.files.tables import INGESTED
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import open_recording
from trimtab.trials.recorded_cluster import recorded
from trimtab.trials.rerun.simulated_leader import RoundPair, round_pairs

#: Cuts by which the beginning was mended, and those that were drawn when it was.
LOOKED_AT, UNSEEN = range(20), range(200, 220)
#: Share of a recording behind which none begins, so that some rounds are left.
_LATEST = 0.75
#: Tables of what the store holds, and the column that says of what; None: of one thing alone.
_HELD = {
    "load_reports": "broker",
    "ownership": "bundle",
    "leaders": None,
    "bundle_averages": "bundle",
    "broker_averages": "broker",
}
#: Keys of recording.toml that say when the whole began.
_BEGIN = pa.array(["from"])

Tables = Mapping[str, pa.Table]


@dataclass(frozen=True)
class Whole:
    """A recording as tables."""

    name: str
    cluster: str
    tables: Tables

    def begin(self, seed: int) -> datetime:
        """Return the time at which a cut of it begins."""
        times = pc.min_max(self.tables["log_events"]["time"]).as_py()
        share = Random(f"{self.name} {seed}").uniform(0.0, _LATEST)
        begin: datetime = times["min"] + (times["max"] - times["min"]) * share
        return begin


@dataclass(frozen=True)
class Agreement:
    """In how many rounds a replayed leader agreed whether to shed."""

    rounds: int = 0
    agreed: int = 0
    #: Of those that hang on nothing that came before the recording.
    sure: int = 0
    agreed_sure: int = 0

    def __add__(self, other: Agreement) -> Agreement:
        """Return both together."""
        return Agreement(
            self.rounds + other.rounds,
            self.agreed + other.agreed,
            self.sure + other.sure,
            self.agreed_sure + other.agreed_sure,
        )


def whole(spark: SparkContext, recording: Path, folder: Path) -> Whole:
    """Return a recording, ingested into a folder."""
    with open_recording(recording) as opened:
        ingest(spark, opened, folder)
        cluster = opened.cluster
    return Whole(
        recording.name, cluster, {name: _table(folder, name, cluster) for name in INGESTED}
    )


def agreements(of: Whole, seeds: Sequence[int], folder: Path) -> Agreement:
    """Return how the replayed leader agrees in all cuts of a recording together."""
    parts = (
        agreement(of, begun(of.tables, of.begin(seed)), folder / f"{of.name}-{seed}")
        for seed in seeds
    )
    return sum(parts, Agreement())


def agreement(of: Whole, tables: Tables, folder: Path) -> Agreement:
    """Return how the leader of a recording agrees that is replayed from some tables of it."""
    pairs = replayed(of, tables, folder)
    sure = [each for each in pairs if each.is_sure]
    return Agreement(
        rounds=len(pairs),
        agreed=sum(each.is_same_trigger for each in pairs),
        sure=len(sure),
        agreed_sure=sum(each.is_same_trigger for each in sure),
    )


def replayed(of: Whole, tables: Tables, folder: Path) -> Sequence[RoundPair]:
    """Return what the leader of a recording did and does, replayed from some tables of it."""
    write_rows(folder, of.cluster, f"{of.name}-00001", tables)
    said = explained(folder, of.cluster)
    write_rows(folder, of.cluster, f"{of.name}-00000", said.replayed)
    cluster = recorded(folder, said.document)
    return list(round_pairs(cluster.rebuilt, cluster.balancer, cluster.evidence.rounds))


def begun(tables: Tables, begin: datetime) -> dict[str, pa.Table]:
    """Return what a recorder would have that begins at some time."""
    cut = {
        name: _since(name, table, begin) if "time" in table.schema.names else table
        for name, table in tables.items()
    }
    meta = cut["recording"]
    cut["recording"] = meta.filter(pc.invert(pc.is_in(meta["key"], _BEGIN)))
    files = cut["store_files"]
    starts = [start and max(start, begin) for start in files["start"].to_pylist()]
    cut["store_files"] = _with(files, "start", starts)
    cut["bundle_reports"] = _of_reports(tables["bundle_reports"], cut["load_reports"])
    return cut


def _table(folder: Path, name: str, cluster: str) -> pa.Table:
    schema = INGESTED[name]
    stored = ds.dataset(cluster_folder(folder, name, cluster), format="parquet")
    table = stored.to_table(columns=schema.names).cast(schema)
    places = [(each, "ascending") for each in ("file", "line") if each in schema.names]
    return table.sort_by(places) if places else table


def _since(name: str, table: pa.Table, begin: datetime) -> pa.Table:
    """Return the rows since a time, behind those that the store held then."""
    times = table["time"].to_pylist()
    new = [at for at, time in enumerate(times) if time is None or time >= begin]
    if name not in _HELD:
        return table.take(pa.array(new, pa.int64()))
    rows = table.select(
        [each for each in ("file", "broker", "is_gone", _HELD[name]) if each in table.schema.names]
    ).to_pylist()
    last: dict[tuple[bool, Any], int] = {}
    for at in pc.sort_indices(table["time"]).to_pylist():
        if times[at] < begin and rows[at]["file"].startswith("store/"):
            last[is_logged(rows[at]), rows[at].get(_HELD[name])] = at
    held = [at for at in sorted(last.values()) if _is_there(rows[at])]
    # Of a node ZooKeeper knows when it was made; who looks finds it when it looks.
    exact = [name == "ownership" and is_logged(rows[at]) for at in held]
    found = [times[at] if is_exact else begin for at, is_exact in zip(held, exact, strict=True)]
    before = _with(table.take(pa.array(held, pa.int64())), "time", found)
    return pa.concat_tables([before, table.take(pa.array(new, pa.int64()))])


def _is_there(row: Mapping[str, Any]) -> bool:
    """Return whether a row says that something is there, not that it is gone."""
    return not row.get("is_gone") and row.get("broker", "") is not None


def _of_reports(rows: pa.Table, reports: pa.Table) -> pa.Table:
    """Return what some reports say of bundles, at their times."""
    places = zip(*(reports[name].to_pylist() for name in ("file", "line")), strict=True)
    times = dict(zip(places, reports["time"].to_pylist(), strict=True))
    lines = list(zip(*(rows[name].to_pylist() for name in ("file", "line")), strict=True))
    kept = [at for at, line in enumerate(lines) if line in times]
    table = rows.take(pa.array(kept, pa.int64()))
    return _with(table, "time", [times[lines[at]] for at in kept])


def _with(table: pa.Table, name: str, values: Sequence[Any]) -> pa.Table:
    """Return a table with other values in a column."""
    field = table.schema.field(name)
    return table.set_column(
        table.schema.get_field_index(name), field, [pa.array(values, field.type)]
    )
