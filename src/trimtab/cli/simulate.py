"""The command `trimtab simulate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TypedDict, Unpack

import click

from trimtab.cli.arguments import MINUTES, PLACEMENT, RELEASE, SEED, SETTINGS, STRATEGY
from trimtab.cli.saying import say


class _Asked(TypedDict):
    """The options that say what is simulated."""

    strategy: str
    placement: str | None
    release: str | None
    settings: tuple[str, ...]
    seed: int
    minutes: float | None


def _listed(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    """Print the scenarios that trimtab brings, each with what it asks."""
    if not is_asked:
        return
    from trimtab.trials.simulate.listing import listing

    click.echo("\n".join(listing()))
    context.exit()


@click.command()
@click.argument("scenario")
@STRATEGY
@PLACEMENT
@RELEASE
@SETTINGS
@SEED
@MINUTES
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the history.")
@click.option(
    "--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw it: .svg or .png."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write into: history.txt, outcomes.json and usage.svg.",
)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_listed,
    help="List the scenarios that trimtab brings, and exit.",
)
def simulate(
    scenario: str,
    as_json: bool,
    plot: Path | None,
    output: Path | None,
    **asked: Unpack[_Asked],
) -> None:
    """Simulate one experiment, and tell it round by round.

    SCENARIO is the name of one that trimtab brings (see --list), or the path of a TOML
    file.  Tells who stood where, who was above the bar, what went where and what it did
    to both; then the outcomes, and whether the scenario's expectations are met.  The same
    command with the same seed gives the same, to the last digit.

    Exits with 1 when an expectation is not met.

    \b
    Examples:
      trimtab simulate --list
      trimtab simulate S05 --strategy AvgShedder
      trimtab simulate S02c --strategy ThresholdShedder+LeastResourceUsageWithWeight \\
        --seed 3 --plot hot.svg
      trimtab simulate mine.toml --strategy UniformLoadShedder --release 3.0 \\
        --set loadBalancerMsgRateDifferenceShedderThreshold=30 --json | jq .outcomes
    """
    from trimtab.trials.simulate import Question, tell
    from trimtab.trials.simulate import simulate as simulated

    try:
        question = Question(scenario, **asked)
        found = simulated(question, plot, output)
    except KeyboardInterrupt:
        click.echo("trimtab: stopped", err=True)
        sys.exit(130)
    for line in tell(found, as_json):
        say(line)
    if found.failed or found.run.is_cut:
        sys.exit(1)
