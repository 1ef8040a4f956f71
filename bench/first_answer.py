"""How long one waits for the first answer: a command a process, both ways in turn."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from bench.table import DifferenceError, Table

_RECORDINGS = Path(__file__).resolve().parent.parent / "recordings"
_RUNS = 5
#: As every recording was read before this process read small ones itself.
_SPARK = ("--master", "local[2,4]")
_HEADINGS = ("command", "wall, s", "processor, s", "by Spark: wall, s", "processor, s")


class _Run(NamedTuple):
    wall_s: float
    cpu_s: float


def first_answer() -> Table:
    """Measure what somebody waits for who tries trimtab, beside the same with Spark."""
    with tempfile.TemporaryDirectory(prefix="trimtab-first-") as name:
        folder = Path(name)
        packed = _RECORDINGS / "threshold" / "logs" / "broker1" / "pulsar-broker.log.gz"
        log = folder / "pulsar-broker.log"
        log.write_bytes(gzip.decompress(packed.read_bytes()))
        (folder / "empty.log").touch()
        rows = [
            _pair(folder, "explain, a log of one broker", log),
            _pair(folder, "explain, the demo", _RECORDINGS / "threshold"),
            _alone("explain, no such file", "explain", folder / "no-such.log"),
            _alone("explain, an empty log", "explain", folder / "empty.log"),
            _alone("explain, a folder of programs", "explain", Path(__file__).parent),
            _alone("lint, a broker.conf", "lint", _RECORDINGS / "avg" / "conf" / "broker1.conf"),
            _alone("--help", "--help"),
        ]
    return Table(
        f"The least of {_RUNS} runs each, a process each, the two ways in turn; what they write "
        "is compared to the byte.\n"
        "Processor time holds Java's, and not that of workers that Java started.\n",
        (f"PySpark {version('pyspark')}",),
        _HEADINGS,
        tuple(rows),
    )


def _pair(folder: Path, name: str, recording: Path) -> tuple[str, ...]:
    here: list[_Run] = []
    spark: list[_Run] = []
    for _ in range(_RUNS):
        here.append(_run("explain", recording, "-o", folder / "here"))
        spark.append(_run("explain", recording, "-o", folder / "spark", *_SPARK))
    for file in ("findings.json", "report.html"):
        if (folder / "here" / file).read_bytes() != (folder / "spark" / file).read_bytes():
            raise DifferenceError(f"{name}: {file} differs")
    shutil.rmtree(folder / "here")
    shutil.rmtree(folder / "spark")
    return (name, *_least(here), *_least(spark))


def _alone(name: str, *words: str | Path) -> tuple[str, ...]:
    return (name, *_least([_run(*words) for _ in range(_RUNS)]), "", "")


def _least(runs: Sequence[_Run]) -> tuple[str, str]:
    return f"{min(it.wall_s for it in runs):.2f}", f"{min(it.cpu_s for it in runs):.2f}"


def _run(*words: str | Path) -> _Run:
    """Return what a command takes from its start to its end."""
    began = time.monotonic()
    command = [sys.executable, "-m", "trimtab", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    return _Run(time.monotonic() - began, used.ru_utime + used.ru_stime)
