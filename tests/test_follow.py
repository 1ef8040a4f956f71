"""A recording that is followed to its end gives what a plain ingest of it gives."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark import SparkContext

from tests.follow_kills import SOURCE
from trimtab.cli import main
from trimtab.diagnose.diagnosis import diagnose
from trimtab.files.partitions import clusters, has_days, part_files
from trimtab.files.tables import INGESTED
from trimtab.ingest.accounting import IngestError
from trimtab.ingest.pipeline import ingest, ingest_all
from trimtab.ingest.recording import open_recording
from trimtab.live.follow import Batches, Pace, Stored, follow, opened_tables
from trimtab.live.follow.broker_totals import Fact, Running, folded
from trimtab.live.follow.facts import facts_of
from trimtab.live.follow.lock import HeldError, locked
from trimtab.live.follow.pipeline import leader_followed
from trimtab.live.follow.state import read_state

#: Nothing is at rest as long as a test writes to it.
GROWING_S = 1000.0


def followed(
    spark: SparkContext, recording: Path, tables: Path, rest_s: float = 0.0
) -> list[Stored]:
    """Read what is there, in batches so small that the mixed recording takes several."""
    pace = Pace(is_until_idle=True, rest_s=rest_s, batch_size=8192)
    stored: list[Stored] = []
    with opened_tables(recording, tables) as (batches, _):
        follow(spark, recording, batches, pace, stored.append)
    return stored


@pytest.fixture(scope="module")
def whole(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mixed recording with an end to every line, without which none is read while growing."""
    copy = tmp_path_factory.mktemp("whole") / "mixed"
    shutil.copytree(recordings / "mixed", copy)
    [log] = copy.rglob("*.log")
    assert not log.read_bytes().endswith(b"\n")
    log.write_bytes(log.read_bytes() + b"\n")
    return copy


def grown(recording: Path, into: Path, part: float) -> None:
    """Let files grow up to a part of their bytes, lines torn where that may be; write documents
    at once."""
    for path in sorted(recording.rglob("*")):
        target = into / path.relative_to(recording)
        if path.is_dir():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        held = path.read_bytes()
        if path.suffix in {".log", ".jsonl", ".prom"} and part < 1:
            held = held[: int(part * len(held))]
        with target.open("ab") as file:
            file.write(held[target.stat().st_size :])


def rows(tables: Path, name: str) -> list[str]:
    """Read the rows of a table as text, in the order of their files and lines."""
    found: list[dict[str, Any]] = ds.dataset(tables / name, format="parquet").to_table().to_pylist()
    return sorted(repr(row) for row in found)


@pytest.fixture(scope="module")
def both(
    spark: SparkContext, whole: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Path, list[Stored]]]:
    """The mixed recording, ingested at once, and followed while it grew in three steps."""
    folder = tmp_path_factory.mktemp("follow")
    original, growing = folder / "original", folder / "growing"
    shutil.copytree(whole, original)
    log = next(original.rglob("*.log"))
    log.write_bytes(log.read_bytes() * 40)
    stored = []
    for part, rest_s in ((0.3, GROWING_S), (0.7, GROWING_S), (1.0, 0.0)):
        grown(original, growing, part)
        stored += followed(spark, growing, folder / "followed", rest_s)
    with open_recording(original) as opened:
        ingest(spark, opened, folder / "ingested")
    yield folder / "ingested", folder / "followed", stored


@pytest.mark.parametrize("table", [name for name in INGESTED if name != "recording"])
def test_rows_are_those_of_a_plain_ingest(
    both: tuple[Path, Path, list[Stored]], table: str
) -> None:
    ingested, tables, stored = both

    assert rows(ingested, table) == rows(tables, table)
    assert len(stored) > 3


def test_accounting_is_that_of_a_plain_ingest(both: tuple[Path, Path, list[Stored]]) -> None:
    ingested, tables, stored = both
    told, found = (
        json.loads((folder / "accounting.json").read_text()) for folder in (ingested, tables)
    )
    [expected] = told["recordings"]

    assert expected["totals"] == found["totals"]
    assert ("mixed", "growing") == (found["cluster"], found["recording"])
    assert found["through"] == len(stored) - 1
    counted = {name: len(rows(tables, name)) for name in INGESTED}
    del counted["files"], found["tables"]["files"]
    assert counted == found["tables"]


