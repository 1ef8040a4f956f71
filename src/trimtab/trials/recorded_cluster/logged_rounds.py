"""A diagnosis → the rounds of the leader, those included that left no line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise, zip_longest
from typing import Any

from trimtab.lab.reconstruct.evidence import Round
from trimtab.trials.recorded_cluster.names import Names


def logged_rounds(
    document: Mapping[str, Any],
    replayed: Sequence[Mapping[str, Any]],
    brokers: Names,
    bundles: Names,
    interval_s: float,
) -> tuple[Round, ...]:
    """Return the rounds that were logged, and the silent ones that were decided again.

    Args:
        document: findings.json.
        replayed: rows of `replayed_rounds`.
        brokers: their names.
        bundles: likewise.
        interval_s: the shedding interval.
    """
    logged = document["round_list"]
    unloads: dict[int, list[Mapping[str, Any]]] = {row["round"]: [] for row in logged}
    for unload in document["unloads"]:
        unloads[unload["round"]].append(unload)
    decided = {row["round"]: row for row in replayed if row["round"] is not None}
    leader_rounds = []
    for row, following in zip_longest(logged, logged[1:]):
        mine, again = unloads[row["round"]], decided.get(row["round"])
        leader_rounds.append(
            Round(
                time_s=_seconds(row),
                unloads=tuple((bundles.at(u["bundle"]), brokers.at(u["target"])) for u in mine),
                waited_s=_waits(mine, _end(row, following, interval_s)),
                scores=None if again is None else _scores(again, brokers),
                doubt=None if again is None else again["doubt"] or again["bundle_doubt"],
            )
        )
    leader_rounds += [
        Round(row["time"].timestamp(), scores=_scores(row, brokers), doubt=row["doubt"])
        for row in replayed
        if row["round"] is None
    ]
    return tuple(sorted(leader_rounds, key=lambda each: each.time_s))


def _seconds(row: Mapping[str, Any]) -> float:
    return datetime.fromisoformat(row["time"]).timestamp()


def _end(
    row: Mapping[str, Any], following: Mapping[str, Any] | None, interval_s: float
) -> float | None:
    """Return when a round ended: an interval before the next one began, if that is logged."""
    if following is None or following["leader"] != row["leader"]:
        return None
    end_s = _seconds(following) - interval_s
    # If rounds between the two were silent, their ends are not known.
    return end_s if 0 <= end_s - _seconds(row) < interval_s / 2 else None


def _waits(unloads: Sequence[Mapping[str, Any]], end_s: float | None) -> tuple[float, ...]:
    times = [_seconds(unload) for unload in unloads]
    if times and end_s is not None and end_s >= times[-1]:
        times.append(end_s)
    return tuple(after - before for before, after in pairwise(times))


def _scores(row: Mapping[str, Any], brokers: Names) -> dict[int, float]:
    return {brokers.at(state["broker"]): state["score"] for state in row["brokers"]}
