"""The command `trimtab rate`."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TypedDict, Unpack

import click

from trimtab.cli.arguments import CORES, MASTER
from trimtab.cli.telling import tell


class _Asked(TypedDict):
    """The options that say what is run, and how it is told."""

    definition: Path | None
    seeds: int
    docs: Path | None
    anew: bool
    as_json: bool


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("rated"),
    show_default=True,
    help="Folder to write into; runs that it holds are not done again.",
)
@click.option(
    "--seeds", type=click.IntRange(1), default=20, show_default=True, help="Seeds of each."
)
@click.option(
    "--definition",
    type=click.Path(path_type=Path),
    help="Rate by another file of dimensions, thresholds and strategies.",
)
@CORES
@MASTER
@click.option(
    "--docs",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Write the rating into ratings.md of this folder, too.",
)
@click.option("--anew", is_flag=True, help="Throw away what the folder holds of an earlier sweep.")
@click.option("--json", "as_json", is_flag=True, help="Print ratings.json instead of a summary.")
def rate(output: Path, cores: int, master: str | None, **asked: Unpack[_Asked]) -> None:
    """Rate the strategies by what is measured, beside what was published of them.

    A word in each dimension (good, fair or poor) stands for a number of simulated runs and
    two thresholds.  Writes ratings.html (one page that needs no network), ratings.json and
    the tables of the sweep, a row for every run that a word rests on.

    Exits with 1 when not one run came to its end.

    \b
    Examples:
      trimtab rate
      trimtab rate --seeds 50 -o rated --cores 8
    """
    from trimtab.spark.session import opened_spark
    from trimtab.trials.rate.definition import built_in_rating, read_rating
    from trimtab.trials.rate.docs import write_docs
    from trimtab.trials.rate.pipeline import planned
    from trimtab.trials.rate.pipeline import rate as rated

    file = asked["definition"]
    rating = built_in_rating() if file is None else read_rating(file)
    rates = planned(rating, asked["seeds"], _command(asked, output))
    start = partial(opened_spark, "trimtab", cores=cores, master=master)
    found = rated(start, rates, output, anew=asked["anew"])
    if asked["docs"] is not None:
        write_docs(found.document, asked["docs"])
    tell(found, found.json if asked["as_json"] else None)
    if not found.has_runs:
        sys.exit(1)


def _command(asked: _Asked, output: Path) -> str:
    """Spell the command that asks the same again, on however many cores."""
    words = ["trimtab", "rate", "--seeds", str(asked["seeds"])]
    words += [] if asked["definition"] is None else ["--definition", str(asked["definition"])]
    return shlex.join([*words, "-o", str(output)])
