"""Costs that are drawn of what is known beforehand → those that a few minutes do not speak against.

Costs are learned of quiet stretches, and a few minutes have none; what brokers then told of
what they used says something all the same, as far as their processes were not too young.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.reconstruct.cost_uncertainty import drawn_costs
from trimtab.lab.reconstruct.costs import Costs
from trimtab.lab.reconstruct.usage import means
from trimtab.lab.rehearsal.processes import Process, ages, of_age, percent_of
from trimtab.lab.simulate.noise import generator
from trimtab.pulsar.model import Floats

# Draws of which some are kept, for each that is wanted.
_DRAWS = 10
# Percent that a broker takes more or less than it should, for good.
_POINTS = 2.0


def likely_costs(
    rebuilt: Rebuilt, like: Sequence[Process], count: int, seed: int = 0
) -> tuple[Costs, ...]:
    """Return costs that neither what is learned nor what brokers told speaks against.

    They are drawn as `drawn_costs` has them, and drawn again by how likely the usage of each
    broker is by them, which its processes at their ages make more or less sure.

    Properties:
        The same arguments give the same costs.
    """
    draws = drawn_costs(rebuilt, _DRAWS * count, seed)
    likely = np.array([_log_likelihood(rebuilt, like, costs) for costs in draws])
    weight = np.exp(likely - likely.max(initial=-np.inf)) if len(draws) else likely
    random = generator(seed, "likely costs")
    # One of each equal part of the weights, so that few are drawn twice.
    at = (np.arange(count) + random.random()) / max(1, count)
    chosen = np.searchsorted(np.cumsum(weight) / weight.sum(), at)
    order = random.permutation(np.minimum(chosen, len(draws) - 1))
    return tuple(draws[i] for i in order.tolist())


def _log_likelihood(rebuilt: Rebuilt, like: Sequence[Process], costs: Costs) -> float:
    """Return how likely what brokers used is by some costs; a broker counts once."""
    spans, by_cores = rebuilt.used.spans, rebuilt.used.known.brokers.by_cores
    if not spans:
        return 0.0
    broker = np.array([each for _, each in spans])
    told = means(rebuilt.used.usage[:1], spans)[:, 0]
    ours = means(rebuilt.served.cpu(costs)[None], spans)[:, 0] + costs.rest[broker]
    usual, variance = np.array([of_age(like, age) for age in ages(rebuilt)]).T
    left = told - ours - percent_of(usual, by_cores[broker])
    spread = np.maximum(percent_of(np.sqrt(variance), by_cores[broker]), _POINTS)
    return float(
        sum(_of_broker(left[broker == each], spread[broker == each]) for each in set(broker))
    )


def _of_broker(left: Floats, spread: Floats) -> float:
    is_told = ~np.isnan(left)
    weight = 1.0 / spread[is_told] ** 2
    if not weight.size:
        return 0.0
    level = float(weight @ left[is_told] / weight.sum())
    return -0.5 * level**2 / (1.0 / float(weight.sum()) + _POINTS**2)
