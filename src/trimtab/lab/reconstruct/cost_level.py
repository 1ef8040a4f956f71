"""Costs that are drawn → the same at the level at which brokers used what they told.

What a few minutes teach of the costs leaves their level open by a third and more, as they have
no quiet stretch to learn it of.  What brokers used on average says it within a few percent.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trimtab.lab.costs.curve import curved
from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.reconstruct.cost_uncertainty import blocks
from trimtab.lab.reconstruct.costs import Costs
from trimtab.lab.reconstruct.host_windows import by_broker
from trimtab.lab.reconstruct.usage import WINDOWS_MIN, means
from trimtab.pulsar.model import Floats

# Factors that are tried, from the least to the largest.
_FACTORS = np.exp(np.linspace(-1.0, 1.0, 81))
# Percent from which a broker may have wanted more than it had.
_FULL = 99.0


def levelled(rebuilt: Rebuilt, costs: Costs, seed: int) -> Costs:
    """Return costs with one factor, by which they explain best what all brokers used.

    Windows are drawn with replacement, in blocks of one broker, so that how sure the factor is
    shows from one seed to the next; those in which a broker was full are left out.

    Properties:
        The same arguments give the same costs; too few windows leave them as they are.
        Costs that are all twice as high come to the same.
    """
    used, served = rebuilt.used, rebuilt.served
    told = means(used.usage[:1], used.warm)[:, 0]
    rows = np.flatnonzero(told < _FULL)
    if rows.size < WINDOWS_MIN:
        return costs
    broker = np.array([each for _, each in used.warm], np.int64)
    cut = blocks(broker[rows])
    drawn = np.random.default_rng([seed, 2]).integers(len(cut), size=len(cut))
    rows = rows[np.concatenate([cut[i] for i in drawn.tolist()])]
    carried = by_broker(served.work(costs), served.owner, served.n_brokers)
    work = (costs.quick * means(carried[None], used.warm))[rows, 0]
    return costs if not work.any() else _at(costs, work, (told - costs.rest[broker])[rows])


def _at(costs: Costs, work: Floats, told: Floats) -> Costs:
    """Return costs at the factor that misses least, (n_windows,) of work and of usage."""
    misses = [
        float(((curved(factor * work, costs.log_exponent).cpu - told) ** 2).sum())
        for factor in _FACTORS.tolist()
    ]
    return replace(costs, quick=costs.quick * float(_FACTORS[int(np.argmin(misses))]))
