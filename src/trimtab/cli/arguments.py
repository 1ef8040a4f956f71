"""Arguments and options that several commands take."""

from __future__ import annotations

from pathlib import Path

import click

RECORDING = click.argument("recording", type=click.Path(path_type=Path))
CORES = click.option(
    "--cores", type=click.IntRange(1), default=2, show_default=True, help="Tasks at a time."
)
MASTER = click.option(
    "--master", metavar="URL", help="Any Spark master, such as spark://host:7077.  [default: local]"
)
