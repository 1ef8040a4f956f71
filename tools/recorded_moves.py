"""Score what was recorded by `python -m cluster.moves`: moves of known bundles on a real cluster.

    python -m tools.recorded_moves build/moves               # what may be tuned on
    python -m tools.recorded_moves build/moves --held-out    # the other half: once, at the end

Each move is predicted by what was known before it and held against what both brokers used in the
second minute after it.  Which moves are held out was written down before any of them was made.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tools.catalogue import table
from trimtab.ingest.recording import open_recording
from trimtab.lab.costs.arithmetic import half_width
from trimtab.spark.runner import Here
from trimtab.trials.backtest.command import read_evidence
from trimtab.trials.backtest.walk import Scored, backtest, horizons

#: s by which a move that was seen may be from the one that was asked for.
_NEAR_S = 60.0
_MINUTES = 1.5
_SHARES = (0.5, 0.8, 0.9)


def told(folder: Path, *, held_out: bool) -> list[Mapping[str, Any]]:
    """Return the moves of one half that were made."""
    lines = (folder / "moves.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [row for row in rows if row["is_held_out"] == held_out and not row["refusal"]]


def of_moves(
    moves: Sequence[Mapping[str, Any]], scored: Iterable[Scored], brokers: Sequence[str]
) -> Iterator[tuple[int, Scored]]:
    """Yield the ends of these moves that were scored: 1 if it gained a bundle, -1 if it lost one.

    Properties:
        What was scored of any other move is left out.
    """
    for each in scored:
        if not each.is_move or each.minutes != _MINUTES or each.bundles != 1:
            continue
        for move in moves:
            if abs(move["time"] - each.time_s) > _NEAR_S:
                continue
            if brokers[each.broker] in (move["source"], move["destination"]):
                yield (-1 if brokers[each.broker] == move["source"] else 1), each
                break


def summed_up(ends: Sequence[tuple[int, Scored]]) -> str:
    """Return how good predictions were, as a table."""
    sign = np.array([side for side, _ in ends], np.float64)
    rows = [each for _, each in ends]
    measured = sign * np.array([each.measured_after - each.measured_before for each in rows])
    ours = sign * np.array([each.after - each.before for each in rows])
    share = sign * np.array([each.by_share for each in rows])
    off = np.abs(measured - ours) / np.array([each.change_deviation for each in rows])
    level = np.abs([each.measured_after - each.after for each in rows])
    level_off = level / np.array([each.deviation for each in rows])
    heads = ("", "measured", "predicted", "by the share of traffic", "no change")
    error = float(measured.std() / np.sqrt(measured.size))
    ways = [float(np.mean(np.abs(way - measured))) for way in (ours, share, 0.0 * ours)]
    body = [
        ("ends of moves", str(len(rows)), "", "", ""),
        (
            "what sources lost and targets gained, points",
            f"{measured.mean():.2f} ± {error:.2f}",
            *(f"{way.mean():.2f}" for way in (ours, share)),
            "0",
        ),
        ("of what was measured", "1", *(_ratio(way, measured) for way in (ours, share)), "0"),
        ("off, points, mean", "", *(f"{way:.2f}" for way in ways)),
        ("change held by 50, 80, 90 %", "", _held(off), "", ""),
        ("level held by 50, 80, 90 %", "", _held(level_off), "", ""),
    ]
    return table(heads, body)


def _ratio(way: np.ndarray[Any, Any], measured: np.ndarray[Any, Any]) -> str:
    return f"{way.mean() / measured.mean():.2f}"


def _held(off: np.ndarray[Any, Any]) -> str:
    return ", ".join(f"{100 * float((off <= half_width(each)).mean()):.0f}" for each in _SHARES)


def recorded_moves(folder: Path, *, held_out: bool) -> tuple[str, str]:
    """Return how many moves of one half there are and were scored, and how good predictions were.

    Raises:
        IngestError: tables cannot be written.
        NothingToSimulateError: the recording does not tell enough.
    """
    with open_recording(folder / "night") as recording:
        evidence, windows = read_evidence(Here(), recording)
    run = backtest(evidence, windows, horizons([_MINUTES]))
    moves = told(folder, held_out=held_out)
    ends = list(of_moves(moves, run.scored, evidence.brokers))
    counted = f"{len(moves)} moves made, {len(ends)} ends scored"
    return counted, summed_up(ends) if ends else ""


def main(arguments: list[str]) -> int:
    """Print how good predictions of the moves of one half were."""
    if not arguments or arguments[1:] not in ([], ["--held-out"]):
        print("usage: python -m tools.recorded_moves FOLDER [--held-out]")
        return 2
    for part in recorded_moves(Path(arguments[0]), held_out=len(arguments) == 2):
        print(part)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
