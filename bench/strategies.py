"""A round of every shedder and a placement of every placer, Pulsar's class beside ours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from bench.clusters import cluster
from bench.sides import Case, Javas, Measured, Ours, agreed
from bench.table import Table
from trimtab.pulsar.map_order import hash_map_order

RELEASE = "4.0.8"
_SEED = 1
#: Brokers and bundles; the first also warms the Java up for the second.
_SIZES = ((100, 10_000), (1_000, 100_000))
#: Rounds at most, and the seconds after which a slow class is asked no more.
_ROUNDS = 20
_SECONDS = 5.0
#: Placements in a row.
_PLACEMENTS = 1_000

# AvgShedder waits for so many rounds by default, in which there would be nothing to compare.
_AT_ONCE = {
    "loadBalancerAvgShedderHitCountHighThreshold": 1,
    "loadBalancerAvgShedderHitCountLowThreshold": 1,
}
#: Shedders with what is set; everything else is as in the release.
SHED_CONF: Mapping[str, Mapping[str, Any]] = {
    "ThresholdShedder": {},
    "OverloadShedder": {},
    "UniformLoadShedder": {},
    "AvgShedder": _AT_ONCE,
}
#: Placers likewise; one that sheds too places what it has just shed.
PLACE_CONF: Mapping[str, Mapping[str, Any]] = {
    "LeastLongTermMessageRate": {},
    "LeastResourceUsageWithWeight": {},
    "RoundRobinBrokerSelector": {},
    "AvgShedder": _AT_ONCE,
}

_TEXT = f"""\
Pulsar's own class and ours decide the same on the same load: if they do not, there is no table.
One strategy object lives through up to {_ROUNDS} rounds on the same reports, and places up to \
{_PLACEMENTS:,} bundles one after the other among all brokers.
A class that has used up {_SECONDS:g} s gets no further round, so the slowest were asked once.
The figures are medians of a call's wall and processor time, of the second half of the calls; \
the Java has been warmed up on the smaller cluster before.
The ratio is that of processor time, since other work on the machine lengthens the wall's; \
what Java's garbage collector takes is not in it.
The load lies ready on both sides, in Pulsar's maps and in our arrays, and nothing is logged.
"""
_HEADINGS = (
    *("brokers", "bundles", "class", "call", "Java, ms", "trimtab, ms"),
    *("Java CPU, ms", "trimtab CPU, ms", "ratio", "decided the same"),
)


def strategies() -> Table:
    """Measure every shedder and every placer of the modular load manager."""
    with Javas(RELEASE) as javas:
        rows = tuple(row for size in _SIZES for row in _rows(javas, *size))
    return Table(_TEXT, (f"Pulsar {RELEASE}", javas.version), _HEADINGS, rows)


def _rows(javas: Javas, brokers: int, bundles: int) -> Iterator[tuple[str, ...]]:
    asked, ours = cluster(brokers, bundles, _SEED), Ours(RELEASE)
    javas.lay_out(asked)
    ours.lay_out(asked)
    size = f"{brokers:,}", f"{bundles:,}"
    for strategy, conf in SHED_CONF.items():
        case = Case(strategy, conf, _ROUNDS, _SECONDS)
        (its, _), (mine, _) = javas.ask(case), ours.ask(case)
        unloads = sum(map(len, mine.decided[0].values()))
        same = f"{_counted(agreed(its, mine), 'round')}, {unloads:,} unloads in the first"
        yield *size, *_row(strategy, "round", (its, mine)), same
    candidates = hash_map_order(ours.load.brokers)
    for strategy, conf in PLACE_CONF.items():
        case = Case(strategy, conf, bundles=tuple(asked["bundle_data"]), candidates=candidates)
        if strategy in SHED_CONF:
            shed, _ = ours.ask(Case(strategy, conf, rounds=1))
            unloaded = (bundle for found in shed.decided[0].values() for bundle, _ in found)
            case = replace(case, rounds=1, bundles=tuple(unloaded))
        case = replace(case, bundles=case.bundles[:_PLACEMENTS])
        (_, its), (_, mine) = javas.ask(case), ours.ask(case)
        same = _counted(agreed(its, mine), "placement")
        yield *size, *_row(strategy, "placement", (its, mine)), same


def _row(strategy: str, call: str, sides: tuple[Measured, Measured]) -> tuple[str, ...]:
    (java, java_cpu), (ours, ours_cpu) = (side.medians_ms() for side in sides)
    times = java, ours, java_cpu, ours_cpu, java_cpu / ours_cpu
    return strategy, call, *map(three_digits, times)


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'s' if count > 1 else ''}"


def three_digits(value: float) -> str:
    """Write a number with three digits that count, or all before the point."""
    decimals = max(0, 2 - math.floor(math.log10(value))) if value else 0
    return f"{value:,.{decimals}f}"
