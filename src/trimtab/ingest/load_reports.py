"""Load reports: what a broker says of itself, over REST or in the metadata store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from trimtab.ingest.entries import Entry, Row, read_entry
from trimtab.ingest.outcome import Origin, Outcome

#: Key in a report → column prefix in `load_reports`.
RESOURCES = {
    "cpu": "cpu",
    "memory": "memory",
    "directMemory": "direct_memory",
    "bandwidthIn": "bandwidth_in",
    "bandwidthOut": "bandwidth_out",
}
#: Key in a report, and in each of its bundles' statistics → column.
TRAFFIC = {
    "msgRateIn": "rate_in",
    "msgRateOut": "rate_out",
    "msgThroughputIn": "throughput_in",
    "msgThroughputOut": "throughput_out",
}
#: Key in a bundle's statistics → column.
COUNTS = {
    "topics": "topics",
    "producerCount": "producers",
    "consumerCount": "consumers",
    "cacheSize": "cache_size",
}


def load_report(text: str, origin: Origin) -> Outcome:
    """Read one answer of a broker that was asked for its load report.

    Example line: `{"time": "2026-11-21T06:37:25.565Z", "broker": "10.0.0.1:8080",
    "report": {"cpu": {"usage": 23.5, "limit": 80.0}, …}}`

    Quirks:
        A usage and limit of -1 is the broker's "not measured" and is kept as it is.
    """
    return read_entry(text, _rest_rows)


def report_rows(report: Entry, seen: dict[str, Any]) -> Iterator[Row]:
    """Give the row of a load report and one row for each bundle in it.

    Args:
        report: the report, as the broker writes it.
        seen: the columns that say when, by whom and how the report came.

    Quirks:
        A broker under the extensible load manager writes who it is and no load: its row
        has nulls in the columns of load.  Bundles stood under `bundleStats` before they
        stood under `lastStats`; where both are there, they are the same.
    """
    row = seen | {
        "is_gone": False,
        "updated": _known(report, "lastUpdate", report.moment),
        "started": _known(report, "startTimestamp", report.moment),
        "release": _release(report),
        "load_manager": simple_name(_known(report, "loadManagerClassName", report.text)),
    }
    if not any(report.has(resource) for resource in RESOURCES):
        yield "load_reports", row
        return
    for resource, column in RESOURCES.items():
        usage = report.entry(resource)
        row[f"{column}_usage"] = usage.number("usage")
        row[f"{column}_limit"] = usage.number("limit")
    row |= zip(TRAFFIC.values(), report.numbers(TRAFFIC), strict=True)
    row["topics"] = report.count("numTopics")
    row["bundles"] = report.texts("bundles")
    yield "load_reports", row
    old = report.has("bundleStats") and not report.values.get("lastStats")
    bundles = report.entry("bundleStats" if old else "lastStats")
    for bundle in bundles.values:
        yield "bundle_reports", seen | _bundle(bundle, bundles.entry(bundle))


def _rest_rows(entry: Entry) -> Iterator[Row]:
    seen = {
        "time": entry.moment("time"),
        "broker": entry.text("broker"),
        "origin": "rest",
    }
    yield from report_rows(entry.entry("report"), seen)


def _bundle(name: str, stats: Entry) -> dict[str, Any]:
    """Give the columns of one bundle's statistics."""
    return {
        "bundle": name,
        **dict(zip(TRAFFIC.values(), stats.numbers(TRAFFIC), strict=True)),
        **dict(zip(COUNTS.values(), stats.counts(COUNTS), strict=True)),
    }


def _release(report: Entry) -> str | None:
    # The extensible load manager's name for it is the second.
    for key in ("brokerVersionString", "brokerVersion"):
        if report.has(key):
            return report.text(key)
    return None


def _known(report: Entry, key: str, read: Callable[[str], Any]) -> Any:
    """Read a key that older releases do not write."""
    return read(key) if report.has(key) else None


def simple_name(class_name: str | None) -> str | None:
    """Return what stands behind the last dot of a class's name."""
    return class_name.rsplit(".", 1)[-1] if class_name else None
