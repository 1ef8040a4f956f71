"""The command `trimtab costs`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from trimtab.cli.arguments import FILE, RECORDING, json_option, spark_options
from trimtab.cli.output import say


@click.command()
@RECORDING
@json_option("Print JSON instead of the tables.")
@click.option("--state", type=FILE, help="What was learned before; read, and written again.")
@click.option("--plot", type=FILE, help="Draw it: .svg or .png.")
@spark_options
def costs(
    recording: Path,
    as_json: bool,
    state: Path | None,
    plot: Path | None,
    cores: int,
    master: str | None,
) -> None:
    """Learn from a recorded night what traffic costs its brokers.

    Prints what messages, bytes, topics and clients take of a host's CPU, what each broker
    takes at rest and how quick it is, and which bundles cost more than their traffic; each
    with the interval in which it is in nine of ten cases.  A question mark stands where the
    night does not tell.

    RECORDING is a folder or an archive of one (.tar.gz, .zip) of a modular load manager
    that tells of bundles.

    \b
    Examples:
      trimtab costs recordings/uniform
      trimtab costs recordings/threshold --plot costs.svg
      trimtab costs recordings/avg --state costs.npz --json | jq .units
    """
    from trimtab.ingest import open_recording
    from trimtab.spark.session import opened_spark
    from trimtab.trials.backtest.command import read_evidence
    from trimtab.trials.costs.document import document, night
    from trimtab.trials.costs.lines import lines
    from trimtab.trials.costs.plot import checked
    from trimtab.trials.costs.plot import plot as drawn
    from trimtab.trials.costs.state import read_state, write_state

    checked(plot)
    before = None if state is None else read_state(state)
    with open_recording(recording) as opened, opened_spark(cores=cores, master=master) as spark:
        name, (evidence, windows) = opened.name, read_evidence(spark, opened)
    learned = night(evidence, windows, before)
    if state is not None:
        write_state(state, learned.known)
    prices = document(name, learned)
    if plot is not None:
        drawn(prices, plot)
    if as_json:
        click.echo(json.dumps(prices, indent=1))
        return
    for line in lines(prices):
        say(line)
