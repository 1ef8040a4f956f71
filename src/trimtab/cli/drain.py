"""The command `trimtab drain`."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trimtab.cli.apply import carry_out, rehearse, tell_of_pause
from trimtab.cli.arguments import FILE, output_option
from trimtab.cli.cluster import (
    BAR,
    COSTS,
    DRY_RUN,
    SHEDDING,
    YES,
    ClusterOptions,
    cluster_options,
    yes_of,
)
from trimtab.cli.output import complain, note, say
from trimtab.cli.values import Duration

if TYPE_CHECKING:
    from trimtab.live.apply import ConnectedCluster
    from trimtab.live.apply.drain import Drain
    from trimtab.live.apply.live import LockHolder
    from trimtab.live.control.plan import Plan


_LEADS = "once it stops another broker leads, and begins without averages or last unloads"


@click.command()
@click.argument("broker")
@cluster_options
@click.option("--to", "takers", metavar="BROKER", multiple=True, help="Who takes; may come again.")
@click.option(
    "--return",
    "emptied",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="PLAN",
    help="Bring back what PLAN took from BROKER, instead.",
)
@BAR
@click.option(
    "--every",
    type=Duration(),
    default="10s",
    show_default=True,
    help="At least, between two moves.",
)
@COSTS
@SHEDDING
@output_option("File of the plan.  [default: drain-BROKER-TIME.json]", FILE)
@YES
@DRY_RUN
@click.option("--json", "is_json", is_flag=True, help="Tell it for a program.")
def drain(
    broker: str,
    reach: ClusterOptions,
    takers: tuple[str, ...],
    emptied: Path | None,
    bar: float,
    every: float,
    costs: Path | None,
    shedding: str,
    output: Path | None,
    yes: bool,
    dry_run: bool,
    is_json: bool,
) -> None:
    """Empty BROKER before it is restarted: a plan, and with --yes what it says.

    Every bundle of BROKER but its own two goes, one at a time and the busiest first, to
    whoever will have the lowest usage.  BROKER is marked as being emptied, so that trimtab
    moves nothing there, until --return takes the mark away and brings the bundles back.
    What was killed or stopped goes on with `trimtab apply PLAN --yes`.

    Whether there is room for all of it is judged before the first move; if somebody would
    stand above --bar in the end, nothing is done, and what would make room is said.

    Exit code 0: emptied, or nothing stands against it; 1: stopped, something stands against
    it, or BROKER owns bundles in the end; 2: wrong use, no cluster, or another run holds the
    lock; 3: look at it, a bundle is not where the run meant it to be.

    \b
    Examples:
      trimtab drain broker-3:8080 --admin http://broker-1:8080
      trimtab drain broker-3:8080 --admin http://broker-1:8080 -o drain.json --yes
      trimtab drain broker-3:8080 --admin http://broker-1:8080 --return drain.json --yes
    """
    from trimtab.live.apply import connected_cluster
    from trimtab.live.apply.drain import Drain, HeadroomError, drain_limits, return_plan
    from trimtab.live.apply.emptying import drain_plan
    from trimtab.live.apply.files import plan_of, write_plan
    from trimtab.trials.costs.state import read_state

    yes = yes_of(yes=yes, dry_run=dry_run)
    limits = drain_limits(bar, every)
    drain = Drain(broker, takers, limits, shedding, emptied is not None)
    known = None if costs is None else read_state(costs)
    with connected_cluster(reach.where()) as cluster:
        tell_of_pause(cluster)
        try:
            if emptied is None:
                plan = drain_plan(cluster, drain, known)
            else:
                plan = return_plan(cluster, drain, plan_of(emptied))
        except HeadroomError as error:
            complain(f"trimtab: {error}; nothing was done")
            sys.exit(1)
        path = output or _named("drain" if emptied is None else "return", broker)
        write_plan(path, plan)
        (note if is_json else say)(f"Plan: {path}")
        if emptied is None and _is_leading(cluster, broker):
            complain(f"trimtab: {broker} leads the load balancer: {_LEADS}")
        journal = path.with_name(f"{path.name}.journal")
        if yes:
            code = _carry_out(plan, cluster, journal, drain, is_json=is_json)
        else:
            code = 0 if rehearse(plan, cluster, journal, is_json=is_json) else 1
    sys.exit(code)


def _carry_out(
    plan: Plan, cluster: ConnectedCluster, journal: Path, drain: Drain, *, is_json: bool
) -> int:
    """Return the exit code, after the broker is marked and emptied."""
    from trimtab.live.apply.drain import left_on

    broker = drain.broker

    def marked(post: LockHolder) -> None:
        (post.take_back if drain.is_return else post.drain)(broker)

    code = carry_out(plan, cluster, journal, is_json=is_json, marked=marked)
    if drain.is_return or code:
        return code
    bundles = sorted(left_on(cluster, broker))
    if bundles:
        came = f"{broker} owns {len(bundles)} bundles that came meanwhile: {', '.join(bundles[:3])}"
        complain(f"trimtab: {came}; drain it again")
    return 1 if bundles else 0


def _is_leading(cluster: ConnectedCluster, broker: str) -> bool:
    """Return whether a broker leads; it is only told, so what cannot be read is no error."""
    from trimtab.live.gather.calls import CallError

    try:
        return cluster.admin.leader() == broker
    except CallError:
        return False


def _named(verb: str, broker: str) -> Path:
    """Return a file of the current folder, named after the broker and the time."""
    safe = re.sub(r"[^\w.-]", "_", broker)
    return Path(f"{verb}-{safe}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json")
