"""States of bundles as the extensible load manager records them: in a topic, or in the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa
from msgspec import UNSET, UnsetType, defstruct
from msgspec.json import Decoder

from trimtab.files.tables import TIME
from trimtab.ingest.columns import usual_lines
from trimtab.ingest.entries import Entry, Row, of_entry
from trimtab.ingest.json_fields import Text, fields_of
from trimtab.ingest.sieve import BlockContent, Columns

#: Where they stand in the metadata store, and not in a topic.
STATES = "/service_unit_state/"
TABLE = "bundle_states"

_FIELDS = fields_of(TABLE, ("time", "origin", "version", "bundle", "is_gone"))
_Usual = _FIELDS.usual()
_ALONE: Decoder[Any] = Decoder(_Usual)
_LINE: Decoder[Any] = Decoder(
    defstruct(
        "_Line",
        [("time", Any), ("bundle", Text), ("record", _Usual | UnsetType, UNSET)],
        gc=False,
    )
)


class _Line(NamedTuple):
    """A usual line."""

    time: datetime
    bundle: str
    record: Any


@of_entry
def topic_state(entry: Entry) -> Iterator[Row]:
    """Yield the row of one message of the topic `loadbalancer-service-unit-state`.

    Example line: `{"time": "2026-11-21T06:37:26.786Z", "bundle": "public/default/0x0_0x1",
    "record": {"state": "Owned", "dstBroker": "10.0.0.1:8080", "sourceBroker": null, "force":
    false, "timestamp": 1795243046786, "versionId": 2}}`

    Quirks:
        The time is that at which the topic took the message.  A null record removes what was
        known of the bundle.
    """
    record = {"time": entry.moment("time"), "origin": "topic", "version": None}
    record["bundle"] = entry.text("bundle")
    is_gone = "record" in entry.values and entry.values["record"] is None
    yield removed(record) if is_gone else state_of(entry.entry("record"), record)


def removed(record: Mapping[str, Any]) -> Row:
    """Return the row that says that a bundle has no record any more."""
    return TABLE, {**record, "is_gone": True, **_FIELDS.nothing}


def state_of(value: Entry, record: Mapping[str, Any]) -> Row:
    """Return the row of a record's value, behind the columns that say when and how it came."""
    return TABLE, {**record, "is_gone": False, **_FIELDS.read(value)}


def usual_state(value: bytes) -> Any:
    """Return a usual record's value, decoded."""
    return _ALONE.decode(value)


def topic_states(block: bytes, before: int) -> BlockContent:
    """Return the records in usual lines of the topic's file.

    Properties:
        Whatever the bytes, `topic_state` says of each line what is said of it here.
    """
    numbers, lines, content = usual_lines(block, before, _line)
    coming = {
        "time": pa.array([it.time for it in lines], TIME),
        "line": pa.array(numbers, pa.int64()),
        "bundle": pa.array([it.bundle for it in lines], pa.string()),
        "version": pa.nulls(len(lines), pa.int32()),
    }
    content.columns[TABLE] = written_states([it.record for it in lines], "topic", coming)
    return content


def written_states(values: Sequence[Any], origin: str, coming: Mapping[str, pa.Array]) -> Columns:
    """Return usual records as columns, behind those that say when and how they came."""
    return {
        **coming,
        "origin": pa.repeat(pa.scalar(origin, pa.string()), len(values)),
        "is_gone": pa.repeat(pa.scalar(False), len(values)),
        **_FIELDS.arrays(values),
    }


def _line(text: bytes) -> _Line:
    """Return a usual line.

    Raises:
        ODD: it is not as usual, or a removal.
    """
    line = _LINE.decode(text)
    if line.record is UNSET:
        raise ValueError("no record")
    return _Line(Entry({"time": line.time}).moment("time"), line.bundle, line.record)
