"""A rack of brokers is lost, and everything that it owned is placed, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from bench.clusters import cluster, without
from bench.sides import Case, Javas, Ours, agreed
from bench.strategies import RELEASE, three_digits
from bench.table import Table
from trimtab.pulsar.map_order import hash_map_order

_SEED = 2
_BROKERS, _BUNDLES, _LOST = 1_000, 100_000, 50
_PLACEMENTS = 50_000
_PLACERS = ("LeastLongTermMessageRate", "LeastResourceUsageWithWeight")

_TEXT = f"""\
Of {_BROKERS:,} brokers with {_BUNDLES:,} bundles {_LOST} are lost, and {_PLACEMENTS:,} placements \
follow in a row among the others.
Reports, and bundles on their way, stand still meanwhile; what a class remembers goes on.
The seconds are those of all calls together, the ratio is that of processor time.
Every call drew from the same brokers on both sides.
"""
_HEADINGS = (
    *("class", "placements", "Java, s", "trimtab, s"),
    *("Java CPU, s", "trimtab CPU, s", "ratio"),
)


def lost_rack() -> Table:
    """Measure placements in a row."""
    with Javas(RELEASE) as javas:
        rows = tuple(_rows(javas))
    return Table(_TEXT, (f"Pulsar {RELEASE}", javas.version), _HEADINGS, rows)


def _rows(javas: Javas) -> Iterator[tuple[str, ...]]:
    whole, ours = cluster(_BROKERS, _BUNDLES, _SEED), Ours(RELEASE)
    asked = without(whole, frozenset(list(whole["brokers"])[:_LOST]))
    javas.lay_out(asked)
    ours.lay_out(asked)
    bundles = tuple(whole["bundle_data"])[:_PLACEMENTS]
    candidates = hash_map_order(ours.load.brokers)
    for strategy in _PLACERS:
        case = Case(strategy, bundles=bundles, candidates=candidates)
        (_, its), (_, mine) = javas.ask(case), ours.ask(case)
        java, mine_s = sum(its.cpu_s), sum(mine.cpu_s)
        times = sum(its.wall_s), sum(mine.wall_s), java, mine_s, java / mine_s
        yield strategy, f"{agreed(its, mine):,}", *map(three_digits, times)
