"""The command `trimtab record`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from trimtab.cli.arguments import experiment_options, json_option, output_option
from trimtab.cli.output import complain, say, say_as_is
from trimtab.cli.values import Finite


@click.command()
@click.argument("scenario")
@output_option("Folder to write into; must be empty or not there yet.", required=True)
@experiment_options
@click.option(
    "--noise",
    type=Finite(0),
    default=600.0,
    show_default=True,
    help="Lines an hour that each broker logs of other things.",
)
@click.option(
    "--metrics-s",
    type=Finite(0),
    default=60.0,
    show_default=True,
    help="Seconds between two scrapes of metrics; 0 for none.",
)
@click.option(
    "--rest-s",
    type=Finite(0),
    default=60.0,
    show_default=True,
    help="Seconds between two load reports asked for over REST; 0 for none.",
)
@click.option("--export", is_flag=True, help="Metrics as Prometheus exports them.")
@json_option("Print what was written as JSON.")
@click.option("--gzip", is_flag=True, help="Pack logs, reports and metrics.")
def record(
    scenario: str,
    output: Path,
    strategy: str,
    placement: str | None,
    release: str | None,
    settings: tuple[str, ...],
    seed: int,
    minutes: float | None,
    noise: float,
    metrics_s: float,
    rest_s: float,
    export: bool,
    gzip: bool,
    as_json: bool,
) -> None:
    """Simulate a cluster, and write the recording that it would have left.

    SCENARIO is the name of one that trimtab brings (trimtab simulate --list), or the path
    of a TOML file.  Writes logs, load reports, the metadata store, settings and metrics as
    docs/recording.md has them, and what really happened into lab/truth.jsonl.  The same
    command with the same seed writes the same bytes.

    Exit code 0: written; 2: wrong use, or the folder is not empty.

    \b
    Examples:
      trimtab record S05 --strategy AvgShedder -o night
      trimtab explain night
      trimtab record mine.toml --strategy ThresholdShedder+LeastResourceUsageWithWeight \\
        --minutes 1440 --noise 2000 --metrics-s 300 --export --gzip -o night
    """
    from trimtab.trials.record import Options
    from trimtab.trials.record import record as recorded
    from trimtab.trials.simulate.question import Question, experiment_of

    question = Question(scenario, strategy, placement, release, settings, seed, minutes)
    options = Options(
        noise_per_hour=noise,
        metrics_s=metrics_s,
        rest_s=rest_s,
        are_exported=export,
        is_packed=gzip,
    )
    try:
        experiment = experiment_of(question)
        parameters = experiment.scenario.parameters
        run = recorded(experiment.world, experiment.balancer, parameters, output, options)
    except OSError as error:
        complain(f"trimtab: {error}")
        sys.exit(2)
    except KeyboardInterrupt:
        complain("trimtab: stopped")
        sys.exit(130)
    rounds = int((run.rounds.moved > 0).sum())
    if as_json:
        moves = {"moves": run.moves.time_s.size, "rounds": rounds, "recording": str(output)}
        say_as_is(json.dumps(moves))
        return
    say(f"{run.moves.time_s.size} bundles were moved, in {rounds} rounds that shed.")
    say(f"Recording: {output}")
