"""Runs the commands on a YARN cluster and on this machine, and fails on any differing byte.

`make yarn-check`.  Maven fetches Hadoop's cluster for tests once (two nodes in one process, on
the loopback), into `build/yarn`.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
JARS = ROOT / "build" / "yarn" / "jars"
NIGHT = ROOT / "recordings" / "threshold"
COMMANDS = ("ingest", "explain")
MASTERS = ("yarn", "local[1]")


class YarnError(RuntimeError):
    """The cluster cannot be run, or a command fails on it; the message says which."""


def fetch() -> None:
    """Fetch the cluster's class path, unless it is there.

    Raises:
        YarnError: there is no Maven, or it does not find a jar.
    """
    if JARS.is_dir():
        return
    maven = shutil.which("mvn")
    if maven is None:
        raise YarnError("no mvn on PATH: install Maven, which fetches Hadoop once")
    partial = JARS.with_name("jars.partial")
    shutil.rmtree(partial, ignore_errors=True)
    words = ("dependency:copy-dependencies", f"-DoutputDirectory={partial}")
    done = subprocess.run(
        (maven, "-q", "-B", "-f", str(HERE / "pom.xml"), *words),
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise YarnError(f"Maven does not find Hadoop:\n{done.stdout}")
    # Only what is complete gets the name, so that an interrupted run is begun again.
    partial.rename(JARS)


@contextmanager
def cluster(folder: Path) -> Iterator[Path]:
    """Start the cluster in a folder; give the folder of its settings.  It ends with the block.

    Raises:
        YarnError: it does not start.
    """
    conf = folder / "conf"
    conf.mkdir()
    log = folder / "cluster.log"
    opens = ("--add-opens", "java.base/java.lang=ALL-UNNAMED")
    words = ("java", "-Xmx512m", *opens, "-cp", f"{JARS}/*", str(HERE / "MiniYarn.java"), str(conf))
    with log.open("wb") as errors:
        process = subprocess.Popen(
            words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        # Hadoop has words of its own for standard output.
        if not any(line == b"ready\n" for line in process.stdout):
            text = log.read_text(encoding="utf-8", errors="replace")
            raise YarnError(f"YARN does not start:\n{text[-2000:]}")
        yield conf
    finally:
        process.stdin.close()
        process.wait()


def run(command: str, master: str, output: Path, conf: Path) -> None:
    """Run a command on the night.

    Raises:
        YarnError: it fails.
    """
    surroundings = os.environ | {
        "HADOOP_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    words = (command, NIGHT.name, "-o", str(output), "--master", master)
    done = subprocess.run(
        (sys.executable, "-m", "trimtab", *words),
        cwd=NIGHT.parent,
        env=surroundings,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise YarnError(f"trimtab {command} --master {master} fails:\n{done.stderr}")


def differences(one: Path, other: Path) -> list[str]:
    """Return the files that only one folder has, or that differ in a byte."""
    names = {
        str(path.relative_to(folder))
        for folder in (one, other)
        for path in folder.rglob("*")
        if path.is_file()
    }
    _, differing, missing = filecmp.cmpfiles(one, other, sorted(names), shallow=False)
    return [*differing, *missing]


def main() -> int:
    """Compare each command's output; 1 if a byte differs."""
    n_differing = 0
    with tempfile.TemporaryDirectory(prefix="trimtab-yarn-") as temporary:
        folder = Path(temporary)
        fetch()
        with cluster(folder) as conf:
            for command in COMMANDS:
                outputs = [folder / f"{command}-{number}" for number in range(len(MASTERS))]
                for master, output in zip(MASTERS, outputs, strict=True):
                    run(command, master, output, conf)
                differing = differences(*outputs)
                n_files = sum(path.is_file() for path in outputs[0].rglob("*"))
                click.echo(f"{command:<8} {n_files:>3} files, {len(differing)} differ")
                for name in differing:
                    click.echo(f"  {name}")
                n_differing += len(differing)
    return 1 if n_differing else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except YarnError as error:
        click.echo(error, err=True)
        sys.exit(2)
