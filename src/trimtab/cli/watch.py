"""The command `trimtab watch`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

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
    reached_by,
    where_of,
)
from trimtab.cli.output import say, say_as_is
from trimtab.cli.signals import ended_by_signals
from trimtab.cli.values import Duration

if TYPE_CHECKING:
    from trimtab.live.apply import Where
    from trimtab.live.watch.actor import ActingRequest
    from trimtab.live.watch.loop import KeptCosts
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
@click.option("--shadow", is_flag=True, help="Decide, and change nothing.  [the default]")
@click.option(
    "--for", "duration", type=Duration(), default="8h", show_default=True, help="How long."
)
@click.option("--once", is_flag=True, help="Look once, say what would be done now, and end.")
@EVERY
@click.option(
    "--strategy",
    metavar="CLASS",
    default="",
    help="Who decides beside Pulsar; Shedder+Placer names both.  [default: the cluster's own]",
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
@click.option("--act", is_flag=True, help="Carry out what --strategy decides; takes --yes, too.")
@click.option("--yes", is_flag=True, help="With --act: yes, move bundles.")
@click.option(
    "--limit",
    "limits",
    metavar="NAME=VALUE",
    multiple=True,
    help="With --act: a limit of plans, such as moves_per_hour=20; may come again.",
)
@click.option(
    "--throttle",
    type=(float, float),
    metavar="LEAST MOST",
    help="With --act: moves a round, adapted between these.  [default: 0.25 3]",
)
@LOCK_HERE
@STATE
@click.option(
    "--costs", type=FILE, help="What traffic costs, learned before; read, and written again."
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
    act: bool,
    yes: bool,
    limits: tuple[str, ...],
    throttle: tuple[float, float] | None,
    lock_here: bool,
    state: Path | None,
    costs: Path | None,
    no_host_check: bool,
    as_json: bool,
) -> None:
    """Run beside a live cluster and decide each round of its balancer again.

    Records as `trimtab gather` does, and says at each round what the strategy of
    --strategy would have done beside what Pulsar did.  With --metadata it sees what the
    leader sees; with the leader's --logs too it says of each round whether scores and
    bundles are those of the log, to the last digit.  Nothing in the cluster is changed.

    With --act --yes, and Pulsar's own shedding off, what it decides is carried out, one by
    one, with the guards of `trimtab apply`; how many adapts to how clients fare.  Costs are
    learned meanwhile.  Ctrl-C ends it once what is in flight has landed.

    Exit code 0: ended as asked; 2: wrong use, or no cluster.

    \b
    Examples:
      trimtab watch --admin http://broker-1:8080 -o beside --strategy AvgShedder
      trimtab watch --admin http://broker-1:8080 --metadata zk://zookeeper-1:2181 \\
        --logs broker-1:8080=/var/log/pulsar -o beside --for 30m
      trimtab watch --admin http://broker-1:8080 -o now --once --strategy ThresholdShedder \\
        --set loadBalancerBrokerThresholdShedderPercentage=5
      trimtab watch --admin http://broker-1:8080 --metadata zk://zookeeper-1:2181 -o acting \\
        --strategy AvgShedder --act --yes --limit moves_per_hour=20
    """
    from trimtab.live.gather import GatherError, GatherRequest
    from trimtab.live.watch.loop import WatchRequest
    from trimtab.live.watch.loop import watch as watched
    from trimtab.live.watch.metrics import offered
    from trimtab.live.watch.shadow import beside

    with ended_by_signals() as is_over:
        if shadow and act:
            raise GatherError("--act: found --shadow, too, expected one of them")
        address, access = reached_by(admin, client_conf, no_host_check=no_host_check)
        for_s = 0.0 if once else duration
        gathering = GatherRequest(
            admin=address, metadata=metadata, logs=logs, duration_s=for_s, every_s=every
        )
        who = beside(strategy, settings, interval)
        where = partial(where_of, address, access, state, metadata, is_lock_here=lock_here)
        acting = _acting(where, act=act, yes=yes, once=once, limits=limits, throttle=throttle)
        question = WatchRequest(gathering, access, output, who, acting, _kept(costs))
        with offered(metrics, _pages(metrics)) as offering:
            _say(offering.followed(watched(question, is_over)), output, as_json=as_json)


def _say(steps: Iterable[View], output: Path, *, as_json: bool) -> None:
    """Print what is said as it comes, and what it has come to in the end."""
    from rich.console import Console

    from trimtab.live.watch.document import line_of
    from trimtab.live.watch.screen import show, summary

    if as_json:
        for action in (action for step in steps for action in step.actions):
            say_as_is(json.dumps(line_of(action)))
        return
    last = show(steps, Console())
    for line in summary(last) if last else ():
        say(line)
    say(f"Recording: {output}")


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


def _acting(
    where: Callable[[], Where],
    *,
    act: bool,
    yes: bool,
    once: bool,
    limits: tuple[str, ...],
    throttle: tuple[float, float] | None,
) -> ActingRequest | None:
    """Return what is asked of whoever acts; None if nobody is to.

    Raises:
        GatherError: an option is wrong, or --yes is missing.
    """
    from trimtab.live.control.throttle import Bars
    from trimtab.live.gather import GatherError
    from trimtab.live.watch.actor import ActingRequest
    from trimtab.live.watch.plans import limits_in

    if not act:
        if yes or limits or throttle:
            raise GatherError("--yes, --limit, --throttle: found without --act, expected with it")
        return None
    if not yes:
        raise GatherError("--act: found without --yes, expected both: bundles would be moved")
    if once:
        raise GatherError("--act: found with --once, expected without: one round is no control")
    try:
        bars = Bars(*throttle) if throttle else Bars()
    except ValueError:
        least, most = throttle or (0.0, 0.0)
        raise GatherError(
            f"--throttle: found {least:g} {most:g}, expected two numbers above 0, rising"
        ) from None
    return ActingRequest(where(), limits_in(limits), bars)
