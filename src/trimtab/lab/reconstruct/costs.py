"""What was learned of a recorded cluster's costs → what its bundles and its brokers take.

The same costs as everywhere: `trimtab.lab.costs` learns them, here they are laid on traffic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trimtab.lab.costs import Knowledge, Windows, learned, nothing_known
from trimtab.lab.costs.arrays import among, only
from trimtab.lab.costs.curve import MIDDLE, curved
from trimtab.lab.costs.features import works
from trimtab.lab.costs.fit import deviation_variance
from trimtab.lab.costs.knowledge import unwatched, with_brokers
from trimtab.lab.reconstruct.evidence import Evidence
from trimtab.lab.reconstruct.host_windows import by_broker
from trimtab.lab.reconstruct.looks import looks
from trimtab.lab.simulate.physics import FIXED_POINT
from trimtab.pulsar.model import Floats, Ints

# Ticks times bundles whose work is reckoned at a time: what stays near a core.
_CELLS = 50_000
# Speed of a broker below which it would do nothing, as a share of what its cores say.
_SLOWNESS_MAX = 3.0


@dataclass(frozen=True, slots=True)
class Costs:
    """What traffic costs, in one of the ways in which it may be."""

    #: (SHARED,) logarithms of what a unit of each feature costs, and of the exponent.
    shared: Floats
    #: (n_brokers,) points of work for a unit, and percent at rest.
    quick: Floats
    rest: Floats
    #: (n_bundles,) what each costs for what its traffic does.
    own: Floats
    #: Bytes on the wire for each that is counted.
    overhead: float

    @property
    def log_exponent(self) -> float:
        """Return the logarithm of the exponent of what brokers make of work."""
        return float(self.shared[-1])


def in_simulation(costs: Costs) -> float:
    """Return by what work is multiplied so that a simulation bends it as these costs do.

    Both take as much as a straight line somewhere, but not at the same place.
    """
    exponent = float(np.exp(costs.log_exponent))
    return float(FIXED_POINT / MIDDLE * (MIDDLE / FIXED_POINT) ** (1.0 / exponent))


# Without slots, so that what is worked out once has a place.
@dataclass(frozen=True)
class Served:
    """What bundles carry and who has them; arrays are (n_ticks, n_bundles) and (n_bundles,)."""

    rate_in: Floats
    rate_out: Floats
    #: Bytes a message.
    size: Floats
    topics: Floats
    #: NaN where nobody tells.
    producers: Floats
    owner: Ints
    n_brokers: int

    @cached_property
    def bytes_s(self) -> Floats:
        """Return what brokers carry, in and out, (2, n_ticks, n_brokers); worked out once."""
        ways = (self.rate_in, self.rate_out)
        sums = [by_broker(each, self.owner, self.n_brokers, self.size) for each in ways]
        return np.stack(sums)

    def work(self, costs: Costs) -> Floats:
        """Return the work of each bundle, (n_ticks, n_bundles), as `costs` has it."""
        n_ticks, n_bundles = self.rate_in.shape
        by_unit, work = np.exp(costs.shared[:-1]), np.empty((n_ticks, n_bundles))
        step, still = max(1, _CELLS // max(1, n_bundles)), (self.topics, self.producers)
        for first in range(0, n_ticks, step):
            part = slice(first, first + step)
            rates = self.rate_in[part], self.rate_out[part]
            work[part] = costs.own * works(rates, self.size[part], still, by_unit)
        return work

    def cpu(self, costs: Costs) -> Floats:
        """Return the points of CPU that brokers' bundles take, (n_ticks, n_brokers)."""
        return self.cpu_of(self.work(costs), costs)

    def cpu_of(self, work: Floats, costs: Costs) -> Floats:
        """Return the same where the work of each bundle is known."""
        carried = by_broker(work, self.owner, self.n_brokers)
        return curved(costs.quick * carried, costs.log_exponent).cpu


def known_costs(nights: Sequence[Evidence], windows: Windows) -> tuple[Knowledge, ...]:
    """Return what whole recordings of a cluster tell of its costs, for each by its own names.

    Args:
        nights: in order of time; what is known of costs after one is where the next begins.
        windows: how long those of brokers are.
    """
    known = nothing_known((), ())
    for night in nights:
        known = unwatched(among(known, night.brokers, night.bundles))
        for look in looks(night, windows.host_s):
            known = learned(known, look, windows)
    return tuple(_alike(only(known, night.brokers, night.bundles)) for night in nights)


def _alike(known: Knowledge) -> Knowledge:
    """Return the same with brokers that have told nothing like the median of those that have."""
    brokers = known.brokers
    is_told = np.isfinite(brokers.written_s)
    if is_told.all() or not is_told.any():
        return known
    columns = {
        name: np.where(is_told, column, float(np.median(column[is_told])))
        for name in ("by_cores", "slowness", "rest")
        for column in [getattr(brokers, name)]
    }
    return with_brokers(known, **columns)


def likeliest(known: Knowledge, overhead: float) -> Costs:
    """Return the costs as they are known, every bundle's as its traffic has them."""
    brokers = known.brokers
    return Costs(
        known.shared,
        brokers.by_cores * np.exp(brokers.slowness),
        brokers.rest,
        np.ones(len(known.bundle_names)),
        overhead,
    )


def drawn(known: Knowledge, overhead: float, random: np.random.Generator) -> Costs:
    """Return costs in one of the ways in which they may be by what is known.

    Properties:
        What goes together is drawn together: costs that all share, and what follows of each
        broker's speed and rest.
    """
    brokers = known.brokers
    n = len(known.broker_names)
    off = random.multivariate_normal(np.zeros(known.shared.size), known.covariance, method="eigh")
    own = np.linalg.cholesky(known.own_covariance) @ random.standard_normal((n, 2, 1))
    slowness, rest = (own[:, :, 0] - known.following @ off).T
    slowness = np.clip(brokers.slowness + slowness, -_SLOWNESS_MAX, _SLOWNESS_MAX)
    deviation = np.sqrt(deviation_variance(known))
    each = 1.0 + deviation * random.standard_normal(len(known.bundle_names))
    return Costs(
        known.shared + off,
        brokers.by_cores * np.exp(slowness),
        np.maximum(brokers.rest + rest, 0.0),
        np.maximum(each, 0.0),
        overhead,
    )
