"""What a leader prints of its rounds, in the words of its release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tools.nights.logbook import java
from trimtab.pulsar.map_order import hash_map_order
from trimtab.pulsar.model import MEBIBYTE, Decision, Reason
from trimtab.pulsar.releases import release_order

if TYPE_CHECKING:
    from tools.nights.leader import Round, Term

#: From this release on lines say how much of each resource is used.
_WITH_RESOURCES = release_order("3.2.3")


def unload_line(strategy: str, bundle: str, source: str, target: str) -> str:
    """Return the order to unload a bundle."""
    return f"[{strategy}] Unloading bundle: {bundle} from broker {source} to dest broker {target}"


def placement_line(strategy: str, is_fallback: bool, candidates: int) -> str | None:
    """Return what a placer prints when nobody passes its bar."""
    if strategy != "LeastResourceUsageWithWeight" or not is_fallback:
        return None
    return f"Assign randomly as all {candidates} brokers are overloaded."


def round_lines(term: Term, played: Round, memory: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """Yield level and text of what a shedder prints of a round.

    Args:
        term: whose round.
        played: the round.
        memory: what the shedder remembered before it.
    """
    assert played.decision is not None
    if term.shedder_name == "ThresholdShedder":
        yield from _threshold(term, played, played.decision)
    elif term.shedder_name == "OverloadShedder":
        yield from _overload(term, played, played.decision)
    elif term.shedder_name == "UniformLoadShedder":
        yield from _uniform(played, played.decision)
    else:
        yield from _avg(term, played, played.decision, memory)


def _resources(term: Term, broker: str) -> str:
    if release_order(term.cluster.release) < _WITH_RESOURCES:
        return ""
    cpu, memory, direct, inward, outward = term.cluster.maps.reports[broker].percent().tolist()
    return (
        f" (cpu: {cpu:.2f}%, memory: {memory:.2f}%, directMemory: {direct:.2f}%,"
        f" bandwidthIn: {inward:.2f}%, bandwidthOut: {outward:.2f}%)"
    )


def _threshold(term: Term, played: Round, decision: Decision) -> Iterator[tuple[str, str]]:
    load = played.load
    threshold = term.cluster.setting("loadBalancerBrokerThresholdShedderPercentage", 10) / 100
    if decision.average == 0:
        yield "WARN", "average max resource usage is 0"
        return
    tried = {Reason.OVERLOADED, Reason.SOLE_BUNDLE, Reason.NO_BUNDLES}
    space = "  " if release_order(term.cluster.release) < _WITH_RESOURCES else " "
    for i, broker in enumerate(load.brokers):
        score = float(decision.scores[i])
        if decision.reasons[i] not in tried or score < decision.average + threshold:
            continue
        offload = float(decision.offload[i])
        left = float(load.throughput_in[i] + load.throughput_out[i]) - offload
        yield (
            "INFO",
            (
                f"Attempting to shed load on {broker}, which has max resource usage above avgUsage"
                f"{space}and threshold {java(100 * score)}% > {java(100 * decision.average)}% + "
                f"{java(100 * threshold)}% -- Offloading at least {java(offload / MEBIBYTE)}"
                f" MByte/s of traffic, left throughput {java(left / MEBIBYTE)} MByte/s"
                f"{_resources(term, broker)}"
            ),
        )
        yield from _odd(term, played, i)


def _odd(term: Term, played: Round, at: int) -> Iterator[tuple[str, str]]:
    """Yield what is printed of a hot broker with a single bundle, or with none."""
    broker = played.load.brokers[at]
    names = term.cluster.maps.reports[broker].names
    if len(names) == 1:
        yield (
            "WARN",
            (
                f"HIGH USAGE WARNING : Sole namespace bundle {names[0]} is overloading broker"
                f" {broker}. No Load Shedding will be done on this broker"
            ),
        )
    elif not names:
        yield "WARN", f"Broker {broker} is overloaded despite having no bundles"


def _overload(term: Term, played: Round, decision: Decision) -> Iterator[tuple[str, str]]:
    bar = term.cluster.setting("loadBalancerBrokerOverloadedThresholdPercentage", 85)
    for i, broker in enumerate(played.load.brokers):
        offload = float(decision.offload[i])
        if np.isnan(offload):
            continue
        yield (
            "INFO",
            (
                f"Attempting to shed load on {broker}, which has resource usage "
                f"{java(100 * float(decision.scores[i]))}% above threshold {java(bar)}% --"
                f" Offloading at least {java(offload / MEBIBYTE)} MByte/s of traffic"
                f"{_resources(term, broker)}"
            ),
        )
        yield from _odd(term, played, i)


def _uniform(played: Round, decision: Decision) -> Iterator[tuple[str, str]]:
    if not decision.unloads:
        return
    traffic = played.load.bundle_traffic()
    source = played.load.brokers.index(decision.unloads[0].source)
    is_rate = decision.offload_is_rate is not None and bool(decision.offload_is_rate[source])
    what, values = (
        ("msgRate", traffic.rate_in + traffic.rate_out)
        if is_rate
        else ("throughput", traffic.throughput_in + traffic.throughput_out)
    )
    at = {name: i for i, name in enumerate(played.load.bundles)}
    for unload in decision.unloads:
        yield "INFO", f"Found bundle to unload with {what} {java(float(values[at[unload.bundle]]))}"


def _avg(term: Term, played: Round, decision: Decision, memory: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """Yield the ranking, the hit counts and the pairs that are brought level."""
    load, setting = played.load, term.cluster.setting
    low_bar = setting("loadBalancerAvgShedderLowThreshold", 15)
    high_bar = setting("loadBalancerAvgShedderHighThreshold", 40)
    scores = dict(zip(load.brokers, decision.scores.tolist(), strict=True))
    ranked = sorted(hash_map_order(load.brokers), key=lambda broker: scores[broker])
    high, low = dict(memory.hits_high), dict(memory.hits_low)
    pairs = []
    for i in range((len(ranked) + 1) // 2):
        cool, hot = ranked[i], ranked[len(ranked) - 1 - i]
        apart = scores[hot] - scores[cool]
        for broker in dict.fromkeys((hot, cool)):
            if apart < low_bar:
                low.pop(broker, None)
            else:
                low[broker] = low.get(broker, 0) + 1
            if apart < high_bar:
                high.pop(broker, None)
            else:
                high[broker] = high.get(broker, 0) + 1
        if apart >= low_bar:
            pairs.append((hot, cool))
    if release_order(term.cluster.release) >= release_order("4.0.0"):
        yield "INFO", f"sorted broker list:[{', '.join(ranked)}]"
    yield "INFO", (f"brokerHitCountForHigh:{_printed(high)}, brokerHitCountForLow:{_printed(low)}")
    share = setting("maxUnloadPercentage", 0.2)
    high_hits = setting("loadBalancerAvgShedderHitCountHighThreshold", 2)
    low_hits = setting("loadBalancerAvgShedderHitCountLowThreshold", 8)
    for hot, cool in pairs:
        is_due = any(high.get(b, 0) >= high_hits or low.get(b, 0) >= low_hits for b in (hot, cool))
        if is_due:
            yield "INFO", _pair(term, played, (hot, cool), share)


def _pair(term: Term, played: Round, pair: tuple[str, str], share: float) -> str:
    load, setting = played.load, term.cluster.setting
    decision = played.decision
    assert decision is not None
    at = [load.brokers.index(broker) for broker in pair]
    rate = [float(load.rate_in[i] + load.rate_out[i]) for i in at]
    bytes_ = [float(load.throughput_in[i] + load.throughput_out[i]) for i in at]
    score = [float(decision.scores[i]) for i in at]
    by_rate, by_bytes = (rate[0] - rate[1]) * share, (bytes_[0] - bytes_[1]) * share
    least_rate = setting("minUnloadMessage", 1000)
    least_bytes = setting("minUnloadMessageThroughput", 1048576)
    is_rate = by_rate > least_rate
    hot, cool = pair
    if not is_rate and by_bytes <= least_bytes:
        return (
            f"broker:[{hot}] is planning to shed bundles to broker:[{cool}],but the throughput "
            f"{java(by_bytes / MEBIBYTE)} MByte/s is less than minimumThroughputThreshold "
            f"{java(least_bytes / MEBIBYTE)} MByte/s, and the msgRate {java(by_rate)} rate/s is"
            f" also less than minimumMsgRateThreshold {java(least_rate)} rate/s,"
            " skipping bundle unload."
        )
    return (
        f"broker:[{hot}] is planning to shed bundles to broker:[{cool}]. maxBroker stat:"
        f"scores:{java(score[0])}, throughput:{java(bytes_[0])}, msgRate:{java(rate[0])}. minBroker"
        f" stat:scores:{java(score[1])}, throughput:{java(bytes_[1])}, msgRate:{java(rate[1])}. "
        f"isMsgRateToOffload:{str(is_rate).lower()},  "
        f"trafficMarkedToOffload:{java(by_rate if is_rate else by_bytes)}"
    )


def _printed(hits: dict[str, int]) -> str:
    return "{" + ", ".join(f"{b}={hits[b]}" for b in hash_map_order(hits)) + "}"
