"""Java's sort: against the JDK's own where the comparison contradicts itself, else by law."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trimtab.pulsar.tim_sort import ContradictionError, tim_sorted

RECORDED = Path(__file__).parent / "golden" / "jdk-17" / "tim_sort.jsonl.gz"


def by_whole_points(values: list[float], one: int, other: int) -> int:
    difference = values[one] - values[other]
    return int(difference >= 1) - int(difference <= -1)


def test_sort_does_as_the_jdk_does_where_the_comparison_contradicts_itself() -> None:
    seen = refused = out_of_order = 0
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        for line in lines:
            recorded = json.loads(line)
            values = recorded["values"]
            try:
                found: list[int] | str = tim_sorted(
                    range(len(values)), lambda one, other, v=values: by_whole_points(v, one, other)
                )
            except ContradictionError as error:
                found = str(error)
                refused += 1
            else:
                out_of_order += sorted(values) != [values[i] for i in found]
            seen += 1

            assert recorded["sorted"] == found

    assert (seen, refused, out_of_order) == (400, 32, 237)


def compare(one: tuple[int, int], other: tuple[int, int]) -> int:
    return one[0] - other[0]


@given(values=st.lists(st.integers(0, 60), max_size=300))
def test_sort_is_stable_and_right_if_the_comparison_is(values: list[int]) -> None:
    items = list(zip(values, range(len(values)), strict=True))

    assert sorted(items, key=lambda item: item[0]) == tim_sorted(items, compare)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(500, 2000), runs=st.integers(1, 40))
def test_sort_of_long_runs_is_right(seed: int, size: int, runs: int) -> None:
    """Runs that rise and fall, so that merges gallop and go both ways."""
    random = np.random.default_rng(seed)
    pieces = np.split(random.integers(0, 1000, size), np.sort(random.integers(0, size, runs)))
    falls = random.random(len(pieces)) < 0.3
    values = [
        value
        for piece, is_falling in zip(pieces, falls, strict=True)
        for value in sorted(piece.tolist(), reverse=bool(is_falling))
    ]
    items = list(zip(values, range(size), strict=True))

    assert sorted(items, key=lambda item: item[0]) == tim_sorted(items, compare)
