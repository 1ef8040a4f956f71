"""The command `trimtab sweep`."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import TypedDict, Unpack

import click

from trimtab.cli.arguments import CORES, MASTER


class _Asked(TypedDict):
    """The options that do not say where the sweep runs."""

    output: Path
    anew: bool
    as_json: bool


@click.command()
@click.argument("grid", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder of the tables; a sweep that was stopped goes on in it.",
)
@CORES
@MASTER
@click.option("--anew", is_flag=True, help="Throw away what the folder holds of an earlier sweep.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def sweep(grid: Path, cores: int, master: str | None, **asked: Unpack[_Asked]) -> None:
    """Simulate a grid of scenarios, strategies, settings and seeds.

    GRID is a TOML file; docs/sweep.md has its keys.  Writes a row a run to
    outcomes.parquet, and how long each took to timings.parquet.  A run that fails or
    takes too long is a row that says so, and the others go on.

    Exits with 1 when not one run came to its end.

    \b
    Examples:
      trimtab sweep grid.toml -o swept
      trimtab sweep grid.toml -o swept --master spark://host:7077
    """
    from trimtab.spark.session import opened_spark
    from trimtab.trials.sweep.grid import read_grid
    from trimtab.trials.sweep.pipeline import sweep as swept
    from trimtab.trials.sweep.simulation import plan_of, scenarios_of

    read = read_grid(grid)
    plan = plan_of(read, scenarios_of(read.scenarios, grid.parent))
    start = partial(opened_spark, "trimtab", cores=cores, master=master)
    found = swept(start, plan, asked["output"], anew=asked["anew"])
    outcomes = str(asked["output"] / "outcomes.parquet")
    if asked["as_json"]:
        told = {"outcomes": outcomes, "kept": found.n_kept, "statuses": dict(found.statuses)}
        click.echo(json.dumps(told))
    else:
        statuses = ", ".join(f"{n:,} {status}" for status, n in found.statuses.items())
        kept = f", {found.n_kept:,} of them done before" if found.n_kept else ""
        click.echo(f"{len(plan.tasks):,} runs: {statuses}{kept}\nOutcomes: {outcomes}")
    if "ok" not in found.statuses:
        sys.exit(1)
