"""What the commands that run trials share: where rows are kept, and what is printed in the end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trimtab.cli.arguments import Command
from trimtab.cli.output import say, say_as_is

if TYPE_CHECKING:
    from trimtab.trials.sweep.pipeline import Start
    from trimtab.trials.trial import Result

ROWS_KEPT = "Folder to write into; runs that it holds are not done again."


def docs_option(help_text: str) -> Callable[[Command], Command]:
    """Return the option that says into which docs the result is written, too."""
    folder = click.Path(path_type=Path, file_okay=False, exists=True)
    return click.option("--docs", type=folder, help=help_text)


def sparked(cores: int, master: str | None) -> Start:
    """Return what starts Spark once there is something to run."""
    from trimtab.spark.choice import opened_spark

    return partial(opened_spark, cores=cores, master=master)


def tell(result: Result, *, as_json: bool) -> None:
    """Print the JSON, if it is asked for, or else the most of it and where the page is.

    Ends with exit code 1 where the result is not good.
    """
    if as_json:
        say_as_is(result.json.read_text(encoding="utf-8"))
    else:
        say("\n".join([*result.lines(), f"Page: {result.page}"]))
    if not result.is_good:
        sys.exit(1)
