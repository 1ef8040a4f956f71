"""The option `--catalog` of commands that write tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from trimtab.cli.output import say

Command = TypeVar("Command", bound=Callable[..., object])

_OPTION: Callable[[Any], Any] = click.option(
    "--catalog",
    metavar="NAME[.NAMESPACE]",
    help="Bring the tables into a catalog of Iceberg tables, too, one of PyIceberg's "
    "configuration.  [default namespace: trimtab]",
)


def catalog_option(command: Command) -> Command:
    """Return a command with the option that names a catalog."""
    wrapped: Command = _OPTION(command)
    return wrapped


def publish_tables(folders: Sequence[Path], catalog: str, *, is_silent: bool) -> None:
    """Bring folders of tables into a catalog, and print what changed there."""
    from trimtab.files.catalogs import publish, shares
    from trimtab.spark.runner import Here, progress

    asked = shares(folders)
    done: list[int | None] = []
    with progress(Here(), f"to {catalog}", counted=lambda: (len(done), len(asked))):
        done.extend(publish(asked, catalog))
    rows = [each for each in done if each is not None]
    if not is_silent:
        tables = len({each.table for each in asked})
        change = f"{sum(rows):,} rows written" if rows else "nothing new"
        say(f"Catalog: {catalog}: {tables} tables, {change}")
