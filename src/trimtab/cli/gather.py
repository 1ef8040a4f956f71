"""The command `trimtab gather`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trimtab.cli.arguments import json_option
from trimtab.cli.cluster import (
    ADMIN,
    CLIENT_CONF,
    EVERY,
    INTO,
    NO_HOST_CHECK,
    WATCHED_STORE,
    cluster_access,
)
from trimtab.cli.output import note, say, say_as_is
from trimtab.cli.signals import ended_by_signals
from trimtab.cli.values import Duration

if TYPE_CHECKING:
    from trimtab.live.gather import Gathered


@click.command()
@ADMIN
@INTO
@click.option(
    "--for", "duration", type=Duration(), default="30m", show_default=True, help="How long."
)
@click.option("--once", is_flag=True, help="Look once and end, instead.")
@EVERY
@click.option(
    "--metrics-every",
    type=Duration(),
    default="30s",
    show_default=True,
    help="Between two scrapes of a broker's metrics.",
)
@CLIENT_CONF
@WATCHED_STORE
@click.option("--prometheus", metavar="URL", help="Prometheus to ask for the same time.")
@click.option(
    "--back", type=Duration(), default=0.0, help="Ask Prometheus for so long before, too."
)
@click.option(
    "--logs",
    metavar="[BROKER=]DIR",
    multiple=True,
    help="Logs of a broker to copy in the end; may come again.  [default BROKER: DIR's name]",
)
@click.option(
    "--zookeeper-data",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Data folder of a ZooKeeper server to copy in the end; may come again.",
)
@click.option("--time-zone", metavar="ZONE", help="Zone of log lines that print none, as +08:00.")
@NO_HOST_CHECK
@json_option("Tell it for a program.")
def gather(
    admin: str | None,
    output: Path,
    duration: float,
    once: bool,
    every: float,
    metrics_every: float,
    client_conf: Path | None,
    metadata: str | None,
    prometheus: str | None,
    back: float,
    logs: tuple[str, ...],
    zookeeper_data: tuple[Path, ...],
    time_zone: str | None,
    no_host_check: bool,
    as_json: bool,
) -> None:
    """Record a live cluster into a folder that `trimtab explain` takes.

    Asks every broker for its load report, settings, metrics and bundles, and changes
    nothing.  A broker that does not answer is noted, and the others are asked.  Ctrl-C ends
    it early and keeps what there is.  No password or token is written; who asks stands in
    a client.conf, not in the command.

    Exit code 0: recorded, ended early or not, with warnings of what did not answer; 2: wrong
    use, or no cluster; 130: ended before anything was recorded.

    \b
    Examples:
      trimtab gather --admin http://broker-1:8080 -o night --for 8h
      trimtab gather --admin http://broker-1:8080 -o now --once
      trimtab gather --admin https://broker-1:8443 --client-conf client.conf \\
        --metadata zk://zookeeper-1:2181 --logs broker-1:8080=/var/log/pulsar -o night
    """
    from trimtab.files.fields import FieldError, shown
    from trimtab.ingest.recording_toml import ZONES, zone_of
    from trimtab.live.gather import GatherRequest
    from trimtab.live.gather import gather as gathered

    with ended_by_signals() as is_over:
        if time_zone is not None and zone_of(time_zone) is None:
            raise FieldError("--time-zone", shown(time_zone), ZONES)
        address, access = cluster_access(admin, client_conf, no_host_check=no_host_check)
        request = GatherRequest(
            admin=address,
            prometheus=prometheus,
            back_s=back,
            metadata=metadata,
            logs=logs,
            zookeeper_data=zookeeper_data,
            duration_s=0.0 if once else duration,
            every_s=every,
            metrics_every_s=metrics_every,
            time_zone=time_zone,
        )
        recording = gathered(request, access, output, is_over)
    if as_json:
        say_as_is(json.dumps({**asdict(recording), "folder": str(recording.folder)}, default=str))
        return
    _tell(recording)


def _tell(recording: Gathered) -> None:
    """Say what a recording has become."""
    n_brokers = len(recording.brokers)
    say(
        f"{recording.cluster}: {n_brokers} brokers, {recording.looks} looks, "
        f"{recording.answered} answers"
    )
    if recording.store:
        say(f"Store: {recording.store}")
    if recording.states:
        say(f"States of bundles: {recording.states}")
    if recording.loads:
        say(f"Loads: {recording.loads}")
    for warning in recording.warnings:
        note(f"warning: {warning}")
    say(f"Recording: {recording.folder}")
