"""Arguments and options that several commands take."""

from __future__ import annotations

from pathlib import Path

import click

from trimtab.cli.numbers import Finite

RECORDING = click.argument("recording", type=click.Path(path_type=Path))
CORES = click.option(
    "--cores", type=click.IntRange(1), default=2, show_default=True, help="Tasks at a time."
)
MASTER = click.option(
    "--master", metavar="URL", help="Any Spark master, such as spark://host:7077.  [default: local]"
)

# The experiment that `simulate` runs and `record` writes down.
STRATEGY = click.option(
    "--strategy",
    metavar="CLASS",
    required=True,
    help="Who sheds: a class of Pulsar's, or none.  Shedder+Placer names both.",
)
PLACEMENT = click.option(
    "--placement",
    metavar="CLASS",
    help="Who places.  [default: the shedder if it does, else LeastLongTermMessageRate]",
)
RELEASE = click.option(
    "--release", metavar="RELEASE", help="Decide as this release.  [default: the scenario's]"
)
SETTINGS = click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="A key of broker.conf; may come again for another.",
)
SEED = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="What chance brings."
)
MINUTES = click.option(
    "--minutes",
    type=Finite(0, min_open=True),
    metavar="M",
    help="Simulate for so long.  [default: as the scenario has it]",
)
