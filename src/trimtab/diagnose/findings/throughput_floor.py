"""Hot brokers left alone because too little would have moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from trimtab.diagnose.broker_loads import percent
from trimtab.diagnose.cure import Change, Cure, many, place
from trimtab.diagnose.entry import FindingEntry, Need
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import events_in_rounds
from trimtab.pulsar.model import Reason

#: Rounds from which it is more than a passing moment.
_ROUNDS = 3
#: Below this nobody misses a move.
_BUSY = 0.5
_FLOORS = {
    "ThresholdShedder": "loadBalancerBundleUnloadMinThroughputThreshold",
    "UniformLoadShedder": "minUnloadMessage and minUnloadMessageThroughput",
    "AvgShedder": "minUnloadMessage and minUnloadMessageThroughput",
}


@dataclass(frozen=True, slots=True)
class _Spared:
    """Rounds in which a broker was spared for its little traffic, and the first of them."""

    rounds: int
    time: datetime
    round: int
    text: str
    numbers: Mapping[str, float]
    evidence: tuple[Event, ...] = ()


def throughput_floor(night: Night) -> list[Finding]:
    """Find brokers over the bar that were left alone because they carry too few bytes.

    What is to move is a share of the traffic; below the floor it is dropped, so a cluster of
    small messages is hot by CPU and never sheds.  A broker counts with three rounds, by the
    rounds decided again, or where there are none by the shedder's own line.  Medium; low
    where it reported less than half of its strength in the first of them.

    Quirks:
        A broker without any traffic is `zero-traffic-contradiction`; AvgShedder's line with
        less than nothing to move is `heterogeneous-brokers`.

    Source:
        impl/ThresholdShedder.java findBundlesForUnloading, impl/AvgShedder.java
        findBundlesForUnloading, 4.0.8 (#21299)
    """
    # AvgShedder says it at INFO, and only its line tells little from less than nothing.
    # Where no setting is known, what is decided again has a floor that may not be the real one.
    is_known = bool(night.decisions.times) and night.has_settings
    is_silent = night.shedder != "AvgShedder" and is_known
    spared = _of_replay(night) if is_silent else _of_log(night)
    return [
        _finding(night, broker, each) for broker, each in spared.items() if each.rounds >= _ROUNDS
    ]


def _of_replay(night: Night) -> dict[str, _Spared]:
    decisions = night.decisions
    is_low = np.array(decisions.reasons, np.object_) == str(Reason.LOW_THROUGHPUT)
    places: dict[str, list[int]] = {}
    for at in np.flatnonzero(is_low & (decisions.throughput > 0)).tolist():
        places.setdefault(decisions.brokers[at], []).append(at)
    spared = {}
    for broker, mine in places.items():
        i = int(np.searchsorted(decisions.offsets, mine[0], side="right")) - 1
        usage, carried = float(decisions.usage[mine[0]]), float(decisions.throughput[mine[0]])
        text = f"it reported {percent(usage)} and carried {carried / 1e6:.1f} MB/s"
        numbers = {"usage": usage, "throughput": carried}
        spared[broker] = _Spared(len(mine), decisions.times[i], decisions.numbers[i], text, numbers)
    return spared


def _of_log(night: Night) -> dict[str, _Spared]:
    lines: dict[str, list[tuple[int, Event]]] = {}
    for number, event in events_in_rounds(night, "too-little-to-shed"):
        offload = event.numbers.get("offload_mbyte_s", 0.0)
        if event.broker is None or max(offload, event.numbers.get("offload_rate", 0.0)) < 0:
            continue
        lines.setdefault(event.broker, []).append((number, event))
    spared = {}
    for broker, mine in lines.items():
        number, event = mine[0]
        offload, least = (
            event.numbers.get(f"{name}_mbyte_s", 0.0) for name in ("offload", "minimum")
        )
        text = f"{offload:.2f} MB/s were to move, and the floor is {least:g} MB/s"
        numbers = {"offload_mbyte_s": offload, "minimum_mbyte_s": least}
        evidence = tuple(each for _, each in mine[:5])
        spared[broker] = _Spared(len(mine), event.time, number, text, numbers, evidence)
    return spared


def _finding(night: Night, broker: str, first: _Spared) -> Finding:
    floor = _FLOORS.get(night.shedder, "the floor of the shedder")
    return Finding(
        code="throughput-floor",
        severity="medium" if first.numbers.get("usage", 1.0) >= _BUSY else "low",
        time=first.time,
        round=first.round,
        title=f"{broker} was over the bar, and what should go was below the floor",
        text=f"So it was in {first.rounds} rounds. In the first of them {first.text}.",
        better="a bundle of it on a cooler broker",
        advice=f"Lower {floor}; where messages are small, few bytes are much work.",
        brokers=(broker,),
        evidence=first.evidence,
        numbers={"rounds": first.rounds, **first.numbers},
    )


def _floor(
    night: Night, findings: Sequence[Finding], places: Mapping[str, str]
) -> tuple[int, Change] | None:
    spared = [f for f in findings if f.code == "throughput-floor"]
    if not spared:
        return None
    rounds = sum(finding.numbers["rounds"] for finding in spared)
    is_threshold = night.shedder == "ThresholdShedder"
    setting = (
        "loadBalancerBundleUnloadMinThroughputThreshold"
        if is_threshold
        else "minUnloadMessageThroughput"
    )
    return rounds, Change(
        title=f"{setting} lower",
        why=(
            f"{many(len(spared), 'broker')} stayed over the bar, as what should go was below "
            "the floor."
        ),
        effect=f"In {many(rounds, 'round')} there would have been something to move.",
        evidence=place(places, setting),
        confidence="counted; what would have followed was not simulated",
    )


ENTRY = FindingEntry(
    rule=throughput_floor,
    rank=24,
    needs=(Need.LEADER_LOGS, Need.SETTINGS),
    partly={Need.ROUNDS_DECIDED_AGAIN: "of rounds without a line"},
    words=None,
    cure=Cure(7, _floor),
)
