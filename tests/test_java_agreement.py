"""Every recorded decision of Pulsar's own classes is reached here, bit for bit."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pytest

from tests.golden_vectors import GOLDEN, Recorded, vectors
from trimtab.map_order import hash_map_order
from trimtab.model import (
    AvgShedderMemory,
    ClusterLoad,
    Decision,
    History,
    LostRoundError,
    NoCandidatesError,
    Reason,
    RoundRobinMemory,
    UnreportedCandidateError,
)
from trimtab.place import PlacerEntry, placer
from trimtab.shed import ShedderEntry, shedder

# (class, release) → vectors recorded, decisions recorded: a truncated file must not pass.
SHED = {
    ("ThresholdShedder", "2.10.4"): (140, 400),
    ("ThresholdShedder", "3.0.0"): (140, 401),
    ("ThresholdShedder", "3.0.7"): (140, 401),
    ("ThresholdShedder", "3.3.5"): (140, 401),
    ("ThresholdShedder", "4.0.0"): (140, 401),
    ("ThresholdShedder", "4.0.8"): (393, 1242),
    ("ThresholdShedder", "5.0.0-M1"): (140, 401),
    ("OverloadShedder", "2.10.4"): (140, 245),
    ("OverloadShedder", "3.0.0"): (140, 245),
    ("OverloadShedder", "3.0.7"): (140, 245),
    ("OverloadShedder", "3.3.5"): (140, 245),
    ("OverloadShedder", "4.0.0"): (140, 245),
    ("OverloadShedder", "4.0.8"): (409, 781),
    ("OverloadShedder", "5.0.0-M1"): (140, 245),
    ("UniformLoadShedder", "2.10.4"): (140, 231),
    ("UniformLoadShedder", "3.0.0"): (140, 231),
    ("UniformLoadShedder", "3.0.7"): (140, 231),
    ("UniformLoadShedder", "3.3.5"): (140, 231),
    ("UniformLoadShedder", "4.0.0"): (140, 231),
    ("UniformLoadShedder", "4.0.8"): (415, 784),
    ("UniformLoadShedder", "5.0.0-M1"): (140, 231),
}
PLACED = {
    ("LeastLongTermMessageRate", "2.10.4"): (126, 708),
    ("LeastLongTermMessageRate", "3.0.0"): (126, 708),
    ("LeastLongTermMessageRate", "3.0.7"): (126, 708),
    ("LeastLongTermMessageRate", "3.3.5"): (126, 708),
    ("LeastLongTermMessageRate", "4.0.0"): (127, 712),
    ("LeastLongTermMessageRate", "4.0.8"): (365, 2748),
    ("LeastLongTermMessageRate", "5.0.0-M1"): (128, 720),
    ("LeastResourceUsageWithWeight", "3.0.0"): (140, 883),
    ("LeastResourceUsageWithWeight", "3.0.7"): (140, 883),
    ("LeastResourceUsageWithWeight", "3.3.5"): (140, 883),
    ("LeastResourceUsageWithWeight", "4.0.0"): (140, 883),
    ("LeastResourceUsageWithWeight", "4.0.8"): (388, 2982),
    ("LeastResourceUsageWithWeight", "5.0.0-M1"): (140, 883),
    ("RoundRobinBrokerSelector", "3.0.0"): (140, 2431),
    ("RoundRobinBrokerSelector", "3.0.7"): (140, 2431),
    ("RoundRobinBrokerSelector", "3.3.5"): (140, 2431),
    ("RoundRobinBrokerSelector", "4.0.0"): (140, 2431),
    ("RoundRobinBrokerSelector", "4.0.8"): (300, 4875),
    ("RoundRobinBrokerSelector", "5.0.0-M1"): (140, 2431),
}
# The class that does both, with rounds of shedding, then selections of which the file says
# what was planned.
BOTH = {
    ("AvgShedder", "3.0.7"): (140, 602, 113),
    ("AvgShedder", "3.3.5"): (140, 602, 115),
    ("AvgShedder", "4.0.0"): (140, 602, 115),
    ("AvgShedder", "4.0.8"): (355, 1776, 346),
    ("AvgShedder", "5.0.0-M1"): (140, 597, 120),
}


# What a selection's answer says of the memory.
STATE_AFTER_SELECTION = {"avg", "count"}
# Placers that ask no report of a candidate.
BY_NAME = {"RoundRobinBrokerSelector"}


def _smoothed(memory: History) -> Mapping[str, Any]:
    return {"avg": dict(zip(memory.brokers, memory.usage.tolist(), strict=True))}


def _nothing(memory: None) -> Mapping[str, Any]:
    assert memory is None
    return {}


def _turns(memory: RoundRobinMemory) -> Mapping[str, Any]:
    return {"count": str(memory.count)}  # the recorder wrote it as text


def _hits(memory: AvgShedderMemory) -> Mapping[str, Any]:
    return {"hit_high": memory.hits_high, "hit_low": memory.hits_low}


# class → its memory, laid out as the vectors have it.
MEMORIES: Mapping[str, Callable[[Any], Mapping[str, Any]]] = {
    "ThresholdShedder": _smoothed,
    "OverloadShedder": _nothing,
    "UniformLoadShedder": _nothing,
    "LeastLongTermMessageRate": _nothing,
    "LeastResourceUsageWithWeight": _smoothed,
    "RoundRobinBrokerSelector": _turns,
    "AvgShedder": _hits,
}


def test_every_recorded_decision_is_compared() -> None:
    files = {path.name.removesuffix(".jsonl.gz") for path in GOLDEN.glob("*.jsonl.gz")}

    assert files == {f"{strategy}-{release}" for strategy, release in [*SHED, *PLACED, *BOTH]}


@pytest.mark.parametrize(("strategy", "release"), SHED)
def test_shedder_decides_as_the_java_does(
    strategy: str, release: str, record_property: pytest.RecordProperty
) -> None:
    entry = shedder(strategy, release)
    assert entry is not None
    seen = decisions = 0
    differences: list[str] = []
    for vector in vectors(strategy, release):
        seen += 1
        settings, memory = entry.settings(vector.conf, release), entry.memory
        for number, recorded in enumerate(vector.rounds):
            if "active_brokers" in recorded.asked:
                memory = entry.forget(memory, recorded.asked["active_brokers"])
            if not recorded.asked.get("shed"):
                continue
            decisions += 1
            decision, memory = entry.shed(recorded.load, memory, settings)
            where = f"{vector.id} round {number}"
            differences += _unload_differences(where, recorded.answered, decision)
            state = MEMORIES[strategy](memory)
            differences += _state_differences(where, recorded.answered.get("state", {}), state)

    record_property("decisions", decisions)
    assert [] == differences
    assert SHED[strategy, release] == (seen, decisions)


# INFO Attempting to shed load on b1:8080, which has max resource usage above avgUsage and
# threshold 24.55% > 13.31% + 10.0% -- Offloading at least 13.9 MByte/s of traffic, left …
ATTEMPT = re.compile(
    r"INFO Attempting to shed load on (?P<broker>\S+), which has max resource usage above "
    r"avgUsage and threshold (?P<usage>\S+)% > (?P<average>\S+)% \+ \S+% -- "
    r"Offloading at least (?P<offload>\S+) MByte/s"
)


def test_threshold_shedder_explains_as_the_java_logs() -> None:
    """The usage, the average and the offload that the class printed are the decision's."""
    entry = shedder("ThresholdShedder", "4.0.8")
    assert entry is not None
    lines = 0
    for vector in vectors("ThresholdShedder", "4.0.8"):
        settings, memory = entry.settings(vector.conf, "4.0.8"), entry.memory
        for recorded in vector.rounds:
            if "active_brokers" in recorded.asked:
                memory = entry.forget(memory, recorded.asked["active_brokers"])
            decision, memory = entry.shed(recorded.load, memory, settings)
            if "logs" not in recorded.answered or settings.is_lower_boundary_enabled:
                continue  # a second smoothing would have replaced what was printed
            printed = {
                match["broker"]: tuple(float(match[k]) for k in ("usage", "average", "offload"))
                for line in recorded.answered["logs"]
                if (match := ATTEMPT.match(line))
            }
            lines += len(printed)
            assert printed == _attempts(recorded.load, decision), vector.id

    assert lines == 160


