"""The command `trimtab size`."""

from __future__ import annotations

from pathlib import Path

import click

from trimtab.cli.arguments import (
    ANEW,
    bar_options,
    json_option,
    output_option,
    seeds_option,
    spark_options,
)
from trimtab.cli.trials import ROWS_KEPT, sparked, tell
from trimtab.cli.values import Finite


@click.command()
@click.argument("recordings", nargs=-1, required=True, metavar="RECORDING...")
@output_option(ROWS_KEPT, required=True)
@bar_options
@click.option(
    "--price", type=Finite(0), metavar="P", help="What a broker costs, to be told with the curve."
)
@seeds_option(30, "Trials, each with other luck and other costs of traffic, of the nights in turn.")
@spark_options
@ANEW
@json_option("Print size.json instead of a summary.")
def size(
    recordings: tuple[str, ...],
    output: Path,
    price: float | None,
    seeds: int,
    cores: int,
    master: str | None,
    anew: bool,
    as_json: bool,
    **limits: float | None,
) -> None:
    """Find how many brokers carry the recorded load, its peak, and the loss of any one.

    RECORDING is a folder or an archive of one, as trimtab rerun takes it.  Several are
    nights of one cluster, of any length: the answer rests on all of them, and so does
    what traffic costs.  The real strategy is replayed first; where that does not
    reproduce what really happened in each, nothing is foretold.  Then each seed's night
    is simulated on more and fewer brokers, until the least number is found that keeps to
    the bar though the fullest broker is lost before the peak; and so with more traffic.
    Writes size.html (one page that needs no network), size.json and the tables of the
    runs.

    Exit code 0: found; 1: the recording is not reproduced, or not one run came to its
    end; 2: wrong use, or the recordings are not of one cluster.

    \b
    Examples:
      trimtab size recordings/uniform -o sized
      trimtab size monday.tar.gz tuesday.tar.gz wednesday.tar.gz -o sized
      trimtab size night.tar.gz --peak 70 --price 350 -o sized
    """
    from trimtab.trials.rehearse.bar import Limits
    from trimtab.trials.size.command import Question, sized_by

    question = Question(recordings, Limits(**limits), price, seeds)
    tell(sized_by(sparked(cores, master), question, output, anew=anew), as_json=as_json)
