"""On a cluster of two workers: the same bytes, and one line for whatever is wrong with it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext

from folder_files import tree
from spark_cluster import cluster
from trimtab.explanation.explain import explain
from trimtab.ingest.recording import open_recording
from trimtab.spark.workers import LIBRARIES, WorkersError, check_libraries, is_cluster

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parent.parent
NIGHT = ROOT / "recordings" / "threshold"
#: Runs in a process of its own: there is one session at a time in each.
ALONE = """
import sys
from pathlib import Path
from trimtab.diagnose import cluster_tables
from trimtab.explanation.explain import explain
from trimtab.ingest.recording import open_recording
from trimtab.spark.session import opened_spark

# Each file of a table is a share of its own, so that the workers are asked.
cluster_tables._SHARE_BYTES = 1
master, night, output = sys.argv[1], *map(Path, sys.argv[2:])
with opened_spark(cores=1, master=master) as spark:
    with open_recording(night) as recording:
        explain(spark, recording, output)
"""
#: A command line whose tasks take their time, and which soon gives up waiting for workers.
SLOW = """
import sys
import trimtab.spark.workers
from trimtab.cli import main
from trimtab.ingest import pipeline

write_group, plan = pipeline.write_group, pipeline.plan

def planned(*given):
    # From here on there has been a worker.
    trimtab.spark.workers.WITHOUT_WORKERS_S = 3.0
    return plan(*given)

def slow(place, groups, number):
    import time
    from pathlib import Path
    Path(sys_argv[1]).touch()
    time.sleep(60)
    return write_group(place, groups, number)

sys_argv = sys.argv[:]
sys.argv[1:] = sys.argv[2:]
pipeline.write_group, pipeline.plan = slow, planned
main()
"""


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), **more}


def python(*arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[str, list[subprocess.Popen[str]], Path]]:
    folder = tmp_path_factory.mktemp("cluster")
    with cluster(folder) as (url, processes):
        yield url, processes, folder


def test_tables_findings_and_report_are_the_same_wherever_they_are_made(
    running: tuple[str, list[subprocess.Popen[str]], Path], spark: SparkContext, tmp_path: Path
) -> None:
    url, _, folder = running
    with open_recording(NIGHT) as recording:
        explain(spark, recording, tmp_path / "here")
    for name, master in (("one", "local[1,4]"), ("cluster", url)):
        done = python("-c", ALONE, master, NIGHT, tmp_path / name)
        assert (0, "") == (done.returncode, done.stderr)

    expected = tree(tmp_path / "here")
    assert {"findings.json", "report.html", "tables/accounting.json"} <= set(expected)
    # Several tasks, so that the two workers share them.
    assert any(path.endswith("-00003.parquet") for path in expected)
    assert expected == tree(tmp_path / "one")
    assert expected == tree(tmp_path / "cluster")
    # Both workers had an executor.
    assert 2 == len(list(folder.glob("*/app-*/*")))


def trimtab(*arguments: object, **more: str) -> tuple[int, str]:
    done = python("-m", "trimtab", *arguments, **more)
    assert "" == done.stdout
    return done.returncode, done.stderr


def test_a_master_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"spark://127.0.0.1:{free.getsockname()[1]}"
        said = trimtab("ingest", NIGHT, "-o", tmp_path / "tables", "--master", url)

    assert (2, f"trimtab: {url}: no Spark master answers there: Connection refused\n") == said
    assert [] == list(tmp_path.iterdir())


def test_workers_that_lack_a_library_are_named(
    running: tuple[str, list[subprocess.Popen[str]], Path], tmp_path: Path
) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    given = ("ingest", NIGHT, "-o", tmp_path / "tables", "--master", running[0])

    code, said = trimtab(*given, PYSPARK_PYTHON=str(bare))

    assert (2, 1) == (code, said.count("\n")), said
    assert f"trimtab: {running[0]}: the Python of its worker on {socket.gethostname()} has" in said
    assert all(f"no {library} (here " in said for library in LIBRARIES)
    code, said = trimtab(*given, PYSPARK_PYTHON=str(tmp_path / "nothing"))
    assert (2, 1) == (code, said.count("\n")), said
    assert said.startswith("trimtab: Spark did not start: ")
    assert f'Cannot run program "{tmp_path}/nothing"' in said
    assert not (tmp_path / "tables").exists()


def test_other_releases_are_named() -> None:
    here = {"numpy": "1.0.0", "pyarrow": ""}

    with pytest.raises(WorkersError) as error:
        check_libraries("spark://a:1", {"b": here})

    assert str(error.value).startswith(
        "spark://a:1: the Python of its worker on b has numpy 1.0.0 (here "
    )
    assert ", no pyarrow (here " in str(error.value)
    check_libraries("spark://a:1", {"b": {}})


def test_what_is_a_cluster() -> None:
    masters = ("local", "local[2]", "local[2,4]", "local-cluster[2,1,1024]", "spark://a:1", "yarn")

    assert [False, False, False, True, True, True] == list(map(is_cluster, masters))


def test_a_cluster_that_is_lost_half_way_ends_the_run(
    running: tuple[str, list[subprocess.Popen[str]], Path], tmp_path: Path
) -> None:
    url, processes, _ = running
    given = ("ingest", NIGHT, "-o", tmp_path / "tables")
    run = subprocess.Popen(
        [sys.executable, "-c", SLOW, tmp_path / "begun", *given, "--master", url],
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not (tmp_path / "begun").exists():
            assert run.poll() is None, run.communicate()
            time.sleep(0.1)
        for process in processes:
            process.kill()
        said = run.communicate(timeout=120)[1]
    finally:
        run.kill()

    assert (2, 1) == (run.returncode, said.count("\n")), said
    assert said.startswith(f"trimtab: {url} has had no worker for ")
    assert ["begun"] == sorted(path.name for path in tmp_path.iterdir())
