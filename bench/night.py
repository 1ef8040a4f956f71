"""How long it takes to explain a night of a large cluster, on one core and on two."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyspark

from bench.simulation import world
from bench.stages import PARTS, STAGES
from bench.table import Table
from bench.two_cores import two_cores
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.parameters import Parameters
from trimtab.trials.record import Options, record

BALANCER = Balancer("ThresholdShedder", "LeastResourceUsageWithWeight", "4.0.8")
QUIET = Options(noise_per_hour=500.0, metrics_s=300.0, rest_s=0.0, are_exported=True)
_CORES = (1, 2)
_MEBIBYTE = 1 << 20
_HEADINGS = (
    "stage",
    "one core, s",
    "two cores, s",
    "ratio",
    "CPU on one, s: driver + Java + workers",
    "on two",
    "peak of memory on two, MiB",
)
#: Folder of a disk in memory; TMPDIR says whether the night is put there.
_IN_MEMORY = Path("/dev/shm")
#: What was found on the way, which the figures alone do not say.
_TRIED = Path(__file__).with_suffix(".md")


@dataclass(frozen=True, slots=True)
class Size:
    """How large the night is."""

    brokers: int = 1_000
    bundles: int = 20_000
    hours: float = 24.0


#: What is measured if nobody asks for another.
LARGE = Size()


def night(size: Size = LARGE) -> Table:
    """Measure the stages of `trimtab explain` on a night whose brokers log little."""
    found = measured(size, QUIET)
    return replace(found, text=f"{found.text}\n{_TRIED.read_text(encoding='utf-8')}\n")


def measured(size: Size, options: Options) -> Table:
    """Measure the stages of `trimtab explain` on a night that is recorded for it."""
    with tempfile.TemporaryDirectory(prefix="trimtab-night-") as folder:
        began = time.monotonic()
        root = Path(folder) / "night"
        played = replace(world(size.brokers, size.bundles), duration_s=size.hours * 3600.0)
        run = record(played, BALANCER, Parameters(), root, options)
        took_s = time.monotonic() - began
        sides = [explained(root, Path(folder) / f"on-{cores}", cores) for cores in _CORES]
        plain_bytes = _plain_bytes(root)
        text = _recorded(size, options, root, took_s) + _text(root, plain_bytes, sides[-1])
        text += (
            f"{run.counts['reports']:,} reports were written, and {run.moves.time_s.size:,} "
            "bundles moved.\n"
            "Two processes that parse a log without Spark, each on a core of its own, do "
            f"{two_cores(root / 'logs'):.2f} times as much as one: what two cores are worth here.\n"
        )
    text += _costs(size, plain_bytes, sides[-1])
    text += _parts(*sides)
    return Table(text, (f"PySpark {pyspark.__version__}",), _HEADINGS, _rows(*sides))


def _recorded(size: Size, options: Options, root: Path, took_s: float) -> str:
    sizes = {name: _bytes(root / name) / _MEBIBYTE for name in ("logs", "store", "metrics")}
    parts = ", ".join(f"{name} {mebibytes:,.0f} MiB" for name, mebibytes in sizes.items())
    packed = ", packed" if options.is_packed else ""
    return (
        f"A night of {size.hours:g} h of {size.brokers:,} brokers with {size.bundles:,} bundles, "
        f"as `trimtab record` writes it in {took_s:,.0f} s: {parts}{packed}.\n"
        "A round of ThresholdShedder a minute, load reports as brokers write them, metrics every "
        f"{options.metrics_s:,.0f} s, and {options.noise_per_hour:,.0f} lines an hour of each "
        "broker that are of other things.\n"
    )


def _text(root: Path, plain_bytes: int, last: Mapping[str, Any]) -> str:
    return (
        "Each explanation is a process of its own, which is kept to so many cores with all that it "
        "starts; memory is that of Java and of all of Python together, as resident.\n"
        f"{_kept(root)}"
        f"Unpacked it has {plain_bytes / 1e9:,.1f} GB in {last['lines']:,} lines.\n"
        f"{last['equal']:,} of {last['rounds']:,} rounds that left a line came out equal; the page "
        f"has {last['page'] / 1e6:.2f} MB, findings.json {last['findings'] / 1e6:.1f} MB.\n"
    )


def _kept(root: Path) -> str:
    if root.is_relative_to(_IN_MEMORY):
        return "Recording and tables lie on a disk in memory, so that none is waited for.\n"
    return "The recording has been read before, so that it comes out of memory if it fits.\n"


def _costs(size: Size, plain_bytes: int, two: Mapping[str, Any]) -> str:
    """Return what to reckon with for another night."""
    ingested, diagnosed = (sum(two["cpu_s"][stage].values()) for stage in ("ingest", "diagnose"))
    workers = max(two["worker_peak_bytes"].values()) / _MEBIBYTE
    worked, took = (
        sum(sum(two["cpu_s"][it].values()) for it in STAGES),
        sum(two["wall_s"].values()),
    )
    return (
        f"On two cores it is {worked:,.0f} s of processor time, which one core could not do in "
        f"less: by that two are {worked / took:.2f} times one, whatever slowed the machine down.\n"
        f"In processor time that is {ingested / (plain_bytes / 1e9):,.1f} s a GB of recording to "
        f"ingest, and {diagnosed / (size.brokers * size.hours / 1e3):,.1f} s a thousand "
        f"broker-hours to diagnose; one Python worker held {workers:,.0f} MiB at most.\n"
    )


def _parts(one: Mapping[str, Any], two: Mapping[str, Any]) -> str:
    told = (
        f"`{name}` {one['parts_s'].get(name, 0):.1f} and {two['parts_s'].get(name, 0):.1f}"
        for name in PARTS
    )
    return f"Within the diagnosis, s on one core and on two: {', '.join(told)}.\n"


def _rows(one: Mapping[str, Any], two: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    rows = []
    for stage in (*STAGES, "all"):
        stages = STAGES if stage == "all" else (stage,)
        walls = [sum(found["wall_s"][name] for name in stages) for found in (one, two)]
        peak = max(two["peak_bytes"][name] for name in stages)
        rows.append(
            (
                stage,
                *(f"{wall:,.1f}" for wall in walls),
                f"{walls[0] / walls[1]:.2f}",
                *(_cpu(found, stages) for found in (one, two)),
                f"{peak / _MEBIBYTE:,.0f}",
            )
        )
    return tuple(rows)


def _cpu(found: Mapping[str, Any], stages: Sequence[str]) -> str:
    kinds = ("driver", "java", "workers")
    return " + ".join(
        f"{sum(found['cpu_s'][name][kind] for name in stages):,.1f}" for kind in kinds
    )


def explained(root: Path, output: Path, cores: int, *how: str) -> Mapping[str, Any]:
    """Explain in a process of its own, and return what `bench.stages` says of it."""
    # Whether the disk is waited for is a matter of luck, and has nothing to do with cores.
    for path in filter(Path.is_file, root.rglob("*")):
        path.read_bytes()
    command = [sys.executable, "-m", "bench.stages", str(root), str(output), str(cores), *how]
    child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if child.returncode != 0:
        raise RuntimeError(f"the explanation on {cores} cores failed")
    told: Mapping[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return told


def _plain_bytes(folder: Path) -> int:
    """Count the bytes of all files, as they are when unpacked."""
    total = 0
    for path in filter(Path.is_file, folder.rglob("*")):
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while chunk := file.read(_MEBIBYTE):
                total += len(chunk)
    return total


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
