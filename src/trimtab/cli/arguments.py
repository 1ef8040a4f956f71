"""Arguments and options that several commands take."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from trimtab.cli.values import Finite
from trimtab.files.places import is_store, place_of
from trimtab.files.stores import PlaceError

Command = TypeVar("Command", bound=Callable[..., object])


class _Place(click.Path):
    """A place on this machine, or where it is said one in a store."""

    def __init__(self, *, is_store_fine: bool, file_okay: bool = False) -> None:
        super().__init__(file_okay=file_okay)
        self._is_store_fine = is_store_fine

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        """Return it as a place."""
        try:
            place = place_of(value)
        except PlaceError as fault:
            self.fail(str(fault), param, ctx)
        if not is_store(place):
            super().convert(str(place), param, ctx)
            return place
        if not self._is_store_fine:
            self.fail(f"found {place}, expected a path of this machine", param, ctx)
        return place


FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = _Place(is_store_fine=False)
#: A folder that may be in a store, by its URI.
PLACE = _Place(is_store_fine=True)

#: A file or a folder of this machine, and not of a store.
HERE = _Place(is_store_fine=False, file_okay=True)
RECORDING = click.argument("recording", type=HERE)
_CORES = click.option(
    "--cores", type=click.IntRange(1), default=2, show_default=True, help="Tasks at a time."
)
_MASTER = click.option(
    "--master",
    "--remote",
    metavar="URL",
    help="Any Spark master, such as spark://host:7077, or a Spark Connect server: "
    "sc://host:15002.  [default: local]",
)

# The experiment that `simulate` runs and `record` writes down.
_STRATEGY = click.option(
    "--strategy",
    metavar="CLASS",
    required=True,
    help="Who sheds: a class of Pulsar's, none, or trimtab's own Foresee or BusiestShare.  "
    "Shedder+Placer names both.",
)
_PLACEMENT = click.option(
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
_SEED = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="What chance brings."
)
_MINUTES = click.option(
    "--minutes",
    type=Finite(0, min_open=True),
    metavar="M",
    help="Simulate for so long.  [default: as the scenario has it]",
)


def spark_options(command: Command) -> Command:
    """Return a command with the options that say where Spark runs."""
    return _CORES(_MASTER(command))


def experiment_options(command: Command) -> Command:
    """Return a command with the options of the experiment that it simulates."""
    for option in (_MINUTES, _SEED, SETTINGS, RELEASE, _PLACEMENT, _STRATEGY):
        command = option(command)
    return command


_LIMIT = Finite(0)
# What is called safe.
_BAR = (
    click.option(
        "--peak",
        "peak_percent",
        type=Finite(0, 100, min_open=True),
        metavar="%",
        help="The bar: usage of a broker over a minute.  "
        "[default: loadBalancerBrokerOverloadedThresholdPercentage]",
    ),
    click.option(
        "--minutes-over",
        "over_min",
        type=_LIMIT,
        metavar="M",
        help="The bar: minutes for which a broker may be above that.  "
        "[default: three of loadBalancerSheddingIntervalMinutes]",
    ),
    click.option(
        "--topics",
        type=_LIMIT,
        metavar="N",
        help="The bar: topics that may be disconnected.  [default: any number]",
    ),
    click.option(
        "--ownerless",
        "ownerless_s",
        type=_LIMIT,
        metavar="S",
        help="The bar: seconds for which a bundle may have no owner.  "
        "[default: namespaceBundleUnloadingTimeoutMs]",
    ),
)

# What runs a sweep.
ANEW = click.option(
    "--anew", is_flag=True, help="Throw away what the folder holds of an earlier sweep."
)


def output_option(
    help_text: str,
    kind: click.Path = FOLDER,
    **more: Any,  # noqa: ANN401  # whatever click takes
) -> Callable[[Command], Command]:
    """Return the option that says where to write."""
    return click.option("-o", "--output", type=kind, help=help_text, **more)


def bar_options(command: Command) -> Command:
    """Return a command with the options that say what is safe."""
    for option in reversed(_BAR):
        command = option(command)
    return command


def seeds_option(default: int, help_text: str = "Seeds of each.") -> Callable[[Command], Command]:
    """Return the option that says how many seeds are run."""
    return click.option(
        "--seeds", type=click.IntRange(1), default=default, show_default=True, help=help_text
    )


def json_option(help_text: str) -> Callable[[Command], Command]:
    """Return the option that asks for JSON in place of text."""
    return click.option("--json", "as_json", is_flag=True, help=help_text)
