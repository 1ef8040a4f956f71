"""What each decision of a recorded night did, and what was possible → a part of findings.json.

The same stands in a table, `decisions`, a row each, beside the other tables of the recording.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from trimtab.files.partitions import write_rows
from trimtab.files.places import located
from trimtab.files.tables import JUDGED
from trimtab.lab.costs import Windows
from trimtab.lab.reconstruct.cluster import NothingToSimulateError
from trimtab.lab.reconstruct.evidence import Evidence
from trimtab.pulsar.model import Ints
from trimtab.trials.recorded_cluster import evidence, weights
from trimtab.trials.regret.walk import (
    SAME_POINTS,
    SHARE,
    Decision,
    Judged,
    Open,
    Peak,
    judged,
)

#: Rows of bundles up to which a recording is walked through: they are held in memory.
ROWS_MAX = 2_000_000
_TABLE = "decisions"
#: How a decision stands to what was possible.
AS_LOW, MISSED, UNSURE, OPEN = "as-low-as-possible", "missed", "not-sure", "not-decidable"


def regret(cluster: str, tables: Path, findings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the decisions of an explained recording did, beside what was possible.

    Args:
        cluster: whose tables they are.
        tables: folder that ingest and diagnosis wrote; the tables of JUDGED are added to it.
        findings: as in findings.json.

    Returns:
        The key `regret`, as docs/findings.schema.json has it.  Of a recording that does not
        tell enough it says why.

    Raises:
        OSError: the table cannot be written.
    """
    answers, why_not = _judged(tables, findings)
    rows = [_row(each) for each in answers]
    name = f"{findings['recording']}-00000"
    write_rows(tables, cluster, name, {_TABLE: _table(rows)})
    done = [each for each in answers if isinstance(each, Judged)]
    # Costs are drawn alike in all rounds: what one needs more the others mostly do, too.
    needed = sum((each.needed_drawn for each in done), np.zeros(1, np.int64))
    return {
        "regret": {
            "why_not": why_not,
            "moves_used": sum(int(each.decision.bundle.size) for each in done),
            **_needed("moves_needed", sum(each.needed for each in done), needed),
            "decisions": rows,
        }
    }


def _judged(tables: Path, findings: Mapping[str, Any]) -> tuple[list[Judged | Open], str]:
    """Return each decision judged, and why none is."""
    if not findings["unloads"]:
        return [], "the leader unloaded nothing"
    count = int(ds.dataset(**located(tables / "bundle_reports"), format="parquet").count_rows())
    if count > ROWS_MAX:
        return [], f"found {count:,} rows of bundles, expected at most {ROWS_MAX:,}: cut it in time"
    try:
        told, measured = evidence(tables, findings)
    except NothingToSimulateError as error:
        return [], str(error)
    counted = weights(tables, findings)
    by_resource = np.array((counted.cpu, counted.bandwidth_in, counted.bandwidth_out))
    windows = Windows(measured.host_s, measured.stats_s)
    made = tuple(decisions(told, findings["unloads"]))
    return list(judged(told, windows, made, by_resource)), ""


def decisions(told: Evidence, unloads: Sequence[Mapping[str, Any]]) -> Iterator[Decision]:
    """Yield what was unloaded in each round, in order of time."""
    broker = {name: i for i, name in enumerate(told.brokers)}
    bundle = {name: i for i, name in enumerate(told.bundles)}
    by_round: dict[int, list[Mapping[str, Any]]] = {}
    for unload in unloads:
        by_round.setdefault(unload["round"], []).append(unload)
    first = {number: min(_seconds(each["time"]) for each in of) for number, of in by_round.items()}
    for number in sorted(first, key=lambda each: (first[each], each)):
        of = by_round[number]
        yield Decision(
            round=number,
            time_s=first[number],
            bundle=np.array([bundle.get(each["bundle"], -1) for each in of], np.int64),
            source=np.array([broker.get(each["source"], -1) for each in of], np.int64),
            target=np.array([broker.get(each["target"], -1) for each in of], np.int64),
        )


def _row(each: Judged | Open) -> dict[str, Any]:
    """Return a decision as plain values; of one that is not decidable what is missing."""
    time = datetime.fromtimestamp(each.decision.time_s, UTC)
    row = {
        "round": each.decision.round,
        "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "moves": int(each.decision.bundle.size),
    }
    if isinstance(each, Open):
        return {**row, "verdict": OPEN, "why_not": each.why}
    return {
        **row,
        "verdict": _verdict(each),
        "why_not": "",
        "before": _peak(each.before),
        "after": _peak(each.after),
        "possible": _peak(each.possible),
        "missed": _peak(each.missed),
        **_needed("needed", each.needed, each.needed_drawn),
        "frontier": [round(float(percent), 2) for percent in each.peaks],
        "bounds": [round(float(percent), 2) for percent in each.bounds],
    }


def _verdict(each: Judged) -> str:
    """Return how a decision stands to what was possible; unsure if its interval allows both."""
    if each.missed.high < SAME_POINTS:
        return AS_LOW
    return MISSED if each.missed.low >= SAME_POINTS else UNSURE


def _needed(name: str, count: int, drawn: Ints) -> dict[str, int]:
    """Return a number of moves with its interval."""
    ends = (0.5 - SHARE / 2, 0.5 + SHARE / 2)
    low, high = np.quantile(drawn, ends, method="nearest").tolist()
    return {name: count, f"{name}_low": min(low, count), f"{name}_high": max(high, count)}


def _peak(peak: Peak) -> dict[str, float]:
    return {
        "percent": round(peak.percent, 2),
        "low": round(peak.low, 2),
        "high": round(peak.high, 2),
    }


def _table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return the rows of the table `decisions`."""
    return pa.Table.from_pylist([_columns(row) for row in rows], JUDGED[_TABLE])


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: row[name] for name in ("round", "moves")}
    own |= {"time": datetime.fromisoformat(row["time"]), "why_not": row["why_not"] or None}
    if row["verdict"] == OPEN:
        return own
    peaks = {name: row[name]["percent"] for name in ("before", "after", "possible")}
    missed = {f"missed_{end}": row["missed"][end] for end in ("low", "high")}
    needed = {name: row[name] for name in ("needed", "needed_low", "needed_high")}
    return own | peaks | missed | {"bound": row["bounds"][-1]} | needed


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()
