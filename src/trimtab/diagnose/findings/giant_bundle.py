"""Bundles too large for any placement, or for any round to move."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from trimtab.diagnose.evidence import SHOWN
from trimtab.diagnose.night import Event, Finding, Heavy, Night, Round, Unfit
from trimtab.diagnose.other_events import grouped, round_at
from trimtab.diagnose.rounds import OF_CHOSEN
from trimtab.diagnose.usage_at_steps import UsageAtSteps, usage_at_steps
from trimtab.diagnose.usages import places_by_broker
from trimtab.pulsar.model import Floats

#: A bundle with so many even shares of the traffic makes any broker hot.
_SHARES = 1.5
#: So many shedding intervals in all it must have been too much for whoever had it.
_INTERVALS = 10
#: So many rounds must have found each bundle of a broker too large to move.
_ROUNDS = 3


def giant_bundle(night: Night) -> list[Finding]:
    """Find bundles that are too large for whoever has them, or for the balancer to move.

    Whatever broker has such a bundle stands above the others, and moving it moves the hot spot:
    it alone carries half as much again as a broker's even share of the traffic, by means over
    the night, of three brokers or more, and the broker that had it last stood above the average
    by the shedding threshold.  Or whoever had it stood above that bar for ten shedding intervals
    in all, and it would have lifted the coolest broker as high.  Or in three rounds decided
    again AvgShedder or UniformLoadShedder was to relieve a broker, and each of its bundles
    carried more than what was to move.  Medium.

    Quirks:
        What a broker reported counts until it reports again: a busy one does so more often.
        On a cluster that is idle or balanced in spite of it the bundle harms nobody.

    Source:
        impl/AvgShedder.java selectBundleForUnloading and impl/UniformLoadShedder.java
        findBundlesForUnloading, 4.0.8: a bundle that does not fit is passed over
    """
    by_share = _above_even_share(night)
    known = {bundle for finding in by_share for bundle in finding.bundles}
    others = [heavy for heavy in night.heaviest if heavy.bundle not in known]
    stuck = _too_large_to_move(night)
    places = {finding.brokers for finding in stuck}
    wherever = _too_much_for_anybody(night, others)
    return [*by_share, *stuck, *(each for each in wherever if each.brokers not in places)]


def _above_even_share(night: Night) -> list[Finding]:
    means = [_mean(each.seconds, each.throughput, night.end) for each in night.reports.values()]
    carried = [each for each in means if not math.isnan(each)]
    if len(carried) < 3:
        return []
    even = math.fsum(carried) / len(carried)
    giants = [heavy for heavy in night.heaviest if heavy.throughput >= _SHARES * even > 0]
    stood = _mean_usage(night) if giants else {}
    if len(stood) < 3:
        return []
    bar = math.fsum(stood.values()) / len(stood) + night.threshold
    return [
        _finding(night, heavy, even, stood[heavy.broker])
        for heavy in giants
        if stood.get(heavy.broker, 0.0) >= bar
    ]


def _mean_usage(night: Night) -> dict[str, float]:
    usages, seconds = night.usages, night.usages.seconds()
    means = {
        broker: _mean(seconds[mine], usages.fractions[mine], night.end)
        for broker, mine in places_by_broker(usages).items()
    }
    return {broker: mean for broker, mean in means.items() if not math.isnan(mean)}


def _mean(seconds: Floats, series: Floats, end: datetime | None) -> float:
    """Return the mean over time of what holds until it is told anew; NaN if nothing is told."""
    last = seconds[-1] if end is None else max(end.timestamp(), seconds[-1])
    held_s = np.diff(seconds, append=last)
    is_number = ~np.isnan(series)
    values, weights = series[is_number], held_s[is_number]
    if not values.size:
        return math.nan
    return float(np.average(values, weights=weights) if weights.any() else values.mean())


def _finding(night: Night, heavy: Heavy, even: float, usage: float) -> Finding:
    reports = night.reports.get(heavy.broker)
    return Finding(
        "giant-bundle" if heavy.topics > 1 else "giant-bundle.one-topic",
        "medium",
        reports.times[0] if reports else night.usages.ends()[0],
        0,
        brokers=(heavy.broker,),
        bundles=(heavy.bundle,),
        numbers={"throughput": heavy.throughput, "even_throughput": even, "topics": heavy.topics},
        values={"shares": heavy.throughput / even, "usage": usage},
    )


def _too_much_for_anybody(night: Night, heaviest: Sequence[Heavy]) -> list[Finding]:
    """Return a finding for each bundle that would have lifted the coolest broker over the bar."""
    stood = usage_at_steps(night) if heaviest else None
    if stood is None:
        return []
    findings = (_wherever(night, stood, heavy) for heavy in heaviest)
    return [finding for finding in findings if finding is not None]


def _wherever(night: Night, stood: UsageAtSteps, heavy: Heavy) -> Finding | None:
    reports = night.bundles.get(heavy.bundle)
    if reports is None:
        return None
    at = stood.positions(reports.times)
    rows = np.array([stood.row.get(reports.brokers[i], -1) if i >= 0 else -1 for i in at])
    is_known, steps = rows >= 0, np.arange(at.size)
    with np.errstate(all="ignore"):
        usage = stood.usage[rows, steps]
        takes = usage * np.minimum(1.0, reports.throughput[at] / stood.throughput[rows, steps])
        would = stood.coolest_but(rows) + takes
        is_too_much = is_known & (np.minimum(usage, would) >= stood.mean + night.threshold)
    places = np.flatnonzero(is_too_much)
    if places.size < _INTERVALS:
        return None
    worst = int(places[np.argmax(would[places])])
    values: dict[str, Any] = {
        "minutes": places.size * night.interval_s / 60,
        "owner": stood.brokers[rows[worst]],
        "usage": float(usage[worst]),
        "takes": float(takes[worst]),
        "would": float(would[worst]),
        "bar": float(stood.mean[worst]) + night.threshold,
    }
    first = datetime.fromtimestamp(float(stood.times[places[0]]), UTC)
    return Finding(
        "giant-bundle.wherever" if heavy.topics > 1 else "giant-bundle.wherever.one-topic",
        "medium",
        first,
        round_at(night, first),
        brokers=tuple(dict.fromkeys(stood.brokers[row] for row in rows[places].tolist())),
        bundles=(heavy.bundle,),
        numbers={"throughput": heavy.throughput, "topics": heavy.topics},
        values=values,
    )


def _too_large_to_move(night: Night) -> list[Finding]:
    """Return a finding for each broker of which no bundle fitted into what was to move."""
    decisions = night.decisions
    if not decisions.times or not night.has_settings:
        # Another share of the difference than the default may have been let go.
        return _none_fitted(night)
    stuck = grouped(decisions.too_large, lambda unfit: unfit.broker)
    return [
        Finding(
            "giant-bundle.budget",
            "medium",
            decisions.times[mine[0].at],
            round_at(night, decisions.times[mine[0].at] + timedelta(seconds=1)),
            brokers=(broker,),
            bundles=tuple(dict.fromkeys(unfit.bundle for unfit in mine)),
            numbers={"rounds": len(mine)},
            values={
                "shedder": night.shedder,
                "carried": _amount(mine[0], mine[0].carried),
                "offload": _amount(mine[0], mine[0].offload),
            },
        )
        for broker, mine in stuck.items()
        if len(mine) >= _ROUNDS
    ]


def _none_fitted(night: Night) -> list[Finding]:
    """Return a finding for each broker of which AvgShedder found no bundle, by its lines alone."""
    lines: dict[str, list[tuple[int, Event]]] = {}
    for logged in night.rounds:
        for event in _in_vain(logged):
            if event.broker and _is_without_arrivals(night, logged, event.broker):
                lines.setdefault(event.broker, []).append((logged.number, event))
    return [
        Finding(
            "giant-bundle.none-fitted",
            "medium",
            mine[0][1].time,
            mine[0][0],
            brokers=(broker,),
            evidence=tuple(event for _, event in mine[:SHOWN]),
            numbers={"rounds": len(mine)},
        )
        for broker, mine in lines.items()
        if len(mine) >= _ROUNDS
    ]


def _in_vain(logged: Round) -> list[Event]:
    """Return the lines in which AvgShedder meant to shed a broker of which it chose no bundle."""
    if any(event.kind == "avg-bundle-found" for event in logged.events):
        return []  # it does not say of whom
    sources = {event.broker for event in logged.events if event.kind in OF_CHOSEN}
    attempts = [event for event in logged.events if event.kind == "avg-shed-attempt"]
    return [event for event in attempts if event.broker not in sources]


def _is_without_arrivals(night: Night, logged: Round, broker: str) -> bool:
    """Return whether no bundle came to a broker within the grace period, which the log covers."""
    since = logged.time - timedelta(seconds=night.grace_period_s)
    begun = night.elected.get(logged.term, night.begin)
    if begun is None or (begun > since and logged.term not in night.elected):
        return False
    return not any(
        move.target == broker and since <= move.time <= logged.time for move in night.moves()
    )


def _amount(unfit: Unfit, amount: float) -> str:
    return f"{amount:.0f} messages/s" if unfit.is_rate else f"{amount / 1e6:.1f} MB/s"
