"""The command `trimtab reproduce`."""

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

    only: tuple[str, ...]
    seeds: int
    docs: Path | None
    anew: bool
    as_json: bool
    as_list: bool


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("reproduced"),
    show_default=True,
    help="Folder to write into; runs that it holds are not done again.",
)
@click.option(
    "--seeds", type=click.IntRange(1), default=20, show_default=True, help="Seeds of each."
)
@click.option(
    "--only",
    metavar="NAME",
    multiple=True,
    help="One experiment alone (see --list); may come again for another.",
)
@CORES
@MASTER
@click.option(
    "--docs",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Write the verdicts into reproductions.md of this folder, and pictures beside it.",
)
@click.option("--anew", is_flag=True, help="Throw away what the folder holds of an earlier sweep.")
@click.option("--json", "as_json", is_flag=True, help="Print reproductions.json, not a summary.")
@click.option("--list", "as_list", is_flag=True, help="List the experiments, and exit.")
def reproduce(output: Path, cores: int, master: str | None, **asked: Unpack[_Asked]) -> None:
    """Run published experiments again, and say which come out.

    Each is simulated over many seeds, as it was published and under what else may have
    been the case; what was published stands beside the median and p10 to p90 of what is
    found, with a verdict by rules that stand on the page.  Writes reproductions.html (one
    page that needs no network), reproductions.json and the tables of the sweep.

    Exits with 1 when not one run came to its end.

    \b
    Examples:
      trimtab reproduce
      trimtab reproduce --only avg-scale-up --seeds 40 -o scale-up
      trimtab reproduce --list
    """
    from trimtab.spark.session import opened_spark
    from trimtab.trials.reproduce.catalogue import chosen
    from trimtab.trials.reproduce.docs import write_docs
    from trimtab.trials.reproduce.pipeline import planned
    from trimtab.trials.reproduce.pipeline import reproduce as reproduced

    definitions = chosen(asked["only"])
    if asked["as_list"]:
        click.echo("\n".join(f"{each.name:<24} {each.head.title}" for each in definitions))
        return
    reproducing = planned(definitions, asked["seeds"], _command(asked, output))
    start = partial(opened_spark, "trimtab", cores=cores, master=master)
    found = reproduced(start, reproducing, output, anew=asked["anew"])
    if asked["docs"] is not None:
        write_docs(found.document, asked["docs"])
    tell(found, found.json if asked["as_json"] else None)
    if not found.has_runs:
        sys.exit(1)


def _command(asked: _Asked, output: Path) -> str:
    """Spell the command that asks the same again, on however many cores."""
    words = ["trimtab", "reproduce", "--seeds", str(asked["seeds"])]
    words += [word for name in asked["only"] for word in ("--only", name)]
    return shlex.join([*words, "-o", str(output)])
