"""Recordings of which parts are left out at random, and what is said of them against the whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tools.precision.explained import explained
from tools.precision.ingested import parsed
from trimtab.files.partitions import write_rows
from trimtab.files.tables import INGESTED
from trimtab.ingest.pipeline import meta_rows
from trimtab.ingest.recording import open_recording

_RECORDINGS = Path(__file__).resolve().parents[1] / "recordings"
NAMES = ("threshold", "avg", "uniform", "seed-001")
#: Beginnings of the files' names of a source; logs and metrics are left out a broker at a time.
_SOURCES = (
    "conf/",
    "runtime-config/",
    "load-reports",
    "store/brokers",
    "store/leader",
    "store/bundles",
    "store/ownership",
    "metrics/",
    "logs/",
)
#: Columns that name a node of the store.
_KEYS = ("file", "bundle", "broker")
#: How long after a move its harm may show: reports settle, and the destination is shed itself.
_AFTERMATH = timedelta(minutes=4)
#: Keys of recording.toml that say when the whole was recorded.
_TIMES = ("from", "to")
_MOVED = re.compile(r"(\d+) bundles? (?:was|were) moved")

Document = Mapping[str, Any]
Line = tuple[str, int]


@dataclass(frozen=True)
class Whole:
    """A recording as tables, and what is said of it."""

    tables: Mapping[str, pa.Table]
    cluster: str
    document: Document


@dataclass(frozen=True)
class Thinning:
    """What of a recording is left."""

    name: str
    #: Beginnings of the names of files that are left out.
    without: tuple[str, ...]
    #: Brokers whose reports are left out.
    silent: tuple[str, ...]
    #: From when to when it is kept; None: all of it.
    span: tuple[datetime, datetime] | None


def whole(name: str, folder: Path) -> Whole:
    """Return a shipped recording, ingested once, without ZooKeeper's own files."""
    with open_recording(_RECORDINGS / name) as recording:
        recording.files.pop("store-zookeeper", None)
        rows = {table: [schema.empty_table()] for table, schema in INGESTED.items()}
        rows["recording"].append(pa.Table.from_pylist(meta_rows(recording), INGESTED["recording"]))
        for table, part in parsed(recording):
            rows[table].append(part)
        tables = {table: pa.concat_tables(parts) for table, parts in rows.items()}
        return Whole(tables, recording.cluster, _explained(tables, recording.cluster, folder))


def thinning(seed: int, wholes: Mapping[str, Whole]) -> Thinning:
    """Return what is left of which recording, drawn by a seed."""
    chance = Random(seed)
    name = NAMES[seed % len(NAMES)]
    tables = wholes[name].tables
    files = sorted({file for table in tables.values() for file in _files(table)})
    logs = sorted({"/".join(file.split("/")[:2]) for file in files if file.startswith("logs/")})
    share = chance.choice((0.15, 0.4, 0.7))
    without = [source for source in _SOURCES if chance.random() < share and source != "logs/"]
    if chance.random() < 0.15:
        without.append("logs/")
    without += [f"{log}/" for log in logs if chance.random() < chance.choice((0.0, 0.5))]
    brokers = sorted(filter(None, set(tables["load_reports"]["broker"].to_pylist())))
    silent = [broker for broker in brokers if chance.random() < 0.15]
    times = [time for time in tables["log_events"]["time"].to_pylist() if time]
    span = None
    if chance.random() < 0.35:
        first, last = min(times), max(times)
        begin = first + (last - first) * chance.uniform(0, 0.6)
        span = (begin, begin + (last - first) * chance.uniform(0.2, 0.7))
    return Thinning(name, tuple(without), tuple(silent), span)


def thinned(of: Whole, left: Thinning, folder: Path) -> Document:
    """Return what is said of a recording of which only some is left."""
    tables = {name: _left(table, left) for name, table in of.tables.items()}
    if left.span is not None:
        meta = tables["recording"]
        tables["recording"] = meta.filter(pc.invert(pc.is_in(meta["key"], pa.array(_TIMES))))
    return _explained(tables, of.cluster, folder)


def _left(table: pa.Table, left: Thinning) -> pa.Table:
    """Return the rows of a table that are left."""
    if "file" in table.schema.names:
        for source in left.without:
            table = table.filter(pc.invert(pc.starts_with(table["file"], source)))
    if "broker" in table.schema.names and "origin" in table.schema.names:
        silent = pa.array(left.silent, pa.string())
        table = table.filter(pc.invert(pc.is_in(table["broker"], silent)))
    if "time" in table.schema.names and left.span is not None:
        table = _within(table, left.span)
    return table


