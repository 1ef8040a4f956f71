"""Brokers shed although their load had already gone."""

from __future__ import annotations

from trimtab.diagnose.broker_loads import BrokerLoads, broker_loads
from trimtab.diagnose.evidence import of_moves
from trimtab.diagnose.night import Finding, Night, Round


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
            and logged.moves_from(broker)
        ]
    return findings


def _finding(night: Night, logged: Round, loads: BrokerLoads, broker: str) -> Finding:
    attempt = next(e for e in logged.events if e.kind == "shed-attempt" and e.broker == broker)
    moves = logged.moves_from(broker)
    shown = of_moves(moves, shown=None)
    average = loads.average()
    return Finding(
        "over-unloading",
        "high" if len(moves) > 1 else "medium",
        logged.time,
        logged.number,
        brokers=(broker,),
        numbers={
            "reported_usage": loads.usage[broker],
            "reported_average": average,
            "reported_bar": average + night.threshold,
            "smoothed_usage": attempt.numbers["usage_percent"] / 100,
        },
        values={"threshold": night.threshold, "history_share": night.history_share},
        **shown | {"evidence": (attempt, *shown["evidence"])},
    )
