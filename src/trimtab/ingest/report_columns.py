"""Load reports in columns: the rows that `store_broker` and `load_report` make one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa
from msgspec import Raw, Struct, defstruct, field
from msgspec.json import Decoder

from trimtab.files.tables import TIME
from trimtab.ingest.columns import (
    Count,
    Milliseconds,
    Small,
    Text,
    gathered,
    moments,
    repeated,
    usual_lines,
)
from trimtab.ingest.entries import Entry
from trimtab.ingest.load_reports import COUNTS, RESOURCES, TRAFFIC, simple_name
from trimtab.ingest.sifted import Columns, Sifted


class _Usage(Struct, gc=False):
    usage: float
    limit: float


_TRAFFIC_FIELDS = [(column, float, field(name=key)) for key, column in TRAFFIC.items()]
_COUNT_FIELDS = [(column, Count, field(name=key)) for key, column in COUNTS.items()]
_Bundle = defstruct("_Bundle", [*_TRAFFIC_FIELDS, *_COUNT_FIELDS], gc=False)
#: The statistics of a report's bundles, by their names.
_Bundles = dict[str, _Bundle]  # type: ignore[valid-type]  # read when it runs
#: A report of a broker under the modular load manager.
_Report = defstruct(
    "_Report",
    [
        *((column, _Usage, field(name=key)) for key, column in RESOURCES.items()),
        *_TRAFFIC_FIELDS,
        ("topics", Count, field(name="numTopics")),
        ("bundles", list[str]),
        ("updated", Milliseconds | None, field(name="lastUpdate", default=None)),
        ("started", Milliseconds | None, field(name="startTimestamp", default=None)),
        ("release", Text | None, field(name="brokerVersionString", default=None)),
        ("second_release", Text | None, field(name="brokerVersion", default=None)),
        ("load_manager", Text | None, field(name="loadManagerClassName", default=None)),
        ("stats", _Bundles | None, field(name="lastStats", default=None)),
        # Where it repeats the other, it need not be decoded.
        ("old_stats", Raw, field(name="bundleStats", default=Raw(b"null"))),
    ],
    gc=False,
)
#: What a line may say of the time is of several kinds.
_LINE = [("time", Any), ("broker", Text), ("report", _Report)]
_WRITE = [("version", Small | None, None), ("mtime", Milliseconds | None, None)]
_ALONE: Decoder[Any] = Decoder(_Report)
_STORED: Decoder[Any] = Decoder(defstruct("_Stored", [*_LINE, *_WRITE], gc=False))
_ANSWERED: Decoder[Any] = Decoder(defstruct("_Answered", _LINE, gc=False))
_OLD_STATS: Decoder[Any] = Decoder(_Bundles | None)


class Told(NamedTuple):
    """A report, read."""

    report: Any
    #: Bundle → its statistics.
    stats: Mapping[str, object]


class _Read(NamedTuple):
    """A line, read."""

    time: datetime
    line: Any
    told: Told


def stored_reports(block: bytes, before: int) -> Sifted:
    """Tell the load reports among the writes of brokers' nodes.

    Properties:
        Whatever the bytes, `store_broker` says of each line what is said of it here.
    """
    numbers, found, sifted = usual_lines(block, before, partial(_read, _STORED))
    write = {
        "version": pa.array([read.line.version for read in found], pa.int32()),
        "written": moments([read.line.mtime for read in found]),
    }
    seen = _seen(numbers, found, "store") | write
    sifted.columns = reports_in_columns([read.told for read in found], seen)
    return sifted


def answered_reports(block: bytes, before: int) -> Sifted:
    """Tell the load reports among the answers of brokers.

    Properties:
        Whatever the bytes, `load_report` says of each line what is said of it here.
    """
    numbers, found, sifted = usual_lines(block, before, partial(_read, _ANSWERED))
    seen = _seen(numbers, found, "rest")
    sifted.columns = reports_in_columns([read.told for read in found], seen)
    return sifted


def _read(decoder: Decoder[Any], text: bytes) -> _Read:
    """Read a line.

    Raises:
        ODD: it is not as usual.
    """
    line = decoder.decode(text)
    return _Read(Entry({"time": line.time}).moment("time"), line, _told(line.report))


def usual_report(text: bytes) -> Told:
    """Read a report that stands alone.

    Raises:
        ODD: it is not as usual.
    """
    return _told(_ALONE.decode(text))


def _told(report: Any) -> Told:
    """Find the statistics of a report's bundles, as `report_rows` chooses."""
    stats = report.stats
    if not stats and (old := _OLD_STATS.decode(report.old_stats)) is not None:
        stats = old
    if stats is None:
        raise ValueError("no statistics")
    return Told(report, stats)


def _seen(numbers: list[int], found: Sequence[_Read], origin: str) -> dict[str, pa.Array]:
    """Give the columns that say when, by whom and how reports came."""
    return {
        "time": pa.array([read.time for read in found], TIME),
        "broker": pa.array([read.line.broker for read in found], pa.string()),
        "origin": pa.repeat(pa.scalar(origin, pa.string()), len(found)),
        "line": pa.array(numbers, pa.int64()),
    }


def reports_in_columns(found: Sequence[Told], seen: dict[str, pa.Array]) -> dict[str, Columns]:
    """Lay out reports and the bundles in them, behind what says when and whose they are."""
    reports = [told.report for told in found]
    stats = list(chain.from_iterable(told.stats.values() for told in found))
    return {
        "load_reports": {
            **seen,
            "is_gone": pa.repeat(pa.scalar(False), len(found)),
            "updated": moments([report.updated for report in reports]),
            "started": moments([report.started for report in reports]),
            "release": [report.release or report.second_release for report in reports],
            "load_manager": [simple_name(report.load_manager) for report in reports],
            **{
                f"{column}_{name}": gathered(f"{column}.{name}", reports, float)
                for column in RESOURCES.values()
                for name in ("usage", "limit")
            },
            **{column: gathered(column, reports, float) for column in TRAFFIC.values()},
            "topics": gathered("topics", reports, int),
            "bundles": [report.bundles for report in reports],
        },
        "bundle_reports": {
            **repeated(seen, [len(told.stats) for told in found]),
            "bundle": list(chain.from_iterable(told.stats for told in found)),
            **{column: gathered(column, stats, float) for column in TRAFFIC.values()},
            **{column: gathered(column, stats, int) for column in COUNTS.values()},
        },
    }
