"""Moves of bundles → the usage of the brokers that they touch, with how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.lab.costs.arithmetic import half_width
from trimtab.lab.costs.features import features
from trimtab.lab.costs.fit import deviation_variance
from trimtab.lab.costs.knowledge import LAGS, LEVEL_STEP_S, Knowledge
from trimtab.lab.costs.level import wandering
from trimtab.lab.costs.load import costs, load
from trimtab.lab.costs.usage import change_variance, usage
from trimtab.pulsar.model import MINUTE_S, Floats, Ints

# Share of the variance of windows that lasts for more than one, so that no mean takes it away.
_UNSTEADY = 0.5
# Least of the variance of a bundle's deviation that is left: traffic that varies tells what more
# of it costs, and that is not what all of it does.
_UNTOLD_MIN = 0.2
# s after which a window that was doubted tells nothing of the usage any more: loads that come and
# go take a minute or so.
_PASSING_S = 90.0


@dataclass(frozen=True, slots=True)
class Predictions:
    """What the usage of brokers will be; all arrays are (n,)."""

    broker: Ints
    #: Percent of CPU before and after.
    before: Floats
    after: Floats
    #: Standard deviation of the change by itself, and of the usage afterwards.
    change_deviation: Floats
    deviation: Floats
    #: Variance that usage gains by itself until then, which is in the latter.
    drift_variance: float

    @property
    def change(self) -> Floats:
        """Return what the moves add, points."""
        return self.after - self.before

    def interval(self, share: float) -> tuple[Floats, Floats]:
        """Return the bounds between which the usage afterwards lies in a share of all cases."""
        half = half_width(share) * self.deviation
        return self.after - half, self.after + half


def predicted(known: Knowledge, bundle: Ints, to: Ints, horizon_s: float = 0.0) -> Predictions:
    """Return what becomes of brokers if bundles go from where they are to others.

    Args:
        known: what has been learned.
        bundle: (n_moves,) positions of bundles, each once.
        to: (n_moves,) position of the broker that each goes to.
        horizon_s: s from now to when the usage is asked for; 0 is now.
    """
    source = known.bundles.owner[bundle]
    brokers = np.unique(np.concatenate((source, to)))
    brokers = brokers[brokers >= 0]
    moved = load(known, bundle, features(known.bundles.counts[bundle]))
    sign = (to == brokers[:, None]).astype(np.float64) - (source == brokers[:, None])
    now = carried(known)[brokers]
    then = now + sign @ moved
    first, last = usage(known, brokers, now), usage(known, brokers, then)
    speed = last.by_work * known.brokers.by_cores[brokers] * np.exp(known.brokers.slowness[brokers])
    work, moves = moved @ costs(known), np.abs(sign)
    each = work**2 * own_variance(known)[bundle]
    # What a bundle was measured to cost does not depend on what all bundles are taken to.
    untold = (moves @ (work * known.bundles.untold[bundle])) / np.maximum(moves @ work, 1e-9)
    costs_variance = untold * change_variance(known, brokers, first, last)
    of_change = costs_variance + speed**2 * (moves @ each)
    before, variance = _left_alone(known, brokers, horizon_s)
    after = before + (last.cpu - first.cpu)
    drift = drift_variance(known, horizon_s)
    variance = variance + of_change + drift
    return Predictions(
        broker=brokers,
        before=before,
        after=np.clip(after, 0.0, 100.0),
        change_deviation=np.sqrt(of_change),
        deviation=np.sqrt(variance),
        drift_variance=drift,
    )


def unmoved(known: Knowledge, brokers: Ints, horizon_s: float) -> Predictions:
    """Return what becomes of brokers whose bundles stay: as now, and less sure by the hour."""
    level, variance = _left_alone(known, brokers, horizon_s)
    drift = drift_variance(known, horizon_s)
    deviation = np.sqrt(variance + drift)
    return Predictions(brokers, level, level, np.zeros(brokers.size), deviation, drift)


def carried(known: Knowledge) -> Floats:
    """Return the load of what brokers own, (n_brokers, columns), as bundles' traffic is now."""
    bundles = known.bundles
    owned = np.flatnonzero(bundles.owner >= 0)
    each, n = load(known, owned, features(bundles.counts[owned])), len(known.broker_names)
    columns = [np.bincount(bundles.owner[owned], column, n) for column in each.T]
    return np.stack(columns, axis=1)


