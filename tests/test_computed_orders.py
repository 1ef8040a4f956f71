"""Every recorded decision is reached from the input alone, without the Java's orders."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.golden_vectors import GOLDEN, whole_vectors
from trimtab.decide import decide, result
from trimtab.sequences import sequence

FILES = sorted(path.name.removesuffix(".jsonl.gz") for path in GOLDEN.glob("*.jsonl.gz"))
# Class → the fewest sequences of a file in which exact ties leave the decision to the order.
# What placers add up and whom they draw from stands in an order too, without any ties.
TIES_MIN = {
    "AvgShedder": 61,
    "LeastLongTermMessageRate": 0,
    "LeastResourceUsageWithWeight": 0,
    "OverloadShedder": 26,
    "RoundRobinBrokerSelector": 0,
    "ThresholdShedder": 43,
    "UniformLoadShedder": 62,
}

#: What is compared of a round; the order between brokers that are unloaded counts too.
ROUND = ("unload", "dest", "error", "state")
#: What is ours alone, or the Java's.
UNCOMPARED = {"logs", "error_message"}


@pytest.mark.parametrize("file", FILES)
def test_computed_orders_decide_as_the_javas(file: str) -> None:
    strategy, _, release = file.partition("-")
    differences, seen, ties = [], 0, 0
    for vector in whole_vectors(strategy, release):
        seen, ties = seen + 1, ties + vector["ties"]
        given = {key: vector[key] for key in ("id", "strategy", "version", "conf", "rounds")}
        read = sequence(given)
        got = json.loads(json.dumps(result(read, decide(read))))
        differences += [(vector["id"], *found) for found in _differences(vector, got)]

    assert differences == []
    assert seen >= 126
    assert ties >= TIES_MIN[strategy]


def _differences(vector: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    ignored = (got.get("conf_ignored", []), vector.get("conf_ignored", []))
    if ignored[0] != ignored[1]:
        yield "conf_ignored", *ignored
    for i, (found, expected) in enumerate(zip(got["results"], vector["expect"], strict=True)):
        pairs = [(key, found.get(key) or {}, expected.get(key) or {}) for key in ROUND]
        selections = zip(found.get("select", []), expected.get("select", []), strict=True)
        pairs += [("select", *_comparable(ours, javas)) for ours, javas in selections]
        yield from ((i, *pair) for pair in pairs if not _is_same(*pair[1:]))


def _comparable(
    ours: Mapping[str, Any], javas: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Leave out what is only ours: among whom is drawn, where the Java does not say so."""
    left_out = UNCOMPARED | ({"set"} - javas.keys())
    return tuple({k: v for k, v in side.items() if k not in left_out} for side in (ours, javas))


def _is_same(ours: Any, javas: Any) -> bool:
    if isinstance(ours, dict) and isinstance(javas, dict):
        return ours.keys() == javas.keys() and all(_is_same(ours[k], javas[k]) for k in ours)
    return ours == javas or str(ours) == str(javas) == "nan"


def test_a_difference_is_noticed() -> None:
    expected = {"expect": [{"unload": [["b1", "a"]], "state": {"avg": {"b1": 0.5}}}]}
    got: Mapping[str, Any] = {
        "results": [{"unload": [["b1", "a"]], "state": {"avg": {"b1": 0.25}}}]
    }

    assert list(_differences(expected, got)) == [
        (0, "state", {"avg": {"b1": 0.25}}, {"avg": {"b1": 0.5}})
    ]
    assert list(_differences(expected, {"results": expected["expect"]})) == []
