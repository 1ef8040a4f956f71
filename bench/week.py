"""How long it takes to explain a week under one leader, whose tenure is cut into stretches."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyspark

from bench.night import BALANCER, QUIET, Size, explained
from bench.simulation import world
from bench.stages import STAGES
from bench.table import DifferenceError, Table
from trimtab.lab.simulate.parameters import Parameters
from trimtab.trials.record import record

#: What is measured if nobody asks for another.
WEEK = Size(hours=168.0)
#: What stands in the first column → cores, and what `bench.stages` is asked for besides.
_SIDES: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "one core, the tenure uncut": (1, ("uncut",)),
    "one core": (1, ()),
    "two cores": (2, ()),
}
_HEADINGS = (
    "explained on",
    *(f"{stage}, s" for stage in STAGES),
    "all, s",
    "of the diagnosis the replay, s",
    "CPU of driver + Java + workers, s",
    "most memory of a task, MiB",
    "of all together, MiB",
)
_MEBIBYTE = 1 << 20
_KINDS = ("driver", "java", "workers")


def week(size: Size = WEEK, recording: Path | None = None) -> Table:
    """Measure `trimtab explain` on a week of a large cluster that one leader balances.

    Args:
        size: how large it is.
        recording: one that `record_week` wrote; None: it is written, and thrown away.

    Raises:
        DifferenceError: cut or uncut, on one core or two, not every byte is the same.
    """
    with tempfile.TemporaryDirectory(prefix="trimtab-week-") as folder:
        root = recording or Path(folder) / "week"
        if recording is None:
            record_week(size, root)
        sides = {name: _side(root, Path(folder) / "tables", *how) for name, how in _SIDES.items()}
    if len({side["digest"] for side in sides.values()}) > 1:
        raise DifferenceError("tables, findings and page are not the same in every byte")
    one = sides["one core"]
    text = (
        f"{size.hours / 24:g} days of {size.brokers:,} brokers with {size.bundles:,} bundles under "
        "one leader, as `trimtab record` writes them, with a round of ThresholdShedder a minute: "
        f"{one['lines']:,} lines.\n"
        "Each explanation is a process of its own, which is kept to so many cores with all that it "
        "starts; tables, findings and page are the same in every byte, or there is no table.\n"
        f"Two cores are {_ratio(sides, 'one core')} times one, and "
        f"{_ratio(sides, 'one core, the tenure uncut')} times one on which the tenure is not cut; "
        f"the replay alone {_replays(sides, 'one core')} and "
        f"{_replays(sides, 'one core, the tenure uncut')} times.\n"
        "It depends on the machine and the hour: in seven measurements of November 2026, on the "
        "machines that there were, two cores were 1.60 to 2.06 times one.\n"
    )
    rows = tuple(_row(name, side) for name, side in sides.items())
    return Table(text, (f"PySpark {pyspark.__version__}",), _HEADINGS, rows)


def record_week(size: Size, root: Path) -> None:
    """Write the recording."""
    played = replace(world(size.brokers, size.bundles), duration_s=size.hours * 3600.0)
    record(played, BALANCER, Parameters(), root, QUIET)


def _side(root: Path, output: Path, cores: int, how: tuple[str, ...]) -> Mapping[str, Any]:
    """Explain, and leave nothing behind: what a week is explained to takes many GB."""
    try:
        return explained(root, output, cores, *how)
    finally:
        shutil.rmtree(output, ignore_errors=True)


def _wall_s(side: Mapping[str, Any]) -> float:
    return float(sum(side["wall_s"].values()))


def _ratio(sides: Mapping[str, Mapping[str, Any]], name: str) -> str:
    return f"{_wall_s(sides[name]) / _wall_s(sides['two cores']):.2f}"


def _replays(sides: Mapping[str, Mapping[str, Any]], name: str) -> str:
    one, two = (sides[it]["parts_s"]["recompute"] for it in (name, "two cores"))
    return f"{one / two:.2f}"


def _row(name: str, side: Mapping[str, Any]) -> tuple[str, ...]:
    cpu_s = (sum(it[kind] for it in side["cpu_s"].values()) for kind in _KINDS)
    return (
        name,
        *(f"{side['wall_s'][stage]:,.1f}" for stage in STAGES),
        f"{_wall_s(side):,.1f}",
        f"{side['parts_s']['recompute']:,.1f}",
        " + ".join(f"{each:,.0f}" for each in cpu_s),
        f"{max(side['worker_peak_bytes'].values()) / _MEBIBYTE:,.0f}",
        f"{max(side['peak_bytes'].values()) / _MEBIBYTE:,.0f}",
    )
