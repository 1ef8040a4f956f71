"""Bad surroundings: each is said in one line, and the tables stay as they were."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark import SparkContext

from folder_files import tree
from trimtab.ingest import folder, pipeline
from trimtab.ingest.accounting import IngestError
from trimtab.ingest.folder import rewritten
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import open_recording

ROOT = Path(__file__).parent.parent
NIGHT = ROOT / "recordings" / "threshold"
#: Runs that are killed, and with `--exhaustive`.
KILLS_FEW, KILLS_MANY = 4, 100
#: An ingest in a process of its own, which may be killed at any time.
ALONE = """
import os, sys
os.setpgrp()
from trimtab.cli import main
main()
"""


def run(spark: SparkContext, recording: Path, tables: Path) -> None:
    with open_recording(recording) as opened:
        ingest(spark, opened, tables)


@pytest.fixture
def night(spark: SparkContext, recordings: Path, tmp_path: Path) -> Path:
    """A recording whose tables were written once."""
    shutil.copytree(recordings / "mixed", tmp_path / "night")
    run(spark, tmp_path / "night", tmp_path / "tables")
    return tmp_path / "night"


# ------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (Path.unlink, "it vanished while it was read \\(No such file or directory\\); ingest"),
        (lambda path: os.truncate(path, 9), "it shrank from [0-9]+ to 9 bytes while it was read"),
    ],
    ids=["vanishes", "shrinks"],
)
def test_a_file_that_goes_while_it_is_read_is_named(
    spark: SparkContext, night: Path, monkeypatch: pytest.MonkeyPatch, harm: object, said: str
) -> None:
    before = tree(night.parent / "tables")
    plan = pipeline.plan

    def harmed(*given: object) -> object:
        planned = plan(*given)
        harm(night / "load-reports.jsonl")
        return planned

    monkeypatch.setattr(pipeline, "plan", harmed)
    with pytest.raises(IngestError, match=f"^load-reports.jsonl: {said}"):
        run(spark, night, night.parent / "tables")

    assert before == tree(night.parent / "tables")


def test_a_file_that_grows_while_it_is_read_is_read_as_far_as_it_was(
    spark: SparkContext, night: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = pipeline.plan

    def grown(*given: object) -> object:
        planned = plan(*given)
        with (night / "load-reports.jsonl").open("a") as file:
            file.write("more\nand more")
        return planned

    before = tree(night.parent / "tables")
    monkeypatch.setattr(pipeline, "plan", grown)
    run(spark, night, night.parent / "tables")
    monkeypatch.setattr(pipeline, "plan", plan)

    assert before == tree(night.parent / "tables")
    run(spark, night, night.parent / "tables")
    run(spark, night, night.parent / "anew")
    assert tree(night.parent / "anew") == tree(night.parent / "tables") != before


# -------------------------------------------------------------------------- disk


@pytest.mark.spark
def test_a_full_disk_is_said_by_the_driver_and_by_workers(tmp_path: Path) -> None:
    """No file may be longer than 20 kB, which Python gives the same kind of error."""

    # Java, which has a log to write, is not limited.
    program = (
        "from trimtab.ingest import parts, pipeline\n"
        "from trimtab.cli import main\n"
        "written = pipeline.write_group\n"
        "def write_group(*given):\n"
        "    import resource, signal\n"
        "    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "    return written(*given)\n"
        "pipeline.write_group = write_group\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "ingest", NIGHT, "-o", tmp_path / "tables"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert (2, "") == (done.returncode, done.stdout)
    assert re.fullmatch(
        rf"trimtab: {re.escape(str(tmp_path))}/tables: cannot be written: .*File too large.*\n",
        done.stderr,
    )
    assert [] == list(tmp_path.iterdir())


def test_a_disk_that_takes_nothing_is_said_by_the_driver(spark: SparkContext, night: Path) -> None:
    before = tree(night.parent / "tables")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(IngestError, match=r"tables: cannot be written: .*File too large"):
            run(spark, night, night.parent / "tables")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)

    assert before == tree(night.parent / "tables")
    assert ["night", "tables"] == sorted(path.name for path in night.parent.iterdir())


# -------------------------------------------------------------------------- lock


def test_a_second_writer_is_turned_away(tmp_path: Path) -> None:
    here = socket.gethostname()

    with (
        rewritten(tmp_path / "tables"),
        pytest.raises(IngestError) as error,
        rewritten(tmp_path / "tables"),
    ):
        raise AssertionError("two writers")

    assert (
        f"{tmp_path}/tables: another run writes there: process {os.getpid()} on {here}; wait "
        f"for it, or remove {tmp_path}/.tables.lock if it has ended" == str(error.value)
    )
    assert ["tables"] == [path.name for path in tmp_path.iterdir()]


def test_a_lock_of_another_machine_holds_until_somebody_removes_it(tmp_path: Path) -> None:
    lock = tmp_path / ".tables.lock"
    lock.write_text(json.dumps({"pid": 7, "host": "elsewhere"}))

    with pytest.raises(IngestError, match="process 7 on elsewhere"), rewritten(tmp_path / "tables"):
        pass

    lock.unlink()
    with rewritten(tmp_path / "tables"):
        pass


@pytest.mark.parametrize("left", ["", "{", '{"pid": 1, "host": "HERE"}'])
def test_a_stale_lock_is_taken(tmp_path: Path, left: str) -> None:
    (tmp_path / ".tables.lock").write_text(left.replace("HERE", socket.gethostname()))
    (tmp_path / ".tables.partial-1").mkdir()

    with rewritten(tmp_path / "tables") as rewriting:
        (rewriting.new / "accounting.json").write_text("{}")

    assert ["tables"] == [path.name for path in tmp_path.iterdir()]


def test_without_an_exchange_of_folders_a_killed_run_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the two renames, the tables are there under another name."""
    monkeypatch.setattr(folder.ctypes, "CDLL", lambda _: None)
    tables = tmp_path / "tables"
    for text in ("first", "second"):
        with rewritten(tables) as rewriting:
            (rewriting.new / "accounting.json").write_text(text)
    assert {"accounting.json": b"second"} == tree(tables)
    assert ["tables"] == [path.name for path in tmp_path.iterdir()]
    tables.rename(tmp_path / ".tables.earlier")

    with pytest.raises(KeyboardInterrupt), rewritten(tables):
        raise KeyboardInterrupt

    assert {"accounting.json": b"second"} == tree(tables)


