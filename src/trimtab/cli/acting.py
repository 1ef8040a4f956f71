"""What the commands that act on a live cluster share: who asks, whom, and where locks are."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar

import click

from trimtab.cli.reaching import ADMIN, CLIENT_CONF, NO_HOST_CHECK, reached_by

if TYPE_CHECKING:
    from trimtab.live.apply import Where

Command = TypeVar("Command", bound=Callable[..., object])


class Asking(TypedDict):
    """The options that say which cluster, and who asks."""

    admin: str | None
    client_conf: Path | None
    no_host_check: bool
    metadata: str | None
    state: Path | None


def acting(command: Command) -> Command:
    """Give a command the options in `Asking`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    ADMIN,
    CLIENT_CONF,
    NO_HOST_CHECK,
    click.option(
        "--metadata",
        metavar="zk://HOST:PORT",
        help="ZooKeeper: the lock is there, for runs anywhere, and owners are read there.",
    ),
    click.option(
        "--state",
        type=click.Path(path_type=Path, file_okay=False),
        envvar="TRIMTAB_STATE",
        show_envvar=True,
        help="Folder of locks without --metadata.  [default: ~/.local/state/trimtab]",
    ),
)


def where(asking: Asking) -> Where:
    """Make of the options what a cluster is reached by.

    Raises:
        GatherError: an option is wrong, or there is no address.
    """
    from trimtab.live.apply import Where
    from trimtab.live.gather.pipeline import web_address

    address, access = reached_by(
        asking["admin"], asking["client_conf"], no_host_check=asking["no_host_check"]
    )
    return Where(
        address=web_address("--admin", address),
        access=access,
        folder=asking["state"] or state_folder(),
        metadata=asking["metadata"],
    )


def state_folder() -> Path:
    """Return the folder where locks are if none is named."""
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "trimtab"
