"""Brokers shed for their memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab.diagnose.cure import Change, Cure, many, place
from trimtab.diagnose.entry import FindingEntry, Need, Words
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.pulsar.settings import SettingError
from trimtab.pulsar.settings.reader import Reader
from trimtab.pulsar.settings.weights import resource_weights

_RESOURCES = ("cpu", "memory", "direct_memory", "bandwidth_in", "bandwidth_out")
_WORDS = {"memory": "heap", "direct_memory": "direct memory"}


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
            if event.kind == "shed-attempt" and event.broker and busiest in _WORDS:
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
        for move in logged.moves
        if move.source == broker
    ]
    event, word = lines[0][1], _WORDS[resource]
    used, cpu = (event.numbers[f"{name}_percent"] for name in (resource, "cpu"))
    weight = {
        "memory": "loadBalancerMemoryResourceWeight",
        "direct_memory": "loadBalancerDirectMemoryResourceWeight",
    }[resource]
    return Finding(
        code="memory-as-load",
        severity="high" if moves else "medium",
        time=event.time,
        round=lines[0][0],
        title=f"{broker} was shed for its {word}",
        text=(
            f"In {len(numbers)} round(s) {word} was its busiest resource; in the first it stood "
            f"at {used:.1f} % and the CPU at {cpu:.1f} %. {len(moves)} bundle(s) were moved for it."
        ),
        better="decide on CPU and network",
        advice=f"Set {weight} = 0.",
        brokers=(broker,),
        moves=tuple(moves),
        evidence=tuple(line for _, line in lines[:5]),
        numbers={"rounds": len(numbers), f"{resource}_percent": used, "cpu_percent": cpu},
    )


def _memory(
    night: Night, findings: Sequence[Finding], places: Mapping[str, str]
) -> tuple[int, Change] | None:
    full = [f for f in findings if f.code == "memory-as-load"]
    moves = sum(len(finding.moves) for finding in full)
    if not moves:
        return None
    is_heap = any("memory_percent" in finding.numbers for finding in full)
    setting = f"loadBalancer{'' if is_heap else 'Direct'}MemoryResourceWeight"
    return moves, Change(
        title=f"{setting} = 0",
        why=f"{many(moves, 'bundle was', 'bundles were')} moved because memory was full.",
        effect="Brokers would be shed for CPU and network alone.",
        evidence=place(places, setting),
        confidence="counted on the percentages that the shedder printed; not simulated",
    )


ENTRY = FindingEntry(
    rule=memory_as_load,
    rank=28,
    needs=(Need.LEADER_LOGS, Need.SETTINGS),
    words=Words("for memory", "Memory made the source hot, and moving bundles does not lower it."),
    doubtful=2,
    cure=Cure(8, _memory),
)
