"""The metadata store: who led, who owned what, and which write said so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from trimtab.ingest.entries import Entry, Row, of_entry

#: Where a broker writes its load reports.
BROKER = "/loadbalance/brokers/"
#: Every namespace that ever had an owner is a node too; only a name that ends in a
#: range is a bundle.  Example: public/default/0x40000000_0x80000000
BUNDLE = re.compile(r".+/0x[0-9a-fA-F]+_0x[0-9a-fA-F]+")


@of_entry
def store_leader(entry: Entry) -> Iterator[Row]:
    """Yield the row of one write of the leader's node.

    Example line: `{"time": "2026-11-21T06:37:26.789Z", "version": 0, "mtime":
    1795243037317, "leader": {"brokerId": "10.0.0.1:8080", "serviceUrl": "…"}}`

    Quirks:
        Releases that do not write `brokerId` have the same host and port in `serviceUrl`.
    """
    row = {"time": entry.moment("time"), **write_columns(entry), "broker": None}
    if "leader" not in entry.values or entry.has("leader"):
        row["broker"] = leader_id(entry.entry("leader"))
    yield "leaders", row


@of_entry
def store_ownership(entry: Entry) -> Iterator[Row]:
    """Yield the rows of one change of ownership, or of one full listing of it.

    Example line: `{"time": "2026-11-21T06:37:26.862Z", "full": false, "change":
    {"public/default/0x0_0x1": "10.0.0.1:8080"}}`

    Quirks:
        A full listing of nothing gives one row without a bundle: nothing had an owner.
        Nodes whose name does not end in a range are namespaces, and give no row.
    """
    common = {"time": entry.moment("time"), "is_full": entry.flag("full")}
    change = entry.entry("change")
    bundles = [name for name in change.values if BUNDLE.fullmatch(name)]
    for bundle in bundles:
        owner = change.text(bundle) if change.values[bundle] else None
        yield "ownership", common | {"bundle": bundle, "broker": owner}
    if common["is_full"] and not bundles:
        yield "ownership", common | {"bundle": None, "broker": None}


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


def write_columns(entry: Entry) -> dict[str, Any]:
    """Return the columns that say which write to the store a line is about."""
    return {
        "version": entry.small("version") if entry.has("version") else None,
        "written": entry.moment("mtime") if entry.has("mtime") else None,
    }
