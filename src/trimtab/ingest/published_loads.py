"""What brokers under the extensible load manager publish of their loads: messages of two topics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trimtab.ingest.entries import Entry, MalformedError, Row, of_entry
from trimtab.ingest.json_fields import fields_of

_COMING = ("time", "published", "broker", "is_gone", "is_heard")
_LOADS, _BUNDLES = "published_loads", "published_bundles"
_LOAD = fields_of(_LOADS, _COMING)
_BUNDLE = fields_of(_BUNDLES, (*_COMING, "place"))


@of_entry
def published_load(entry: Entry) -> Iterator[Row]:
    """Yield the row of one message of the topic `loadbalancer-broker-load-data`.

    Example line: `{"time": "2026-11-21T06:37:26.790Z", "published": "2026-11-21T06:37:26.786Z",
    "broker": "10.0.0.1:8080", "record": {"cpu": {"usage": 3.5, "limit": 200.0}, …,
    "weightedMaxEMA": 0.31, "updatedAt": 1795243046786, "reportedAt": 1795243041785}}`

    Quirks:
        A null record removes what the broker had published.  A line with `is_heard` instead of
        a broker says whether the topic was listened to from then on.
    """
    row, is_gone = _coming(entry)
    load = _LOAD.nothing if is_gone or row["broker"] is None else _LOAD.read(entry.entry("record"))
    yield _LOADS, row | load


@of_entry
def published_bundles(entry: Entry) -> Iterator[Row]:
    """Yield the rows of one message of the topic `loadbalancer-top-bundles-load-data`.

    Example line: `{"time": "2026-11-21T06:37:26.790Z", "published": "2026-11-21T06:37:26.786Z",
    "broker": "10.0.0.1:8080", "record": {"topBundlesLoadData": [{"bundleName":
    "public/default/0x0_0x1", "stats": {"msgRateIn": 1.5, …}}]}}`

    Quirks:
        As of `published_load`.  A message without a bundle gives one row without one.
    """
    row, is_gone = _coming(entry)
    nothing = {"place": None, **_BUNDLE.nothing}
    if is_gone or row["broker"] is None:
        yield _BUNDLES, row | nothing
        return
    record = entry.entry("record")
    listed = record.values.get("topBundlesLoadData")
    if not isinstance(listed, list):
        raise record.wrong("topBundlesLoadData", listed, "a list of bundles")
    for place, bundle in enumerate(listed, 1):
        where = f"record.topBundlesLoadData[{place - 1}]"
        if not isinstance(bundle, dict):
            raise MalformedError(f"key {where}: found {str(bundle)[:80]}, expected an object")
        values = _BUNDLE.read(Entry(bundle, f"{where}."))
        yield _BUNDLES, {**row, "place": place, **values}
    if not listed:
        yield _BUNDLES, row | nothing


def _coming(entry: Entry) -> tuple[dict[str, Any], bool]:
    """Return the columns of when and of whom, and whether what was there is gone."""
    row: dict[str, Any] = {"time": entry.moment("time"), "published": None, "broker": None}
    row |= {"is_gone": False, "is_heard": None}
    if "is_heard" in entry.values:
        return row | {"is_heard": entry.flag("is_heard")}, False
    is_gone = "record" in entry.values and entry.values["record"] is None
    row |= {"published": entry.moment("published"), "broker": entry.text("broker")}
    return row | {"is_gone": is_gone}, is_gone
