"""Grids as text: what is run, and what is wrong with a grid that is none."""

from __future__ import annotations

from pathlib import Path

from pytest_regressions.file_regression import FileRegressionFixture

from tests.datadriven import run
from trimtab.trials.sweep.grid import Grid, GridError, grid, read_grid
from trimtab.trials.sweep.simulation import plan_of, scenarios_of

DOCS = Path(__file__).parent.parent / "docs"
TESTDATA = Path(__file__).parent / "testdata" / "sweep"


def test_grid(tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    path = TESTDATA / "grid.txt"
    file_regression.check(
        run(path, Sweep()), encoding="utf-8", fullpath=path, obtained_filename=tmp_path / path.name
    )


def test_the_example_of_the_docs_is_a_grid() -> None:
    read = read_grid(DOCS / "grid.toml")
    plan = plan_of(read, scenarios_of(read.scenarios, DOCS))

    assert 400 == len(plan.tasks)
    assert "asks for 400 runs" in (DOCS / "sweep.md").read_text(encoding="utf-8")


class Sweep:
    """A grid; `grid` says what it runs on scenarios whose releases are given by name."""

    def grid(self, lines: tuple[str, ...] = (), **releases: str) -> str:
        try:
            read: Grid = grid("\n".join(lines), "grid.toml")
            tasks = sorted(read.tasks(releases))
        except GridError as error:
            return str(error)
        shown = [
            f"{task.scenario} {task.shedder}+{task.placement} {task.release} {task.settings} "
            f"seed {task.seed}"
            for task in tasks
        ]
        return "\n".join([*shown, f"{len(tasks)} runs, each within {read.time_limit_s:g} s"])
