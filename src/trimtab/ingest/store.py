"""The metadata store: what the leader saw, who led, who owned what.

One function a file under `store/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from trimtab.ingest.entries import Entry, Row, read_entry
from trimtab.ingest.load_reports import report_rows
from trimtab.ingest.outcome import Origin, Outcome

#: Where a broker writes its load reports, and where the leader writes averages.
BROKER = "/loadbalance/brokers/"
BUNDLE_DATA = "/loadbalance/bundle-data/"
BROKER_AVERAGE = "/loadbalance/broker-time-average/"
#: Every namespace that ever had an owner is a node too; only a name that ends in a
#: range is a bundle.  Example: public/default/0x40000000_0x80000000
BUNDLE = re.compile(r".+/0x[0-9a-fA-F]+_0x[0-9a-fA-F]+")
#: The four measures of an average: the tail of their key → the tail of their column.
MEASURES = {
    "sgRateIn": "rate_in",
    "sgRateOut": "rate_out",
    "sgThroughputIn": "throughput_in",
    "sgThroughputOut": "throughput_out",
}


def store_broker(text: str, origin: Origin) -> Outcome:
    """Read one write of a broker's node: its load report as the leader saw it.

    Example line: `{"time": "2026-11-21T06:37:26.786Z", "broker": "10.0.0.1:8080",
    "version": 0, "mtime": 1795243037519, "report": {…}}`

    Quirks:
        A null report says that the node was gone, and then so are version and mtime.
    """
    return read_entry(text, _broker_rows)


def store_leader(text: str, origin: Origin) -> Outcome:
    """Read one write of the leader's node.

    Example line: `{"time": "2026-11-21T06:37:26.789Z", "version": 0, "mtime":
    1795243037317, "leader": {"brokerId": "10.0.0.1:8080", "serviceUrl": "…"}}`

    Quirks:
        Releases that do not write `brokerId` have the same host and port in `serviceUrl`.
    """
    return read_entry(text, _leader_rows)


def store_bundles(text: str, origin: Origin) -> Outcome:
    """Read one listing of the averages that the leader keeps in the store.

    Example line: `{"time": "2026-11-21T06:38:25.981Z", "nodes":
    {"/loadbalance/bundle-data/public/default/0x0_0x1": {"mtime": 1795243098335, "v": {…}}}}`

    Quirks:
        A listing repeats the nodes that did not change: the same write, told by its
        `written`, gives a row each time it is seen.  Nodes under other paths give none,
        and neither do the empty ones of a namespace, which stay behind its last bundle.
    """
    return read_entry(text, _average_rows)


def store_ownership(text: str, origin: Origin) -> Outcome:
    """Read one change of ownership, or one full listing of it.

    Example line: `{"time": "2026-11-21T06:37:26.862Z", "full": false, "change":
    {"public/default/0x0_0x1": "10.0.0.1:8080"}}`

    Quirks:
        A full listing of nothing gives one row without a bundle: nothing had an owner.
        Nodes whose name does not end in a range are namespaces, and give no row.
    """
    return read_entry(text, _ownership_rows)


def _broker_rows(entry: Entry) -> Iterator[Row]:
    seen = {"time": entry.moment("time"), "broker": entry.text("broker"), "origin": "store"}
    seen |= _write(entry)
    if "report" in entry.values and entry.values["report"] is None:
        yield "load_reports", seen | {"is_gone": True}
        return
    yield from report_rows(entry.entry("report"), seen)


def _leader_rows(entry: Entry) -> Iterator[Row]:
    row = {"time": entry.moment("time"), **_write(entry), "broker": None}
    if "leader" not in entry.values or entry.has("leader"):
        row["broker"] = leader_id(entry.entry("leader"))
    yield "leaders", row


def leader_id(leader: Entry) -> str:
    """Return the broker id out of the leader's node."""
    if leader.has("brokerId"):
        return leader.text("brokerId")
    return _host_and_port(leader.text("serviceUrl"))


def owner_id(owner: Entry) -> str:
    """Return the broker id out of a bundle's ownership node."""
    return _host_and_port(owner.text("httpUrl" if owner.has("httpUrl") else "httpUrlTls"))


def _host_and_port(url: str) -> str:
    return url.rpartition("//")[2].rstrip("/")


def _write(entry: Entry) -> dict[str, Any]:
    """Give the columns that say which write it was."""
    return {
        "version": entry.small("version") if entry.has("version") else None,
        "written": entry.moment("mtime") if entry.has("mtime") else None,
    }


def _average_rows(entry: Entry) -> Iterator[Row]:
    time = entry.moment("time")
    nodes = entry.entry("nodes")
    for path in nodes.values:
        if path.startswith(BUNDLE_DATA) and BUNDLE.fullmatch(path):
            node = nodes.entry(path)
            seen = {"time": time, "written": node.moment("mtime")}
            bundle = path.removeprefix(BUNDLE_DATA)
            yield bundle_averages(node.entry("v"), seen | {"bundle": bundle})
        elif path.startswith(BROKER_AVERAGE):
            node = nodes.entry(path)
            seen = {"time": time, "written": node.moment("mtime")}
            broker = path.removeprefix(BROKER_AVERAGE)
            yield broker_averages(node.entry("v"), seen | {"broker": broker})


def bundle_averages(averages: Entry, seen: dict[str, Any]) -> Row:
    """Give the row of one bundle's averages, behind what says when and whose they are."""
    short, long = averages.entry("shortTermData"), averages.entry("longTermData")
    return "bundle_averages", seen | {
        "short_samples": short.small("numSamples"),
        **_measures(short, "m", "short"),
        "long_samples": long.small("numSamples"),
        **_measures(long, "m", "long"),
        "topics": averages.count("topics"),
    }


def broker_averages(averages: Entry, seen: dict[str, Any]) -> Row:
    """Give the row of one broker's averages, behind what says when and whose they are."""
    return "broker_averages", {
        **seen,
        **_measures(averages, "shortTermM", "short"),
        **_measures(averages, "longTermM", "long"),
    }


def _measures(averages: Entry, head: str, column_head: str) -> dict[str, float]:
    keys, columns = _named(head, column_head)
    return dict(zip(columns, averages.numbers(keys), strict=True))


@cache
def _named(head: str, column_head: str) -> tuple[list[str], list[str]]:
    """Name the keys of four measures, and their columns."""
    return [head + key for key in MEASURES], [
        f"{column_head}_{column}" for column in MEASURES.values()
    ]


def _ownership_rows(entry: Entry) -> Iterator[Row]:
    seen = {"time": entry.moment("time"), "is_full": entry.flag("full")}
    change = entry.entry("change")
    bundles = [name for name in change.values if BUNDLE.fullmatch(name)]
    for bundle in bundles:
        owner = change.text(bundle) if change.values[bundle] else None
        yield "ownership", seen | {"bundle": bundle, "broker": owner}
    if seen["is_full"] and not bundles:
        yield "ownership", seen | {"bundle": None, "broker": None}
