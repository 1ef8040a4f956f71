"""The command `trimtab rate`."""

from __future__ import annotations

from pathlib import Path

import click

from trimtab.cli.arguments import ANEW, json_option, output_option, seeds_option, spark_options
from trimtab.cli.trials import ROWS_KEPT, docs_option, sparked, tell


@click.command()
@output_option(ROWS_KEPT, default=Path("rated"), show_default=True)
@seeds_option(20)
@click.option(
    "--definition",
    type=click.Path(path_type=Path),
    help="Rate by another file of dimensions, thresholds and strategies.",
)
@spark_options
@docs_option("Write the rating into ratings.md of this folder, too.")
@ANEW
@json_option("Print ratings.json instead of a summary.")
def rate(
    output: Path,
    seeds: int,
    definition: Path | None,
    cores: int,
    master: str | None,
    docs: Path | None,
    anew: bool,
    as_json: bool,
) -> None:
    """Rate the strategies by what is measured, beside what was published of them.

    A word in each dimension (good, fair or poor) stands for a number of simulated runs and
    two thresholds.  Writes ratings.html (one page that needs no network), ratings.json and
    the tables of the sweep, a row for every run that a word rests on.

    Exit code 0: done; 1: not one run came to its end; 2: wrong use.

    \b
    Examples:
      trimtab rate
      trimtab rate --seeds 50 -o rated --cores 8
    """
    from trimtab.trials.rate.definition import built_in_rating, read_rating
    from trimtab.trials.rate.pipeline import RATINGS, planned
    from trimtab.trials.trial import run, spelt, write_docs

    command = spelt("rate", {"--seeds": seeds, "--definition": definition}, output)
    rating = built_in_rating() if definition is None else read_rating(definition)
    trial = planned(rating, seeds, command)
    result = run(sparked(cores, master), trial, output, anew=anew)
    if docs is not None:
        write_docs(result.document, RATINGS, docs)
    tell(result, as_json=as_json)
