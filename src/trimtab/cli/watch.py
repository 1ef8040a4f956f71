"""The command `trimtab watch`."""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trimtab.cli.acting import ActingOptions, acting_options
from trimtab.cli.arguments import FILE, SETTINGS, json_option
from trimtab.cli.cluster import (
    ADMIN,
    CLIENT_CONF,
    EVERY,
    INTO,
    LOCK_HERE,
    NO_HOST_CHECK,
    STATE,
    WATCHED_STORE,
    cluster_access,
    where_of,
)
from trimtab.cli.output import complain, say, say_as_is
from trimtab.cli.signals import ended_by_signals
from trimtab.cli.values import Duration

if TYPE_CHECKING:
    from trimtab.live.watch.loop import KeptCosts, KeptMemory, WatchRequest
    from trimtab.live.watch.shadow import Beside
    from trimtab.live.watch.tally import View


def _printing(what: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    """Return a callback that prints a file that is shipped along, and ends."""

    def printed(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            from trimtab.live.watch import metrics

            say_as_is(getattr(metrics, what)())
            ctx.exit()

    return printed


@click.command()
@ADMIN
@INTO
@click.option(
    "--shadow", "--dry-run", is_flag=True, help="Decide, and change nothing.  [the default]"
)
@click.option(
    "--for", "duration", type=Duration(), default="8h", show_default=True, help="How long."
)
@click.option("--once", is_flag=True, help="Look once, say what would be done now, and end.")
@EVERY
@click.option(
    "--strategy",
    metavar="CLASS",
    default="",
    help="Who decides beside Pulsar: Shedder, Shedder+Placer or Foresee.  [default: cluster's]",
)
@SETTINGS
@click.option(
    "--interval",
    type=Duration(),
    help="Between two rounds.  [default: loadBalancerSheddingIntervalMinutes of the cluster]",
)
@WATCHED_STORE
@click.option(
    "--logs",
    metavar="[BROKER=]DIR",
    multiple=True,
    help="Logs of a broker, read as they grow; may come again.  [default BROKER: DIR's name]",
)
@CLIENT_CONF
@click.option(
    "--metrics",
    metavar="[HOST:]PORT",
    help="Offer metrics to Prometheus there.  [default HOST: 127.0.0.1]",
)
@click.option(
    "--page",
    metavar="[HOST:]PORT",
    help="Show it all on a page there; 0 takes a free port.  [default HOST: 127.0.0.1]",
)
@click.option(
    "--print-rules",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_printing("rules"),
    help="Print alert rules for Prometheus, and end.",
)
@click.option(
    "--print-dashboard",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_printing("dashboard"),
    help="Print a dashboard for Grafana, and end.",
)
@acting_options
@LOCK_HERE
@STATE
@click.option(
    "--costs", type=FILE, help="What traffic costs, learned before; read, and written again."
)
@click.option(
    "--memory", type=FILE, help="What a strategy of trimtab's own remembers; read, written again."
)
@NO_HOST_CHECK
@json_option("Print what is said as JSON, a line each.")
def watch(
    admin: str | None,
    output: Path,
    shadow: bool,
    duration: float,
    once: bool,
    every: float,
    strategy: str,
    settings: tuple[str, ...],
    interval: float | None,
    metadata: str | None,
    logs: tuple[str, ...],
    client_conf: Path | None,
    metrics: str | None,
    page: str | None,
    acts: ActingOptions,
    lock_here: bool,
    state: Path | None,
    costs: Path | None,
    memory: Path | None,
    no_host_check: bool,
    as_json: bool,
) -> None:
    """Run beside a live cluster and decide each round of its balancer again.

    Records as `trimtab gather` does, and says at each round what the strategy of --strategy would
    have done beside what Pulsar did.  With --metadata it sees what the leader sees; with its --logs
    too it says of each round whether scores and bundles are those of the log, to the last digit.
    Nothing in the cluster is changed.  With --strategy Foresee, which predicts, it says every 20 s
    what that would move and expects, or why nothing, and what came; --memory keeps what it knows.

    With --act --yes, and Pulsar's own shedding off, what it decides is carried out, one by
    one, with the guards of `trimtab apply`; how many adapts to how clients fare.  Costs are
    learned meanwhile.  Ctrl-C ends it once what is in flight has landed.

    --page shows all of it in a browser; with --act --ask each plan waits there for approval.

    Exit code 0: ended as asked; 2: wrong use, or no cluster; 130: ended before anything was
    recorded.

    \b
    Examples:
      trimtab watch --admin http://broker-1:8080 -o beside --strategy AvgShedder
      trimtab watch --admin http://broker-1:8080 --metadata zk://zookeeper-1:2181 \\
        --logs broker-1:8080=/var/log/pulsar -o beside --for 30m
      trimtab watch --admin http://broker-1:8080 -o now --once --strategy ThresholdShedder \\
        --set loadBalancerBrokerThresholdShedderPercentage=5
      trimtab watch --admin http://broker-1:8080 --metadata zk://zookeeper-1:2181 -o acting \\
        --strategy AvgShedder --act --yes --limit moves_per_hour=20
      trimtab watch --admin http://broker-1:8080 -o asking --act --ask --page 8090
      trimtab watch --admin http://broker-1:8080 -o ahead --strategy Foresee --memory f.npz
    """
    from trimtab.live.gather import GatherError, GatherRequest
    from trimtab.live.watch.loop import WatchRequest
    from trimtab.live.watch.shadow import beside

    with ended_by_signals() as is_over:
        if shadow and acts.act:
            raise GatherError("--act: found --shadow, too, expected one of them")
        address, access = cluster_access(admin, client_conf, no_host_check=no_host_check)
        for_s = 0.0 if once else duration
        gathering = GatherRequest(
            admin=address, metadata=metadata, logs=logs, duration_s=for_s, every_s=every
        )
        who = beside(strategy, settings, interval)
        where = partial(where_of, address, access, state, metadata, is_lock_here=lock_here)
        acting = acts.request(where, once=once, has_page=page is not None)
        kept = _kept(costs), _remembered(memory, who)
        request = WatchRequest(gathering, access, output, who, acting, *kept)
        _look_on(request, is_over, metrics, page, as_json=as_json)


def _say_json(steps: Iterable[View]) -> None:
    """Print what is said as it comes, as it is recorded."""
    from trimtab.live.watch.document import line_of

    for action in (action for step in steps for action in step.actions):
        say_as_is(json.dumps(line_of(action)))


def _look_on(
    request: WatchRequest,
    is_over: threading.Event,
    metrics: str | None,
    page: str | None,
    *,
    as_json: bool,
) -> None:
    """Show a watch wherever somebody looks, and in the end what it has come to."""
    from rich.console import Console

    from trimtab.live.watch.desk import Desk
    from trimtab.live.watch.loop import watch as watched
    from trimtab.live.watch.metrics import offered
    from trimtab.live.watch.page.server import opened
    from trimtab.live.watch.screen import show, summary

    acting = request.acting
    desk, is_asking = (acting.desk, acting.is_asking) if acting else (Desk(), False)
    with (
        offered(metrics, _pages(metrics)) as offering,
        opened(page, desk, is_asking=is_asking) as served,
    ):
        if served.address:
            complain(f"Page: {served.address}")
        # It lives as long as the watch, and would be looked through for garbage again and again.
        gc.freeze()
        steps = served.followed(offering.followed(watched(request, is_over)))
        if as_json:
            _say_json(steps)
            return
        last = show(steps, Console())
    for line in summary(last) if last else ():
        say(line)
    say(f"Recording: {request.output}")


def _pages(metrics: str | None) -> dict[str, str]:
    """Return the pages of findings, to which alerts lead; none where nobody can ask for them."""
    from trimtab.explanation.words import finding_pages

    return {} if metrics is None else finding_pages()


def _kept(costs: Path | None) -> KeptCosts:
    """Return what was learned of costs before, and where that is kept."""
    from trimtab.live.watch.loop import KeptCosts
    from trimtab.trials.costs.state import read_state, write_state

    return (
        KeptCosts() if costs is None else KeptCosts(read_state(costs), partial(write_state, costs))
    )


def _remembered(memory: Path | None, who: Beside) -> KeptMemory:
    """Return what a strategy of trimtab's own remembered before, and where that is kept.

    Raises:
        GatherError: a file is named, and whoever decides keeps nothing in one.
    """
    from trimtab.live.gather import GatherError
    from trimtab.live.watch.loop import KeptMemory
    from trimtab.live.watch.steering.kept import read_kept, write_kept

    if memory is None:
        return KeptMemory()
    if who.own is None:
        raise GatherError(
            f"--memory: found with --strategy {who.strategy or 'of the cluster'}, expected with "
            "a strategy of trimtab's own: Pulsar's classes remember nothing over a restart"
        )
    return KeptMemory(read_kept(memory, who.strategy), partial(write_kept, memory))
