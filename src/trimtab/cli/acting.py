"""What the commands that act on a live cluster share: who asks, whom, and where locks are."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from trimtab.cli.arguments import FOLDER, Command
from trimtab.cli.reaching import ADMIN, CLIENT_CONF, NO_HOST_CHECK, reached_by

if TYPE_CHECKING:
    from trimtab.live.apply import Where
    from trimtab.live.gather import Access


@dataclass(frozen=True, slots=True)
class Reaching:
    """The options that say which cluster is acted on, and who asks."""

    admin: str | None
    client_conf: Path | None
    no_host_check: bool
    metadata: str | None
    state: Path | None

    def where(self) -> Where:
        """Return what the cluster is reached by.

        Raises:
            GatherError: an option is wrong, or there is no address.
        """
        address, access = reached_by(self.admin, self.client_conf, no_host_check=self.no_host_check)
        return where_of(address, access, self.state, self.metadata)


def acting(command: Command) -> Command:
    """Return a command with the options of `Reaching`, which it takes as `reaching`."""

    @wraps(command)
    def reaching_command(**options: Any) -> object:  # noqa: ANN401  # click checks them
        names = [field.name for field in fields(Reaching)]
        reaching = Reaching(**{name: options.pop(name) for name in names})
        return command(reaching=reaching, **options)

    with_options = cast(Command, reaching_command)
    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return with_options


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
        type=FOLDER,
        envvar="TRIMTAB_STATE",
        show_envvar=True,
        help="Folder of locks without --metadata.  [default: ~/.local/state/trimtab]",
    ),
)


def where_of(address: str, access: Access, state: Path | None, metadata: str | None) -> Where:
    """Return what a cluster is reached by; locks lie in the user's folder if none is named.

    Raises:
        GatherError: the address is none.
    """
    from trimtab.live.apply import Where
    from trimtab.live.gather.pipeline import web_address

    home = os.environ.get("XDG_STATE_HOME")
    folder = (Path(home) if home else Path.home() / ".local" / "state") / "trimtab"
    return Where(web_address("--admin", address), access, state or folder, metadata)