def test_every_part_has_the_schema(both: tuple[Path, Path, list[Stored]]) -> None:
    parts = list(both[1].glob("*/cluster=mixed/**/part-*.parquet"))

    assert len(parts) > len(INGESTED)
    for part in parts:
        schema = ds.dataset(part, format="parquet").schema
        table = part.relative_to(both[1]).parts[0]
        assert INGESTED[table].equals(schema)
        assert INGESTED[table].metadata == schema.metadata


def test_rows_lie_where_a_plain_ingest_puts_them(both: tuple[Path, Path, list[Stored]]) -> None:
    places = [
        {
            path.parent.relative_to(tables).as_posix()
            for path in tables.glob("*/cluster=*/**/part-*.parquet")
            if pq.read_metadata(path).num_rows
        }
        for tables in both[:2]
    ]

    assert places[0] == places[1]
    assert "log_events/cluster=mixed/day=2026-11-20" in places[0]


def test_diagnosis_is_that_of_a_plain_ingest(
    spark: SparkContext, both: tuple[Path, Path, list[Stored]], tmp_path: Path
) -> None:
    found = []
    for tables in both[:2]:
        copy = tmp_path / tables.name
        shutil.copytree(tables, copy)
        found.append(diagnose(spark, copy, "mixed").findings)
        del found[-1]["recording"]

    assert found[0] == found[1]


def test_every_table_of_a_recording_of_nothing_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "quiet").mkdir()
    with opened_tables(tmp_path / "quiet", tmp_path / "tables"):
        pass

    assert ["quiet"] == clusters(tmp_path / "tables")
    for table, schema in INGESTED.items():
        [part] = part_files(tmp_path / "tables", table, "quiet")
        assert schema.equals(pq.read_schema(part))
        assert has_days(schema) == (part.parent.name == "day=1970-01-01")


def test_running_state_is_the_fold_over_all_rows(both: tuple[Path, Path, list[Stored]]) -> None:
    batches = Batches(both[1])
    leader = leader_followed(batches)
    facts: dict[str, list[Fact]] = {}
    for table in ("log_events", "load_reports"):
        read = ds.dataset(batches.tables / table, format="parquet").to_table()
        for it in facts_of(table, read, leader.weights):
            facts.setdefault(it["broker"], []).append(Fact(it["kind"], it["time_us"], it["value"]))
    found = read_state(batches)

    assert {"broker1", "10.0.0.1:8080"} <= set(facts)
    for broker, those in facts.items():
        lines = Fact("lines", 0, found[broker].lines)
        assert folded(Running(), [*those, lines], leader.rhythm) == found[broker]
    lines = [it["lines"] for it in batches.totals.files.values() if it["source"] == "log"]
    assert sum(lines) == sum(it.lines for it in found.values())


def test_nothing_new_adds_nothing(
    spark: SparkContext, both: tuple[Path, Path, list[Stored]]
) -> None:
    tables = both[1]
    before = {path: path.read_bytes() for path in tables.glob("[a-z]*/**/*.parquet")}

    assert [] == followed(spark, tables.parent / "growing", tables)
    assert before == {path: path.read_bytes() for path in tables.glob("[a-z]*/**/*.parquet")}


