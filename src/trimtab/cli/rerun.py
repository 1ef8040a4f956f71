"""The command `trimtab rerun`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from trimtab.cli.arguments import FILE, RECORDING, json_option, seeds_option, spark_options
from trimtab.cli.output import say, say_as_is


@click.command()
@RECORDING
@click.option(
    "--from",
    "from_text",
    metavar="TIME",
    default="",
    help="When the simulated leader takes over, UTC.  [default: from the beginning]",
)
@click.option(
    "--to", "to_text", metavar="TIME", default="", help="Compare up to then.  [default: the end]"
)
@seeds_option(20, "Simulations, each with other luck.")
@json_option("Print JSON instead of the tables.")
@click.option("--plot", type=FILE, help="Draw it: .svg or .png.")
@spark_options
def rerun(
    recording: Path,
    from_text: str,
    to_text: str,
    seeds: int,
    as_json: bool,
    plot: Path | None,
    cores: int,
    master: str | None,
) -> None:
    """Simulate a recorded cluster again, beside what really happened.

    Traffic, brokers that came and went, unloads by hand, clocks and settings are the
    recording's.  First bundles move as they did, and the simulated leader says at each
    round what it would have done; then it leads itself, once for each seed.

    RECORDING is a folder or an archive of one (.tar.gz, .zip) of a modular load manager
    that tells of bundles, by store/zookeeper/, store/brokers.jsonl or load-reports.jsonl,
    with the log of the leader.

    Exit code 0: simulated; 2: wrong use, or a recording that does not tell enough.

    \b
    Examples:
      trimtab rerun recordings/uniform
      trimtab rerun recordings/threshold --from 06:42 --seeds 50 --plot beside.svg
      trimtab rerun recordings/avg --json | jq .free.unloads
    """
    from trimtab.ingest.recording import open_recording
    from trimtab.spark.choice import opened_runner
    from trimtab.trials.rerun.command import Question, reconstructed, simulated_again
    from trimtab.trials.rerun.lines import lines
    from trimtab.trials.rerun.plot import plot as drawn

    question = Question(from_text, to_text, seeds, plot)
    with (
        open_recording(recording) as opened,
        opened_runner(opened.paths, cores=cores, master=master) as spark,
    ):
        comparison = simulated_again(*reconstructed(spark, opened), question, spark)
    if plot is not None:
        drawn(comparison, plot)
    if as_json:
        say_as_is(json.dumps(comparison.document, indent=1))
        return
    for line in lines(comparison.document):
        say(line)
