"""How long it takes to explain a night of a large cluster, on one core and on two."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pyspark

from bench.simulation import world
from bench.stages import STAGES
from bench.table import Table
from trimtab.record import Options, record
from trimtab.simulate.balancer import Balancer
from trimtab.simulate.parameters import Parameters

_BALANCER = Balancer("ThresholdShedder", "LeastResourceUsageWithWeight", "4.0.8")
_OPTIONS = Options(noise_per_hour=500.0, metrics_s=300.0, rest_s=0.0, are_exported=True)
_CORES = (1, 2)
_MEBIBYTE = 1 << 20
_POLL_S = 0.5
_HEADINGS = ("stage", "one core, s", "two cores, s", "ratio", "peak of memory on two, MiB")


@dataclass(frozen=True, slots=True)
class Size:
    """How large the night is."""

    brokers: int = 1_000
    bundles: int = 20_000
    hours: float = 24.0


#: What is measured if nobody asks for another.
LARGE = Size()


@dataclass(frozen=True, slots=True)
class _Explained:
    """What one explanation took."""

    #: Stage → s, and most bytes of all its processes together.
    seconds: dict[str, float]
    peaks: dict[str, int]
    #: Rounds that were logged, and that came out equal; bytes of page and of findings.json.
    rounds: int
    equal: int
    page: int
    findings: int


def night(size: Size = LARGE) -> Table:
    """Measure the stages of `trimtab explain` on a night that is recorded for it."""
    with tempfile.TemporaryDirectory(prefix="trimtab-night-") as folder:
        began = time.monotonic()
        root = Path(folder) / "night"
        played = replace(world(size.brokers, size.bundles), duration_s=size.hours * 3600.0)
        run = record(played, _BALANCER, Parameters(), root, _OPTIONS).run
        took_s = time.monotonic() - began
        explained = [_explained(root, Path(folder) / f"on-{cores}", cores) for cores in _CORES]
        text = _text(size, root, took_s, explained[-1]) + (
            f"{run.counts['reports']:,} reports were written, and {run.moves.time_s.size:,} "
            "bundles moved.\n"
        )
    return Table(text, (f"PySpark {pyspark.__version__}",), _HEADINGS, _rows(*explained))


def _text(size: Size, root: Path, took_s: float, last: _Explained) -> str:
    sizes = {name: _bytes(root / name) / _MEBIBYTE for name in ("logs", "store", "metrics")}
    parts = ", ".join(f"{name} {mebibytes:,.0f} MiB" for name, mebibytes in sizes.items())
    return (
        f"A night of {size.hours:g} h of {size.brokers:,} brokers with {size.bundles:,} bundles, "
        f"as `trimtab record` writes it in {took_s:,.0f} s: {parts}.\n"
        "A round of ThresholdShedder a minute, load reports as brokers write them, metrics every "
        "five minutes, and 500 lines an hour of each broker that are of other things.\n"
        "Each explanation is a process of its own; memory is that of Java and of all of Python "
        "together, as resident.\n"
        f"{last.equal:,} of {last.rounds:,} rounds that left a line came out equal; the page has "
        f"{last.page / 1e6:.2f} MB, findings.json {last.findings / 1e6:.1f} MB.\n"
    )


def _rows(one: _Explained, two: _Explained) -> tuple[tuple[str, ...], ...]:
    rows = []
    for stage in (*STAGES, "all"):
        seconds = [
            sum(found.seconds.values()) if stage == "all" else found.seconds[stage]
            for found in (one, two)
        ]
        peak = max(two.peaks.values()) if stage == "all" else two.peaks.get(stage, 0)
        figures = *(f"{value:,.1f}" for value in seconds), f"{seconds[0] / seconds[1]:.2f}"
        rows.append((stage, *figures, f"{peak / _MEBIBYTE:,.0f}"))
    return tuple(rows)


def _explained(root: Path, output: Path, cores: int) -> _Explained:
    """Explain in a process of its own, and watch its memory."""
    command = [sys.executable, "-m", "bench.stages", str(root), str(output), str(cores)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    stage, peaks, seconds = [STAGES[0]], dict.fromkeys(STAGES, 0), dict[str, float]()
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(_POLL_S):
            now = stage[0]
            peaks[now] = max(peaks[now], _resident(child.pid))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    assert child.stdout is not None
    found = [0, 0, 0, 0]
    for line in child.stdout:
        name, *numbers = line.split()
        if name == "found":
            found = [int(number) for number in numbers]
        elif name in STAGES:
            seconds[name] = float(numbers[0])
            stage[0] = STAGES[min(STAGES.index(name) + 1, len(STAGES) - 1)]
    is_over.set()
    watcher.join()
    if child.wait() != 0:
        raise RuntimeError(f"the explanation on {cores} cores failed")
    return _Explained(seconds, peaks, *found)


def _resident(pid: int) -> int:
    """Add up what a process and all below it hold, bytes."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                after_name = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended since
                continue
            parents.setdefault(int(after_name[1]), []).append(int(entry.name))
    left, total = [pid], 0
    while left:
        process = left.pop()
        left += parents.get(process, [])
        try:
            pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except OSError:
            continue
        total += pages * os.sysconf("SC_PAGE_SIZE")
    return total


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
