"""Destinations that were given more than they could take."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from trimtab.diagnose.broker_loads import broker_loads, is_all_reported, reported_usage
from trimtab.diagnose.cure import Proposal
from trimtab.diagnose.evidence import of_moves
from trimtab.diagnose.failed_orders import carried_out
from trimtab.diagnose.night import Finding, Move, Night, Round
from trimtab.diagnose.wording import percent

#: A broker below this has just started and not yet sampled its CPU: its first sample is the
#: mean since 1970.  It would drag the average down and make anyone look hot.
_SAMPLED_MIN = 0.001
#: Intervals after which the reports of a move are in: 60 s of statistics, 5 s of report tick.
_SETTLED_INTERVALS = 2
#: Shedders that plan the destination themselves: several bundles to one broker are meant.
_PLANNING = frozenset({"AvgShedder", "TransferShedder"})
#: Rounds within which a destination that is shed itself counts as a wrong one.
_SHED_AGAIN_ROUNDS = 3

#: Broker → usage.
_Usage = Mapping[str, float]


def over_placement(night: Night) -> list[Finding]:
    """Find destinations that became the next hot spot, or got several bundles at once.

    Reports do not change during a round, so every bundle of a round sees the same
    coolest broker; and the placer does not reckon with what a bundle will add.

    Source:
        impl/ModularLoadManagerImpl.java doLoadShedding, 4.0.8: selection reads the load
        data of the round's start
    """
    findings: list[Finding] = []
    begins = sorted(night.decisions.times)
    night = replace(night, rounds=carried_out(night))
    for logged in night.rounds:
        targets = dict.fromkeys(move.target for move in logged.moves if move.target)
        if not targets:
            continue
        settled = logged.end + timedelta(seconds=night.interval_s * _SETTLED_INTERVALS)
        times = (logged.time, settled) if is_all_reported(night, logged) else ()
        before, after = (_sampled(night, time) for time in times) if times else ({}, {})
        reported = before, after
        horizon = _third_round(night, begins, logged)
        for target in targets:
            moves = [move for move in logged.moves if move.target == target]
            finding = _finding(night, logged, horizon, moves, reported)
            if finding is not None:
                findings.append(finding)
    return findings


def _finding(
    night: Night,
    logged: Round,
    horizon: datetime,
    moves: Sequence[Move],
    reported: tuple[_Usage, _Usage],
) -> Finding | None:
    target = moves[0].target or ""
    signs, numbers, is_hot = _signs(night, logged, horizon, target, reported)
    is_planned = logged.strategy in _PLANNING
    if len(moves) > 1 and not is_planned:
        signs.insert(0, f"{len(moves)} bundles of one round went to it")
    if not signs:
        return None
    loads = broker_loads(night, logged, moves[0])
    right = loads.coolest(but=moves[0].source) if loads else None
    values: dict[str, Any] = {"signs": "; ".join(signs)}
    if loads is not None and right is not None and right != target and target in loads.usage:
        values |= {"right": right, "right_usage": loads.usage[right], "basis": loads.basis}
    variants = ".hot" * is_hot + ".planned" * is_planned + ".cooler" * ("right" in values)
    return Finding(
        f"over-placement{variants}",
        "high" if is_hot else "low",
        moves[0].time,
        logged.number,
        brokers=(target,),
        numbers={"bundles": len(moves), **numbers},
        values=values,
        **of_moves(moves, shown=None),
    )


def _signs(
    night: Night, logged: Round, horizon: datetime, target: str, reported: tuple[_Usage, _Usage]
) -> tuple[list[str], dict[str, float], bool]:
    """Return what shows that a destination was overfilled: words, numbers, and whether it was hot.

    Until `horizon` what is shed counts; `reported` is usage before the round, and when its moves
    had settled.
    """
    signs: list[str] = []
    numbers: dict[str, float] = {}
    for later in night.rounds:
        if logged.end < later.time <= horizon and later.moves_from(target):
            minutes = (later.time - logged.time).total_seconds() / 60
            signs.append(f"{minutes:.0f} min later it was shed itself (round {later.number})")
            numbers["shed_after_min"] = minutes
            break
    before, after = reported
    if target in before and len(before) > 1:
        bar = sum(before.values()) / len(before) + night.threshold
        numbers |= {"usage_before": before[target], "bar_before": bar}
        if before[target] > bar:
            signs.append(
                f"it stood at {percent(before[target])} already, above the bar of {percent(bar)}"
            )
        elif target in after and len(after) > 1:
            bar = sum(after.values()) / len(after) + night.threshold
            numbers |= {"usage_after": after[target], "bar_after": bar}
            if after[target] > bar:
                signs.append(
                    f"from {percent(before[target])} it rose to {percent(after[target])}, above "
                    f"the bar of {percent(bar)}"
                )
    return signs, numbers, bool(signs)


def _third_round(night: Night, begins: Sequence[datetime], logged: Round) -> datetime:
    """Return until when the third round after one has begun: later where a leader was absent.

    `begins` is when all rounds began, in order.
    """
    usual = logged.end + timedelta(seconds=night.interval_s * (_SHED_AGAIN_ROUNDS + 0.5))
    third = bisect_right(begins, logged.end) + _SHED_AGAIN_ROUNDS - 1
    return max([usual, *begins[third : third + 1]])


def _sampled(night: Night, time: datetime) -> dict[str, float]:
    usage = reported_usage(night, time)
    return {broker: value for broker, value in usage.items() if value >= _SAMPLED_MIN}


def cure(night: Night, findings: Mapping[str, Sequence[Finding]]) -> Proposal | None:
    """Return the proposal of a strategy that plans, for bundles put where it was or became hot."""
    del night
    hot = [finding for finding in findings["over-placement"] if finding.severity != "low"]
    moves = sum(len(finding.moves) for finding in hot)
    return Proposal(moves, {"moves": moves}) if hot else None
