"""What the tables saw of a bundle or broker beside the moves: owners, ends, elections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds

from trimtab.files.visible import visible, visible_name
from trimtab.report.journeys import Kind, Step
from trimtab.report.moves import Line
from trimtab.report.words import clock

#: What a broker's log says of a bundle, and what it means for who owns it.
_OWNING = {
    "ownership-acquired": "{} took it",
    "bundle-lock-released": "{} let it go",
}


def owned_bundles(tables: Path) -> set[str]:
    """Return every bundle that somebody owned; none if there are no tables."""
    bundles: set[str] = set()
    for table, condition in (("ownership", None), ("log_events", _is_owning())):
        stored = _stored(tables, table)
        if stored is not None:
            rows = stored.to_table(columns=["bundle"], filter=condition)
            bundles |= {str(each) for each in pc.unique(rows["bundle"]).to_pylist() if each}
    return bundles


def steps_beside_moves(tables: Path, kind: Kind, name: str, *, with_day: bool) -> list[Step]:
    """Return what happened to a bundle or a broker that is no move.

    Of a bundle: who took it and who let it go, by the brokers' logs, or where there is no
    log of that, who owned it, by the store.  Of a broker: when it led, when its report was
    gone from the store, and when it was back.

    Args:
        tables: what `explain` wrote; nothing is told if there is no such folder.
        kind: what is told of.
        name: its full name, as the tables have it.
        with_day: a time of day alone would be ambiguous.
    """
    if name != name.encode("utf-8", "replace").decode():
        return []  # No table can hold half of a character.
    find: Callable[[Path, str], Iterable[tuple[Mapping[str, Any], str]]]
    find = _of_bundle if kind == "bundle" else _of_broker
    return [_step(row, words, with_day=with_day) for row, words in find(tables, name)]


def _of_bundle(tables: Path, bundle: str) -> Iterable[tuple[Mapping[str, Any], str]]:
    logged = _rows(tables, "log_events", _is_owning() & (pc.field("bundle") == bundle))
    if logged:
        return [(row, _OWNING[row["kind"]].format(_log_name(row))) for row in logged]
    owned = _rows(tables, "ownership", pc.field("bundle") == bundle)
    return [
        (row, f"owned by {visible_name(row['broker'])}" if row["broker"] else "without an owner")
        for before, row in zip([{}, *owned], owned, strict=False)
        if row["broker"] != before.get("broker", "")
    ]


def _of_broker(tables: Path, broker: str) -> Iterable[tuple[Mapping[str, Any], str]]:
    led = _rows(tables, "leaders", None)
    terms = [
        (row, "became the leader")
        for before, row in zip([{}, *led], led, strict=False)
        if row["broker"] == broker != before.get("broker")
    ]
    is_its = (pc.field("broker") == broker) & (pc.field("origin") == "store")
    reported = _rows(tables, "load_reports", is_its)
    ends = [
        (row, "its load report was gone" if row["is_gone"] else "its load report was back")
        for before, row in pairwise(reported)
        if bool(row["is_gone"]) != bool(before["is_gone"])
    ]
    return [*terms, *ends]


def _is_owning() -> ds.Expression:
    return pc.field("kind").isin(list(_OWNING))


def _log_name(row: Mapping[str, Any]) -> str:
    return visible_name(str(row["log_broker"] or "its broker"))


def _stored(tables: Path, table: str) -> ds.Dataset | None:
    """Return a table; None if it is not there."""
    folder = tables / table
    return ds.dataset(folder, format="parquet") if folder.is_dir() else None


def _rows(tables: Path, table: str, condition: ds.Expression | None) -> list[dict[str, Any]]:
    """Return the rows that meet a condition and have a time, in order of time."""
    stored = _stored(tables, table)
    if stored is None:
        return []
    columns = [name for name in _COLUMNS if name in stored.schema.names]
    rows = stored.to_table(columns=columns, filter=condition).to_pylist()
    return sorted((row for row in rows if row["time"] is not None), key=lambda row: row["time"])


_COLUMNS = (
    "time",
    "written",
    "kind",
    "log_broker",
    "bundle",
    "broker",
    "is_gone",
    "file",
    "line",
    "text",
)


def _step(row: Mapping[str, Any], words: str, *, with_day: bool) -> Step:
    # What a store says of itself is nearer than when somebody asked it.
    time = _iso(row.get("written") or row["time"])
    return Step(
        time=time,
        when=clock(time, with_day=with_day),
        round=None,
        text=words,
        tone="",
        label="",
        anchor="",
        line=Line(visible(row["file"]), row["line"], visible(row.get("text") or "")),
    )


def _iso(time: datetime) -> str:
    """Return a time as findings.json has it."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