@pytest.mark.parametrize("renamed", [0, 1])
def test_batch_that_broke_off_while_its_parts_were_shown_is_finished(
    spark: SparkContext,
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    renamed: int,
) -> None:
    """The record is written, some parts are in their places; then the driver ends."""
    real = Path.replace
    left = [renamed]

    def replace(path: Path, target: Path) -> Path:
        if Path(target).name.startswith("part-follow-0"):
            if not left[0]:
                raise OSError("the driver was killed")
            left[0] -= 1
        return real(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", replace)
        with pytest.raises(Exception, match="the driver was killed"):
            followed(spark, whole, tmp_path / "tables")
    assert renamed == len(list((tmp_path / "tables").rglob("part-follow-0*")))
    followed(spark, whole, tmp_path / "tables")
    with open_recording(whole) as opened:
        ingest(spark, opened, tmp_path / "ingested")

    for table in INGESTED:
        assert rows(tmp_path / "ingested", table) == rows(tmp_path / "tables", table)


def test_tables_of_another_recording_are_left_alone(recordings: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with opened_tables(recordings / "mixed", tmp_path / "tables"):
        pass

    with (
        pytest.raises(IngestError, match=r"expected those of .*other; name another folder"),
        opened_tables(tmp_path / "other", tmp_path / "tables"),
    ):
        pass


def test_folder_of_something_else_is_left_alone(recordings: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")

    with (
        pytest.raises(IngestError, match="it holds something that no `trimtab ingest --follow`"),
        opened_tables(recordings / "mixed", tmp_path),
    ):
        pass
    assert ["thesis.txt"] == [path.name for path in tmp_path.iterdir()]


def test_second_follower_is_told_so(recordings: Path, tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    with opened_tables(recordings / "mixed", tables):
        run = CliRunner().invoke(
            main, ["ingest", str(recordings / "mixed"), "-o", str(tables), "--follow"]
        )

    assert 2 == run.exit_code
    expected = f"trimtab: {tables}: another `trimtab ingest --follow` writes there"
    assert expected == run.stderr.splitlines()[-1]


def test_until_idle_alone_means_nothing(recordings: Path, tmp_path: Path) -> None:
    command = ["ingest", str(recordings / "mixed"), "-o", str(tmp_path / "t"), "--until-idle"]
    run = CliRunner().invoke(main, command)

    assert 2 == run.exit_code
    assert "--until-idle: found without --follow" in run.stderr


def test_only_one_recording_is_followed(recordings: Path, tmp_path: Path) -> None:
    command = ["ingest", *2 * [str(recordings / "mixed")], "-o", str(tmp_path / "t"), "--follow"]
    run = CliRunner().invoke(main, command)

    assert 2 == run.exit_code
    assert "--follow: found 2 recordings, expected one" in run.stderr


def test_plain_ingest_does_not_replace_tables_that_follow(
    spark: SparkContext, recordings: Path, tmp_path: Path
) -> None:
    with opened_tables(recordings / "mixed", tmp_path / "tables"):
        pass

    with (
        pytest.raises(IngestError, match="it follows a recording"),
        open_recording(recordings / "mixed") as opened,
    ):
        ingest_all(spark, [opened], tmp_path / "tables")
    assert (tmp_path / "tables" / ".follow" / "begun.json").exists()


def test_lock_is_held_as_long_as_a_child_has_it(tmp_path: Path) -> None:
    lock = locked(tmp_path / "lock")
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(lock.fileno(),))
    lock.close()

    with pytest.raises(HeldError):
        locked(tmp_path / "lock")
    child.communicate()
    locked(tmp_path / "lock").close()


@pytest.mark.parametrize(("made", "found"), [(False, "nothing"), (True, "a file")])
def test_only_a_folder_is_followed(tmp_path: Path, made: bool, found: str) -> None:
    path = tmp_path / "broker.log"
    if made:
        path.write_text("x")
    run = CliRunner().invoke(main, ["ingest", str(path), "-o", str(tmp_path / "t"), "--follow"])

    assert 2 == run.exit_code
    expected = f"trimtab: {path}: found {found}, expected the folder of a recording\n"
    assert expected == run.stderr


@pytest.mark.spark
def test_ctrl_c_ends_it_and_leaves_nobody_behind(whole: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trimtab", "ingest", str(whole)]
    follower = subprocess.Popen(
        [*command, "-o", str(tmp_path / "tables"), "--follow", "--every", "0.3", "--rest", "0"],
        env={"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    accounting = tmp_path / "tables" / "accounting.json"
    # Until the first batch is in the tables; the runner's own limit is the patience.
    while not accounting.exists() or json.loads(accounting.read_text())["through"] < 0:
        assert follower.poll() is None, follower.communicate()
        time.sleep(0.1)
    follower.send_signal(signal.SIGINT)
    said, complained = follower.communicate()

    assert 0 == follower.returncode, complained
    assert said.startswith("14 files, 54 lines = ")
    assert "trimtab: stopped; started again, it goes on from here\n" in complained
    assert "Traceback" not in complained
    # Java and its workers held it.
    with opened_tables(whole, tmp_path / "tables"):
        pass
