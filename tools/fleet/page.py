"""What came of a fleet → the part of docs/trends.md that shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tools.catalogue import table
from tools.fleet.making import ROOT
from tools.fleet.meter import Cost
from tools.fleet.plan import BEFORE, SILENT, Plan
from tools.fleet.truth import Named, beside, named
from trimtab.explanation.fleet.command import all_rows

PAGE = ROOT / "docs" / "trends.md"
ROWS = ROOT / "tests" / "testdata" / "fleet" / "nights.jsonl"
_END = "<!-- end -->"
_FAULTS_SHOWN = 10
_PROCESSOR_SHARE = 100.0
#: A step → what it printed, and what it cost.
Steps = Mapping[str, tuple[str, Cost]]


def lines(plan: Plan, steps: Steps, faults: Sequence[str], cores: int) -> list[str]:
    """Return what was measured, and how many nights are wrong, a sentence each."""
    made, explained, other = (steps[name][1] for name in ("made", "explained", "otherwise"))
    same, one, trends = (steps[name] for name in ("unchanged", "one changed", "trends"))
    n_made = len([*plan.each(), *plan.otherwise()])
    hours = plan.count * plan.brokers * plan.minutes / 60
    wrong = f"{len({each.partition(':')[0] for each in faults})} of {plan.count:,} nights are wrong"
    listed = "".join(f"; {each}" for each in faults[:_FAULTS_SHOWN])
    on = f"on {cores} cores"
    return [
        f"{n_made:,} nights of {plan.minutes} minutes and {plan.brokers} brokers were recorded by "
        f"Spark in {_time(made.wall_s)} {on}: {_an_hour(n_made, made)} nights an hour, "
        f"{made.cpu_s / n_made:.2f} processor seconds each.",
        f"{plan.count:,} of them are the fleet: explained for the first time in "
        f"{_time(explained.wall_s)} {on}, the start of Spark included: "
        f"{_an_hour(plan.count, explained)} nights an hour, "
        f"{explained.cpu_s / plan.count:.2f} processor seconds each, "
        f"{1000 * explained.cpu_s / hours:,.0f} for a thousand hours of a broker.",
        f"The other {n_made - plan.count:,} are nights as they would have been without a change, "
        f"explained in {_time(other.wall_s)}.",
        f"Beside the truth of each night {wrong}{listed}.",
        f"Again with nothing changed: {_again(same, explained)}.",
        f"Again with one night changed: {_again(one, explained)}.",
        f"`trimtab trends` took {trends[1].wall_s:.1f} s.",
    ]


def about(plan: Plan) -> str:
    """Return what a large fleet is made of, and when a night of it counts as right, as Markdown."""
    changed, idle, upgraded = (
        sum(_kind(plan, it) == kind for it in plan.planted)
        for kind in ("changed", "idle", "release")
    )
    spoilt = list(plan.spoilt.values())
    silent = spoilt.count(SILENT)
    waves = sorted({plan.begin(it.night) for it in plan.planted.values()})
    return f"""
### {plan.clusters} clusters with {plan.nights} nights

Written by `make month`: {plan.clusters} clusters of {plan.brokers} brokers with a night of \
{plan.minutes} minutes on each of {plan.nights} days, in which load goes up for a while.
In {changed} of them the same key goes from 3 to 5, in two waves, {upgraded} go from Pulsar 4.0.0 \
to 4.0.8, and {idle} set the key that hardly matters; the first of these nights is \
{waves[0]:%Y-%m-%d}, the last {waves[-1]:%Y-%m-%d}.
Of {len(spoilt) - silent} nights nothing but `recording.toml` is left, or that is garbled, and \
{silent} tell no settings; such nights lie right beside the change in four clusters.

A night is right if its row has the cluster, brokers, release, classes, settings and length that \
were planned, as many orders and moves as the simulation made, a page, and a fingerprint that the \
nights with the same settings have and no others.
A spoilt one is right if its row says why it is not explained, or has no settings.
"""


def _kind(plan: Plan, cluster: int) -> str:
    settings = plan.planted[cluster].settings
    if not settings:
        return "release"
    return "changed" if settings.keys() <= BEFORE.keys() else "idle"


def _again(step: tuple[str, Cost], first: Cost) -> str:
    output, cost = step
    share = _PROCESSOR_SHARE * cost.cpu_s / first.cpu_s
    return (
        f"{cost.wall_s:.1f} s, {cost.cpu_s:.1f} processor seconds, {share:.2f} % of the work "
        f"({output.splitlines()[0].removesuffix('.')})"
    )


def _time(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes" if seconds >= 100 else f"{seconds:.0f} s"


def _an_hour(count: int, cost: Cost) -> str:
    return f"{3600 * count / cost.wall_s:,.0f}"


def beside_the_truth(plan: Plan, document: Mapping[str, Any]) -> str:
    """Return what is told of each planted change beside what it really did, as Markdown."""
    result = named(plan, document)
    heads = ("change", "measure", "what it really did", "what is told")
    return f"{_named(plan, result)}\n\n{table(heads, beside(plan, document))}"


def _named(plan: Plan, result: Named) -> str:
    wrong = f"{len(result.wrong)} wrong ones are named"
    listed = f": {'; '.join(result.wrong)}" if result.wrong else ""
    return (
        f"Of {result.planted} clusters with a planted change {result.named} are named, "
        f"{result.dated} with the right nights before and after it; in the other "
        f"{plan.clusters - result.planted} clusters, and beside them, {wrong}{listed}."
    )


def rewritten(text: str, mark: str, part: str) -> str:
    """Return the page with the part behind a mark replaced."""
    before, _, rest = text.partition(mark)
    return f"{before}{mark}\n{part}\n{_END}{rest.partition(_END)[2]}"


def with_outputs(text: str, outputs: Mapping[str, str]) -> str:
    """Return the page with what commands print replaced."""
    for command, output in outputs.items():
        line = f"$ trimtab {command}\n"
        before, _, rest = text.partition(line)
        text = before + line + output + rest[rest.index("```") :]
    return text


def keep_rows(plan: Plan) -> None:
    """Keep the rows of the nights, by which a test sees that the page's output is real."""
    rows = [
        {name: value for name, value in row.items() if name not in ("digest", "program")}
        | {"recording": f"nights/{row['folder']}"}
        for row in all_rows(plan.folder / "explained")
    ]
    ROWS.parent.mkdir(exist_ok=True)
    ROWS.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
