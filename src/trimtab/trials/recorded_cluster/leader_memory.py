"""What a leader stored and printed of what it remembers → arrays and maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds

from trimtab.diagnose.store_source import Span, best_table
from trimtab.files.places import located
from trimtab.lab.reconstruct.evidence import Averages, Printed
from trimtab.trials.recorded_cluster.columns import Names, floats, seconds, stored_table

# Lines that print AvgShedder's counters, those that name a pair whose counters are then
# dropped, and lines that print ThresholdShedder's smoothed usage.
_COUNTED, _FIRED, _SMOOTHED = (
    "hit-counts",
    ("avg-shed-attempt", "too-little-to-shed"),
    "shed-attempt",
)
_LINE = ("time", "log_broker", "kind", "broker", "target", "numbers", "scores")
# How AvgShedder's two maps stand in one line.
_LOW = "low:"
# Times of rounds are given in ms, those of lines may be more exact.
_SAME = timedelta(milliseconds=1)


def stored_averages(tables: Path, spans: Sequence[Span], bundles: Names) -> Averages:
    """Return the averages of bundles that leaders stored, in order of time."""
    terms = ("short", "long")
    rates = [f"{term}_rate_{way}" for term in terms for way in ("in", "out")]
    counts = [f"{term}_samples" for term in terms]
    columns = ("time", "written", "bundle", "file", "line", *counts, *rates)
    stored = best_table(stored_table(tables, "bundle_averages", columns), spans)
    stored = stored.filter(stored["written"].is_valid()).sort_by("written")
    bundle = bundles.all(stored["bundle"].to_pylist())
    known = bundle >= 0
    samples = np.stack([np.nan_to_num(floats(stored[name])) for name in counts], axis=1)
    return Averages(
        time_s=seconds(stored["written"])[known],
        bundle=bundle[known],
        samples=samples[known].astype(np.int64),
        rates=np.stack([floats(stored[name]) for name in rates], axis=1)[known].reshape(-1, 2, 2),
    )


def printed(tables: Path, logged: Iterable[Mapping[str, Any]]) -> dict[int, Printed]:
    """Return what rounds of findings.json printed of what was remembered, by their number."""
    kinds = ds.field("kind").isin([_COUNTED, *_FIRED, _SMOOTHED])
    stored = ds.dataset(**located(tables / "log_events"), format="parquet")
    by_log: dict[str, list[dict[str, Any]]] = {}
    for line in stored.to_table(list(_LINE), kinds).sort_by("time").to_pylist():
        by_log.setdefault(line["log_broker"], []).append(line)
    return {row["round"]: _printed(_within(by_log.get(row["leader"], ()), row)) for row in logged}


def _within(lines: Iterable[dict[str, Any]], logged: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """Return the lines of a round."""
    begin, end = (datetime.fromisoformat(logged[name]) for name in ("time", "end"))
    return [line for line in lines if begin - _SAME <= line["time"] <= end + _SAME]


def _printed(lines: Sequence[Mapping[str, Any]]) -> Printed:
    """Return what the lines of a round say of what is remembered."""
    fired = [line for line in lines if line["kind"] in _FIRED]
    low, high = None, None
    for line in (line for line in lines if line["kind"] == _COUNTED):
        high = {broker: int(count) for broker, count in dict(line["scores"] or ()).items()}
        low = {
            name.removeprefix(_LOW): int(count)
            for name, count in dict(line["numbers"] or ()).items()
        }
    over = [line for line in lines if line["kind"] == _SMOOTHED]
    shown = [dict(line["numbers"] or ()) for line in over]
    return Printed(
        hits_low=low,
        hits_high=high,
        dropped=frozenset(line[end] for line in fired for end in ("broker", "target")),
        smoothed={
            line["broker"]: each["usage_percent"] / 100.0
            for line, each in zip(over, shown, strict=True)
            if "usage_percent" in each
        },
        average=next(
            (each["average_percent"] / 100.0 for each in shown if "average_percent" in each), np.nan
        ),
    )
