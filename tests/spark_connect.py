"""A Spark Connect server on the loopback, from the installed package, with a Python of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from trimtab.spark.java import find_java

_STARTED = re.compile(r"Spark Connect server started at: .*?:(\d+)$")
#: Neither this project nor anything else that a .pth file would bring, unless it is named.
_PYTHON = """#!/bin/sh
PYTHONPATH="$PYTHONPATH:{packages}" exec {python} -S "$@"
"""


@contextmanager
def connect_server(folder: Path, cores: int = 2, installed: Path | None = None) -> Iterator[str]:
    """Start a server that runs so many tasks at a time; give its URL.

    Its Python has no trimtab, unless a folder with one counts as installed.

    It is stopped when the block ends.
    """
    home = Path(pyspark.__file__).parent
    python = folder / "python"
    packages = [*filter(None, [installed]), sysconfig.get_path("purelib")]
    words = {"packages": ":".join(map(str, packages)), "python": sys.executable}
    python.write_text(_PYTHON.format(**words))
    python.chmod(0o755)
    environment = {
        **os.environ,
        "JAVA_HOME": str(find_java()),
        "PYSPARK_PYTHON": str(python),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    environment.pop("PYTHONPATH", None)
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.ui.enabled": "false",
    }
    process = subprocess.Popen(
        [
            str(home / "bin" / "spark-submit"),
            *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
            *("--master", f"local[{cores},4]"),
            *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
        ],
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield f"sc://127.0.0.1:{_port(process)}"
    finally:
        process.terminate()
        process.wait()


def _port(process: subprocess.Popen[str]) -> str:
    """Wait until the server says where it listens; what it says from then on is thrown away."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if match := _STARTED.search(line.rstrip()):
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return match[1]
    raise AssertionError("".join(said))
