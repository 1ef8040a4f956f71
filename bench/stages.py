"""`python -m bench.stages RECORDING OUTPUT CORES`: explains, and prints how long each stage takes.

A process of its own, so that Java starts anew and memory is that of this explanation alone.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from trimtab.diagnose import diagnose
from trimtab.ingest import ingest, open_recording
from trimtab.report import render
from trimtab.spark import session

Result = TypeVar("Result")

#: In their order; the first is Java's start.
STAGES = ("start", "ingest", "diagnose", "report")


def _timed(stage: str, work: Callable[[], Result]) -> Result:
    began = time.monotonic()
    result = work()
    click.echo(f"{stage} {time.monotonic() - began:.2f}")
    sys.stdout.flush()
    return result


def main() -> None:
    """Explain a recording."""
    recording, output, cores = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    output.mkdir(parents=True)
    log = output / "spark.log"
    spark = _timed("start", lambda: session("bench", cores=cores, log=log))
    with open_recording(recording) as opened:
        _timed("ingest", lambda: ingest(spark, opened, output / "tables"))
        cluster = opened.cluster
    found = _timed("diagnose", lambda: diagnose(spark, output / "tables", cluster))
    page = _timed("report", lambda: render(found.findings, found.picture))
    document = json.dumps(found.findings, indent=1)
    equal = sum(row["recomputed"]["equal"] is True for row in found.findings["round_list"])
    rounds = len(found.findings["round_list"])
    click.echo(f"found {rounds} {equal} {len(page.encode())} {len(document.encode())}")
    spark.stop()


if __name__ == "__main__":
    main()
