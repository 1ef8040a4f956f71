"""The schema of every table: column, type, unit, meaning, as tables.toml and fleet.toml have it.

Ingest, diagnosis and report meet only here.  No logic beyond looking a schema up.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import pyarrow as pa

TIME = pa.timestamp("us", tz="UTC")
NUMBERS = pa.map_(pa.string(), pa.float64())
#: Types that Arrow has no name for, and those whose name here is another.
_TYPES: Mapping[str, pa.DataType] = {
    "time": TIME,
    "numbers": NUMBERS,
    "labels": pa.map_(pa.string(), pa.string()),
    "counts": pa.map_(pa.string(), pa.int64()),
    "strings": pa.list_(pa.string()),
    "doubles": pa.list_(pa.float64()),
    "broker states": pa.list_(
        pa.struct(
            {
                "broker": pa.string(),
                "usage": pa.float64(),
                "score": pa.float64(),
                "throughput": pa.float64(),
                "rate": pa.float64(),
                "offload": pa.float64(),
                "bundles": pa.int64(),
                "reason": pa.string(),
            }
        )
    ),
    "unfit bundles": pa.list_(
        pa.struct(
            {
                "source": pa.string(),
                "bundle": pa.string(),
                "carried": pa.float64(),
                "offload": pa.float64(),
                "is_rate": pa.bool_(),
            }
        )
    ),
    "chosen bundles": pa.list_(
        pa.struct(
            {
                "source": pa.string(),
                "bundle": pa.string(),
                "target": pa.string(),
                "throughput": pa.float64(),
                "rate": pa.float64(),
            }
        )
    ),
}


def column(name: str, type: str, meaning: str, unit: str = "", at: str = "") -> pa.Field:
    """Return a column with its meaning and unit in the field's metadata.

    Its type goes by the name in tables.toml; where its values are read is for `KEYS` alone.
    """
    of_type = _TYPES.get(type) or pa.type_for_alias(type)
    return pa.field(name, of_type, metadata={"meaning": meaning, "unit": unit})


def _schema(meaning: str, columns: Mapping[str, Mapping[str, str]]) -> pa.Schema:
    """Return a table's schema with its meaning in the metadata."""
    fields = [column(name, **of_column) for name, of_column in columns.items()]
    return pa.schema(fields, metadata={"meaning": meaning})


_TABLES: Mapping[str, Mapping[str, Any]] = {
    writer: of_writer
    for file in ("tables.toml", "fleet.toml")
    for writer, of_writer in tomllib.loads(
        files("trimtab.files").joinpath(file).read_text("utf-8")
    ).items()
}
#: Tables that ingest writes, those that a replay and the tracing of states write in a diagnosis,
#: those that regret adds, those that a sweep writes, and those of many nights.
INGESTED, DIAGNOSED, TRACED, JUDGED, SWEPT, FLEET = (
    {name: _schema(**of_table) for name, of_table in _TABLES[writer].items()}
    for writer in ("ingested", "diagnosed", "traced", "judged", "swept", "fleet")
)
#: Table → column → where ingest reads its values, as tables.toml says.
KEYS: dict[str, dict[str, str]] = {
    name: {column: it["at"] for column, it in of_table["columns"].items() if "at" in it}
    for name, of_table in _TABLES["ingested"].items()
}