def traffic_cpu(known: Knowledge) -> Floats:
    """Return what the traffic of brokers takes of their CPU, (n_brokers,) points."""
    return usage(known, np.arange(len(known.broker_names)), carried(known)).cpu


def relief(known: Knowledge) -> Floats:
    """Return what each bundle takes of its owner's CPU, (n_bundles,) points; 0 if it has none."""
    owner = np.maximum(known.bundles.owner, 0)
    return np.where(known.bundles.owner >= 0, by_work(known)[owner] * works(known), 0.0)


def works(known: Knowledge) -> Floats:
    """Return the work of each bundle, (n_bundles,): points on a broker of which one is one."""
    return by_traffic(known) * (1.0 + known.bundles.deviation)


def by_traffic(known: Knowledge) -> Floats:
    """Return what the traffic of each bundle says its work is, (n_bundles,)."""
    return by_counts(known, known.bundles.counts)


def by_counts(known: Knowledge, counts: Floats) -> Floats:
    """Return what traffic says its work is, (n,), of columns COUNTS, (n, 7)."""
    return features(counts) @ np.exp(known.shared[:-1])


def own_variance(known: Knowledge) -> Floats:
    """Return the variance of what bundles cost, as a share of it, that is each one's own."""
    untold = np.maximum(known.bundles.untold, _UNTOLD_MIN)
    return np.asarray(deviation_variance(known) * untold)


def by_work(known: Knowledge) -> Floats:
    """Return the points of CPU that a further point of work takes on each broker, (n_brokers,)."""
    slope = usage(known, np.arange(len(known.broker_names)), carried(known)).by_work
    return slope * known.brokers.by_cores * np.exp(known.brokers.slowness)


def level_now(known: Knowledge) -> Floats:
    """Return the usage of brokers, (n_brokers,) percent: measured, and moved on with traffic."""
    everyone = np.arange(len(known.broker_names))
    then = usage(known, everyone, known.brokers.level_load).cpu
    now = usage(known, everyone, carried(known)).cpu
    others = np.nan_to_num(known.brokers.others)
    return np.clip(known.brokers.level + others + now - then, 0.0, 100.0)


def drift_variance(known: Knowledge, horizon_s: float) -> float:
    """Return the variance that a broker's usage gains by itself in some time, points squared."""
    if horizon_s <= 0:
        return 0.0
    squares = known.drift[:, 0] / known.drift[:, 1]
    # Whoever drifts longer drifts no less.
    squares = np.maximum.accumulate(squares)
    lags_s = np.concatenate(([0.0], np.array(LAGS) * LEVEL_STEP_S))
    return float(np.interp(horizon_s, lags_s, np.concatenate(([0.0], squares))))


def level_variance(known: Knowledge, brokers: Ints) -> Floats:
    """Return the variance of what is known of some brokers' usage now, points squared."""
    of = known.brokers
    measured = of.level_variance[brokers] + _UNSTEADY * of.window_variance[brokers]
    written_s = of.written_s[brokers]
    # Who has never said anything has no level either.
    silent_s = np.where(np.isfinite(written_s), known.time_s, written_s) - MINUTE_S
    silent_s = silent_s - np.where(np.isfinite(written_s), written_s, 0.0)
    return np.asarray(measured + wandering(np.maximum(silent_s, 0.0)))


def _left_alone(known: Knowledge, brokers: Ints, horizon_s: float) -> tuple[Floats, Floats]:
    """Return the usage of brokers that nothing is moved from or to, and its variance but for drift.

    A window that was doubted still shows in it for a while.
    """
    of = known.brokers
    age_s = known.time_s + horizon_s - of.written_s[brokers]
    left = np.clip(1.0 - age_s / _PASSING_S, 0.0, 1.0)
    doubt = of.doubt[brokers]
    passing, passing_variance = left * doubt, left * (1.0 - left) * doubt**2
    level = level_now(known)[brokers] + passing
    return level, level_variance(known, brokers) + passing_variance
