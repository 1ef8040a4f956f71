"""What a person sees while a watch runs: a live table, or lines where there is no terminal."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from math import isfinite

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from trimtab.files.visible import visible
from trimtab.live.watch.document import missing, words
from trimtab.live.watch.tally import PULSAR, SHADOW, View, standings

#: Outcomes of a round that are summed up, in this order.
_MEASURES = ("end_spread_points", "excess_spread_points", "unloads", "peak_percent")


def show(steps: Iterable[View], console: Console) -> View | None:
    """Return the last step of a watch, shown until it ends; None if there was none."""
    last = None
    if not console.is_terminal:
        for last in steps:
            for line in lines(last):
                console.print(line, markup=False, highlight=False, soft_wrap=True)
        return last
    with Live(console=console, refresh_per_second=2, transient=True) as live:
        for last in steps:
            for line in lines(last):
                live.console.print(line, markup=False, highlight=False)
            live.update(picture(last, datetime.now(UTC)))
    return last


def lines(view: View) -> list[str]:
    """Return what is new."""
    texts = (words(action, view.settings) for action in view.actions)
    return [visible(line) for line in texts if line]


def picture(view: View, now: datetime) -> Group:
    """Return how the brokers stand, and what has been said so far."""
    settings, memory = view.settings, view.memory
    table = Table(box=None, pad_edge=False)
    table.add_column("broker")
    for head in ("usage", "msg/s", "MB/s", "bundles", "report"):
        table.add_column(head, justify="right")
    leader = memory.term.leader if memory.term else ""
    for each in standings(memory):
        table.add_row(
            Text(visible(each.broker) + (" *" if each.broker == leader else "")),
            f"{100 * each.usage:.1f} %",
            f"{each.rate:,.0f}",
            f"{each.throughput / 1e6:,.2f}",
            str(each.bundles),
            f"{(now - each.reported).total_seconds():.0f} s ago",
        )
    head = f"{settings.ran.shedder} of {settings.ran.release}, beside it {settings.shedder}"
    return Group(Text(head), table, *(Text(visible(line)) for line in summary(view)))


def summary(view: View) -> list[str]:
    """Return in a few lines what a watch has come to."""
    settings, tally = view.settings, view.tally
    verdicts = ", ".join(f"{count} {name}" for name, count in tally.verdicts.items() if count)
    texts = [
        f"{tally.rounds} rounds; compared with the leader's log: {verdicts or 'none'}",
        f"unloads: Pulsar {tally.unloads[PULSAR]}, {settings.shedder} {tally.unloads[SHADOW]}",
    ]
    for name in _MEASURES:
        mine, theirs = (tally.mean(who, name) for who in (PULSAR, SHADOW))
        if isfinite(mine) and isfinite(theirs):
            texts.append(f"{name} a round: Pulsar {mine:.2f}, {settings.shedder} {theirs:.2f}")
    if tally.steered is not None:
        held = f"predictions held against what came: {tally.held}"
        inside = f", inside of what held four in five: {tally.inside}" if tally.held else ""
        texts.append(f"turns of {settings.shedder}: {tally.turns}; {held}{inside}")
    if tally.acted is not None:
        counts = ", ".join(f"{count} {state}" for state, count in tally.moved.items())
        texts.append(f"moves of this watch: {counts or 'nothing'}")
    late, wrong = view.memory.n_late, view.n_rejected
    return [*texts, *missing(tally.unexplained, late, wrong, view.rejected_because)]
