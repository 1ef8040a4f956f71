"""Options that say which live cluster a command speaks to, who asks, and where locks are."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from trimtab.cli.arguments import FILE, FOLDER, Command, output_option
from trimtab.cli.output import note
from trimtab.cli.values import Duration, Finite

if TYPE_CHECKING:
    from trimtab.live.apply import Where
    from trimtab.live.gather import Access

ADMIN = click.option(
    "--admin", metavar="URL", help="Admin API of any broker.  [default: client.conf's]"
)
CLIENT_CONF = click.option(
    "--client-conf",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    envvar="PULSAR_CLIENT_CONF",
    show_envvar=True,
    help="client.conf of pulsar-admin: who asks (token, basic, TLS) and whom to trust.",
)
NO_HOST_CHECK = click.option(
    "--no-host-check", is_flag=True, help="Take a certificate for another host."
)

# What `gather` records, and `watch` with it.
INTO = output_option("Folder to record into; new or empty.", required=True)
EVERY = click.option(
    "--every", type=Duration(), default="10s", show_default=True, help="Between two looks."
)
WATCHED_STORE = click.option(
    "--metadata", metavar="zk://HOST:PORT", help="ZooKeeper to watch: no write is missed."
)

# What `plan` and `drain` write into a plan.
SHEDDING = click.option(
    "--shedding-may-run-because",
    "shedding",
    metavar="WHY",
    default="",
    help="Why Pulsar's own shedding may stay on meanwhile.",
)


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The options that say which cluster is acted on, and who asks."""

    admin: str | None
    client_conf: Path | None
    no_host_check: bool
    metadata: str | None
    lock_here: bool
    state: Path | None

    def where(self) -> Where:
        """Return what the cluster is reached by.

        Raises:
            GatherError: an option is wrong, or there is no address.
        """
        address, access = cluster_access(
            self.admin, self.client_conf, no_host_check=self.no_host_check
        )
        return where_of(address, access, self.state, self.metadata, is_lock_here=self.lock_here)


def cluster_options(command: Command) -> Command:
    """Return a command with the options of `ClusterOptions`, which it takes as `reach`."""

    @wraps(command)
    def with_reach(**options: Any) -> object:  # noqa: ANN401  # click checks them
        names = [field.name for field in fields(ClusterOptions)]
        reach = ClusterOptions(**{name: options.pop(name) for name in names})
        return command(reach=reach, **options)

    with_options = cast(Command, with_reach)
    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return with_options


# How `drain` and `rollout` empty a broker, and that they do.
BAR = click.option(
    "--bar",
    type=Finite(0, 100, min_open=True),
    default=85.0,
    show_default=True,
    help="Usage in % above which nobody takes anything; 100 for none.",
)
COSTS = click.option("--costs", type=FILE, help="Costs learned before, by `trimtab costs --state`.")
YES = click.option("--yes", is_flag=True, help="Carry it out; without it, write the plan and look.")
# What `apply` and `drain` do without --yes, for whoever looks for it by its usual name.
DRY_RUN = click.option("--dry-run", is_flag=True, help="Only look, as without --yes.")


def yes_of(*, yes: bool, dry_run: bool) -> bool:
    """Return whether a plan is to be carried out.

    Raises:
        GatherError: both were asked for.
    """
    from trimtab.live.gather import GatherError

    if yes and dry_run:
        raise GatherError("--dry-run: found with --yes, expected one of them")
    return yes


# Where the lock of whoever acts is, if not in the cluster's ZooKeeper.
LOCK_HERE = click.option(
    "--lock-here",
    is_flag=True,
    help="Act with a lock in --state, which runs elsewhere do not see.",
)
STATE = click.option(
    "--state",
    type=FOLDER,
    envvar="TRIMTAB_STATE",
    show_envvar=True,
    help="Folder of the lock with --lock-here.  [default: ~/.local/state/trimtab]",
)

_OPTIONS = (
    ADMIN,
    CLIENT_CONF,
    NO_HOST_CHECK,
    click.option(
        "--metadata",
        metavar="zk://HOST:PORT",
        help="ZooKeeper of the cluster, where its lock is.  [default: as the brokers' settings]",
    ),
    LOCK_HERE,
    STATE,
)


def where_of(
    address: str,
    access: Access,
    state: Path | None,
    metadata: str | None,
    *,
    is_lock_here: bool,
) -> Where:
    """Return what a cluster is reached by; a lock here lies in the user's folder if none is named.

    Raises:
        GatherError: the address is none, or the lock is to be in two places.
    """
    from trimtab.live.apply import Where
    from trimtab.live.gather import GatherError
    from trimtab.live.gather.pipeline import web_address

    home = os.environ.get("XDG_STATE_HOME")
    folder = (Path(home) if home else Path.home() / ".local" / "state") / "trimtab"
    folder = state or folder
    if is_lock_here and metadata:
        raise GatherError("--lock-here: found with --metadata, expected one of them")
    if is_lock_here:
        note(f"warning: --lock-here: runs that do not use {folder} can move bundles, too")
    return Where(web_address("--admin", address), access, folder, metadata, is_lock_here)


def cluster_access(
    admin: str | None, client_conf: Path | None, *, no_host_check: bool
) -> tuple[str, Access]:
    """Return where the admin API is, and who asks; warn of what a client.conf is careless with.

    It is warned of at once: what follows may take hours, and tell a password to whoever answers.

    Raises:
        GatherError: the client.conf cannot be used, or neither names an address.
    """
    from trimtab.live.gather import GatherError, read_access

    access = read_access(client_conf, checks_host=not no_host_check)
    address = admin or access.web_service_url
    if address is None:
        raise GatherError("--admin: found nothing, expected it or webServiceUrl in a client.conf")
    for warning in access.warnings:
        note(f"warning: {warning}")
    return address, access