def _attempts(load: ClusterLoad, decision: Decision) -> dict[str, tuple[float, float, float]]:
    """What the Java prints of each broker that it tries to relieve."""
    return {
        broker: (100 * float(score), 100 * decision.average, float(offload) / 1048576)
        for broker, score, reason, offload in zip(
            load.brokers, decision.scores, decision.reasons, decision.offload, strict=True
        )
        if reason not in (Reason.BALANCED, Reason.LOW_THROUGHPUT)
    }


@pytest.mark.parametrize(("strategy", "release"), PLACED)
def test_placer_selects_as_the_java_does(
    strategy: str, release: str, record_property: pytest.RecordProperty
) -> None:
    entry = placer(strategy, release)
    assert entry is not None
    seen = decisions = 0
    differences: list[str] = []
    for vector in vectors(strategy, release):
        seen += 1
        settings, memory = entry.settings(vector.conf, release), entry.memory
        for number, recorded in enumerate(vector.rounds):
            if "active_brokers" in recorded.asked:
                memory = entry.forget(memory, recorded.asked["active_brokers"])
            for asked, answered in _selections(recorded):
                decisions += 1
                order = _order(asked, answered)
                load = _with_names(recorded.load, order) if strategy in BY_NAME else recorded.load
                got, memory = _placed(entry, load, (asked["bundle"], order), memory, settings)
                where = f"{vector.id} round {number}"
                differences += _draw_differences(where, asked, answered, got)
                state = MEMORIES[strategy](memory)
                expected = {k: v for k, v in answered.items() if k in STATE_AFTER_SELECTION}
                differences += _state_differences(where, expected, state)

    record_property("decisions", decisions)
    assert [] == differences
    assert PLACED[strategy, release] == (seen, decisions)


