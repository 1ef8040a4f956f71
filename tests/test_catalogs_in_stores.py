"""Tables in catalogs whose warehouse is a store of objects, S3 as moto has it; Glue likewise."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.utils.config import Config

from s3_server import BUCKET, SECRET, environment, s3_server
from trimtab.files.catalogs import publish, shares
from trimtab.files.datasets import stored
from trimtab.ingest.pipeline import ingest_all
from trimtab.ingest.recording import open_recording
from trimtab.spark.runner import Here

pytestmark = pytest.mark.slow

RECORDINGS = Path(__file__).parent / "testdata" / "recordings"
NAMES = ("mixed", "young")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with s3_server() as running:
        yield running


@pytest.fixture(params=["sql", "glue"])
def lake(
    request: pytest.FixtureRequest, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Catalog:
    """A catalog by nothing but its surroundings, as of a user."""
    kind = request.param
    section = {
        "TYPE": kind,
        "WAREHOUSE": f"s3://{BUCKET}/{kind}",
        "S3__ENDPOINT": url,
        "S3__REGION": "us-east-1",
    }
    if kind == "sql":
        section["URI"] = f"sqlite:///{tmp_path}/catalog.db"
    else:
        section |= {"GLUE__ENDPOINT": url, "GLUE__REGION": "us-east-1"}
    for name, value in section.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name}", value)
    for name, value in environment(url).items():
        monkeypatch.setenv(name, value)
    # It reads its surroundings once.
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
    return load_catalog("lake")


def test_a_warehouse_in_a_store_has_the_rows_of_the_files_once(
    lake: Catalog, tmp_path: Path
) -> None:
    folder = tmp_path / "nights"
    for name in NAMES:
        shutil.copytree(RECORDINGS / name, folder / name)
    with open_recording(folder / "mixed") as one, open_recording(folder / "young") as other:
        ingest_all(Here(), [one, other], folder / "tables")

    first = list(publish(shares([folder / "tables"]), "lake"))
    again = list(publish(shares([folder / "tables"]), "lake"))

    assert sum(count or 0 for count in first) > 100
    assert set(again) == {None}
    names = {name[-1] for name in lake.list_tables("trimtab")}
    assert names == {each.name for each in (folder / "tables").iterdir() if each.is_dir()}
    for name in sorted(names):
        inside = lake.load_table(f"trimtab.{name}")
        assert inside.metadata_location.startswith(f"s3://{BUCKET}/")
        assert SECRET not in repr(inside.metadata)
        files = stored(name, folder / "tables" / name).to_table()
        read = pl.scan_iceberg(inside).collect().to_arrow().select(files.column_names)
        assert sorted(map(repr, read.to_pylist())) == sorted(map(repr, files.to_pylist()))
