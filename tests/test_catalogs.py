"""Tables in a catalog of Iceberg tables: the rows of the files, and each recording's once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.utils.config import Config

from folder_files import tree
from trimtab.cli import main
from trimtab.files import catalogs
from trimtab.files.catalogs import CatalogError, publish, shares
from trimtab.files.datasets import stored
from trimtab.ingest.pipeline import ingest_all
from trimtab.ingest.recording import open_recording
from trimtab.spark.runner import Here

pytestmark = pytest.mark.slow

RECORDINGS = Path(__file__).parent / "testdata" / "recordings"
LOG = "logs/broker1/pulsar-broker.log"
UNLOAD = (
    "2026-11-21T06:00:00,000+0000 [main] INFO  o.a.p.b.l.impl.ModularLoadManagerImpl - "
    "[ThresholdShedder] Unloading bundle: public/default/0x00000000_0x80000000 "
    "from broker 10.0.0.1:8080 to dest broker 10.0.0.2:8080\n"
)


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two recordings, and the tables of both."""
    folder = tmp_path_factory.mktemp("nights")
    for name in ("mixed", "young"):
        shutil.copytree(RECORDINGS / name, folder / name)
    ingest(folder)
    return folder


@pytest.fixture
def copied(nights: Path, tmp_path: Path) -> Path:
    """The same, which may be changed."""
    return Path(shutil.copytree(nights, tmp_path / "nights"))


def ingest(folder: Path) -> None:
    with open_recording(folder / "mixed") as one, open_recording(folder / "young") as other:
        ingest_all(Here(), [one, other], folder / "tables")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """What names a catalog in a database of one file."""
    (tmp_path / "lake").mkdir()
    return {
        "PYICEBERG_CATALOG__LAKE__URI": f"sqlite:///{tmp_path}/lake/catalog.db",
        "PYICEBERG_CATALOG__LAKE__WAREHOUSE": f"file://{tmp_path}/lake/warehouse",
    }


@pytest.fixture
def lake(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Catalog]:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    # It reads its surroundings once.
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
    yield load_catalog("lake")


def rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def published(folder: Path) -> list[int | None]:
    return list(publish(shares([folder / "tables"]), "lake"))


def locations(lake: Catalog) -> dict[str, str]:
    """Where each table's present state stands, which every change moves."""
    names = [name[-1] for name in lake.list_tables("trimtab")]
    return {name: lake.load_table(f"trimtab.{name}").metadata_location for name in names}


def test_a_catalog_has_the_rows_of_the_files_with_the_recording_beside(
    nights: Path, lake: Catalog
) -> None:
    counts = published(nights)

    for folder in sorted((nights / "tables").iterdir()):
        if folder.is_dir():
            inside = lake.load_table(f"trimtab.{folder.name}").scan().to_arrow()
            files = stored(folder.name, folder).to_table()
            assert set(inside["recording"].to_pylist()) <= {"mixed", "young"}
            assert rows(inside.select(files.column_names)) == rows(files)
    assert sum(count or 0 for count in counts) > 100
    events = lake.load_table("trimtab.log_events")
    assert events.schema().find_field("line").doc == "line of that file, from 1"


def test_who_publishes_again_changes_nothing(nights: Path, lake: Catalog) -> None:
    published(nights)
    before = locations(lake)

    assert set(published(nights)) == {None}
    assert locations(lake) == before


def test_of_what_has_changed_the_rows_are_replaced_and_files_of_others_stay(
    copied: Path, lake: Catalog
) -> None:
    published(copied)
    before = files_of(lake, "young")
    with (copied / "mixed" / LOG).open("a", encoding="utf-8") as log:
        log.write(f"\n{UNLOAD}")
    ingest(copied)

    published(copied)

    assert files_of(lake, "young") == before
    inside = lake.load_table("trimtab.log_events").scan().to_arrow()
    files = stored("log_events", copied / "tables" / "log_events").to_table()
    assert rows(inside.select(files.column_names)) == rows(files)


def files_of(lake: Catalog, recording: str) -> set[str]:
    tasks = lake.load_table("trimtab.log_events").scan(f"recording = '{recording}'").plan_files()
    return {task.file.file_path for task in tasks}


def test_a_table_of_an_earlier_release_is_given_the_columns_that_it_lacks(
    nights: Path, lake: Catalog
) -> None:
    columns = [pa.field("time", pa.timestamp("us", "UTC")), pa.field("kind", pa.string())]
    lake.create_namespace("trimtab")
    early = lake.create_table("trimtab.log_events", pa.schema(columns))
    early.append(pa.table({"time": pa.array([0], columns[0].type), "kind": ["unload"]}))

    published(nights)

    inside = lake.load_table("trimtab.log_events").scan().to_arrow()
    assert inside["bundle"].null_count < len(inside)
    old = [row for row in inside.to_pylist() if row["recording"] is None]
    assert [(row["kind"], row["bundle"]) for row in old] == [("unload", None)]


