"""Rows of tables → facts for the running state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trimtab.live.follow.broker_totals import ASKED, EVENT, GONE, PRINTED, STORED, UNLOAD
from trimtab.live.follow.places import columns
from trimtab.pulsar.model import RESOURCES
from trimtab.pulsar.scores import busiest_resource
from trimtab.pulsar.settings import ResourceWeights

#: Facts as a table; the broker is named by its log's folder, or by its id.
FACTS = columns("broker string, kind string, time_us int64, value double")


def facts_of(table: str, rows: pa.Table, weights: ResourceWeights) -> Iterator[dict[str, Any]]:
    """Return rows of `FACTS` for the running state, in order; most tables mean nothing to it."""
    if table == "log_events":
        yield from _of_events(rows)
    elif table == "load_reports":
        yield from _of_reports(rows, weights)


def _of_events(rows: pa.Table) -> Iterator[dict[str, Any]]:
    events = rows.select(["log_broker", "kind", "time", "scores"])
    for row in events.set_column(2, "time", _us(rows["time"])).to_pylist():
        about = {"broker": row["log_broker"], "time_us": row["time"]}
        yield about | {"kind": EVENT, "value": 1.0}
        if row["kind"] == "unload":
            yield about | {"kind": UNLOAD, "value": 1.0}
        if row["kind"] == "usage-unsmoothed":
            for broker, usage in row["scores"] or ():
                yield about | {"broker": broker, "kind": PRINTED, "value": usage}


def _of_reports(rows: pa.Table, weights: ResourceWeights) -> Iterator[dict[str, Any]]:
    # The extensible load manager keeps no load in the store.
    rows = rows.filter(pc.or_(rows["is_gone"], pc.is_valid(rows["cpu_usage"])))
    usages = busiest_resource(_resources(rows, "usage"), _resources(rows, "limit"), weights)
    times = _us(pc.coalesce(rows["written"], rows["time"])).to_pylist()
    names = (rows[name].to_pylist() for name in ("broker", "origin", "is_gone"))
    for broker, origin, is_gone, time_us, usage in zip(*names, times, usages.tolist(), strict=True):
        kind = GONE if is_gone else STORED if origin == "store" else ASKED
        yield {"broker": broker, "kind": kind, "time_us": time_us, "value": usage}


def _resources(rows: pa.Table, which: str) -> Any:
    """Return (n, 5) usages or limits; one that is absent is -1, as in the Java."""
    measures = (pc.fill_null(rows[f"{name}_{which}"], -1.0) for name in RESOURCES)
    return np.column_stack([each.to_numpy(zero_copy_only=False) for each in measures])


def _us(times: Any) -> Any:
    return pc.cast(times, pa.int64())
