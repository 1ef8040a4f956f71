"""The command `trimtab sweep`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from trimtab.cli.arguments import ANEW, json_option, output_option, spark_options
from trimtab.cli.output import say, say_as_is
from trimtab.cli.trials import sparked


@click.command()
@click.argument("grid", type=click.Path(path_type=Path))
@output_option("Folder of the tables; a sweep that was stopped goes on in it.", required=True)
@spark_options
@ANEW
@json_option("Print what was written as JSON.")
def sweep(
    grid: Path, output: Path, cores: int, master: str | None, anew: bool, as_json: bool
) -> None:
    """Simulate a grid of scenarios, strategies, settings and seeds.

    GRID is a TOML file; docs/sweep.md has its keys.  Writes a row a run to
    outcomes.parquet, and how long each took to timings.parquet.  A run that fails or
    takes too long is a row that says so, and the others go on.

    Exit code 0: done; 1: not one run came to its end; 2: wrong use.

    \b
    Examples:
      trimtab sweep grid.toml -o swept
      trimtab sweep grid.toml -o swept --master spark://host:7077
    """
    from trimtab.trials.sweep.grid import read_grid
    from trimtab.trials.sweep.pipeline import sweep as swept
    from trimtab.trials.sweep.simulation import plan_of, scenarios_of

    definition = read_grid(grid)
    plan = plan_of(definition, scenarios_of(definition.scenarios, grid.parent))
    result = swept(sparked(cores, master), plan, output, anew=anew)
    outcomes = str(output / "outcomes.parquet")
    if as_json:
        summary = {"outcomes": outcomes, "kept": result.n_kept, "statuses": dict(result.statuses)}
        say_as_is(json.dumps(summary))
    else:
        statuses = ", ".join(f"{n:,} {status}" for status, n in result.statuses.items())
        done_before = f", {result.n_kept:,} of them done before" if result.n_kept else ""
        say(f"{len(plan.tasks):,} runs: {statuses}{done_before}\nOutcomes: {outcomes}")
    if "ok" not in result.statuses:
        sys.exit(1)
