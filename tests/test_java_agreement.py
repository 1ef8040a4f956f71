"""Every recorded decision of Pulsar's own classes is reached here, bit for bit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest

from tests.golden_vectors import Recorded, Vector, vectors
from trimtab.model import ClusterLoad, Decision, History, Reason, UnreportedCandidateError
from trimtab.place import PLACERS, PlacerEntry
from trimtab.releases import release_line
from trimtab.shed import SHEDDERS

# (class, release) → vectors recorded, decisions recorded: a truncated file must not pass.
SHED = {("ThresholdShedder", "4.0.0"): (140, 401), ("ThresholdShedder", "4.0.8"): (393, 1242)}
PLACED = {
    ("LeastResourceUsageWithWeight", "4.0.0"): (140, 883),
    ("LeastResourceUsageWithWeight", "4.0.8"): (388, 2982),
}


@pytest.mark.parametrize(("strategy", "release"), SHED)
def test_shedder_decides_as_the_java_does(
    strategy: str, release: str, record_property: pytest.RecordProperty
) -> None:
    entry = SHEDDERS[strategy, release_line(release)]
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
            differences += _shed_differences(vector, number, decision, memory)

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
    entry = SHEDDERS["ThresholdShedder", "4.0"]
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
    entry = PLACERS[strategy, release_line(release)]
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
                got, memory = _placed(
                    entry, recorded.load, _order(asked, answered), memory, settings
                )
                differences += _place_differences(vector, number, (asked, answered), got, memory)

    record_property("decisions", decisions)
    assert [] == differences
    assert PLACED[strategy, release] == (seen, decisions)


def _shed_differences(
    vector: Vector, number: int, decision: Decision, memory: History
) -> Iterable[str]:
    answered = vector.rounds[number].answered
    expected: dict[str, list[str]] = {}
    for broker, bundle in answered["unload"]:
        expected.setdefault(broker, []).append(bundle)
    unloads: dict[str, list[str]] = {}
    for unload in decision.unloads:
        unloads.setdefault(unload.source, []).append(unload.bundle)
    if expected != unloads:
        yield f"{vector.id} round {number}: expected {expected}, unloads {unloads}"
    yield from _state_differences(f"{vector.id} round {number}", answered["state"]["avg"], memory)


def _place_differences(
    vector: Vector,
    number: int,
    selection: tuple[Mapping[str, Any], Mapping[str, Any]],
    got: list[str] | None,
    memory: History,
) -> Iterable[str]:
    answered = selection[1]
    where = f"{vector.id} round {number}"
    expected = answered.get("set", [answered["placed"]] if answered.get("placed") else [])
    if expected == "all":
        expected = _order(*selection)
    if "error" in answered:
        expected = None
    if expected != got:
        yield f"{where}: expected {expected}, best {got}"
    yield from _state_differences(where, answered["avg"], memory)


def _state_differences(where: str, expected: Mapping[str, float], memory: History) -> Iterable[str]:
    if set(expected) != set(memory.brokers):
        yield f"{where}: expected history of {sorted(expected)}, of {sorted(memory.brokers)}"
        return
    for broker, usage in zip(memory.brokers, memory.usage.tolist(), strict=True):
        if not np.array_equal(expected[broker], usage, equal_nan=True):
            yield f"{where}: {broker} expected {expected[broker]!r}, smoothed {usage!r}"


def _selections(recorded: Recorded) -> Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    asked, answered = recorded.asked.get("select", []), recorded.answered.get("select", [])
    return zip(asked, answered, strict=True)


def _order(asked: Mapping[str, Any], answered: Mapping[str, Any]) -> list[str]:
    order: list[str] = answered.get("candidate_order", asked["candidates"])
    return order


def _placed(
    entry: PlacerEntry[Any, Any],
    load: ClusterLoad,
    order: list[str],
    memory: History,
    settings: Any,
) -> tuple[list[str] | None, History]:
    """Place, or give None where the placer refuses."""
    position = {broker: i for i, broker in enumerate(load.brokers)}
    candidates = np.array([position.get(broker, -1) for broker in order], dtype=np.int64)
    try:
        placement, memory = entry.place(load, candidates, memory, settings)
    except UnreportedCandidateError as error:
        assert isinstance(error.memory, History)
        return None, error.memory
    return [load.brokers[i] for i in placement.best], memory
