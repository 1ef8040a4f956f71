"""A standalone Spark cluster of two workers on the loopback, from the installed package."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from trimtab.spark.java import find_java

_DEPLOY = "org.apache.spark.deploy"
_MASTER_SAYS = "Starting Spark master at "
_WORKER_SAYS = "Successfully registered with master"


@contextmanager
def two_workers(folder: Path) -> Iterator[str]:
    """Start a master and two workers of one core each; give the master's URL.

    They are stopped when the block ends.
    """
    with cluster(folder) as (url, _):
        yield url


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """Start what `two_workers` does; give the processes too, so that some may be killed."""
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "JAVA_HOME": str(find_java()),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
        "-Dspark.master.rest.enabled=false",
    }
    # The program is to come from the driver, not from wherever the workers were started.
    environment.pop("PYTHONPATH", None)
    processes: list[subprocess.Popen[str]] = []

    def start(role: str, *arguments: str) -> subprocess.Popen[str]:
        command = [str(home / "bin" / "spark-class"), f"{_DEPLOY}.{role}"]
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0", *arguments],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    try:
        url = _said(start("master.Master"), _MASTER_SAYS).split()[0]
        workers = [
            start("worker.Worker", "-c", "1", "-m", "1g", "-d", str(folder / name), url)
            for name in ("first", "second")
        ]
        for worker in workers:
            _said(worker, _WORKER_SAYS)
        yield url, processes
    finally:
        for process in reversed(processes):
            process.terminate()
            process.communicate()


def _said(process: subprocess.Popen[str], words: str) -> str:
    """Wait until a process says something; give the rest of that line."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        _, found, rest = line.partition(words)
        if found:
            return rest.strip()
    raise AssertionError("".join(said))
