"""Recordings and tables in a store of objects, from the command line and in Spark's workers."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from folder_files import tree
from s3_server import BUCKET, SECRET, environment, faulty_proxy, fill, s3_server
from spark_connect import connect_server
from trimtab.files import stores
from trimtab.files.generations import current
from trimtab.files.places import files_below, place_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
NIGHT = ROOT / "recordings" / "threshold"
STORE = f"s3://{BUCKET}/nights/threshold"
#: A command line for which each file of a table is a share of its own, so that workers are asked;
#: the first task that has written its rows ends its process, if a file is named for that.
SHARED = """
import os, sys
from trimtab.cli import main
from trimtab.diagnose import cluster_tables
from trimtab.ingest import pipeline

cluster_tables._SHARE_BYTES = 1
write, mark = pipeline.write_group, sys.argv.pop(1)

def write_and_die(place, groups, number):
    written = write(place, groups, number)
    try:
        open(mark, "x").close()
    except FileExistsError:
        return written
    os.kill(os.getpid(), 9)

if mark:
    pipeline.write_group = write_and_die
main(prog_name="trimtab")
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with s3_server() as running, pytest.MonkeyPatch.context() as patch:
        # Before Java starts, whose workers have its environment.
        for name, value in environment(running).items():
            patch.setenv(name, value)
        stores.file_system.cache_clear()
        fill(NIGHT, place_of(STORE))
        yield running
    stores.file_system.cache_clear()


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What `explain` writes of the same recording on a disk."""
    folder = tmp_path_factory.mktemp("explained")
    trimtab("explain", NIGHT, "-o", folder / "here")
    return tree(folder / "here")


def trimtab(*arguments: object, mark: Path | str = "", url: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-c", SHARED, *map(str, (mark, *arguments))],
        env={**os.environ, **(environment(url) if url else {}), "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    assert SECRET not in done.stdout + done.stderr
    return done.stdout


def stored(folder: str) -> dict[str, bytes]:
    """What a folder in the store holds, with the tables that count in place of all."""
    place = place_of(folder)
    tables = current(place / "tables")
    beside = (it for it in place.iterdir() if it.is_file())
    content = {it.name: it.read_bytes() for it in beside}
    content |= {
        f"tables/{it.relative_to(tables).as_posix()}": it.read_bytes() for it in files_below(tables)
    }
    assert all(SECRET.encode() not in it for it in content.values())
    return content


def test_a_night_in_a_store_is_explained_into_it(url: str, explained: dict[str, bytes]) -> None:
    said = trimtab("explain", STORE, "-o", f"s3://{BUCKET}/here")

    assert said.endswith(f"\nReport: s3://{BUCKET}/here/report.html\n")
    assert {"findings.json", "report.html", "tables/accounting.json"} <= set(explained)
    assert explained == stored(f"s3://{BUCKET}/here")


def test_nights_in_a_store_are_explained_once(url: str, tmp_path: Path) -> None:
    with gzip.open(NIGHT / "logs" / "broker1" / "pulsar-broker.log.gz") as log:
        lines = b"".join(log.readlines()[:200])
    for night in ("monday", "tuesday"):
        (tmp_path / night).mkdir()
        (tmp_path / night / "recording.toml").write_text(f'name = "{night}"\n')
        (tmp_path / night / "broker.log").write_bytes(lines)
        fill(tmp_path / night, place_of(f"s3://{BUCKET}/fleet/shop/{night}"))
    nights, output = f"s3://{BUCKET}/fleet/*/*day", f"s3://{BUCKET}/fleet-explained"

    first, again = (trimtab("explain", nights, "-o", output) for _ in range(2))

    assert first.startswith("2 nights of 1 clusters: 2 explained now")
    assert again.startswith("2 nights of 1 clusters: 0 explained now")
    rows = (place_of(output) / "nights.jsonl").read_text().splitlines()
    assert ["monday", "tuesday"] == [json.loads(row)["night"] for row in rows]
    assert (place_of(output) / "shop" / "monday" / "report.html").is_file()


@pytest.mark.spark
def test_the_same_comes_of_workers_of_a_connect_server(
    url: str, explained: dict[str, bytes], tmp_path: Path
) -> None:
    with connect_server(tmp_path) as remote:
        trimtab("explain", STORE, "-o", f"s3://{BUCKET}/remote", "--remote", remote)

    assert explained == stored(f"s3://{BUCKET}/remote")


@pytest.mark.spark
def test_faults_and_a_worker_that_dies_change_nothing(url: str, tmp_path: Path) -> None:
    local = ("--master", "local[2,4]")
    trimtab("ingest", NIGHT, "-o", tmp_path / "tables", *local)
    with faulty_proxy(url, 20) as proxy:
        trimtab(
            *("ingest", STORE, "-o", f"s3://{BUCKET}/faults/tables", *local),
            mark=tmp_path / "died",
            url=proxy.url,
        )
        assert {"SlowDown", "InternalError", "cut"} == set(proxy.faults)

    assert (tmp_path / "died").exists()
    expected = {f"tables/{name}": content for name, content in tree(tmp_path / "tables").items()}
    assert expected == stored(f"s3://{BUCKET}/faults")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("explain", "s3://nowhere-at-all/x"),
            "trimtab: s3://nowhere-at-all/x: there is no such bucket\n",
        ),
        (
            ("explain", f"s3://{BUCKET}/nothing"),
            f"trimtab: s3://{BUCKET}/nothing: no such file or folder\n",
        ),
        (
            ("explain", "ftp://host/x"),
            "trimtab: ftp://…: found an unknown scheme, expected a path, or an address of "
            "s3, gs, gcs, abfs, abfss, hdfs or file\n",
        ),
    ],
)
def test_what_is_not_there_is_one_line(url: str, words: tuple[str, ...], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "trimtab", *words], capture_output=True, text=True, check=False
    )

    assert (2, said) == (done.returncode, done.stderr)
