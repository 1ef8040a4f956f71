"""Costs that account for what brokers used, of a simulated cluster whose costs are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tools import sizes
from trimtab.lab.reconstruct.cluster import Measured, Rebuilt, rebuilt
from trimtab.lab.reconstruct.cost_uncertainty import drawn_costs
from trimtab.lab.reconstruct.costs import Costs
from trimtab.lab.reconstruct.costs_by_usage import costs_by_usage
from trimtab.lab.reconstruct.usage import means
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.physics import costs as physics_costs
from trimtab.lab.simulate.physics import work as physics_work
from trimtab.lab.simulate.run import simulated
from trimtab.pulsar.model import Floats

pytestmark = pytest.mark.slow

#: A world in which nobody is full and other processes take something for a minute, and one with
#: full brokers.
PLAIN, FULL = 4, 8


def told(seed: int) -> tuple[Rebuilt, float]:
    """Give a cluster as its brokers tell of it, and the work that its bundles really bring."""
    cluster, balancer = sizes.cluster_of(seed)
    world = drawn(cluster, seed)
    run = simulated(world, balancer, cluster.parameters)
    measured = Measured(host_s=60.0, stats_s=60.0, write_quorum=2.0)
    again = rebuilt(sizes.evidence_of(run, world, cluster), measured)
    physics = cluster.parameters.physics
    rates = again.served.rate_in, again.served.rate_out
    return again, float(physics_work(physics_costs(world.bundles, physics), *rates).sum())


@pytest.fixture(scope="module")
def plain() -> tuple[Rebuilt, float]:
    return told(PLAIN)


def levels(again: Rebuilt, draws: tuple[Costs, ...], real: float) -> Floats:
    """Give the work of all bundles by some costs, as a share of the real."""
    work = [np.median(each.quick) * again.served.work(each).sum() for each in draws]
    return np.array(work) / real


def test_draws_account_for_what_brokers_used(plain: tuple[Rebuilt, float]) -> None:
    again, _ = plain
    of = np.array([broker for _, broker in again.used.warm])
    used = means(again.used.usage[:1], again.used.warm)[:, 0]

    for costs in costs_by_usage(again, 5):
        ours = means(again.served.cpu(costs)[None], again.used.warm)[:, 0] + costs.rest[of]
        # Some minutes of other processes, and of a change of traffic, are not accounted for.
        assert np.median(np.abs(ours - used)) < 2.0


@pytest.mark.parametrize("seed", [PLAIN, FULL, 12, 19])
def test_all_bundles_together_cost_what_they_do(seed: int) -> None:
    again, real = told(seed)

    assert np.median(levels(again, costs_by_usage(again, 9), real)) == pytest.approx(1.0, abs=0.2)


def test_a_minute_of_another_process_changes_little(plain: tuple[Rebuilt, float]) -> None:
    again, real = plain
    usage = again.used.usage.copy()
    span, broker = again.used.warm[len(again.used.warm) // 2]
    usage[0, span, broker] += 40.0
    spiked = replace(again, used=replace(again.used, usage=usage))

    before = np.median(levels(again, costs_by_usage(again, 9), real))
    after = np.median(levels(spiked, costs_by_usage(spiked, 9), real))

    assert after == pytest.approx(before, rel=0.06)


def test_more_draws_begin_with_the_same(plain: tuple[Rebuilt, float]) -> None:
    again, _ = plain

    few, many = costs_by_usage(again, 2), costs_by_usage(again, 4)

    for one, other in zip(few, many, strict=False):
        assert one.shared.tobytes() == other.shared.tobytes()
        assert one.own.tobytes() == other.own.tobytes()
        assert one.overhead == other.overhead
    assert many[0].own.tobytes() != many[1].own.tobytes()


def test_of_a_few_windows_nothing_is_learned(plain: tuple[Rebuilt, float]) -> None:
    again, _ = plain
    short = replace(again, used=replace(again.used, warm=again.used.warm[:3]))

    ours, drawn_before = costs_by_usage(short, 2), drawn_costs(short, 2)

    assert [each.shared.tobytes() for each in ours] == [
        each.shared.tobytes() for each in drawn_before
    ]
