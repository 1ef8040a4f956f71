"""Rounds of UniformLoadShedder that relieved another broker than the busiest."""

from __future__ import annotations

from datetime import timedelta

from trimtab.diagnose.evidence import of_moves
from trimtab.diagnose.night import Finding, Night, Round

#: Another broker must have so much more of both, messages and bytes.
_MORE = 1.1
#: The leader has heard of a report after this.
_HEARD = timedelta(seconds=10)


def wrong_extreme(night: Night) -> list[Finding]:
    """Find rounds of UniformLoadShedder whose source had a busier broker beside it.

    Its source is the broker with most messages or with most bytes a second.  Another that
    reported ten percent more of both shows that the wrong one was taken, as releases did that
    looked for both extremes in one pass.  Of reports of the last ten seconds it is open which
    the leader had heard of: each of them must show it.  Medium.

    Source:
        impl/UniformLoadShedder.java findBundlesForUnloading, 2.10.4 (#21016)
    """
    findings = []
    for logged in night.rounds:
        if logged.strategy != "UniformLoadShedder":
            continue
        carried = _carried(night, logged)
        for source in dict.fromkeys(move.source for move in logged.moves):
            if source not in carried:
                continue
            # Whatever of the latest reports the leader had heard of: the source had this at most.
            rate, throughput = (max(values) for values in carried[source])
            least = {
                broker: (min(rates), min(throughputs))
                for broker, (rates, throughputs) in carried.items()
            }
            busier = [
                broker
                for broker, (other_rate, other_throughput) in least.items()
                if other_rate > _MORE * rate and other_throughput > _MORE * throughput
            ]
            if busier:
                worst = max(busier, key=least.__getitem__)
                numbers = least | {source: (rate, throughput)}
                findings.append(_finding(logged, source, worst, numbers))
    return findings


def _carried(night: Night, logged: Round) -> dict[str, tuple[list[float], list[float]]]:
    """Return messages/s and bytes/s in the reports that the leader may have gone by."""
    carried = {}
    for broker, reports in night.reports.items():
        first, last = (reports.at(time) for time in (logged.time - _HEARD, logged.time))
        if first is not None and last is not None:
            which = slice(first, last + 1)
            carried[broker] = reports.rate[which].tolist(), reports.throughput[which].tolist()
    return carried


def _finding(
    logged: Round, source: str, busier: str, carried: dict[str, tuple[float, float]]
) -> Finding:
    (rate, throughput), (most_rate, most_throughput) = carried[source], carried[busier]
    return Finding(
        "wrong-extreme",
        "medium",
        logged.time,
        logged.number,
        brokers=(source, busier),
        numbers={"rate": rate, "throughput": throughput, "other_rate": most_rate},
        values={"other_throughput": most_throughput},
        **of_moves(logged.moves_from(source)),
    )
