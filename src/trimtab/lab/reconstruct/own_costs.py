"""What each broker carried, and how slow it appears → what each of its bundles costs of its own.

A broker that uses more than its traffic should either is slow or has a bundle that costs more
than its traffic says.  Which of both is drawn, by how far each may be off; together they always
come to what the broker used.  Were bundles' own costs drawn regardless of that, what they got
wrong would be taken for something else on the broker, which stays there when the bundle goes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trimtab.lab.costs import Knowledge
from trimtab.lab.costs.draw import Normals, fitted_draw
from trimtab.lab.costs.fit import deviation_variance
from trimtab.lab.reconstruct.costs import Costs, Served
from trimtab.lab.reconstruct.usage import Used
from trimtab.pulsar.model import Flags, Floats

# Logarithm of a slowness beyond which a broker would do nothing.
_SLOWNESS_MAX = 3.0
# Ticks times bundles that are counted at once.
_CELLS = 500_000
# Variance of the logarithm of what all bundles together cost: nothing is known of it here.
_SCALE_VARIANCE = 1.0
# Share of the variance of brokers that is theirs at least, whatever their bundles explain of it.
_THEIRS_MIN = 0.25


class Shares(NamedTuple):
    """What share of each broker's work each bundle was."""

    #: (n_brokers, n_bundles); a row is 0 where nothing is known of a broker.
    of_work: Floats
    #: (n_brokers, n_brokers) how much two brokers have in common.
    common: Floats


def shares(served: Served, used: Used) -> Shares:
    """Return what share of each broker's work each bundle was.

    By the likeliest costs, over the windows of processes that were warm.
    """
    is_warm = np.zeros((len(served.owner), served.n_brokers), np.bool_)
    for span, broker in used.warm:
        is_warm[span, broker] = True
    carried = _carried(served, served.work(used.costs), is_warm)
    total = carried.sum(axis=1, keepdims=True)
    return in_common(carried / np.where(total > 0, total, 1.0))


def in_common(of_work: Floats) -> Shares:
    """Return shares, with what brokers have in common."""
    return Shares(of_work, of_work @ of_work.T)


def _carried(served: Served, work: Floats, is_warm: Flags) -> Floats:
    """Return the work that each broker did for each bundle while it was warm."""
    n_ticks, n_bundles = work.shape
    carried, step = np.zeros(served.n_brokers * n_bundles), max(1, _CELLS // max(1, n_bundles))
    for first in range(0, n_ticks, step):
        owner = served.owner[first : first + step]
        tick, bundle = np.nonzero(owner >= 0)
        who = owner[tick, bundle]
        counts = is_warm[first + tick, who]
        place = who[counts] * n_bundles + bundle[counts]
        part = work[first + tick[counts], bundle[counts]]
        carried += np.bincount(place, part, carried.size)
    return carried.reshape(served.n_brokers, n_bundles)


def own_costs(
    known: Knowledge, shares: Shares, slowness: Floats, numbers: Normals
) -> tuple[Floats, Floats]:
    """Return what each bundle costs for what its traffic does, and how slow brokers then are.

    Args:
        known: what was learned of how far bundles and brokers differ.
        shares: what share of each broker's work each bundle was.
        slowness: (n_brokers,) logarithms, if bundles cost what their traffic does.
        numbers: of which it is drawn.

    Properties:
        What a broker used for what it carried stays what it was.
        A bundle that no warm broker carried costs on average what its traffic does.
    """
    n_brokers, n_bundles = shares.of_work.shape
    variance = float(np.log1p(deviation_variance(known)))
    own = np.sqrt(variance) * numbers((n_bundles,))
    of_bundles = variance * float(np.diag(shares.common).mean()) if n_brokers else 0.0
    apparent = float(known.alike_variance[0])
    theirs = max(apparent - of_bundles, _THEIRS_MIN * apparent)
    slow = np.sqrt(theirs) * numbers((n_brokers,))
    scale = np.sqrt(_SCALE_VARIANCE) * float(numbers((1,))[0])
    is_told = np.diag(shares.common) > 0
    by = shares.of_work[is_told]
    covariance = variance * shares.common[np.ix_(is_told, is_told)]
    covariance = covariance + theirs * np.eye(len(by)) + _SCALE_VARIANCE
    left = slowness[is_told] - scale - slow[is_told] - by @ own
    own = np.exp(own + variance * by.T @ np.linalg.solve(covariance, left) - variance / 2.0)
    # Whoever told nothing has bundles like all others.
    usual = by.mean(axis=0) if len(by) else np.full(n_bundles, 1.0 / max(1, n_bundles))
    carried = np.where(is_told, shares.of_work @ own, usual @ own)
    return own, slowness - np.log(carried)


def drawn(known: Knowledge, shares: Shares, overhead: float, numbers: Normals) -> Costs:
    """Return costs in one of the ways in which they may be by what is known.

    Args:
        known: what was learned.
        shares: what share of each broker's work each bundle was.
        overhead: bytes on the wire for each that is counted.
        numbers: of which it is drawn.

    Properties:
        By all of them brokers used what they told, as closely as that is sure.
    """
    fit = fitted_draw(known, numbers)
    slowness, rest = fit.own.T
    own, slowness = own_costs(known, shares, slowness, numbers)
    quick = known.brokers.by_cores * np.exp(np.clip(slowness, -_SLOWNESS_MAX, _SLOWNESS_MAX))
    return Costs(fit.shared, quick, np.maximum(rest, 0.0), own, overhead)