def _within(table: pa.Table, span: tuple[datetime, datetime]) -> pa.Table:
    """Return the rows of a span, with what the store held when it began: a recorder finds that."""
    time = table["time"]
    begin, end = (pa.scalar(each, time.type) for each in span)
    is_old = pc.fill_null(pc.less(time, begin), False)
    inside = table.filter(pc.and_(pc.invert(is_old), pc.fill_null(pc.less_equal(time, end), True)))
    if "file" not in table.schema.names:
        return inside
    is_stored = pc.and_(is_old, pc.starts_with(table["file"], "store/"))
    latest: dict[tuple[Any, ...], int] = {}
    rows = zip(table.select(_named(table)).to_pylist(), is_stored.to_pylist(), strict=True)
    for i, (row, is_held) in enumerate(rows):
        if is_held:
            latest[tuple(row.values())] = i
    held = set(latest.values())
    return pa.concat_tables(
        [table.filter(pa.array([i in held for i in range(len(table))], pa.bool_())), inside]
    )


def _named(table: pa.Table) -> list[str]:
    return [name for name in _KEYS if name in table.schema.names]


def _files(table: pa.Table) -> set[str]:
    return set(table["file"].to_pylist()) if "file" in table.schema.names else set()


def _explained(tables: Mapping[str, pa.Table], cluster: str, folder: Path) -> Document:
    write_rows(folder, cluster, "thinned-00001", tables)
    return explained(folder, cluster).document


# ------------------------------------------------------------------ what is said


def faults(said: Document, full: Document, left: Thinning) -> Iterator[str]:
    """Yield what is said of a thinned recording that the whole one does not bear out."""
    yield from _of_moves(said, full, left)
    yield from _of_findings(said["findings"], full["findings"])
    yield from _of_headline(said, full, left)


def _of_moves(said: Document, full: Document, left: Thinning) -> Iterator[str]:
    known = {_line(each): each for each in full["unloads"]}
    others = _of_other_times(full, left)
    codes = {each["id"]: each["code"] for each in full["findings"]}
    for move in said["unloads"]:
        other = known.get(_line(move))
        if other is None:
            yield f"{move['id']} {move['bundle']}: no such move in the whole"
            continue
        if other["id"] in others:
            continue
        if move["useless"] not in (None, other["useless"]):
            yield f"{move['id']}: useless {move['useless']}, in the whole {other['useless']}"
        # The lines alone say that one candidate was left, and a lesser cause may still be there.
        lesser = {"not-decidable", "sole-candidate", *(codes[it] for it in other["findings"])}
        if move["verdict"] not in {other["verdict"], *lesser}:
            yield f"{move['id']}: {move['verdict']}, in the whole {other['verdict']}"
        if {move["recomputed"]["equal"], other["recomputed"]["equal"]} == {True, False}:
            yield f"{move['id']}: reproduced {move['recomputed']['equal']}"


def _of_other_times(full: Document, left: Thinning) -> set[str]:
    """Return the moves whose harm shows by what was before, or comes after, what is left."""
    if left.span is None:
        return set()
    times = {each["id"]: datetime.fromisoformat(each["time"]) for each in full["unloads"]}
    begin, end = left.span
    return {
        move
        for finding in full["findings"]
        if not all(begin <= times[it] <= end - _AFTERMATH for it in finding["unloads"])
        for move in finding["unloads"]
    }


def _line(move: Mapping[str, Any]) -> Line:
    line = move["evidence"][-1]
    return line["file"], line["line"]


def _of_findings(
    said: Sequence[Mapping[str, Any]], full: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    for finding in said:
        same = [each for each in full if each["code"] == finding["code"]]
        places = {*finding["brokers"], *finding["bundles"]}
        if not any(places & {*each["brokers"], *each["bundles"]} or not places for each in same):
            yield f"{finding['code']} ({finding['severity']}) {finding['title']}"


def _of_headline(said: Document, full: Document, left: Thinning) -> Iterator[str]:
    text = " ".join(said["headline"][part] for part in ("text", "sting"))
    moves = [each for each in full["unloads"] if _is_inside(each["time"], left)]
    count = _MOVED.search(text)
    if count is not None and int(count[1]) > len(full["unloads"]):
        yield f"headline: {text}"
    if "moved nothing" in text and moves:
        yield f"headline: {text}; in the whole {len(moves)} moves"
    others = len(_of_other_times(full, left))
    words = {"good": False, "useless": True}
    for word, is_useless in words.items():
        number = re.search(rf"(\d+) {word}", text)
        true = sum(each["useless"] is is_useless for each in full["unloads"])
        if number is not None and int(number[1]) > true + others:
            yield f"headline: {text}; in the whole {true} are {word}"


def _is_inside(time: str, left: Thinning) -> bool:
    if left.span is None:
        return True
    return left.span[0] <= datetime.fromisoformat(time) <= left.span[1]
