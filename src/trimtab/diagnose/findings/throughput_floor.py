"""Hot brokers left alone because too little would have moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trimtab.diagnose.cure import Proposal
from trimtab.diagnose.evidence import SHOWN
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


def throughput_floor(night: Night) -> list[Finding]:
    """Find brokers over the bar that were left alone because they carry too few bytes.

    What is to move is a share of the traffic; below the floor it is dropped, so a cluster of
    small messages is hot by CPU and never sheds.  A broker counts by the shedder's own line,
    from the first on, or where there is none with three rounds decided again.  Medium; low
    with fewer rounds, or where it reported less than half of its strength in the first of them.

    Quirks:
        A broker without any traffic is `zero-traffic-contradiction` where reports say so; a
        line with nothing to move says it too, and then no floor helps.  AvgShedder's line with
        less than nothing to move is `heterogeneous-brokers`.

    Source:
        impl/ThresholdShedder.java findBundlesForUnloading, impl/AvgShedder.java
        findBundlesForUnloading, 4.0.8 (#21299)
    """
    logged = _of_log(night)
    # AvgShedder says it at INFO, and only its line tells little from less than nothing.
    # Where no setting is known, what is decided again has a floor that may not be the real one.
    if night.shedder == "AvgShedder" or not night.has_settings:
        return logged
    printed = {finding.brokers for finding in logged}
    return logged + [each for each in _of_replay(night) if each.brokers not in printed]


def _of_replay(night: Night) -> list[Finding]:
    decisions = night.decisions
    is_low = np.array(decisions.reasons, np.object_) == str(Reason.LOW_THROUGHPUT)
    places: dict[str, list[int]] = {}
    for at in np.flatnonzero(is_low & (decisions.throughput > 0)).tolist():
        places.setdefault(decisions.brokers[at], []).append(at)
    findings = []
    for broker, mine in places.items():
        if len(mine) < _ROUNDS:
            continue
        at, usage = mine[0], float(decisions.usage[mine[0]])
        i = int(np.searchsorted(decisions.offsets, at, side="right")) - 1
        findings.append(
            Finding(
                "throughput-floor.replayed",
                "medium" if usage >= _BUSY else "low",
                decisions.times[i],
                decisions.numbers[i],
                brokers=(broker,),
                numbers={
                    "rounds": len(mine),
                    "usage": usage,
                    "throughput": float(decisions.throughput[at]),
                },
                values=_floor(night),
            )
        )
    return findings


def _of_log(night: Night) -> list[Finding]:
    lines: dict[str, list[tuple[int, Event]]] = {}
    for number, event in events_in_rounds(night, "too-little-to-shed"):
        offload = event.numbers.get("offload_mbyte_s", 0.0)
        if event.broker is None or max(offload, event.numbers.get("offload_rate", 0.0)) < 0:
            continue
        lines.setdefault(event.broker, []).append((number, event))
    return [
        Finding(
            f"throughput-floor.{'logged' if _most(mine) > 0 else 'without-traffic'}",
            "medium" if len(mine) >= _ROUNDS else "low",
            mine[0][1].time,
            mine[0][0],
            brokers=(broker,),
            evidence=tuple(event for _, event in mine[:SHOWN]),
            numbers={
                "rounds": len(mine),
                "offload_mbyte_s": mine[0][1].numbers.get("offload_mbyte_s", 0.0),
                "minimum_mbyte_s": mine[0][1].numbers.get("minimum_mbyte_s", 0.0),
            },
            values=_floor(night),
        )
        for broker, mine in lines.items()
    ]


def _most(lines: Sequence[tuple[int, Event]]) -> float:
    """Return the most that was to move by some lines, MB/s or messages/s."""
    amounts = ("offload_mbyte_s", "offload_rate")
    return max(event.numbers.get(name, 0.0) for _, event in lines for name in amounts)


def _floor(night: Night) -> dict[str, str]:
    return {"floor": _FLOORS.get(night.shedder, "the floor of the shedder")}


def cure(night: Night, findings: Mapping[str, Sequence[Finding]]) -> Proposal | None:
    """Return the proposal of a lower floor, for the rounds in which brokers were spared."""
    without = "throughput-floor.without-traffic"
    spared = [each for each in findings["throughput-floor"] if each.wording != without]
    if not spared:
        return None
    rounds = sum(finding.numbers["rounds"] for finding in spared)
    is_threshold = night.shedder == "ThresholdShedder"
    setting = _FLOORS["ThresholdShedder"] if is_threshold else "minUnloadMessageThroughput"
    return Proposal(rounds, {"setting": setting, "brokers": len(spared), "rounds": rounds})