# ------------------------------------------------------------------------- kills


def test_whoever_is_killed_leaves_the_tables_whole(
    spark: SparkContext, tmp_path: Path, is_exhaustive: bool
) -> None:
    """Driver, Java and Python are killed at any moment."""
    nights = [tmp_path / "a" / "night", tmp_path / "b" / "night"]
    shutil.copytree(NIGHT, nights[0])
    shutil.copytree(NIGHT, nights[1])
    [log] = list(nights[1].glob("logs/*/*.log*"))[:1]
    log.unlink()
    states = []
    for i, night in enumerate(nights):
        run(spark, night, tmp_path / str(i))
        states.append(tree(tmp_path / str(i)))
    assert states[0] != states[1]
    shutil.move(tmp_path / "0", tmp_path / "tables")
    rng = random.Random(os.environ.get("TRIMTAB_SEED", "kills"))
    seen = []
    for i in range(KILLS_MANY if is_exhaustive else KILLS_FEW):
        # In turn the one recording and the other, so that each run has something to change.
        ended = killed(nights[1 - i % 2], tmp_path / "tables", rng)
        state = tree(tmp_path / "tables")
        assert state in states
        seen.append(ended)

    for i, night in enumerate(nights):
        run(spark, night, tmp_path / "tables")
        assert states[i] == tree(tmp_path / "tables")
    assert ["1", "a", "b", "tables"] == sorted(path.name for path in tmp_path.iterdir())
    # Killed, or told that Java is gone, or done before; never a traceback.
    assert set(seen) <= {-signal.SIGKILL, 2, 0} != {0}


def killed(night: Path, tables: Path, rng: random.Random) -> int:
    """Start an ingest; once it writes, kill its driver, its Java or all of it."""
    driver = subprocess.Popen(
        [sys.executable, "-c", ALONE, "ingest", night, "-o", tables],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while driver.poll() is None and not list(tables.parent.glob(".tables.partial-*")):
            time.sleep(0.05)
        time.sleep(rng.uniform(0, 3))
        match rng.choice(["driver", "java", "all"]):
            case "driver":
                driver.kill()
            case "java":
                for pid in children(driver.pid):
                    os.kill(pid, signal.SIGKILL)
            case "all":
                os.killpg(driver.pid, signal.SIGKILL)
        return driver.wait(60)
    finally:
        # Whoever is left: Java outlives its driver by seconds.
        if driver.poll() is None:
            driver.kill()


def children(pid: int) -> list[int]:
    """List the processes that a process has started."""
    return [
        int(task)
        for path in Path(f"/proc/{pid}/task").glob("*/children")
        for task in path.read_text().split()
    ]
