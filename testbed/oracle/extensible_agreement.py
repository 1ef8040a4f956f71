"""Decides a sequence of the extensible load manager again, from the question alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from trimtab.pulsar.sequences.extensible import ExtensibleSequence, decide, result
from trimtab.pulsar.sequences.sequences import any_sequence

#: What is compared of a round as it stands; an answer without one has nothing there.
_COMPARED = ("load_data", "skip", "state", "recently_unloaded_brokers")
#: What is compared of a selection.
_SELECTED = ("candidate_order", "set", "placed")


def difference(answered: Mapping[str, Any]) -> tuple[int, str] | None:
    """Find the first round that differs, and say what does.

    Properties:
        Doubles are compared to the last bit; NaN equals NaN, and -0.0 is not 0.0.
    """
    question = {key: answered[key] for key in ("id", "strategy", "version", "conf", "rounds")}
    read = any_sequence(question)
    assert isinstance(read, ExtensibleSequence)
    ignored = [list(read.ignored), answered.get("conf_ignored", [])]
    if ignored[0] != ignored[1]:
        return 0, f"expected settings {ignored[1]} to be ignored, ignored {ignored[0]}"
    rounds = list(decide(read))
    ours: Any = result(read, rounds)["results"]
    order: list[str] = []
    for number, (found, expected) in enumerate(zip(ours, answered["expect"], strict=True)):
        load = rounds[number].load
        order = expected.get("broker_order", order)
        walked = [load.brokers[i] for i in load.has_load_data.nonzero()[0].tolist()]
        if walked != order:
            return number, f"expected brokers in the order {order}, found {walked}"
        for different in _differences(found, expected):
            return number, different
    return None


def _differences(found: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[str]:
    unloads = [sorted(side.get("unload", ()), key=json.dumps) for side in (expected, found)]
    if unloads[0] != unloads[1]:
        yield f"expected unload {unloads[0]}, found {unloads[1]}"
    for key in _COMPARED:
        sides = [json.dumps(side.get(key), sort_keys=True) for side in (expected, found)]
        if sides[0] != sides[1]:
            yield f"expected {key} {sides[0]}, found {sides[1]}"
    selections = zip(expected.get("select", ()), found.get("select", ()), strict=True)
    for number, (theirs, ours) in enumerate(selections):
        for key in _SELECTED:
            if theirs.get(key) != ours.get(key):
                yield f"selection {number}: expected {key} {theirs.get(key)}, found {ours.get(key)}"
