"""The command `trimtab apply`."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trimtab.cli.arguments import FILE
from trimtab.cli.cluster import DRY_RUN, ClusterOptions, cluster_options, yes_of
from trimtab.cli.output import complain, note, say, say_as_is
from trimtab.cli.signals import ended_by_signals
from trimtab.cli.waits import Waits

if TYPE_CHECKING:
    from trimtab.live.apply import ConnectedCluster, Watching
    from trimtab.live.apply.live import LockHolder
    from trimtab.live.control.plan import Plan
    from trimtab.live.control.step import Wait

#: Exit code: a bundle is not where it was meant to be.
LOOK_AT_IT = 3
_ENDING = "ending after the move that is under way"
_LEFT = "a bundle may be on its way; the same command sees to it first, by the journal"


@click.command()
@click.argument("plan", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@cluster_options
@click.option("--yes", is_flag=True, help="Carry it out; without it, only look.")
@DRY_RUN
@click.option(
    "--journal",
    type=FILE,
    help="What was done, and where a killed run goes on.  [default: PLAN.journal]",
)
@click.option("--json", "is_json", is_flag=True, help="Tell it for a program.")
def apply(
    plan: Path,
    reach: ClusterOptions,
    yes: bool,
    dry_run: bool,
    journal: Path | None,
    is_json: bool,
) -> None:
    """Carry out PLAN, a JSON file of moves: one bundle at a time, each verified.

    Without --yes nothing is changed: each move is shown with its reason, its expected
    effect and what stands against it now.  A run that was killed or stopped goes on from
    the journal.  The first Ctrl-C ends it after the move that is under way.

    Exit code 0: done, or nothing stands against it; 1: stopped with nothing left under
    way, or something stands against it; 2: wrong use, no cluster, or another run holds the
    lock; 3: look at it, a bundle is not where the run meant it to be.

    \b
    Examples:
      trimtab apply plan.json --admin http://broker-1:8080
      trimtab apply plan.json --admin http://broker-1:8080 --metadata zk://zookeeper-1:2181 --yes
    """
    from trimtab.live.apply import connected_cluster
    from trimtab.live.apply.files import plan_of

    yes = yes_of(yes=yes, dry_run=dry_run)
    checked_plan = plan_of(plan)
    path = journal or plan.with_name(f"{plan.name}.journal")
    with connected_cluster(reach.where()) as cluster:
        tell_of_pause(cluster)
        if yes:
            code = carry_out(checked_plan, cluster, path, is_json=is_json)
        else:
            code = 0 if rehearse(checked_plan, cluster, path, is_json=is_json) else 1
    sys.exit(code)


def rehearse(plan: Plan, cluster: ConnectedCluster, journal: Path, *, is_json: bool) -> bool:
    """Return whether nothing stands against a plan, and show what would be done."""
    from trimtab.live.apply import rehearsed
    from trimtab.live.apply.text import rehearsal_json, rehearsal_lines

    rehearsal = rehearsed(plan, cluster, journal)
    if cluster.lockless:
        complain(f"trimtab: {cluster.lockless}")
    is_free = rehearsal.may_go and not cluster.lockless
    if is_json:
        say_as_is(rehearsal_json(plan, rehearsal))
        return is_free
    for line in rehearsal_lines(plan, rehearsal):
        say(line)
    say(f"Nothing was done: --yes carries it out.  To stop it then: {cluster.stop}")
    return is_free


def carry_out(
    plan: Plan,
    cluster: ConnectedCluster,
    journal: Path,
    *,
    is_json: bool,
    marked: Callable[[LockHolder], None] = lambda post: None,
) -> int:
    """Return the exit code of a plan, which is carried out while what happens is printed."""
    from trimtab.live.apply import carried_out
    from trimtab.live.apply.text import account_json, account_lines
    from trimtab.live.control.account import open_matters

    try:
        with _looking_on(plan) as watching:
            account = carried_out(plan, cluster, journal, watching, marked)
    except KeyboardInterrupt:
        complain(f"trimtab: {_LEFT} {journal}")
        raise
    if is_json:
        say_as_is(account_json(account))
    else:
        for line in account_lines(account):
            say(line)
        say(f"Journal: {journal}")
    if open_matters(account):
        return LOOK_AT_IT
    return 0 if account.is_done else 1


def tell_of_pause(cluster: ConnectedCluster) -> None:
    """Say that a rolling restart has left shedding off, if one has."""
    from trimtab.live.apply.rollout.text import pause_words

    if (pause := cluster.lock_state.pause) is not None:
        way = "`trimtab rollout --put-back --yes` does that, or the same plan, gone on with"
        complain(f"trimtab: {pause_words(pause)}; {way}")


@contextmanager
def _looking_on(plan: Plan) -> Iterator[Watching]:
    """End at Ctrl-C what is looked on."""
    with ended_by_signals(_ENDING) as is_over:
        yield watching_of(plan, is_over)


def watching_of(plan: Plan, is_over: threading.Event) -> Watching:
    """Return who prints each entry, and waits now and then, on the side of errors."""
    from trimtab.live.apply import Watching
    from trimtab.live.apply.text import entry_words, wait_words

    waits = Waits()

    def waiting(wait: Wait) -> None:
        if waits.is_due(wait, time.monotonic()):
            note(f"trimtab: waiting: {wait_words(wait)}")

    return Watching(
        entry=lambda entry: note(f"trimtab: {entry_words(plan, entry)}"),
        waiting=waiting,
        is_over=is_over,
    )
