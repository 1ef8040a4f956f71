"""Brokers shed although their load had already gone."""

from __future__ import annotations

from trimtab.diagnose.broker_loads import BrokerLoads, broker_loads, percent
from trimtab.diagnose.entry import FindingEntry, Need, Useless, Words
from trimtab.diagnose.night import Finding, Night, Round

_SETTING = "loadBalancerHistoryResourcePercentage"


def over_unloading(night: Night) -> list[Finding]:
    """Find rounds that shed a broker whose reported usage was already below the bar.

    The smoothed score falls slowly: from 80 % toward 40 % it needs seven rounds to pass
    59 % with the default weight of the past, and each of these rounds sheds again.

    Source:
        impl/ThresholdShedder.java findBundlesForUnloading, 4.0.8: compares the smoothed
        usage, never the reported one
    """
    findings: list[Finding] = []
    for logged in night.rounds:
        loads = broker_loads(night, logged)
        if loads is None or not loads.is_reported:
            continue
        sources = dict.fromkeys(
            event.broker
            for event in logged.events
            if event.kind == "shed-attempt" and event.broker and "average_percent" in event.numbers
        )
        findings += [
            _finding(night, logged, loads, broker)
            for broker in sources
            if broker in loads.usage
            and loads.usage[broker] < loads.average() + night.threshold
            and any(move.source == broker for move in logged.moves)
        ]
    return findings


def _finding(night: Night, logged: Round, loads: BrokerLoads, broker: str) -> Finding:
    attempt = next(e for e in logged.events if e.kind == "shed-attempt" and e.broker == broker)
    smoothed = attempt.numbers["usage_percent"] / 100
    usage, bar = loads.usage[broker], loads.average() + night.threshold
    moves = [move for move in logged.moves if move.source == broker]
    return Finding(
        code="over-unloading",
        severity="high" if len(moves) > 1 else "medium",
        time=logged.time,
        round=logged.number,
        title=f"{broker} was shed although its load had already gone",
        text=(
            f"It reported {percent(usage)}, below the bar of {percent(bar)} that reported usage "
            f"would have to pass (average {percent(loads.average())} plus "
            f"{percent(night.threshold)}); its smoothed score still said {percent(smoothed)}."
        ),
        better="no unload in this round",
        advice=(
            f"Lower {_SETTING} (now {night.history_share:g}), so that the score follows the load; "
            "or use AvgShedder, which counts consecutive rounds instead of smoothing."
        ),
        brokers=(broker,),
        bundles=tuple(move.bundle for move in moves),
        moves=tuple(move.id for move in moves),
        evidence=(attempt, *(event for move in moves for event in move.evidence[-1:])),
        numbers={
            "reported_usage": usage,
            "reported_average": loads.average(),
            "reported_bar": bar,
            "smoothed_usage": smoothed,
        },
    )


ENTRY = FindingEntry(
    rule=over_unloading,
    rank=3,
    needs=(Need.LEADER_LOGS, Need.USAGE_IN_THE_ROUND),
    words=Words(
        "from a cold broker",
        "The source was below the bar already; only its smoothed usage was still above.",
    ),
    useless=Useless(22, "taken from a broker whose load had already gone"),
)
