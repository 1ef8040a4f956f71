"""What may be full of a broker by itself: its usage, what bundles take of it, how sure both are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trimtab.lab.costs import Knowledge
from trimtab.lab.costs.curve import curved
from trimtab.lab.costs.features import features
from trimtab.lab.costs.load import costs
from trimtab.lab.costs.predict import (
    carried,
    drift_variance,
    level_now,
    level_variance,
    own_variance,
)
from trimtab.pulsar.model import Floats, Ints

#: What "a bundle costs its share of the traffic" is off by, as a share of that: in common for all
#: bundles of a cluster, and each by itself.  Moves between real brokers relieved these of half.
SHARE_DOUBT = (0.4, 0.3)
#: Points by which a usage that nothing was learned of swings.
SWING = 3.0
# s for which a plan is good, about: usage drifts meanwhile.
_PLANNED_S = 900.0
# Difference of work below which the slope of a curve is taken where it is, points.
_APART = 0.5


@dataclass(frozen=True, slots=True)
class Doubts:
    """By how much costs and speeds may be off, as shares of them."""

    #: (n_bundles, n_unknowns) by how much a bundle's cost follows what all share, whose
    #: covariance is (n_unknowns, n_unknowns).
    following: Floats
    covariance: Floats
    #: Standard deviations: (n_brokers,) of speeds, and (n_bundles,) of each bundle's own cost.
    speed: Floats
    own: Floats


@dataclass(frozen=True, slots=True)
class Column:
    """One resource, or one resource at some hour."""

    name: str
    #: (n_brokers,) percent, NaN where it is not known; its standard deviation, which is the same
    #: at all hours of a resource; and what each hour brings besides.
    usage: Floats
    deviation: Floats
    spread: Floats
    #: (n_brokers,) points that a unit of cost takes, and (n_bundles,) the costs.
    speed: Floats
    cost: Floats
    doubts: Doubts

    def part(self, n_brokers: int, n_bundles: int) -> Column:
        """Return the column of the first brokers and bundles alone."""
        doubts = self.doubts
        return Column(
            self.name,
            self.usage[:n_brokers],
            self.deviation[:n_brokers],
            self.spread[:n_brokers],
            self.speed[:n_brokers],
            self.cost[:n_bundles],
            Doubts(
                doubts.following[:n_bundles],
                doubts.covariance,
                doubts.speed[:n_brokers],
                doubts.own[:n_bundles],
            ),
        )


def learned_cpu(known: Knowledge) -> Column:
    """Return the CPU of brokers by what was learned of their costs."""
    brokers, bundles = known.brokers, known.bundles
    parts = features(bundles.counts) * np.exp(known.shared[:-1])
    by_traffic = parts.sum(axis=1)
    quick = brokers.by_cores * np.exp(brokers.slowness)
    slope = _slopes(carried(known) @ costs(known) * quick, float(known.shared[-1]))
    share = np.divide(parts, by_traffic[:, None], out=parts, where=by_traffic[:, None] > 0)
    # What a bundle was measured to cost does not depend on what all bundles are taken to.
    share *= np.sqrt(bundles.untold)[:, None]
    everyone = np.arange(len(known.broker_names))
    variance = level_variance(known, everyone) + drift_variance(known, _PLANNED_S)
    return Column(
        name="CPU",
        usage=level_now(known),
        deviation=np.sqrt(variance),
        spread=np.zeros(variance.size),
        speed=quick * slope,
        cost=np.where(bundles.owner >= 0, by_traffic * (1.0 + bundles.deviation), 0.0),
        doubts=Doubts(
            following=share,
            covariance=known.covariance[:-1, :-1],
            speed=np.sqrt(known.own_covariance[:, 0, 0]),
            own=np.sqrt(own_variance(known)),
        ),
    )


def _slopes(work: Floats, log_exponent: float) -> Floats:
    """Return the points of CPU for a point of work of each broker, (n_brokers,).

    Between what it does and what all do on average: there moves take it.
    """
    mean = np.full(work.size, work.mean() if work.size else 0.0)
    here, there = curved(work, log_exponent), curved(mean, log_exponent)
    apart = np.abs(work - mean) > _APART
    slope = np.divide(there.cpu - here.cpu, mean - work, out=here.slope.copy(), where=apart)
    return np.asarray(slope)


def by_share(name: str, usage: Floats, traffic: Floats, owner: Ints) -> Column:
    """Return a resource of which each bundle takes its share of its owner's traffic, anywhere.

    Args:
        name: of the resource.
        usage: (n_brokers,) percent.
        traffic: (n_bundles,) bytes/s.
        owner: (n_bundles,) positions; -1 is nobody.
    """
    owned, place = owner >= 0, np.maximum(owner, 0)
    total = np.bincount(place[owned], traffic[owned], usage.size)
    points = np.nan_to_num(usage)[place] * traffic
    cost = np.divide(points, total[place], out=np.zeros(traffic.size), where=total[place] > 0)
    return Column(
        name=name,
        usage=usage,
        deviation=np.full(usage.size, SWING),
        spread=np.zeros(usage.size),
        speed=np.ones(usage.size),
        cost=np.where(owned, cost, 0.0),
        doubts=Doubts(
            following=np.ones((traffic.size, 1)),
            covariance=np.array([[SHARE_DOUBT[0] ** 2]]),
            speed=np.zeros(usage.size),
            own=np.full(traffic.size, SHARE_DOUBT[1]),
        ),
    )


def steady(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return columns of which each hour is as it is expected to be."""
    return tuple(replace(each, spread=np.zeros(each.spread.size)) for each in columns)


def weighed(columns: Sequence[Column], weights: Sequence[float]) -> tuple[Column, ...]:
    """Return columns of which the one that is fullest by weight is a broker's usage."""
    return tuple(
        Column(
            each.name,
            weight * each.usage,
            weight * each.deviation,
            weight * each.spread,
            weight * each.speed,
            each.cost,
            each.doubts,
        )
        for each, weight in zip(columns, weights, strict=True)
        if weight > 0
    )
