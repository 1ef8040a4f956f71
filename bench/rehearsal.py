"""How long it takes to rehearse a loss on a recorded night of a large cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyspark

from bench.rehearsal_stages import STAGES
from bench.table import Table
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.scenario import scenario
from trimtab.trials.record import Options, record

_BALANCER = Balancer("ThresholdShedder", "LeastResourceUsageWithWeight", "4.0.8")
_MINUTES = (60, 150)
#: The longer night has no events: hours of unloads by chance are not replayed well enough.
_EVENTFUL_MIN = 60
_EVENT = "lose broker-3 at +20m"
_CORES = 2
_MEBIBYTE = 1 << 20
_SCENARIO = Path(__file__).with_suffix(".toml")
_HEADINGS = (
    *("minutes recorded", "stage", "s", "CPU, s: driver + Java + workers"),
    "peak of memory, MiB",
)


def rehearsal() -> Table:
    """Measure the stages of `trimtab rehearse`."""
    rows: list[tuple[str, ...]] = []
    told = []
    with tempfile.TemporaryDirectory(prefix="trimtab-rehearsal-") as folder:
        for minutes in _MINUTES:
            found = _rehearsed(Path(folder), minutes)
            rows += _rows(minutes, found)
            told.append(_told(minutes, found))
    return Table(_text() + "".join(told), (f"PySpark {pyspark.__version__}",), _HEADINGS, (*rows,))


def _rehearsed(folder: Path, minutes: int) -> Mapping[str, Any]:
    """Record a night, and rehearse on it in a process of its own."""
    text = tomllib.loads(_SCENARIO.read_text(encoding="utf-8"))
    text["run"]["minutes"] = minutes
    if minutes > _EVENTFUL_MIN:
        del text["events"]
    cluster, night = scenario(text, "rehearsal"), folder / f"night-{minutes}"
    options = Options(noise_per_hour=600.0, metrics_s=60.0, rest_s=60.0, is_packed=True)
    record(drawn(cluster, 0), _BALANCER, cluster.parameters, night, options)
    arguments = (str(night), _EVENT, str(folder / f"rehearsed-{minutes}"), str(_CORES))
    command = [sys.executable, "-m", "bench.rehearsal_stages", *arguments]
    # As the command line has it.
    surroundings = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    child = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=False, env=surroundings
    )
    if child.returncode != 0:
        raise RuntimeError(f"the rehearsal on {minutes} minutes failed")
    found: Mapping[str, Any] = json.loads(child.stdout.splitlines()[-1])
    if not found["is_trusted"]:
        raise RuntimeError(f"the replay of {minutes} minutes is not true: {found['answer']}")
    return found


def _text() -> str:
    return (
        f'`trimtab rehearse NIGHT "{_EVENT}"` on two cores, on nights of 100 brokers with 10,000 '
        "bundles that `trimtab record` wrote of [bench/rehearsal.toml](../bench/rehearsal.toml), "
        "led by ThresholdShedder with LeastResourceUsageWithWeight.\n"
        f"In {_EVENTFUL_MIN} minutes it has bundles to unload; the longer night is quiet, and is "
        "simulated in ticks of 10 s, the shorter one of 5.\n"
        "A run is of the night as planned, undisturbed or with one thing changed, by one seed; "
        "what is called safe is tried with nothing changed, and ends with both courses.\n"
    )


def _told(minutes: int, found: Mapping[str, Any]) -> str:
    remedies_s = found["wall_s"]["remedies"]
    all_s = sum(found["wall_s"].values())
    return (
        f"Of {minutes} minutes: {all_s - remedies_s:.0f} s with {found['seeds']} seeds of both "
        f"courses, {all_s:.0f} s with {found['remedies']} remedies, {found['runs']} runs in all; "
        "without Python's own start.\n"
    )


def _rows(minutes: int, found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for stage in (*STAGES, "all"):
        stages = STAGES if stage == "all" else (stage,)
        cpu = (
            sum(found["cpu_s"][name][kind] for name in stages)
            for kind in ("driver", "java", "workers")
        )
        rows.append(
            (
                str(minutes),
                stage,
                f"{sum(found['wall_s'][name] for name in stages):.1f}",
                " + ".join(f"{each:.1f}" for each in cpu),
                f"{max(found['peak_bytes'][name] for name in stages) / _MEBIBYTE:,.0f}",
            )
        )
    return rows
