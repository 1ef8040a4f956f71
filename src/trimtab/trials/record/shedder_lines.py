"""What the shedders of the modular load manager log of a round, at INFO and above.

Source:
    apache/pulsar 4.0.8, impl/ThresholdShedder.java, OverloadShedder.java,
    UniformLoadShedder.java, AvgShedder.java; the lines of recorded clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trimtab.pulsar.model import MEBIBYTE, AvgShedderMemory, ClusterLoad, Decision, Reason
from trimtab.trials.record.lines import double, shedder_says


@dataclass(frozen=True, slots=True)
class Shed:
    """A round, decided."""

    shedder: str
    load: ClusterLoad
    decision: Decision
    settings: Any
    #: What the shedder remembered before.
    before: Any


def shedder_lines(shed: Shed) -> Iterator[str]:
    """Return what the shedder logs while it decides; nothing of one that is not known."""
    lines_of = _SAYS.get(shed.shedder)
    return iter(()) if lines_of is None else lines_of(shed)


def _threshold_shedder(shed: Shed) -> Iterator[str]:
    decision, threshold = shed.decision, shed.settings.threshold
    if decision.average == 0:
        yield shedder_says(shed.shedder, "average max resource usage is 0", "WARN")
    for i, broker in _losing(shed):
        yield shedder_says(
            shed.shedder,
            f"Attempting to shed load on {broker}, which has max resource usage above avgUsage "
            f"and threshold {double(decision.scores[i] * 100)}% > "
            f"{double(decision.average * 100)}% + {double(threshold * 100)}% -- "
            f"{_offload(shed, i)}, left throughput {double(_left(shed, i))} MByte/s "
            f"({_resources(shed.load, i)})",
        )
        yield from _warnings(shed, i, broker)


def _overload_shedder(shed: Shed) -> Iterator[str]:
    for i, broker in _losing(shed):
        yield shedder_says(
            shed.shedder,
            f"Attempting to shed load on {broker}, which has resource usage "
            f"{double(shed.decision.scores[i] * 100)}% above threshold "
            f"{double(shed.settings.threshold * 100)}% -- {_offload(shed, i)} "
            f"({_resources(shed.load, i)})",
        )
        yield from _warnings(shed, i, broker)


def _uniform_load_shedder(shed: Shed) -> Iterator[str]:
    load, decision = shed.load, shed.decision
    if not decision.unloads:
        return
    is_rate = bool(decision.offload_is_rate is not None and decision.offload_is_rate.any())
    carried = load.bundle_traffic()
    if is_rate:
        what, traffic = "msgRate", carried.rate_in + carried.rate_out
    else:
        what, traffic = "throughput", carried.throughput_in + carried.throughput_out
    at = {(load.brokers[o], b): i for i, (o, b) in enumerate(_listed(load))}
    for unload in decision.unloads:
        value = double(traffic[at[unload.source, unload.bundle]])
        yield shedder_says(shed.shedder, f"Found bundle to unload with {what} {value}")


def _avg_shedder(shed: Shed) -> Iterator[str]:
    load, decision = shed.load, shed.decision
    ranked = np.argsort(decision.scores, kind="stable").tolist()
    names = ", ".join(load.brokers[i] for i in ranked)
    yield shedder_says(shed.shedder, f"sorted broker list:[{names}]")
    ripe = {Reason.LOW_THROUGHPUT, Reason.OVERLOADED, Reason.SOLE_BUNDLE, Reason.NO_BUNDLES}
    half = (len(ranked) + 1) // 2
    pairs = [
        (low, high)
        for low, high in zip(ranked[:half], ranked[::-1][:half], strict=True)
        if decision.reasons[high] in ripe and decision.reasons[low] == Reason.UNDERLOADED
    ]
    yield shedder_says(shed.shedder, _hit_counts(shed, ranked))
    for low, high in pairs:
        yield shedder_says(shed.shedder, _planned(shed, low, high))


def _hit_counts(shed: Shed, ranked: list[int]) -> str:
    """Return the counts as they are before those of pairs whose turn has come are cleared."""
    settings, before = shed.settings, shed.before
    assert isinstance(before, AvgShedderMemory)
    counts: tuple[dict[str, int], dict[str, int]] = {}, {}
    half = (len(ranked) + 1) // 2
    for low, high in zip(ranked[:half], ranked[::-1][:half], strict=True):
        gap = shed.decision.scores[high] - shed.decision.scores[low]
        is_wide = not gap < settings.low_threshold_points
        for now, old, is_hit in (
            (counts[0], before.hits_high, is_wide and not gap < settings.high_threshold_points),
            (counts[1], before.hits_low, is_wide),
        ):
            for i in (low, high) if is_hit else ():
                name = shed.load.brokers[i]
                now[name] = now.get(name, old.get(name, 0)) + 1
    printed = ("{" + ", ".join(f"{b}={n}" for b, n in now.items()) + "}" for now in counts)
    return "brokerHitCountForHigh:{}, brokerHitCountForLow:{}".format(*printed)


def _planned(shed: Shed, low: int, high: int) -> str:
    load, decision, settings = shed.load, shed.decision, shed.settings
    source, target = load.brokers[high], load.brokers[low]
    head = f"broker:[{source}] is planning to shed bundles to broker:[{target}]"
    rates, throughputs = load.rate_in + load.rate_out, load.throughput_in + load.throughput_out
    if decision.reasons[high] == Reason.LOW_THROUGHPUT:
        rate, throughput = (
            float(total[high] - total[low]) * settings.unload_share
            for total in (rates, throughputs)
        )
        return (
            f"{head},but the throughput {double(throughput / MEBIBYTE)} MByte/s is less than "
            f"minimumThroughputThreshold {double(settings.throughput_min / MEBIBYTE)} MByte/s, "
            f"and the msgRate {double(rate)} rate/s is also less than minimumMsgRateThreshold "
            f"{double(settings.rate_min)} rate/s, skipping bundle unload."
        )
    stats = (
        f"scores:{double(decision.scores[i])}, throughput:{double(throughputs[i])}, "
        f"msgRate:{double(rates[i])}"
        for i in (high, low)
    )
    is_rate = decision.offload_is_rate is not None and bool(decision.offload_is_rate[high])
    return (
        f"{head}. maxBroker stat:{next(stats)}. minBroker stat:{next(stats)}. "
        f"isMsgRateToOffload:{'true' if is_rate else 'false'},  "
        f"trafficMarkedToOffload:{double(decision.offload[high])}"
    )


def _losing(shed: Shed) -> Iterator[tuple[int, str]]:
    """Return the brokers that are to lose enough."""
    for i, broker in enumerate(shed.load.brokers):
        is_asked = not np.isnan(shed.decision.offload[i])
        if is_asked and shed.decision.reasons[i] != Reason.LOW_THROUGHPUT:
            yield i, broker


def _offload(shed: Shed, i: int) -> str:
    return f"Offloading at least {double(shed.decision.offload[i] / MEBIBYTE)} MByte/s of traffic"


def _left(shed: Shed, i: int) -> float:
    carried = shed.load.throughput_in[i] + shed.load.throughput_out[i]
    return float((carried - shed.decision.offload[i]) / MEBIBYTE)


def _resources(load: ClusterLoad, i: int) -> str:
    # A limit that is not known counts as nothing used.
    limit = np.where(load.resource_limit[i] > 0, load.resource_limit[i], np.inf)
    percent = (load.resource_usage[i] / limit * 100).tolist()
    names = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
    return ", ".join(f"{n}: {value:.2f}%" for n, value in zip(names, percent, strict=True))


def _warnings(shed: Shed, i: int, broker: str) -> Iterator[str]:
    """Return the warnings of brokers that cannot be relieved."""
    if shed.load.bundle_count[i] == 0:
        text = f"Broker {broker} is overloaded despite having no bundles"
        yield shedder_says(shed.shedder, text, "WARN")
    elif shed.decision.reasons[i] == Reason.SOLE_BUNDLE:
        sole = next((b for owner, b in _listed(shed.load) if owner == i), "")
        text = (
            f"HIGH USAGE WARNING : Sole namespace bundle {sole} is overloading broker {broker}. "
            "No Load Shedding will be done on this broker"
        )
        yield shedder_says(shed.shedder, text, "WARN")


def _listed(load: ClusterLoad) -> Iterator[tuple[int, str]]:
    return zip(load.bundle_broker.tolist(), load.bundles, strict=True)


_SAYS: Mapping[str, Callable[[Shed], Iterator[str]]] = {
    "ThresholdShedder": _threshold_shedder,
    "OverloadShedder": _overload_shedder,
    "UniformLoadShedder": _uniform_load_shedder,
    "AvgShedder": _avg_shedder,
}
