"""Options that say which live cluster a command speaks to, and who asks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from trimtab.cli.arguments import output_option
from trimtab.cli.durations import Duration
from trimtab.cli.saying import complain

if TYPE_CHECKING:
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


def reached_by(
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
        complain(f"warning: {warning}")
    return address, access
