"""Load reports: what a broker says of itself, over REST or in the metadata store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa
from msgspec import Raw, defstruct
from msgspec.json import Decoder

from trimtab.files.tables import TIME
from trimtab.ingest.columns import repeated, usual_lines
from trimtab.ingest.entries import Entry, Row, of_entry
from trimtab.ingest.json_fields import (
    Kind,
    Milliseconds,
    Small,
    Text,
    each,
    fields_of,
    moments,
)
from trimtab.ingest.sieve import BlockContent, Columns
from trimtab.ingest.store import write_columns


def simple_name(class_name: str | None) -> str | None:
    """Return what stands behind the last dot of a class's name."""
    return class_name.rsplit(".", 1)[-1] if class_name else None


#: Columns that say when, by whom and how a report came.
_COMING = ("time", "broker", "origin", "version", "written")
_CLASS_NAME = Kind(
    Text,
    each(lambda report, key: simple_name(report.text(key))),
    lambda names: pa.array(map(simple_name, names), pa.string()),
)
_REPORT = fields_of("load_reports", (*_COMING, "is_gone"), load_manager=_CLASS_NAME)
#: Who the broker is, and its load.
_IDENTITY, _LOAD = _REPORT.parted()
_BUNDLE = fields_of("bundle_reports", (*_COMING, "bundle"))

#: The statistics of a report's bundles, by their names.
_Bundles = dict[str, _BUNDLE.usual()]  # type: ignore[misc,valid-type]  # read when it runs
# Where the older name repeats the other, it need not be decoded.
_Usual = _REPORT.usual(("lastStats", _Bundles | None, None), ("bundleStats", Raw, Raw(b"null")))
#: What a line may say of the time is of several kinds.
_LINE = [("time", Any), ("broker", Text), ("report", _Usual)]
_WRITE = [("version", Small | None, None), ("mtime", Milliseconds | None, None)]
_ALONE: Decoder[Any] = Decoder(_Usual)
_STORED: Decoder[Any] = Decoder(defstruct("_Stored", [*_LINE, *_WRITE], gc=False))
_ANSWERED: Decoder[Any] = Decoder(defstruct("_Answered", _LINE, gc=False))
_OLD_BUNDLES: Decoder[Any] = Decoder(_Bundles | None)


class Report(NamedTuple):
    """A usual report."""

    report: Any
    #: Bundle → its statistics.
    bundles: Mapping[str, object]


# --------------------------------------------------------------- one at a time


@of_entry
def load_report(entry: Entry) -> Iterator[Row]:
    """Yield the rows of one answer of a broker to a request for its load report.

    Example line: `{"time": "2026-11-21T06:37:25.565Z", "broker": "10.0.0.1:8080",
    "report": {"cpu": {"usage": 23.5, "limit": 80.0}, …}}`

    Quirks:
        A usage and limit of -1 is the broker's "not measured" and is kept as it is.
    """
    coming = {"time": entry.moment("time"), "broker": entry.text("broker"), "origin": "rest"}
    write = {"version": None, "written": None}
    yield from report_rows(entry.entry("report"), coming | write)


@of_entry
def store_broker(entry: Entry) -> Iterator[Row]:
    """Yield the rows of one write of a broker's node: its load report as the leader saw it.

    Example line: `{"time": "2026-11-21T06:37:26.786Z", "broker": "10.0.0.1:8080",
    "version": 0, "mtime": 1795243037519, "report": {…}}`

    Quirks:
        A null report says that the node was gone, and then so are version and mtime.
    """
    coming = {"time": entry.moment("time"), "broker": entry.text("broker"), "origin": "store"}
    coming |= write_columns(entry)
    if "report" in entry.values and entry.values["report"] is None:
        yield gone_row(coming)
        return
    yield from report_rows(entry.entry("report"), coming)


