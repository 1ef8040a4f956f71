"""Anybody's reader reads the tables: DuckDB, Polars, pandas and Spark, as docs/tables.md says."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest
from pyiceberg.utils.config import Config
from pyspark import SparkContext
from pyspark.sql import SparkSession

from trimtab.files.catalogs import publish, shares
from trimtab.files.tables import INGESTED
from trimtab.ingest.pipeline import ingest_all
from trimtab.ingest.recording import open_recording

DOCS = Path(__file__).parent.parent / "docs"
WITHOUT_ROWS = {
    *("store_writes", "store_files", "store_moves"),
    *("published_loads", "published_bundles"),
}
BUNDLE = "public/default/0x00000000_0x80000000"


@pytest.fixture(scope="module")
def tables(spark: SparkContext, recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clusters; one has a name that a path must not have as it is."""
    folder = tmp_path_factory.mktemp("readers")
    for name in ("mixed", "other"):
        shutil.copytree(recordings / "mixed", folder / name)
    meta = folder / "other" / "recording.toml"
    meta.write_text(meta.read_text("utf-8").replace('"mixed"', '"shop/eu 1%"'), "utf-8")
    with open_recording(folder / "mixed") as one, open_recording(folder / "other") as two:
        ingest_all(spark, [one, two], folder / "tables")
    return folder / "tables"


def by_duckdb(tables: Path, table: str) -> list[dict[str, Any]]:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    found = connection.sql(f"SELECT * FROM '{tables}/{table}/**/*.parquet'").fetchall()
    names = connection.sql(f"SELECT * FROM '{tables}/{table}/**/*.parquet'").columns
    return [dict(zip(names, row, strict=True)) for row in found]


def by_polars(tables: Path, table: str) -> list[dict[str, Any]]:
    return pl.read_parquet(f"{tables}/{table}/**/*.parquet", hive_partitioning=True).to_dicts()


def by_pandas(tables: Path, table: str) -> list[dict[str, Any]]:
    return pd.read_parquet(tables / table).to_dict("records")


READERS: dict[str, Callable[[Path, str], list[dict[str, Any]]]] = {
    "duckdb": by_duckdb,
    "polars": by_polars,
    "pandas": by_pandas,
}


@pytest.mark.parametrize("table", INGESTED)
def test_all_readers_see_the_same_rows(tables: Path, table: str) -> None:
    seen = {name: read(tables, table) for name, read in READERS.items()}

    keys = {
        name: sorted((row["cluster"], row.get("file") or "", row.get("line") or 0) for row in rows)
        for name, rows in seen.items()
    }
    assert keys["duckdb"] == keys["polars"] == keys["pandas"]
    clusters = {cluster for cluster, _, _ in keys["duckdb"]}
    assert clusters == (set() if table in WITHOUT_ROWS else {"mixed", "shop/eu 1%"})
    missing = [set(INGESTED[table].names) - set(row) for rows in seen.values() for row in rows]
    assert not any(missing)


@pytest.mark.parametrize("reader", READERS)
def test_values_of_every_type_come_out(tables: Path, reader: str) -> None:
    read = READERS[reader]

    def rows(table: str, **wanted: object) -> list[dict[str, Any]]:
        found = [row for row in read(tables, table) if row["cluster"] == "shop/eu 1%"]
        return [row for row in found if all(row[name] == it for name, it in wanted.items())]

    [report] = rows("load_reports", origin="rest")
    time = datetime(2026, 11, 20, 22, 0, 1, tzinfo=UTC)
    assert time == report["time"]
    assert timedelta(0) == report["time"].utcoffset()
    assert date(2026, 11, 20).isoformat() == str(report["day"])[:10]
    assert (23.5, 1, False) == (report["cpu_usage"], report["topics"], report["is_gone"])
    assert [BUNDLE] == list(report["bundles"])
    assert "4.0.8" == report["release"]
    [stored] = rows("load_reports", broker="10.0.0.1:8080", origin="store")
    assert 3 == stored["version"]
    [sample] = rows("metrics", line=2)
    # pandas has a map as pairs.
    assert {"cluster": "a", "broker": "10.0.0.1", "metric": "loadBalancing"} == dict(
        sample["labels"]
    )
    assert 24.70339 == sample["value"]
    [event] = rows("log_events")
    assert (1, "unload", "10.0.0.2:8080") == (event["line"], event["kind"], event["target"])


@pytest.fixture
def lake(tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog of that name, which has the tables."""
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", f"file://{tmp_path}/warehouse")
    # It reads its surroundings once.
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
    assert any(list(publish(shares([tables]), "lake")))


@pytest.mark.usefixtures("lake")
def test_snippets_of_the_docs_do_as_they_say(tables: Path, spark: SparkContext) -> None:
    text = (DOCS / "tables.md").read_text("utf-8")
    found = {}
    for i, snippet in enumerate(re.findall(r"(?ms)^```python\n(.*?)^```", text)):
        names: dict[str, Any] = {"spark": SparkSession(spark)}
        # Java keeps the folder in which it was started.
        exec(snippet.replace("tables/log_events", f"{tables}/log_events"), names)
        found[i] = names["unloads"]

    # One unload in each of the two clusters; the snippets ask for those of one day.
    assert {i: 2 for i in range(5)} == {i: int(n) for i, n in found.items()}
