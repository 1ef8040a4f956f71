"""Twenty-seven moves of bundles at known, constant rates between real brokers of two hosts.

`saturated`: the host had no CPU to spare; `idle`: it had a little.  CPU is in cores, of two.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from trimtab.lab.costs import Look, Windows, learned, nothing_known, predicted

_FOLDER = Path(__file__).resolve().parent.parent / "tests" / "testdata" / "costs"
_CORES = 2.0
_EVERY_S = 10.0


class RealMove(NamedTuple):
    """One move at one of its two brokers; changes in cores."""

    run: str
    is_source: bool
    predicted: float
    deviation: float
    measured: float
    by_share: float


def _rows(name: str) -> list[Mapping[str, str]]:
    path = _FOLDER / name
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return list(csv.DictReader(lines))
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def real_moves(run: str) -> Iterator[RealMove]:
    """Yield both ends of each move of a run, predicted from what was measured before it."""
    moves = [row for row in _rows("moves.csv") if row["run"] == run]
    samples, lines = _rows(f"{run}/brokers.csv.gz"), _rows(f"{run}/bundles.csv.gz")
    brokers = sorted({row["broker"] for row in samples})
    bundles = sorted({row["bundle"] for row in lines} | {row["bundle"] for row in moves})
    known = nothing_known(brokers, bundles)
    windows = Windows(_EVERY_S, _EVERY_S)
    end_s = max(float(row["time_s"]) for row in samples)
    for at_s in np.arange(_EVERY_S, end_s + _EVERY_S, _EVERY_S).tolist():
        now = [row for row in moves if at_s - _EVERY_S <= float(row["time_s"]) < at_s]
        for move in now:
            bundle, target = bundles.index(move["bundle"]), brokers.index(move["target"])
            ours = predicted(known, np.array([bundle]), np.array([target]))
            for i, broker in enumerate(ours.broker.tolist()):
                end = "target" if broker == target else "source"
                measured = float(move[f"{end}_after"]) - float(move[f"{end}_before"])
                share = float(move["source_by_share"]) * (1 if end == "source" else -1)
                cores = _CORES / 100.0
                yield RealMove(
                    run,
                    end == "source",
                    float(ours.change[i]) * cores,
                    float(ours.change_deviation[i]) * cores,
                    measured,
                    share,
                )
        look = _look(samples, lines, now, (brokers, bundles), at_s)
        known = learned(known, look, windows)


def _look(
    samples: list[Mapping[str, str]],
    lines: list[Mapping[str, str]],
    moves: list[Mapping[str, str]],
    names: tuple[list[str], list[str]],
    at_s: float,
) -> Look:
    brokers, bundles = names
    new = {
        brokers.index(row["broker"]): row
        for row in samples
        if at_s - _EVERY_S <= float(row["time_s"]) < at_s
    }
    place = {broker: i for i, broker in enumerate(new)}
    # The last line of each bundle, by each broker.
    last = {
        (row["broker"], row["bundle"]): row
        for row in lines
        if at_s - _EVERY_S <= float(row["time_s"]) < at_s and brokers.index(row["broker"]) in place
    }
    mine = list(last.values())
    columns = ("rate_in", "rate_out", "bytes_in", "bytes_out", "topics", "producers", "consumers")
    counts = np.array([[float(row[name]) for name in columns] for row in mine])
    nothing = np.full(len(new), np.nan)
    return Look(
        time_s=at_s,
        broker=np.array(list(new), np.int64),
        written_s=np.array([float(row["time_s"]) for row in new.values()]),
        started_s=np.zeros(len(new)),
        cpu=np.array([100.0 * float(row["cpu_cores"]) / _CORES for row in new.values()]),
        others=nothing,
        cores=np.full(len(new), _CORES),
        report=np.array([place[brokers.index(row["broker"])] for row in mine], np.int64),
        bundle=np.array([bundles.index(row["bundle"]) for row in mine], np.int64),
        counts=counts.reshape(-1, len(columns)),
        moved=np.array([bundles.index(row["bundle"]) for row in moves], np.int64),
        moved_from=np.array([brokers.index(row["source"]) for row in moves], np.int64),
        moved_to=np.array([brokers.index(row["target"]) for row in moves], np.int64),
        moved_s=np.array([float(row["time_s"]) for row in moves]),
    )
