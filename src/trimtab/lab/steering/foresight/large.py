"""What bundles cost → those that would hold any broker above the others: to be split, not moved."""

from __future__ import annotations

import numpy as np

from trimtab.pulsar.model import Flags, Floats, Ints

# Points by which a broker that one bundle fills may stand above the mean of the others, and those
# down to which a bundle that was too large stays so.
_ASIDE, _STAYS = 16.0, 8.0
# Percent from which a broker may be full, noise of counters taken off; and by how much more than is
# seen a bundle may be taken to cost there.
_FULL, _HIDDEN_MAX = 88.0, 2.0


def too_large(usage: Floats, points: Floats, owner: Ints, was: Flags) -> Flags:
    """Return which bundles would hold any broker above the others by themselves, (n_bundles,).

    What fills a broker costs more than can be seen: there, all but what brokers use at rest is
    taken to be by its bundles, each by its share.

    Args:
        usage: (n_brokers, 3) percent, without what no move can do about; NaN where not known.
        points: (n_bundles, 3) of its owner's usage that each bundle takes.
        owner: (n_bundles,) positions; -1 for nobody.
        was: (n_bundles,) those that were too large until now.

    Properties:
        One that was too large is so until it is well among the others.
    """
    large = np.zeros(owner.size, np.bool_)
    there = np.flatnonzero(~np.isnan(usage[:, 0]))
    owned = np.flatnonzero((owner >= 0) & np.isin(owner, there))
    if there.size < 2 or owned.size == 0:
        return large
    by, points = owner[owned], points[owned]
    usage = np.nan_to_num(usage)
    carried = _sums(by, points, len(usage))
    at_rest = np.maximum((usage - carried)[there], 0.0).min(axis=0)
    is_full = usage[:, 0] >= _FULL
    hidden = np.where(is_full, (usage - at_rest)[:, 0] / np.maximum(carried[:, 0], 1e-9), 1.0)
    points = points.copy()
    points[:, 0] *= np.clip(hidden, 1.0, _HIDDEN_MAX)[by]
    carried = _sums(by, points, len(usage))
    # Wherever it is: at the broker that carries least besides its bundles.
    alone = at_rest + points
    # The others, when they have all that it can give up.
    others = usage[there].sum(axis=0) - usage[by] + (carried[by] - points)
    # By the fullest of each: a NIC that hardly anybody uses keeps nobody from being balanced.
    beyond = alone.max(axis=1) - others.max(axis=1) / (there.size - 1)
    large[owned] = beyond > np.where(was[owned], _STAYS, _ASIDE)
    return large


def _sums(owner: Ints, points: Floats, count: int) -> Floats:
    return np.stack([np.bincount(owner, each, count) for each in points.T], axis=1)
