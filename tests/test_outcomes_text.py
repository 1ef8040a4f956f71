"""Measures as text files: a small trajectory, and what comes of it and why."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests.datadriven import run
from tests.trajectory_text import STEP_S, series, trajectory_of
from trimtab.lab.outcomes import MEASURES, measured
from trimtab.lab.outcomes.level import level, minute_means
from trimtab.lab.outcomes.minimum_moves import (
    Placement,
    counted_moves,
    minimum_moves,
    usages,
)
from trimtab.lab.outcomes.recording import Reported, Unloaded, recorded
from trimtab.lab.outcomes.spread import best_spread, inner_spread, spread
from trimtab.lab.outcomes.thrash import against_the_trend

TESTDATA = Path(__file__).parent / "testdata" / "outcomes"
FILES = sorted(TESTDATA.glob("*.txt"))
SOURCES = Path(measured.__code__.co_filename).parent


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_outcomes(path: Path, tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    file_regression.check(
        run(path, Outcomes()), encoding="utf-8", fullpath=path, obtained_filename=tmp_path / "x"
    )


def test_every_file_of_measures_has_its_fixture() -> None:
    nouns = {"__init__", "trajectory", "aftermath", "intervals"}
    assert {p.stem for p in SOURCES.glob("*.py")} - nouns == {p.stem for p in FILES}


def test_every_measure_is_asked_for_in_some_fixture() -> None:
    asked = {
        name
        for path in FILES
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("outcomes ") and (words := line.partition("show=")[2].split())
        for name in words[0].split(",")
    }
    assert asked == set(MEASURES)


class Outcomes:
    """A bench; a method is a command."""

    def outcomes(
        self,
        lines: tuple[str, ...],
        *,
        show: str,
        event: str = "0",
        best: str = "0",
        lost: str = "?",
        cut: str = "no",
    ) -> str:
        """Take the measures named."""
        made = trajectory_of(lines, event=float(event), best=float(best), lost=lost)
        found = measured(dataclasses.replace(made, is_cut=cut == "yes"))
        return "\n".join(f"{name} {_shown(found[name])}" for name in show.split(","))

    def means(self, lines: tuple[str, ...], *, ticks: str, samples: str) -> str:
        """Average minutes; a line a broker, a word a tick."""
        usage = np.array([[float(word) for word in line.split()] for line in lines], np.float32)
        found = minute_means(usage.T, int(ticks), int(samples)).T
        return "\n".join(" ".join(map(_shown, row)) for row in found.tolist())

    def level(self, lines: tuple[str, ...]) -> str:
        """Find levels; a line a broker."""
        usage = np.array([series(line.split()[1:]) for line in lines], np.float32)
        found = level(usage.T, STEP_S).T.tolist()
        names = [line.split()[0] for line in lines]
        return "\n".join(f"{n} {_packed(row)}" for n, row in zip(names, found, strict=True))

    def spread(self, lines: tuple[str, ...]) -> str:
        """Measure how far brokers stand apart; a line a time."""
        levels = [np.array([[float(w) for w in line.split()]], np.float32) for line in lines]
        return "\n".join(
            f"spread {_shown(spread(row)[0])}, inner {_shown(inner_spread(row)[0])}"
            for row in levels
        )

    def best_spread(self, lines: tuple[str, ...], *, work: str, cpu_convexity: str = "0") -> str:
        """Pour work; a line `background capacity` a broker."""
        rows = np.array([[float(word) for word in line.split()] for line in lines], np.float32)
        poured = np.array([float(work)])
        found = best_spread(rows[None, :, 0], rows[None, :, 1], poured, float(cpu_convexity))
        return _shown(found[0])

    def thrash(self, *, up: str, down: str) -> str:
        """Discount a trend."""
        return _shown(against_the_trend(np.array([float(up)]), np.array([float(down)]))[0])

    def minimum(self, lines: tuple[str, ...], *, bar: str) -> str:
        """Count moves; a line `background capacity work,work,…` a broker."""
        rows = [line.split() for line in lines]
        work = [[float(w) for w in row[2].split(",")] if len(row) > 2 else [] for row in rows]
        given = Placement(
            np.array([each for of in work for each in of]),
            np.array([i for i, of in enumerate(work) for _ in of], np.int64),
            np.array([float(row[0]) for row in rows]),
            np.array([float(row[1]) for row in rows]),
        )
        found = minimum_moves(given, float(bar))
        stands = " ".join(map(_shown, usages(given)))
        return (
            f"usage {stands}\n{'exactly' if found.is_exact else 'at least'} {_shown(found.moves)},"
            f" counted {_shown(counted_moves(given, float(bar)))}"
        )

    def recorded(self, lines: tuple[str, ...], *, to: str, show: str) -> str:
        """Read `time report broker usage`, `time round`, `time unload bundle source>target`."""
        rows = [line.split() for line in lines]
        reports = [
            Reported(float(r[0]), r[2], None if r[3] == "gone" else float(r[3]))
            for r in rows
            if r[1] == "report"
        ]
        rounds = [float(row[0]) for row in rows if row[1] == "round"]
        unloads = []
        for row in rows:
            if row[1] == "unload":
                source, _, target = row[3].partition(">")
                last = max(i for i, time in enumerate(rounds) if time <= float(row[0]))
                unloads.append(Unloaded(float(row[0]), last, row[2], source, target or None))
        made = recorded(reports, rounds, unloads, from_s=0.0, to_s=float(to))
        found = measured(made)
        stood = [
            f"{name} {_packed(column)}"
            for name, column in zip(made.brokers, made.usage.T.tolist(), strict=True)
        ]
        met = [
            f"{unload.bundle} met {_shown(source)} > {_shown(target)}, mean {_shown(mean)}"
            for unload, source, target, mean in zip(
                unloads,
                made.moves.source_before,
                made.moves.target_before,
                made.moves.mean,
                strict=True,
            )
        ]
        shown = [f"{name} {_shown(found[name])}" for name in show.split(",")]
        return "\n".join([*stood, *met, *shown])


def _shown(value: float) -> str:
    return "unknown" if np.isnan(value) else "never" if np.isinf(value) else f"{value:.5g}"


def _packed(row: list[float]) -> str:
    """Write a series as it is read: a usage and the minutes that it lasts."""
    words: list[list[float]] = []
    for value in row:
        if words and np.array_equal(words[-1][0], value, equal_nan=True):
            words[-1][1] += STEP_S / 60
        else:
            words.append([value, STEP_S / 60])
    return " ".join(
        f"{'down ' if np.isnan(value) else f'{value:g}'}x{minutes:g}" for value, minutes in words
    )