@pytest.mark.parametrize(("strategy", "release"), BOTH)
def test_class_that_sheds_and_places_does_as_the_java_does(
    strategy: str, release: str, record_property: pytest.RecordProperty
) -> None:
    shedding, placing = shedder(strategy, release), placer(strategy, release)
    assert shedding is not None
    assert placing is not None
    seen = rounds = plans = 0
    differences: list[str] = []
    for vector in vectors(strategy, release):
        seen += 1
        settings, memory = shedding.settings(vector.conf, release), shedding.memory
        for number, recorded in enumerate(vector.rounds):
            where = f"{vector.id} round {number}"
            if recorded.asked.get("shed"):
                rounds += 1
                found, memory = _shed_and_compare(shedding, recorded, memory, settings)
                differences += (f"{where}: {difference}" for difference in found)
            for asked, answered in _selections(recorded):
                got, memory = _selected(placing, recorded.load, (asked, answered), memory, settings)
                if "after_random" in answered:
                    continue  # what was drawn at random is not in the file
                plans += 1
                expected = _expected_selection(asked, answered)
                if expected != got:
                    differences.append(f"{where}: expected {expected}, placed {got}")

    record_property("decisions", rounds + plans)
    assert [] == differences
    assert BOTH[strategy, release] == (seen, rounds, plans)


def _shed_and_compare(
    entry: ShedderEntry[Any, Any], recorded: Recorded, memory: Any, settings: Any
) -> tuple[list[str], Any]:
    """Shed once; return the differences and what is remembered."""
    answered, load = recorded.answered, recorded.load
    expected = dict(answered["state"])
    if "error" in answered:
        with pytest.raises(LostRoundError, match=answered["error_message"]) as caught:
            entry.shed(load, memory, settings)
        memory, state = caught.value.memory, {"score": expected["score"]}
        return list(_state_differences("", expected, _hits(memory) | state)), memory
    decision, memory = entry.shed(load, memory, settings)
    scores = {"score": dict(zip(load.brokers, decision.scores.tolist(), strict=True))}
    # The order of its map of scores decides the Java's ties.
    assert list(expected["score"]) == list(hash_map_order(load.brokers, memory.table_size))
    differences = [
        *_unload_differences("", answered, decision),
        *_state_differences("", expected, _hits(memory) | scores),
    ]
    return differences, memory


