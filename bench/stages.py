"""`python -m bench.stages RECORDING OUTPUT CORES [uncut]`: explains, and prints what stages take.

With `uncut` every tenure is decided in one stretch, however long it is.
A process of its own, so that Java starts anew and memory is that of this explanation alone.
It and all that it starts are kept to so many cores, as on a machine that has no more.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from bench.process_tree import Shares, largest_worker_bytes, resident_bytes, shares
from trimtab.diagnose import diagnosis
from trimtab.diagnose.diagnosis import diagnose
from trimtab.diagnose.replay.recompute import recompute
from trimtab.diagnose.verdicts import VERDICT_WORDS
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import open_recording
from trimtab.report.render import make_ready, render
from trimtab.spark.session import started

Given = ParamSpec("Given")
Result = TypeVar("Result")

#: In their order; the first is Java's start.
STAGES = ("start", "ingest", "diagnose", "report")
#: Parts of the diagnosis that stand in `trimtab.diagnose.diagnosis` under these names.  A replay
#: runs beside `_beside`, so their times overlap.
PARTS = ("log_events", "_reports", "_usages", "recompute", "_beside", "whole_night", "all_findings")
_LOOK_EVERY_S = 0.25


@dataclass(slots=True)
class Watch:
    """Takes the time of stages, and sees the most memory in each."""

    #: Stage → wall time, s; processor time; most bytes of all processes together.
    wall_s: dict[str, float] = field(default_factory=dict)
    cpu_s: dict[str, Shares] = field(default_factory=dict)
    peak_bytes: dict[str, int] = field(default_factory=dict)
    #: Stage → most bytes of one Python worker.
    worker_peak_bytes: dict[str, int] = field(default_factory=dict)
    #: Part of the diagnosis → wall time, s.
    parts_s: dict[str, float] = field(default_factory=dict)

    def stage(self, name: str, work: Callable[[], Result]) -> Result:
        """Do a stage's work."""
        peaks, is_over = [0, 0], threading.Event()

        def look() -> None:
            while not is_over.wait(_LOOK_EVERY_S):
                peaks[0] = max(peaks[0], resident_bytes())
                peaks[1] = max(peaks[1], largest_worker_bytes())

        watcher = threading.Thread(target=look, daemon=True)
        began, before = time.monotonic(), shares()
        watcher.start()
        result = work()
        self.wall_s[name] = time.monotonic() - began
        self.cpu_s[name] = shares().since(before)
        is_over.set()
        watcher.join()
        self.peak_bytes[name], self.worker_peak_bytes[name] = peaks
        return result

    def part(self, name: str, work: Callable[Given, Result]) -> Callable[Given, Result]:
        """Have each call of a function counted."""

        def timed(*given: Given.args, **named: Given.kwargs) -> Result:
            began = time.monotonic()
            result = work(*given, **named)
            self.parts_s[name] = self.parts_s.get(name, 0.0) + time.monotonic() - began
            return result

        return timed


def main() -> None:
    """Explain a recording."""
    recording, output, cores = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    output.mkdir(parents=True)
    log, watch = output / "spark.log", Watch()
    spark = watch.stage("start", lambda: started(cores=cores, log=log))
    # As `explain` does.
    ThreadPoolExecutor(1).submit(make_ready)
    with open_recording(recording) as opened:
        accounting = watch.stage("ingest", lambda: ingest(spark, opened, output / "tables"))
        cluster = opened.cluster
    if sys.argv[4:] == ["uncut"]:
        setattr(diagnosis, PARTS[3], partial(recompute, cuts=()))
    for name in PARTS:
        setattr(diagnosis, name, watch.part(name, getattr(diagnosis, name)))
    found = watch.stage("diagnose", lambda: diagnose(spark, output / "tables", cluster))
    page = watch.stage("report", lambda: render(found.findings, found.picture, VERDICT_WORDS))
    rounds = found.findings["round_list"]
    told = asdict(watch) | {
        "lines": accounting.totals["lines"],
        "rounds": len(rounds),
        "equal": sum(row["recomputed"]["equal"] is True for row in rounds),
        "page": len(page.encode()),
        "findings": len(json.dumps(found.findings, indent=1).encode()),
        "digest": _digest(output / "tables", json.dumps(found.findings, indent=1), page),
    }
    click.echo(json.dumps(told))
    spark.stop()


def _digest(tables: Path, *texts: str) -> str:
    """Return the digest of every byte of the tables, and of some texts."""
    whole = hashlib.sha256()
    for path in sorted(path for path in tables.rglob("*") if path.is_file()):
        whole.update(path.relative_to(tables).as_posix().encode())
        with path.open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    for text in texts:
        whole.update(text.encode())
    return whole.hexdigest()


if __name__ == "__main__":
    main()
