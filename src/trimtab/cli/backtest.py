"""The command `trimtab backtest`."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import click

from trimtab.cli.arguments import json_option, spark_options
from trimtab.cli.output import say, say_as_is
from trimtab.cli.values import Duration


@click.command()
@click.argument("recordings", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--after", "after_s", type=Duration(), multiple=True,
    help="How long after a move it is looked at again; 5m and 30m if not given.",
)  # fmt: skip
@json_option("Print JSON instead of the tables.")
@spark_options
def backtest(
    recordings: tuple[Path, ...],
    after_s: tuple[float, ...],
    as_json: bool,
    cores: int,
    master: str | None,
) -> None:
    """Predict each move of a recorded night from what was known before it.

    Walks through recorded time, learns what traffic costs from the past only, and says what
    each broker will use 5 and 30 minutes after bundles moved, and where none did; then
    looks it up.  Beside it stand the two simplest rules: usage goes with the share of
    traffic, and nothing changes.

    RECORDING is a folder or an archive of one (.tar.gz, .zip) of a modular load manager
    that tells of bundles.

    Exit code 0: predicted; 2: wrong use, or a recording that does not tell enough.

    \b
    Examples:
      trimtab backtest recordings/uniform recordings/threshold recordings/avg
      trimtab backtest recordings/uniform --json | jq '.recordings[].scores'
      trimtab backtest recordings/avg --after 90s
    """
    from trimtab.ingest.recording import open_recording
    from trimtab.pulsar.model import MINUTE_S
    from trimtab.spark.choice import opened_runner
    from trimtab.trials.backtest.command import documents, read_evidence
    from trimtab.trials.backtest.lines import lines
    from trimtab.trials.backtest.walk import horizons

    with ExitStack() as stack:
        opened = [stack.enter_context(open_recording(path)) for path in recordings]
        files = [path for each in opened for path in each.paths]
        spark = stack.enter_context(opened_runner(files, cores=cores, master=master))
        read = [(each.name, *read_evidence(spark, each)) for each in opened]
    document = documents(read, horizons([after / MINUTE_S for after in after_s]))
    if as_json:
        say_as_is(json.dumps(document, indent=1))
        return
    for line in lines(document):
        say(line)