def report_rows(report: Entry, coming: dict[str, Any]) -> Iterator[Row]:
    """Yield the row of a load report and one row for each bundle in it.

    Args:
        report: the report, as the broker writes it.
        coming: the columns that say when, by whom and how the report came.

    Quirks:
        A broker under the extensible load manager writes who it is and no load: its row
        has nulls in the columns of load.  Bundles stood under `bundleStats` before they
        stood under `lastStats`; where both are there, they are the same.
    """
    row = coming | {"is_gone": False} | _IDENTITY.read(report)
    if not any(map(report.has, _LOAD.places)):
        yield "load_reports", row | _LOAD.nothing
        return
    yield "load_reports", row | _LOAD.read(report)
    is_old = report.has("bundleStats") and not report.values.get("lastStats")
    bundles = report.entry("bundleStats" if is_old else "lastStats")
    for bundle in bundles.values:
        yield "bundle_reports", coming | {"bundle": bundle} | _BUNDLE.read(bundles.entry(bundle))


def gone_row(coming: dict[str, Any]) -> Row:
    """Return the row of a broker whose node is gone."""
    return "load_reports", coming | {"is_gone": True} | _REPORT.nothing


# ------------------------------------------------------------ as usual, at once


def answered_reports(block: bytes, before: int) -> BlockContent:
    """Return the usual load reports among the answers of brokers.

    Properties:
        Whatever the bytes, `load_report` says of each line what is said of it here.
    """
    numbers, lines, content = usual_lines(block, before, partial(_line, _ANSWERED))
    nothing = pa.nulls(len(lines))
    write = {"version": nothing.cast(pa.int32()), "written": nothing.cast(TIME)}
    content.columns = report_columns(
        [it.report for it in lines], _coming(numbers, lines, "rest") | write
    )
    return content


def stored_reports(block: bytes, before: int) -> BlockContent:
    """Return the usual load reports among the writes of brokers' nodes.

    Properties:
        Whatever the bytes, `store_broker` says of each line what is said of it here.
    """
    numbers, lines, content = usual_lines(block, before, partial(_line, _STORED))
    write = {
        "version": pa.array([it.version for it in lines], pa.int32()),
        "written": moments([it.mtime for it in lines]),
    }
    content.columns = report_columns(
        [it.report for it in lines], _coming(numbers, lines, "store") | write
    )
    return content


def usual_report(text: bytes) -> Report:
    """Return a report that stands alone.

    Raises:
        ODD: it is not as usual.
    """
    return _with_bundles(_ALONE.decode(text))


def report_columns(reports: Sequence[Report], coming: dict[str, pa.Array]) -> dict[str, Columns]:
    """Return reports and the bundles in them, behind what says when and whose they are."""
    bundles = list(chain.from_iterable(it.bundles.values() for it in reports))
    return {
        "load_reports": {
            **coming,
            "is_gone": pa.repeat(pa.scalar(False), len(reports)),
            **_REPORT.arrays([it.report for it in reports]),
        },
        "bundle_reports": {
            **repeated(coming, [len(it.bundles) for it in reports]),
            "bundle": list(chain.from_iterable(it.bundles for it in reports)),
            **_BUNDLE.arrays(bundles),
        },
    }


def _line(decoder: Decoder[Any], text: bytes) -> Any:
    """Return a usual line, its time and its report read.

    Raises:
        ODD: it is not as usual.
    """
    line = decoder.decode(text)
    line.time = Entry({"time": line.time}).moment("time")
    line.report = _with_bundles(line.report)
    return line


def _with_bundles(report: Any) -> Report:
    """Return a report with the statistics of its bundles, as `report_rows` chooses them."""
    bundles = report.lastStats
    if not bundles and (old := _OLD_BUNDLES.decode(report.bundleStats)) is not None:
        bundles = old
    if bundles is None:
        raise ValueError("no statistics")
    return Report(report, bundles)


def _coming(numbers: list[int], lines: Sequence[Any], origin: str) -> dict[str, pa.Array]:
    return {
        "time": pa.array([it.time for it in lines], TIME),
        "broker": pa.array([it.broker for it in lines], pa.string()),
        "origin": pa.repeat(pa.scalar(origin, pa.string()), len(lines)),
        "line": pa.array(numbers, pa.int64()),
    }
