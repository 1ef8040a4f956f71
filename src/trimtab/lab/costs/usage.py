"""What brokers carry → percent of CPU that it takes, and how sure what is fitted makes that."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trimtab.lab.costs.curve import curved
from trimtab.lab.costs.knowledge import Knowledge
from trimtab.lab.costs.load import BESIDE, costs
from trimtab.pulsar.model import Floats, Ints


class Usage(NamedTuple):
    """What loads take; all arrays are (n, …)."""

    #: Points of CPU.
    cpu: Floats
    #: (SHARED,) points for a unit of each of the shared costs, and for one of the slowness.
    by_shared: Floats
    by_slowness: Floats
    #: Points for a further point of work.
    by_work: Floats


def usage(known: Knowledge, broker: Ints, load: Floats) -> Usage:
    """Return what loads, (n, columns), take of some brokers, (n,)."""
    speed = known.brokers.by_cores[broker] * np.exp(known.brokers.slowness[broker])
    parts = load * costs(known) * speed[:, None]
    work, by_traffic = np.maximum(parts.sum(axis=1), 0.0), parts[:, :BESIDE]
    # What bundles take beside it goes with what all of their traffic costs.
    total = by_traffic.sum(axis=1)
    beside = np.divide(work, total, out=np.ones_like(work), where=total > 0)
    parts = by_traffic * beside[:, None]
    curve = curved(work, float(known.shared[-1]))
    shared = np.column_stack((curve.slope[:, None] * parts, curve.by_exponent))
    return Usage(curve.cpu, shared, curve.slope * work, curve.slope)


def change_variance(known: Knowledge, broker: Ints, before: Usage, after: Usage) -> Floats:
    """Return the variance, points squared, that what is fitted leaves in a change of usage."""
    shared = after.by_shared - before.by_shared
    own = after.by_slowness - before.by_slowness
    following = known.following[broker, 0]
    mixed = shared - own[:, None] * following
    by_shared = np.einsum("bs,st,bt->b", mixed, known.covariance, mixed)
    return np.asarray(by_shared + own**2 * known.own_covariance[broker, 0, 0])
