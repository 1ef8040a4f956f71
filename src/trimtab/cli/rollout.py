"""The command `trimtab rollout`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from trimtab.cli.apply import LOOK_AT_IT, tell_of_pause, watching_of
from trimtab.cli.arguments import FILE
from trimtab.cli.cluster import BAR, COSTS, DRY_RUN, YES, ClusterOptions, cluster_options, yes_of
from trimtab.cli.output import complain, note, say, say_as_is
from trimtab.cli.signals import ended_by_signals
from trimtab.cli.values import Duration
from trimtab.cli.waits import Waits

if TYPE_CHECKING:
    from trimtab.live.apply import ConnectedCluster
    from trimtab.live.apply.restart_order import RestartPlan
    from trimtab.live.apply.rollout.making import RolloutWish
    from trimtab.live.apply.rollout.run import Onlooker, Rollout
    from trimtab.live.control.rollout.account import RolloutAccount
    from trimtab.live.control.rollout.entries import RolloutEntry
    from trimtab.live.control.rollout.plan import RolloutPlan
    from trimtab.live.control.step import Wait

_ENDING = "ending after what is under way; a broker that was handed over is left to be restarted"
_LEFT = "shedding may be off, and a broker away; the same command sees to both first, by"
#: Option → what of a plan it says.
_OF_PLAN = {
    "order": "brokers",
    "give_back": "give_back",
    "bar": "bar_percent",
    "every": "every_s",
    "warm": "warm_s",
    "back_within": "back_s",
}


@click.command()
@click.argument("plan", type=FILE, required=False)
@cluster_options
@click.option(
    "--order",
    metavar="BROKER",
    multiple=True,
    help="Restart these, in this order; comes again.  [default: all, as is foretold best]",
)
@click.option(
    "--give-back",
    type=click.Choice(["level", "all", "none"]),
    default="level",
    show_default=True,
    help="Who is filled again: the last one, till all are level; each with its own; nobody.",
)
@BAR
@click.option(
    "--every", type=Duration(), default="10s", show_default=True, help="At least, between moves."
)
@click.option(
    "--warm", type=Duration(), default="5m", show_default=True, help="Up, before it takes bundles."
)
@click.option(
    "--back-within",
    type=Duration(),
    default="15m",
    show_default=True,
    help="A broker may be away, or waited for, for so long.",
)
@COSTS
@click.option("--until", metavar="BROKER", help="The last to be restarted in this run.")
@click.option(
    "--hook",
    metavar="COMMAND",
    help="Restarts a broker: words without a shell; {broker}, {host} and {name} are its own.",
)
@click.option("--ask", is_flag=True, help="Somebody restarts each broker when this says so.")
@click.option("--again", metavar="BROKER", default="", help="Hand it over once more.")
@click.option("--put-back", is_flag=True, help="Only put shedding back that a run left off.")
@YES
@DRY_RUN
@click.option("--json", "is_json", is_flag=True, help="Tell it for a program.")
@click.pass_context
def rollout(
    ctx: click.Context,
    /,
    reach: ClusterOptions,
    yes: bool,
    **options: Any,  # noqa: ANN401  # click checks them
) -> None:
    """Restart brokers one after the other, by PLAN, a file that is written if it is not there.

    Pulsar's own shedding is switched off, and put back in the end, whatever happens.  Each
    broker is emptied, its bundles going where there is room, and handed over to --hook, or
    with --ask to you; once another process of it serves and is healthy it is the next
    one's turn.  The leader is the last.

    Without --yes nothing is changed.  What was stopped or killed goes on with the same
    command: no broker is handed over twice, and shedding that was left off is told of first.

    Exit code 0: all were restarted, or nothing stands against it; 1: stopped, or something
    stands against it; 2: wrong use, no cluster, or another run holds the lock; 3: look at
    it, a broker was handed over and is not back, or shedding is still off.

    \b
    Examples:
      trimtab rollout friday.json --admin http://broker-1:8080
      trimtab rollout friday.json --admin http://broker-1:8080 --ask --yes
      trimtab rollout friday.json --admin http://broker-1:8080 --hook 'ssh {host} restart' --yes
    """
    from trimtab.live.apply import connected_cluster

    yes = yes_of(yes=yes, dry_run=options["dry_run"])
    _check(options, yes=yes)
    with connected_cluster(reach.where()) as cluster:
        tell_of_pause(cluster)
        if options["put_back"]:
            sys.exit(_put_back(cluster, yes=yes))
        request = _request(ctx, cluster, options)
        if yes:
            code = _conduct(request, cluster, is_json=options["is_json"])
        else:
            code = _look(request, cluster, is_json=options["is_json"])
    sys.exit(code)


def _check(options: dict[str, Any], *, yes: bool) -> None:
    """Refuse options that contradict each other, before anybody is called."""
    from trimtab.live.gather import GatherError

    if options["put_back"] == (options["plan"] is not None):
        wrong = "found with --put-back, expected without" if options["put_back"] else "found none"
        raise GatherError(f"PLAN: {wrong}" + ("" if options["put_back"] else ", expected a file"))
    if options["hook"] is not None and options["ask"]:
        raise GatherError("--ask: found with --hook, expected one of them")
    if yes and not options["put_back"] and options["hook"] is None and not options["ask"]:
        raise GatherError("--yes: found neither --hook nor --ask, expected who restarts a broker")


def _request(ctx: click.Context, cluster: ConnectedCluster, options: dict[str, Any]) -> Rollout:
    """Return what is to be carried out; a plan that is not there yet is made and written."""
    from trimtab.live.apply.rollout.hook import Hook, hook_of
    from trimtab.live.apply.rollout.making import (
        RolloutWish,
        rollout_made,
        rollout_of,
        turns_until,
        write_rollout,
    )
    from trimtab.live.apply.rollout.run import Rollout
    from trimtab.trials.costs.state import read_state

    hook = Hook() if options["hook"] is None else hook_of(options["hook"])
    costs, path = options["costs"], options["plan"]
    known = None if costs is None else read_state(costs)
    wish = RolloutWish(**{key: options[name] for name, key in _WISHED.items()})
    if path.exists():
        plan = rollout_of(path)
        _require_same(ctx, plan, wish)
    else:
        made = rollout_made(cluster, wish)
        plan = made.plan
        # Whom it may not go to is said before anything is written.
        turns_until(plan, options["until"])
        write_rollout(path, plan)
        if made.forecast is not None:
            _foretell(made.forecast)
        (note if options["is_json"] else say)(f"Plan: {path}")
    turns = turns_until(plan, options["until"])
    return Rollout(plan, path, hook, turns, options["again"], known)


#: Option → what it is called in a wish.
_WISHED = _OF_PLAN | {"order": "order"}


def _require_same(ctx: click.Context, plan: RolloutPlan, wish: RolloutWish) -> None:
    """Refuse options that are typed and say otherwise than a plan that is there already."""
    from trimtab.live.gather import GatherError

    for name, key in _OF_PLAN.items():
        if ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        typed, kept = getattr(wish, _WISHED[name]), getattr(plan, key)
        if typed != kept:
            shown = ", ".join(kept) if isinstance(kept, tuple) else kept
            option = "--" + name.replace("_", "-")
            raise GatherError(
                f"{option}: found other than {shown}, which the plan has that is there already; "
                "name another file for another plan"
            )


def _foretell(forecast: RestartPlan) -> None:
    from trimtab.live.apply.restart_order import lines

    for line in lines(forecast):
        note(line)


def _look(request: Rollout, cluster: ConnectedCluster, *, is_json: bool) -> int:
    """Return the exit code, after what would be done was shown."""
    from trimtab.live.apply.rollout.look import looked
    from trimtab.live.apply.rollout.text import look_json, look_lines

    look = looked(request, cluster)
    if cluster.lockless:
        complain(f"trimtab: {cluster.lockless}")
    if is_json:
        say_as_is(look_json(request.plan, look))
    else:
        for line in look_lines(request.plan, request.turns, look):
            say(line)
        say(f"Nothing was done: --yes carries it out.  To stop it then: {cluster.stop}")
    return 0 if look.may_go and not cluster.lockless else 1


def _conduct(request: Rollout, cluster: ConnectedCluster, *, is_json: bool) -> int:
    """Return the exit code of a restart, which is carried out while what happens is printed."""
    from trimtab.live.apply.rollout.run import AS_FAR_AS_ASKED, conducted
    from trimtab.live.apply.rollout.text import account_lines, rollout_json
    from trimtab.live.control.rollout.account import AWAY

    try:
        with _looking_on(request) as onlooker:
            done = conducted(request, cluster, onlooker)
    except KeyboardInterrupt:
        complain(f"trimtab: {_LEFT} {request.journal}")
        raise
    if is_json:
        say_as_is(rollout_json(done))
    else:
        for line in account_lines(done):
            say(line)
        say(f"Journal: {request.journal}")
    if done.is_done or done.ended == AS_FAR_AS_ASKED:
        return 0
    is_open = done.is_paused or any(each.state == AWAY for each in done.brokers)
    return LOOK_AT_IT if is_open else 1


@contextmanager
def _looking_on(request: Rollout) -> Iterator[Onlooker]:
    """Print each entry, and waits now and then, on the side of errors, and end at Ctrl-C."""
    from trimtab.live.apply.rollout.run import Onlooker
    from trimtab.live.apply.rollout.text import entry_words, progress_words
    from trimtab.live.apply.text import wait_words
    from trimtab.live.control.rollout.entries import Filled

    command, waits = " ".join(request.hook.words), Waits()

    def entry(each: RolloutEntry, done: RolloutAccount) -> None:
        note(f"trimtab: {entry_words(each, command)}")
        if isinstance(each, Filled):
            note(f"trimtab: {progress_words(done, request.turns)}")

    def waiting(wait: Wait) -> None:
        if waits.is_due(wait, time.monotonic()):
            note(f"trimtab: waiting: {wait_words(wait)}")

    with ended_by_signals(_ENDING) as is_over:
        yield Onlooker(
            entry=entry,
            moves=lambda plan: watching_of(plan, is_over),
            waiting=waiting,
            is_over=is_over,
        )


def _put_back(cluster: ConnectedCluster, *, yes: bool) -> int:
    """Return the exit code, after shedding that a run left off was put back."""
    from trimtab.live.apply.rollout.pause import put_back

    if cluster.lock_state.pause is None:
        say("Nothing is to be put back: no run has left shedding off.")
        return 0
    if not yes:
        say("Nothing was done: --yes puts it back.")
        return 1
    with cluster.lock() as post:
        remark = put_back(cluster.admin, post, cluster.where.pause_s)
    say(f"Pulsar's own shedding is as it was{remark and ', but for this: '}{remark}.")
    return 0
