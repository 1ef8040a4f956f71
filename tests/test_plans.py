"""AvgShedder's destinations, against a HashMap of the JDK whose keys go on changing."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from trimtab.pulsar.avg_shedder_plans import (
    BY_IDENTITY,
    BY_VALUE,
    brought_up_to_date,
    destination,
    noticed,
    planned,
)
from trimtab.pulsar.model import BundleData, Plans

RECORDED = Path(__file__).parent / "golden" / "jdk-17" / "hash_map.jsonl.gz"


def averages(known: Mapping[str, tuple[int, float]]) -> BundleData:
    """Lay out bundle → (number of the object, what it holds)."""
    values = np.zeros((len(known), 11))
    values[:, 3] = [value for _, value in known.values()]
    numbers = np.array([number for number, _ in known.values()], dtype=np.int64)
    return BundleData({bundle: i for i, bundle in enumerate(known)}, numbers, values)


def test_plans_are_found_as_a_hash_map_of_the_jdk_finds_them() -> None:
    asked = found = stale = 0
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        for line in lines:
            plans = Plans()
            for step in json.loads(line):
                if "averages" in step:
                    plans = noticed(plans, averages(step["averages"]), BY_VALUE)
                elif "put" in step:
                    plans = planned(plans, [(step["put"], step["broker"])], BY_VALUE)
                else:
                    broker = destination(plans, step["get"], BY_VALUE)
                    asked += 1
                    found += broker is not None
                    stale += any(
                        plan.content != inserted
                        for inserted, entries in brought_up_to_date(plans, BY_VALUE).entries.items()
                        for plan in entries
                    )

                    assert step["broker"] == broker

    assert (asked, found, stale) == (5787, 2245, 3134)


def test_noticing_the_same_averages_twice_changes_nothing() -> None:
    before = averages({"a": (0, 50.0), "b": (1, 60.0), "c": (2, 70.0)})
    after = averages({"a": (0, 55.0), "b": (3, 60.0)})
    for keys in (BY_VALUE, BY_IDENTITY):
        plans = planned(noticed(Plans(), before, keys), [(b, "b0") for b in "abc"], keys)
        once = noticed(plans, after, keys)

        assert once.entries != plans.entries
        assert once == noticed(once, averages({"a": (0, 55.0), "b": (3, 60.0)}), keys)


def test_entries_that_nothing_can_find_are_dropped() -> None:
    plans = noticed(Plans(), averages({"a": (0, 50.0), "b": (1, 60.0)}), BY_VALUE)
    plans = planned(plans, [("a", "b0"), ("b", "b1")], BY_VALUE)
    plans = noticed(plans, averages({"a": (0, 51.0), "b": (1, 60.0)}), BY_VALUE)
    plans = noticed(plans, averages({}), BY_VALUE)

    # What b held when it was forgotten is what it held when it was put in.
    assert ["b"] == [plan.bundle for found in plans.entries.values() for plan in found]


def test_plan_belongs_to_one_object_where_keys_go_by_identity() -> None:
    plans = noticed(Plans(), averages({"a": (0, 50.0), "b": (1, 50.0)}), BY_IDENTITY)
    plans = planned(plans, [("a", "b0")], BY_IDENTITY)

    assert destination(plans, "b", BY_IDENTITY) is None
    plans = noticed(plans, averages({"a": (0, 99.0)}), BY_IDENTITY)
    assert destination(plans, "a", BY_IDENTITY) == "b0"
    plans = noticed(plans, averages({"a": (7, 99.0)}), BY_IDENTITY)
    assert destination(plans, "a", BY_IDENTITY) is None


def test_all_nan_are_one_number_whatever_their_bits() -> None:
    other = math.copysign(math.nan, -1)
    plans = noticed(Plans(), averages({"a": (0, math.nan), "b": (1, other)}), BY_VALUE)
    plans = planned(plans, [("a", "b0")], BY_VALUE)

    assert destination(plans, "b", BY_VALUE) == "b0"


def test_bundle_without_averages_is_refused() -> None:
    plans = noticed(Plans(), averages({"a": (0, 50.0)}), BY_VALUE)

    with pytest.raises(ValueError, match="no averages of t/n/z"):
        destination(plans, "t/n/z", BY_VALUE)


def test_plans_made_one_by_one_are_those_made_at_once() -> None:
    targets = [(f"n/{i % 700}", f"b{i}") for i in range(1500)]
    seen = averages({f"n/{i}": (i, float(i)) for i in range(700)})
    for keys in (BY_VALUE, BY_IDENTITY):
        start = noticed(Plans(), seen, keys)
        one_by_one = [start]
        for target in targets:
            one_by_one.append(planned(one_by_one[-1], [target], keys))
        for count in (0, 1, 255, 256, 257, 600, 1300, 1500):
            at_once = planned(start, targets[:count], keys)
            assert list(one_by_one[count].entries.items()) == list(at_once.entries.items())
        again = averages({f"n/{i}": (i, float(i + 1)) for i in range(600)})
        assert noticed(one_by_one[-1], again, keys) == noticed(at_once, again, keys)
