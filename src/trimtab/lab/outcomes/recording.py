"""What a recording knows of its rounds → a trajectory, with NaN for what it does not know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.outcomes.trajectory import SAMPLE_S, Trajectory
from trimtab.lab.simulate.world import Moves
from trimtab.pulsar.model import Floats


@dataclass(frozen=True, slots=True)
class Reported:
    """What one broker said of itself."""

    #: s from the beginning of the recording.
    time_s: float
    broker: str
    #: Percent; None when it had gone.
    usage: float | None


@dataclass(frozen=True, slots=True)
class Unloaded:
    """One unload, as the leader logged it."""

    #: s from the beginning of the recording.
    time_s: float
    #: Position of its round.
    round: int
    bundle: str
    source: str
    #: None where the log does not say.
    target: str | None


def recorded(
    reports: Sequence[Reported],
    round_s: Sequence[float],
    unloads: Sequence[Unloaded],
    *,
    from_s: float,
    to_s: float,
) -> Trajectory:
    """Return the trajectory that load reports and the leader's log tell of.

    A broker's usage is what it last reported, from then until it reports again or has
    gone.  Reports are minute means; but a broker reports anew only when something changed
    by so much, so usages may be off by as much as its setting lets pass (10 points by
    default).

    The best possible spread is taken as 0, as reports do not tell what other processes
    take: times to balance are at most too long, and an excess spread is the whole spread.

    The usages that a move met are known as far as no move of the same round before it has
    touched the broker; what a round left behind, outages and shares of traffic are not.

    Args:
        reports: in order of time.
        round_s: when each round began, silent ones included, in order.
        unloads: in order of time.
        from_s: outcomes count from here; s from the beginning of the recording.
        to_s: the end; s from the beginning of the recording.
    """
    named = [unload.source for unload in unloads] + [u.target for u in unloads if u.target]
    brokers = tuple(sorted({report.broker for report in reports}.union(named)))
    usage = _usage(reports, brokers, int(to_s // SAMPLE_S))
    unknown = np.full(len(usage), np.nan)
    moved = np.bincount([unload.round for unload in unloads], minlength=len(round_s))
    return Trajectory(
        brokers=brokers,
        step_s=SAMPLE_S,
        usage=usage,
        best_spread=np.where((~np.isnan(usage)).sum(axis=1) > 1, 0.0, np.nan),
        event_s=from_s,
        round_s=np.array(round_s, np.float64),
        round_moved=moved.astype(np.int64),
        moves=_moves(reports, unloads, brokers),
        moved_topics=np.full(len(unloads), np.nan),
        offered=unknown,
        lost=unknown,
    )


def _usage(
    reports: Sequence[Reported], brokers: Sequence[str], n_samples: int
) -> NDArray[np.float32]:
    """Return each broker's last report at every sample."""
    usage = np.full((n_samples, len(brokers)), np.nan, np.float32)
    place = {broker: i for i, broker in enumerate(brokers)}
    for report in reports:
        # The first sample at or after it; the sample at position 0 is one step in.
        first = max(0, int(np.ceil(report.time_s / SAMPLE_S)) - 1)
        usage[first:, place[report.broker]] = _percent(report)
    return usage


def _percent(report: Reported) -> float:
    return np.nan if report.usage is None else report.usage


def _moves(
    reports: Sequence[Reported], unloads: Sequence[Unloaded], brokers: Sequence[str]
) -> Moves:
    place = {broker: i for i, broker in enumerate(brokers)}
    bundles = {bundle: i for i, bundle in enumerate(sorted({u.bundle for u in unloads}))}
    nothing = np.full(len(unloads), np.nan)
    met = _met(reports, unloads)
    return Moves(
        time_s=np.array([unload.time_s for unload in unloads], np.float64),
        round=np.array([unload.round for unload in unloads], np.int64),
        bundle=np.array([bundles[unload.bundle] for unload in unloads], np.int64),
        source=np.array([place[unload.source] for unload in unloads], np.int64),
        target=np.array([place.get(unload.target or "", -1) for unload in unloads], np.int64),
        source_before=met[:, 0],
        source_after=nothing,
        target_before=met[:, 1],
        target_after=nothing,
        source_end=nothing,
        target_end=nothing,
        mean=met[:, 2],
        outage_s=nothing,
        traffic_share=nothing,
        is_fallback=np.zeros(len(unloads), np.bool_),
    )


def _met(reports: Sequence[Reported], unloads: Sequence[Unloaded]) -> Floats:
    """Return the usage that each unload met.

    Returns:
        (n_unloads, 3) percent: usage of its source, of its target, and the mean.
    """
    met = np.full((len(unloads), 3), np.nan)
    latest: dict[str, float] = {}
    touched: set[str] = set()
    coming = 0
    for i, unload in enumerate(unloads):
        if i and unload.round != unloads[i - 1].round:
            touched = set()
        while coming < len(reports) and reports[coming].time_s <= unload.time_s:
            latest[reports[coming].broker] = _percent(reports[coming])
            coming += 1
        up = [usage for usage in latest.values() if not np.isnan(usage)]
        ends = (unload.source, unload.target or "")
        met[i, :2] = [np.nan if b in touched else latest.get(b, np.nan) for b in ends]
        met[i, 2] = np.mean(up) if up else np.nan
        touched |= set(ends)
    return met
