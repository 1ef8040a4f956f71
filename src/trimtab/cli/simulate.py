"""The command `trimtab simulate`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from trimtab.cli.arguments import FILE, experiment_options, json_option, output_option
from trimtab.cli.output import complain, say


def _listed(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    """Print the scenarios that trimtab brings, each with what it asks."""
    if not is_asked:
        return
    from trimtab.trials.simulate.listing import listing

    say("\n".join(listing()))
    context.exit()


@click.command()
@click.argument("scenario")
@experiment_options
@json_option("Print JSON instead of the history.")
@click.option("--plot", type=FILE, help="Draw it: .svg or .png.")
@output_option("Folder to write into: history.txt, outcomes.json and usage.svg.")
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
    strategy: str,
    placement: str | None,
    release: str | None,
    settings: tuple[str, ...],
    seed: int,
    minutes: float | None,
    as_json: bool,
    plot: Path | None,
    output: Path | None,
) -> None:
    """Simulate one experiment, and tell it round by round.

    SCENARIO is the name of one that trimtab brings (see --list), or the path of a TOML
    file.  Tells who stood where, who was above the bar, what went where and what it did
    to both; then the outcomes, and whether the scenario's expectations are met.  The same
    command with the same seed gives the same, to the last digit.

    Exit code 0: simulated; 1: an expectation is not met; 2: wrong use.

    \b
    Examples:
      trimtab simulate --list
      trimtab simulate S05 --strategy AvgShedder
      trimtab simulate S02c --strategy ThresholdShedder+LeastResourceUsageWithWeight \\
        --seed 3 --plot hot.svg
      trimtab simulate mine.toml --strategy UniformLoadShedder --release 3.0 \\
        --set loadBalancerMsgRateDifferenceShedderThreshold=30 --json | jq .outcomes
    """
    from trimtab.trials.simulate.command import simulate as simulated
    from trimtab.trials.simulate.question import Question
    from trimtab.trials.simulate.simulation import tell

    try:
        question = Question(scenario, strategy, placement, release, settings, seed, minutes)
        result = simulated(question, plot, output)
    except KeyboardInterrupt:
        complain("trimtab: stopped")
        sys.exit(130)
    for line in tell(result, as_json):
        say(line)
    if result.failed or result.run.is_cut:
        sys.exit(1)
