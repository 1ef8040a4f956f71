"""Published numbers as text files: what is taken of a run, what counts, which verdict follows."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests.datadriven import run
from tests.trajectory_text import STEP_S, trajectory_of
from trimtab.lab.outcomes.aftermath import aftermath
from trimtab.trials.reproduce.definition import DefinitionError, arms, definition
from trimtab.trials.reproduce.numbers import NUMBERS, Picture, numbers, value_of
from trimtab.trials.reproduce.published_number import tolerated
from trimtab.trials.reproduce.verdict import Arm, arm, typical, verdict

TESTDATA = Path(__file__).parent / "testdata" / "reproduction"
FILES = sorted(TESTDATA.glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_reproduction(path: Path, tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    file_regression.check(
        run(path, Reproduction()), encoding="utf-8", fullpath=path, obtained_filename=tmp_path / "x"
    )


def test_there_is_a_fixture_for_each_room() -> None:
    assert {"definition", "numbers", "verdict"} == {path.stem for path in FILES}


def test_every_number_is_asked_for_in_some_fixture() -> None:
    text = (TESTDATA / "numbers.txt").read_text(encoding="utf-8")
    asked = {
        name
        for line in text.splitlines()
        if line.startswith("numbers ")
        for name in line.partition("show=")[2].split()[0].split(",")
    }

    assert set(NUMBERS) == asked


def test_nothing_is_taken_of_a_run_that_was_cut() -> None:
    cut: Any = SimpleNamespace(is_cut=True)

    found = numbers(cut)

    assert list(NUMBERS) == list(found)
    assert all(map(math.isnan, found.values()))


def test_a_number_that_a_row_has_not_is_not_known() -> None:
    row = {"unloads": 3.0, "wasted": None, "numbers": [("waves", 2.0)]}

    assert (3.0, 2.0) == (value_of(row, "unloads"), value_of(row, "waves"))
    assert math.isnan(value_of(row, "wasted"))
    assert math.isnan(value_of(row | {"numbers": None}, "waves"))


class Reproduction:
    """A bench; a method is a command."""

    def numbers(self, lines: tuple[str, ...], show: str, event: str = "0") -> str:
        """Take numbers of a trajectory; `capacity` and `scores` lines say what else a run has."""
        own = ("capacity", "scores")
        drawn = [line for line in lines if line.split()[0] not in own]
        found = trajectory_of(drawn, event=float(event))
        is_random = np.array(["random=1" in row for row in drawn if row.startswith("move")])
        found = dataclasses.replace(
            found, moves=dataclasses.replace(found.moves, is_fallback=is_random.astype(np.bool_))
        )
        made = _run(found, [line.split() for line in lines if line.split()[0] in own])
        since = aftermath(found)
        return "\n".join(
            f"{name} {_told(NUMBERS[name].take(Picture(since, made)))}" for name in show.split(",")
        )

    def tolerated(self, unit: str, value: str) -> str:
        low, _, high = value.partition("..")
        unit = unit.replace("none", "").replace("percent", "%")
        return "{:g} to {:g}".format(*tolerated(unit, (float(low), float(high or low))))

    def verdict(self, lines: tuple[str, ...]) -> str:
        """Judge arms: each a name with a colon, and below it bounds and values, a number a line."""
        held: dict[str, list[list[str]]] = {}
        for line in lines:
            if line.endswith(":"):
                held[line.removesuffix(":")] = []
            else:
                list(held.values())[-1].append(line.split())
        found = [_arm(rows) for rows in held.values()]
        told = [_told_arm(name, each) for name, each in zip(held, found, strict=True)]
        said = verdict(found)
        names = list(held)
        also = ", ".join(names[place] for place in said.also) or "none"
        return "\n".join([*told, f"{said.outcome}: {names[said.arm]}; also {also}"])

    def typical(self, lines: tuple[str, ...]) -> str:
        return f"run {typical([[float(word) for word in line.split()] for line in lines])}"

    def definition(self, lines: tuple[str, ...]) -> str:
        """Read a definition, and lay out its arms."""
        try:
            read = definition("\n".join(lines), "mine.toml")
            laid_out = arms(read)
        except DefinitionError as error:
            return str(error)
        numbers = [f"{each.number} {each.limits()}" for each in read.published]
        return "\n".join(
            [*numbers, *(f"{each.name}: {dataclasses.astuple(each.task(0))}" for each in laid_out)]
        )


def _run(found: Any, rows: Sequence[Sequence[str]]) -> Any:
    """Make what a number asks of a run besides its trajectory."""
    capacities = next((row[1:] for row in rows if row[0] == "capacity"), ["1"] * 99)
    n_brokers = len(found.brokers)
    scores = np.full((len(found.round_s), n_brokers), np.nan, np.float32)
    for row in rows:
        if row[0] == "scores":
            scores[(found.round_s / 60).tolist().index(float(row[1]))] = [*map(float, row[2:])]
    return SimpleNamespace(
        world=SimpleNamespace(
            duration_s=len(found.usage) * STEP_S,
            event_s=found.event_s,
            machines=SimpleNamespace(capacity=np.array(capacities[:n_brokers], np.float64)),
        ),
        tick_s=STEP_S,
        usage=found.usage,
        rounds=SimpleNamespace(time_s=found.round_s, scores=scores),
    )


def _arm(rows: Sequence[Sequence[str]]) -> Arm:
    bounds = [tuple(map(float, row[0].split(".."))) for row in rows]
    return arm([[float(word) for word in row[1:]] for row in rows], bounds)  # type: ignore[arg-type]  # two ends


def _told_arm(name: str, found: Arm) -> str:
    taken = ", ".join(f"{each.agreement} ({each.n_within})" for each in found.numbers)
    out = "comes out" if found.comes_out else "does not"
    return f"{name}: {taken}; at once {found.n_at_once} of {found.n_runs}; {out}"


def _told(value: float) -> str:
    if math.isnan(value):
        return "unknown"
    return "never" if math.isinf(value) else f"{value:.4g}"
