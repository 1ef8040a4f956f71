"""The command `trimtab costs`."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from trimtab.cli.arguments import FILE, json_option, spark_options
from trimtab.cli.cluster import ADMIN, CLIENT_CONF, NO_HOST_CHECK, WATCHED_STORE, cluster_access
from trimtab.cli.output import note, say, say_as_is
from trimtab.cli.signals import ended_by_signals
from trimtab.cli.values import Duration

if TYPE_CHECKING:
    from trimtab.live.gather import Access, GatherRequest


@click.command()
@click.argument("recording", type=click.Path(path_type=Path), required=False)
@ADMIN
@click.option(
    "--for", "duration", type=Duration(), default="30m", show_default=True,
    help="With --admin: how long.",
)  # fmt: skip
@click.option(
    "--every", "every_s", type=Duration(), default="20s", show_default=True,
    help="With --admin: how often; brokers measure once a minute, and no window is to be missed.",
)  # fmt: skip
@CLIENT_CONF
@WATCHED_STORE
@NO_HOST_CHECK
@json_option("Print JSON instead of the tables.")
@click.option("--state", type=FILE, help="What was learned before; read, and written again.")
@click.option("--plot", type=FILE, help="Draw it: .svg or .png.")
@spark_options
def costs(
    recording: Path | None,
    admin: str | None,
    duration: float,
    every_s: float,
    client_conf: Path | None,
    metadata: str | None,
    no_host_check: bool,
    as_json: bool,
    state: Path | None,
    plot: Path | None,
    cores: int,
    master: str | None,
) -> None:
    """Learn from a recorded night, or a live cluster, what traffic costs its brokers.

    Prints what messages, bytes, topics and clients take of a host's CPU, what each broker
    takes at rest and how quick it is, and which bundles cost more than their traffic; each
    with the interval in which it is in nine of ten cases.  A question mark stands where the
    night does not tell.

    RECORDING is a folder or an archive of one (.tar.gz, .zip) of a modular load manager
    that tells of bundles.  With --admin in its place a live cluster is asked for a while;
    nothing in it is changed, and Ctrl-C ends it early.

    Exit code 0: learned; 2: wrong use, or a recording that does not tell enough.

    \b
    Examples:
      trimtab costs recordings/uniform
      trimtab costs recordings/threshold --plot costs.svg
      trimtab costs recordings/avg --state costs.npz --json | jq .units
      trimtab costs --admin http://broker-1:8080 --for 1h --state costs.npz
    """
    from trimtab.ingest.recording import open_recording
    from trimtab.spark.choice import opened_runner
    from trimtab.trials.backtest.command import read_evidence
    from trimtab.trials.costs.document import document, night
    from trimtab.trials.costs.lines import lines
    from trimtab.trials.costs.plot import checked
    from trimtab.trials.costs.plot import plot as drawn
    from trimtab.trials.costs.state import read_state, write_state

    if recording is not None and admin is not None:
        raise click.UsageError("found RECORDING and --admin, expected one of them")
    checked(plot)
    before = None if state is None else read_state(state)
    with TemporaryDirectory(prefix="trimtab-") as scratch:
        cluster = ""
        if recording is None:
            address, access = cluster_access(admin, client_conf, no_host_check=no_host_check)
            recording = Path(scratch) / "recording"
            cluster = _gathered(_request(address, metadata, duration, every_s), access, recording)
        with (
            open_recording(recording) as opened,
            opened_runner(opened.paths, cores=cores, master=master) as spark,
        ):
            name, (evidence, windows) = cluster or opened.name, read_evidence(spark, opened)
    learned = night(evidence, windows, before)
    if state is not None:
        write_state(state, learned.known)
    prices = document(name, learned)
    if plot is not None:
        drawn(prices, plot)
    if as_json:
        say_as_is(json.dumps(prices, indent=1))
        return
    for line in lines(prices):
        say(line)


def _request(
    address: str, metadata: str | None, duration_s: float, every_s: float
) -> GatherRequest:
    from trimtab.live.gather import GatherRequest

    return GatherRequest(
        admin=address,
        metadata=metadata,
        duration_s=duration_s,
        every_s=every_s,
        metrics_every_s=every_s,
    )


def _gathered(request: GatherRequest, access: Access, folder: Path) -> str:
    """Return the name of a live cluster, recorded into a folder."""
    from trimtab.live.gather import gather

    minutes = request.duration_s / 60.0
    note(f"trimtab: asking {request.admin} for {minutes:g} minutes; Ctrl-C ends it early")
    with ended_by_signals() as is_over:
        gathered = gather(request, access, folder, is_over)
    for warning in gathered.warnings:
        note(f"warning: {warning}")
    return gathered.cluster
