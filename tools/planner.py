"""Write the measured part of docs/plans.md on the planner alone, costs being known exactly."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tools.catalogue import table
from trimtab.lab.frontier import Question, fewest, frontier, question

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "plans.md"
#: Small clusters that are solved, and large ones that are held against the bound.
SMALL, LARGE = 200, 24
_SEARCH_ALONE = 0
_MOVES_MAX = 400


def cluster(seed: int, n_brokers: int, n_bundles: int) -> Question:
    """Return a cluster of machines of three speeds, with bundles of very unlike size."""
    random = np.random.default_rng([seed, n_brokers, n_bundles])
    cost = random.lognormal(0.0, 1.0, (n_bundles, 1))
    owner = random.integers(0, n_brokers, n_bundles)
    speed = random.choice((0.6, 1.0, 1.5), (n_brokers, 1))
    carried = np.bincount(owner, cost[:, 0], n_brokers)[:, None]
    speed = speed * 35.0 / float((speed * carried).mean())
    rest = random.uniform(2.0, 8.0, (n_brokers, 1))
    return question(rest + speed * carried, speed, cost, owner)


def _small() -> tuple[str, ...]:
    """Return moves of small clusters beside the fewest that programming proves."""
    exact = alone = 0
    for seed in range(SMALL):
        small = cluster(seed, 4, 20)
        lowest = float(frontier(small, 5, _SEARCH_ALONE).peak[-1])
        bar = lowest + (small.peak - lowest) * (0.1 + 0.1 * (seed % 3))
        solved, found = fewest(small, bar, 20), fewest(small, bar, 20, _SEARCH_ALONE)
        assert solved.moves is not None and solved.is_exact
        exact += solved.moves.bundle.size
        # Where the search finds nothing it is taken to need twice as many.
        alone += 2 * solved.moves.bundle.size if found.moves is None else found.moves.bundle.size
    return (
        f"{SMALL} clusters of 4 brokers and 20 bundles",
        f"{exact} moves, which are the fewest",
        f"search alone: {alone / exact:.3f} × the fewest",
    )


def _large() -> tuple[str, ...]:
    """Return moves of large clusters beside the bound."""
    found, bound, bars, unproved = 0, 0.0, 0, 0
    for seed in range(LARGE):
        large = cluster(seed, 200, (2000, 4000, 8000)[seed % 3])
        for above in (7.5, 12.0):
            plan = fewest(large, float(large.usage.mean()) + above, _MOVES_MAX)
            if plan.bound == np.inf:
                continue
            bars += 1
            if plan.moves is None:
                unproved += 1
                continue
            found, bound = found + plan.moves.bundle.size, bound + plan.bound
    missing = f"; none found in {unproved} cases of {bars}" if unproved else ""
    return (
        f"{bars} bars 7.5 and 12 points above the mean of 200 brokers, 2,000 to 8,000 bundles",
        f"{found} moves",
        f"search alone: {found / bound:.3f} × the bound{missing}",
    )


def _largest() -> tuple[str, ...]:
    """Return how long the curve of eight moves takes for a very large cluster."""
    largest = cluster(0, 1000, 100_000)
    begin_s = time.perf_counter()
    curve = frontier(largest, 8)
    took_s = time.perf_counter() - begin_s
    proved = int(curve.is_exact.sum())
    return (
        "8 moves, 1,000 brokers, 100,000 bundles",
        f"{curve.peak[0]:.0f} to {curve.peak[-1]:.0f} %",
        f"{proved} of {curve.peak.size} peaks proved the lowest; {took_s:.1f} s on one core",
    )


def measured() -> str:
    """Return the table of the planner alone."""
    return "\n" + table(("of", "planned", "beside what is proved"), _rows()) + "\n"


def _rows() -> Iterator[tuple[str, ...]]:
    for row in (_small, _large, _largest):
        yield row()


def main() -> int:
    """Write the part of the page."""
    text = measured()
    print(text)
    part = re.compile(r"(?<=<!-- planner -->\n)(?:.*\n)*?(?=<!-- end -->)")
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(part.sub(lambda _: text, page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