def test_a_column_of_another_type_is_one_line(nights: Path, lake: Catalog) -> None:
    lake.create_namespace("trimtab")
    lake.create_table("trimtab.log_events", pa.schema([pa.field("line", pa.string())]))

    with pytest.raises(CatalogError, match=r"catalog lake: .*line.*") as error:
        published(nights)

    assert "\n" not in str(error.value)


def test_of_two_who_publish_at_a_time_both_are_in(
    nights: Path, lake: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one commits between what is read here and what is written."""
    asked = [it for it in shares([nights / "tables"]) if it.table == "log_events"]
    mine, others = ([it for it in asked if it.recording == name] for name in ("mixed", "young"))
    list(publish([], "lake"))
    interrupt_with(monkeypatch, lambda: list(publish(others, "lake")))

    list(publish(mine, "lake"))

    inside = lake.load_table("trimtab.log_events").scan().to_arrow()
    assert len(inside) == stored("log_events", nights / "tables" / "log_events").count_rows()
    assert set(inside["recording"].to_pylist()) == {"mixed", "young"}


def interrupt_with(monkeypatch: pytest.MonkeyPatch, other: Callable[[], object]) -> None:
    """Let something happen before the first share is written."""
    write = catalogs._replace
    waiting = [other]

    def interrupted(*arguments: Any) -> int:
        if waiting:
            waiting.pop()()
        return write(*arguments)

    monkeypatch.setattr(catalogs, "_replace", interrupted)


def test_who_was_stopped_goes_on_where_it_was(nights: Path, lake: Catalog) -> None:
    asked = shares([nights / "tables"])
    for _ in zip(range(7), publish(asked, "lake"), strict=False):
        pass

    counts = published(nights)

    assert counts[:7] == [None] * 7
    assert None not in counts[7:]


@pytest.mark.parametrize(
    ("catalog", "change"),
    [
        ("pond", {}),
        ("lake", {"URI": "postgresql+nobody://me:secret@127.0.0.1/x"}),
        ("lake", {"TYPE": "rest", "URI": "http://127.0.0.1:9/"}),
    ],
)
def test_a_catalog_that_cannot_be_had_is_one_line(
    nights: Path,
    environment: dict[str, str],
    catalog: str,
    change: dict[str, str],
) -> None:
    tables = environment["PYICEBERG_CATALOG__LAKE__URI"].removeprefix("sqlite:///")
    words = ("ingest", str(nights / "young"), "-o", f"{tables}.tables", "--catalog", catalog)
    more = {f"PYICEBERG_CATALOG__LAKE__{name}": value for name, value in change.items()}

    done = subprocess.run(
        [sys.executable, "-m", "trimtab", *words],
        env={**os.environ, **environment, **more},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert f"catalog {catalog}: " in last
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr + done.stdout
    assert (Path(f"{tables}.tables") / "accounting.json").is_file()


def test_commands_bring_their_tables_and_say_so(
    nights: Path, tmp_path: Path, lake: Catalog
) -> None:
    young = str(nights / "young")
    first = CliRunner().invoke(
        main, ["explain", young, "-o", str(tmp_path / "explained"), "--catalog", "lake.night"]
    )
    again = CliRunner().invoke(
        main, ["ingest", young, "-o", str(tmp_path / "tables"), "--catalog", "lake.night"]
    )

    assert first.exit_code == 0, first.output
    assert "Catalog: lake.night: " in first.output
    assert " rows written" in first.output
    # Ingest alone gives the same rows of what is read.
    assert "nothing new" in again.output
    assert ("night", "replayed_rounds") in lake.list_tables("night")


def test_nights_of_a_fleet_stand_beside_each_other(
    nights: Path, tmp_path: Path, lake: Catalog
) -> None:
    words = [str(nights / name) for name in ("mixed", "young")]

    done = CliRunner().invoke(
        main, ["explain", *words, "-o", str(tmp_path / "fleet"), "--catalog", "lake"]
    )

    assert done.exit_code == 0, done.output
    inside = lake.load_table("trimtab.recording").scan().to_arrow()
    assert set(inside["recording"].to_pylist()) == {"mixed", "young"}


def test_follow_and_a_catalog_exclude_each_other(nights: Path, tmp_path: Path) -> None:
    words = ["ingest", str(nights / "young"), "-o", str(tmp_path / "t"), "--follow"]

    done = CliRunner().invoke(main, [*words, "--catalog", "lake"])

    assert done.exit_code == 2
    assert "--catalog: found beside --follow, expected without it" in done.output


def test_polars_and_duckdb_find_them_by_name(nights: Path, lake: Catalog) -> None:
    published(nights)
    events = lake.load_table("trimtab.log_events")

    unloads = pl.scan_iceberg(events).filter(pl.col("kind") == "unload").collect()
    connection = events.scan(row_filter="kind = 'unload'").to_duckdb("unloads")
    found = connection.sql("SELECT count(*) FROM unloads").fetchall()

    assert isinstance(connection, duckdb.DuckDBPyConnection)
    assert found == [(len(unloads),)]
    assert len(unloads) > 0


def test_the_files_themselves_are_left_alone(copied: Path, lake: Catalog) -> None:
    before = tree(copied)

    published(copied)

    assert tree(copied) == before
