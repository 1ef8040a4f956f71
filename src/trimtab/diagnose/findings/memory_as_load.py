"""Brokers shed for their memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab.diagnose.cure import Proposal
from trimtab.diagnose.evidence import SHOWN
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.pulsar.settings import SettingError
from trimtab.pulsar.settings.reader import Reader
from trimtab.pulsar.settings.weights import resource_weights

_RESOURCES = ("cpu", "memory", "direct_memory", "bandwidth_in", "bandwidth_out")
#: Resource → what it is called, and the key of its weight.
_MEMORY = {
    "memory": ("heap", "loadBalancerMemoryResourceWeight"),
    "direct_memory": ("direct memory", "loadBalancerDirectMemoryResourceWeight"),
}


def memory_as_load(night: Night) -> list[Finding]:
    """Find brokers shed because memory was their busiest resource after weighing.

    Memory does not follow the load: a heap fills until it is collected, and direct memory is
    kept in pools, so moving bundles does not lower it.  A broker counts by the percentages
    that the shedder prints when it sheds it, each times its weight.  One finding a broker:
    high if bundles were moved for it.

    Source:
        LocalBrokerData.getMaxResourceUsageWithWeight, 4.0.8 (#19559, #21168, #22820)
    """
    weights = _weights(night)
    if weights is None:
        return []
    shed: dict[tuple[str, str], list[tuple[int, Event]]] = {}
    for logged in night.rounds:
        for event in logged.events:
            busiest = _busiest(event, weights)
            if event.kind == "shed-attempt" and event.broker and busiest in _MEMORY:
                shed.setdefault((event.broker, busiest), []).append((logged.number, event))
    return [_finding(night, *key, lines) for key, lines in shed.items()]


def _weights(night: Night) -> dict[str, float] | None:
    try:
        weights = resource_weights(Reader(night.conf, night.release))
    except (SettingError, ValueError):
        return None
    # OverloadShedder counted every resource fully before 4.0, and the heap not at all.
    return {
        name: 0.0 if weight is None else weight
        for name, weight in zip(_RESOURCES, weights.by_resource(), strict=True)
    }


def _busiest(event: Event, weights: dict[str, float]) -> str | None:
    """Return the resource that made the score; None where the line has no resources."""
    weighed = {
        name: event.numbers[f"{name}_percent"] * weights[name]
        for name in _RESOURCES
        if f"{name}_percent" in event.numbers
    }
    if len(weighed) < len(_RESOURCES) or max(weighed.values()) <= 0:
        return None
    return max(weighed, key=weighed.__getitem__)


def _finding(night: Night, broker: str, resource: str, lines: list[tuple[int, Event]]) -> Finding:
    numbers = {number for number, _ in lines}
    moves = [
        move.id
        for logged in night.rounds
        if logged.number in numbers
        for move in logged.moves_from(broker)
    ]
    event, (word, weight) = lines[0][1], _MEMORY[resource]
    used, cpu = (event.numbers[f"{name}_percent"] for name in (resource, "cpu"))
    return Finding(
        "memory-as-load",
        "high" if moves else "medium",
        event.time,
        lines[0][0],
        brokers=(broker,),
        moves=tuple(moves),
        evidence=tuple(line for _, line in lines[:SHOWN]),
        numbers={"rounds": len(numbers), f"{resource}_percent": used, "cpu_percent": cpu},
        values={"word": word, "used": used, "moved": len(moves), "weight": weight},
    )


def cure(night: Night, findings: Mapping[str, Sequence[Finding]]) -> Proposal | None:
    """Return the proposal to give memory no weight, for what was moved because of it."""
    del night
    full = findings["memory-as-load"]
    moves = sum(len(finding.moves) for finding in full)
    is_heap = any("memory_percent" in finding.numbers for finding in full)
    setting = _MEMORY["memory" if is_heap else "direct_memory"][1]
    return Proposal(moves, {"moves": moves, "setting": setting}) if moves else None
