"""The command `trimtab reproduce`."""

from __future__ import annotations

from pathlib import Path

import click

from trimtab.cli.arguments import ANEW, json_option, output_option, seeds_option, spark_options
from trimtab.cli.output import say
from trimtab.cli.trials import ROWS_KEPT, docs_option, sparked, tell


@click.command()
@output_option(ROWS_KEPT, default=Path("reproduced"), show_default=True)
@seeds_option(20)
@click.option(
    "--only",
    metavar="NAME",
    multiple=True,
    help="One experiment alone (see --list); may come again for another.",
)
@spark_options
@docs_option("Write the verdicts into reproductions.md of this folder, and pictures beside it.")
@ANEW
@json_option("Print reproductions.json, not a summary.")
@click.option("--list", "as_list", is_flag=True, help="List the experiments, and exit.")
def reproduce(
    output: Path,
    seeds: int,
    only: tuple[str, ...],
    cores: int,
    master: str | None,
    docs: Path | None,
    anew: bool,
    as_json: bool,
    as_list: bool,
) -> None:
    """Run published experiments again, and say which come out.

    Each is simulated over many seeds, as it was published and under what else may have
    been the case; what was published stands beside the median and p10 to p90 of what is
    found, with a verdict by rules that stand on the page.  Writes reproductions.html (one
    page that needs no network), reproductions.json and the tables of the sweep.

    Exit code 0: done; 1: not one run came to its end; 2: wrong use.

    \b
    Examples:
      trimtab reproduce
      trimtab reproduce --only avg-scale-up --seeds 40 -o scale-up
      trimtab reproduce --list
    """
    from trimtab.trials.reproduce.definition import chosen
    from trimtab.trials.reproduce.pipeline import REPRODUCTIONS, planned
    from trimtab.trials.trial import run, spelt, write_docs

    definitions = chosen(only)
    if as_list:
        say("\n".join(f"{each.name:<24} {each.head.title}" for each in definitions))
        return
    command = spelt("reproduce", {"--seeds": seeds, "--only": only}, output)
    trial = planned(definitions, seeds, command)
    result = run(sparked(cores, master), trial, output, anew=anew)
    if docs is not None:
        write_docs(result.document, REPRODUCTIONS, docs)
    tell(result, as_json=as_json)
