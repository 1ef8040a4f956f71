"""The command `trimtab restart-plan`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from trimtab.cli.arguments import FILE, output_option, seeds_option
from trimtab.cli.cluster import ClusterOptions, cluster_options
from trimtab.cli.output import say
from trimtab.cli.values import Duration, Finite


@click.command("restart-plan")
@cluster_options
@click.option(
    "--down", type=Duration(), default="1m", show_default=True, help="That a broker is away."
)
@click.option(
    "--every", type=Duration(), default="10m", show_default=True, help="From one to the next."
)
@seeds_option(5, "Runs of each order.")
@click.option(
    "--bar",
    type=Finite(0, min_open=True),
    default=85.0,
    show_default=True,
    help="Usage in % that nine runs of ten should stay below.",
)
@output_option("File for the JSON.", FILE)
@click.option("--json", "is_json", is_flag=True, help="Print the JSON.")
def restart_plan(
    reach: ClusterOptions,
    down: float,
    every: float,
    seeds: int,
    bar: float,
    output: Path | None,
    is_json: bool,
) -> None:
    """Foretell a rolling restart: which order, and how high usage will rise.

    Looks at the cluster once and changes nothing.  In the laboratory its traffic goes on as
    it is now, while one broker after the other leaves and comes back under the cluster's
    own strategies; the order whose peak is lowest is the best.

    Exit code 0: the best order stays below the bar; 1: it does not; 2: wrong use.

    \b
    Examples:
      trimtab restart-plan --admin http://broker-1:8080
      trimtab restart-plan --admin http://broker-1:8080 --down 90s --every 15m -o restarts.json
    """
    from trimtab.lab.restarts.orders import Timing
    from trimtab.live.apply import connected_cluster
    from trimtab.live.apply.files import write_ours
    from trimtab.live.apply.restart_order import as_json, lines
    from trimtab.live.apply.restart_order import restart_plan as planned
    from trimtab.live.gather import GatherError

    if not down < every:
        raise GatherError(f"--every: found {every:g} s, expected more than --down, {down:g} s")
    with connected_cluster(reach.where()) as cluster:
        plan = planned(cluster, Timing(down, every), seeds)
    if output is not None:
        write_ours(output, as_json(plan))
    texts = [as_json(plan).rstrip()] if is_json else lines(plan)
    for line in texts:
        say(line)
    sys.exit(0 if plan.orders[0].peak_percent.p90 <= bar else 1)