def _selected(
    entry: PlacerEntry[Any, Any],
    load: ClusterLoad,
    selection: tuple[Mapping[str, Any], Mapping[str, Any]],
    memory: Any,
    settings: Any,
) -> tuple[tuple[Any, ...] | None, Any]:
    """Place; return what was planned and who may be drawn, and remember one who is."""
    asked, answered = selection
    bundle = asked["bundle"]
    everyone = list(load.brokers)
    planned, _ = _placed(entry, load, (bundle, everyone), memory, settings)
    plan = planned[0] if planned is not None and len(planned) == 1 < len(everyone) else None
    best, memory = _placed(entry, load, (bundle, _order(asked, answered)), memory, settings)
    if best is None:
        return None, memory
    return (plan, best), entry.drawn(memory, bundle, best[0])


def _expected_selection(
    asked: Mapping[str, Any], answered: Mapping[str, Any]
) -> tuple[Any, ...] | None:
    if "error" in answered:
        return None
    is_random = answered.get("random", False)
    best = _order(asked, answered) if is_random else [answered["placed"]]
    return answered["planned"], best


def _unload_differences(
    where: str, answered: Mapping[str, Any], decision: Decision
) -> Iterable[str]:
    """Compare bundles and destinations; the order between brokers means nothing."""
    targets = answered.get("dest", [None] * len(answered["unload"]))
    expected: dict[str, list[tuple[str, str | None]]] = {}
    for (broker, bundle), target in zip(answered["unload"], targets, strict=True):
        expected.setdefault(broker, []).append((bundle, target))
    unloads: dict[str, list[tuple[str, str | None]]] = {}
    for unload in decision.unloads:
        unloads.setdefault(unload.source, []).append((unload.bundle, unload.target))
    if expected != unloads:
        yield f"{where}: expected {expected}, unloads {unloads}"


def _draw_differences(
    where: str, asked: Mapping[str, Any], answered: Mapping[str, Any], got: list[str] | None
) -> Iterable[str]:
    expected = answered.get("set", [answered["placed"]] if answered.get("placed") else [])
    if expected == "all":
        expected = _order(asked, answered)
    if "error" in answered:
        expected = None
    if expected != got:
        yield f"{where}: expected {expected}, best {got}"


def _state_differences(
    where: str, expected: Mapping[str, Any], state: Mapping[str, Any]
) -> Iterable[str]:
    if expected.keys() != state.keys():
        yield f"{where}: expected {sorted(expected)} in memory, found {sorted(state)}"
        return
    for name, values in expected.items():
        if not _is_same(values, state[name]):
            yield f"{where}: {name} expected {values!r}, remembered {state[name]!r}"


def _is_same(expected: Any, found: Any) -> bool:
    """Compare a text, a number, or a number a broker; NaN equals NaN."""
    if isinstance(expected, str):
        return expected == found
    if not isinstance(expected, Mapping):
        return np.array_equal(expected, found, equal_nan=True)
    return expected.keys() == found.keys() and all(
        _is_same(value, found[key]) for key, value in expected.items()
    )


def _selections(recorded: Recorded) -> Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    asked, answered = recorded.asked.get("select", []), recorded.answered.get("select", [])
    return zip(asked, answered, strict=True)


def _order(asked: Mapping[str, Any], answered: Mapping[str, Any]) -> list[str]:
    order: list[str] = answered.get("candidate_order", asked["candidates"])
    return order


def _with_names(load: ClusterLoad, names: list[str]) -> ClusterLoad:
    """Let a placer that knows brokers by name know those that have not reported."""
    return dataclasses.replace(load, brokers=tuple(dict.fromkeys((*load.brokers, *names))))


def _placed(
    entry: PlacerEntry[Any, Any],
    load: ClusterLoad,
    question: tuple[str, list[str]],
    memory: Any,
    settings: Any,
) -> tuple[list[str] | None, Any]:
    """Place a bundle among brokers, or give None where the placer refuses."""
    bundle, order = question
    position = {broker: i for i, broker in enumerate(load.brokers)}
    candidates = np.array([position.get(broker, -1) for broker in order], dtype=np.int64)
    try:
        placement, memory = entry.place(load, bundle, candidates, memory, settings)
    except (NoCandidatesError, UnreportedCandidateError) as error:
        return None, error.memory
    return [load.brokers[i] for i in placement.best], memory
