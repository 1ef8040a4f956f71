"""What levels missed → which bundles cost more, or less, than their traffic.

A broker whose usage rises by more than its traffic explains has bundles that are dear among
those that grew, or came; one whose usage falls, among those that shrank, or left.
"""

from __future__ import annotations

import numpy as np

from trimtab.lab.costs.curve import curved
from trimtab.lab.costs.features import features
from trimtab.lab.costs.knowledge import DEVIATION, Knowledge, with_bundles
from trimtab.lab.costs.level import Filtered
from trimtab.lab.costs.look import Look
from trimtab.pulsar.model import Floats, Ints

# Bounds of a bundle's own share: none costs less than a third of what its traffic does.
_BOUNDS = (-0.67, 3.0)
# Points below which a change tells nothing of a bundle: others changed at the same time.
_CHANGE_MIN = 1.5
# Variance that a bundle's own share gains in a look: clients change.
_WANDERING = 2e-6


def deviated(known: Knowledge, look: Look, counts: Floats, filtered: Filtered) -> Knowledge:
    """Return what is known with what bundles cost by themselves.

    Each bundle is taken to deviate independently, so that of what a broker misses each takes
    the share that its own change has.

    Args:
        known: with the look's traffic and levels.
        look: the look.
        counts: (n_bundles, 7) their traffic before it.
        filtered: what sound samples missed.
    """
    bundles = known.bundles
    sound = ~filtered.is_doubted & ~filtered.is_first & filtered.is_settled
    place = np.full(len(known.broker_names), -1)
    place[filtered.broker] = np.flatnonzero(np.ones(filtered.broker.size))
    shown, leaving = bundles.shown.copy(), bundles.leaving.copy()
    row, bundle, change = _changes(known, look, counts, place)
    shown[bundle[change >= 0]] = filtered.broker[row[change >= 0]]
    at = place[look.broker[look.report]]
    shown[look.bundle[at >= 0]] = look.broker[look.report][at >= 0]
    leaving[(leaving >= 0) & (place[leaving] >= 0)] = -1
    kept = sound[row] & (np.abs(change) > _CHANGE_MIN)
    row, bundle, change = row[kept], bundle[kept], change[kept]
    own = bundles.deviation_variance.copy()
    spread = np.bincount(row, change**2 * own[bundle], filtered.broker.size)
    variance = np.maximum(
        filtered.variance, spread + known.brokers.window_variance[filtered.broker]
    )
    gain = own[bundle] * change / variance[row]
    deviation = bundles.deviation.copy()
    np.add.at(deviation, bundle, gain * filtered.missed[row])
    np.add.at(own, bundle, -gain * change * bundles.deviation_variance[bundle])
    return with_bundles(
        known,
        shown=shown,
        leaving=leaving,
        deviation=np.clip(deviation, *_BOUNDS),
        deviation_variance=np.clip(own + _WANDERING, DEVIATION**2 / 100.0, DEVIATION**2),
    )


def _changes(
    known: Knowledge, look: Look, counts: Floats, place: Ints
) -> tuple[Ints, Ints, Floats]:
    """Return rows of brokers, their bundles, and the points by which these changed there."""
    bundles = known.bundles
    at = place[look.broker[look.report]]
    listed = at >= 0
    row, bundle = at[listed], look.bundle[listed]
    load = features(look.counts[listed])
    was = np.where((bundles.shown[bundle] == look.broker[look.report][listed])[:, None], 1.0, 0.0)
    before = was * features(counts[bundle])
    left = np.flatnonzero((bundles.leaving >= 0) & (place[bundles.leaving] >= 0))
    gone = -features(counts[left])
    row = np.concatenate((row, place[bundles.leaving[left]]))
    bundle = np.concatenate((bundle, left))
    work = np.concatenate((load - before, gone)) @ np.exp(known.shared[:-1])
    broker = np.flatnonzero(place >= 0)[np.argsort(place[place >= 0])]
    brokers = known.brokers
    speed = brokers.by_cores[broker] * np.exp(brokers.slowness[broker])
    total = speed * (brokers.level_features[broker] @ np.exp(known.shared[:-1]))
    by_work = curved(total, float(known.shared[-1])).slope * speed
    return row, bundle, by_work[row] * work
