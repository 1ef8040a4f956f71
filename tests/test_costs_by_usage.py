"""Costs that account for what brokers used, of a simulated cluster whose costs are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tools import sizes
from tools.run_reports import evidence_of
from trimtab.lab.costs import Windows
from trimtab.lab.reconstruct.cluster import Measured, Rebuilt, rebuilt
from trimtab.lab.reconstruct.cost_uncertainty import drawn_costs
from trimtab.lab.reconstruct.costs import Costs, known_costs
from trimtab.lab.reconstruct.costs_by_usage import costs_by_usage
from trimtab.lab.reconstruct.evidence import Evidence
from trimtab.lab.reconstruct.usage import means
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.physics import costs as physics_costs
from trimtab.lab.simulate.physics import work as physics_work
from trimtab.lab.simulate.run import simulated
from trimtab.pulsar.model import Floats, Ints

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
    again = rebuilt(evidence_of(run, world, cluster), measured)
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

    for costs in costs_by_usage((again,), 5)[0]:
        ours = means(again.served.cpu(costs)[None], again.used.warm)[:, 0] + costs.rest[of]
        # Some minutes of other processes, and of a change of traffic, are not accounted for.
        assert np.median(np.abs(ours - used)) < 2.0


@pytest.mark.parametrize("seed", [PLAIN, FULL, 12, 19])
def test_all_bundles_together_cost_what_they_do(seed: int) -> None:
    again, real = told(seed)

    assert np.median(levels(again, costs_by_usage((again,), 9)[0], real)) == pytest.approx(
        1.0, abs=0.2
    )


@pytest.mark.parametrize("seed", [500_003, 500_004])
def test_draws_differ_by_as_much_as_they_miss_of_heavy_bundles(seed: int) -> None:
    # Many windows: what one misses the next one misses in part.
    cluster, balancer = sizes.cluster_of(seed)
    world = drawn(cluster, seed)
    nights = sizes.recorded(world, balancer, cluster, 14)
    measured = Measured(host_s=60.0, stats_s=60.0, write_quorum=2.0)
    known = known_costs(nights, Windows(60.0, 60.0))
    again = [
        rebuilt(each, measured, known=costs) for each, costs in zip(nights, known, strict=True)
    ]
    served, physics = again[0].served, cluster.parameters.physics
    real = physics_work(
        physics_costs(world.bundles, physics), served.rate_in, served.rate_out
    ).mean(axis=0)
    heavy = np.argsort(-real)[:8]
    draws = np.stack([served.work(each).mean(axis=0) for each in costs_by_usage(again, 8)[0]])
    off = np.log(draws / draws.sum(axis=1, keepdims=True)) - np.log(real / real.sum())

    missed = np.sqrt((off.mean(axis=0)[heavy] ** 2).mean())
    assert missed < 2.5 * np.sqrt(off.var(axis=0)[heavy].mean())


def test_a_minute_of_another_process_changes_little(plain: tuple[Rebuilt, float]) -> None:
    again, real = plain
    usage = again.used.usage.copy()
    span, broker = again.used.warm[len(again.used.warm) // 2]
    usage[0, span, broker] += 40.0
    spiked = replace(again, used=replace(again.used, usage=usage))

    before = np.median(levels(again, costs_by_usage((again,), 9)[0], real))
    after = np.median(levels(spiked, costs_by_usage((spiked,), 9)[0], real))

    assert after == pytest.approx(before, rel=0.06)


def test_more_draws_begin_with_the_same(plain: tuple[Rebuilt, float]) -> None:
    again, _ = plain

    few, many = costs_by_usage((again,), 2)[0], costs_by_usage((again,), 4)[0]

    for one, other in zip(few, many, strict=False):
        assert one.shared.tobytes() == other.shared.tobytes()
        assert one.own.tobytes() == other.own.tobytes()
        assert one.overhead == other.overhead
    assert many[0].own.tobytes() != many[1].own.tobytes()


def test_a_draw_has_the_same_costs_in_all_nights_by_name() -> None:
    cluster, balancer = sizes.cluster_of(PLAIN)
    world = drawn(cluster, PLAIN)
    nights = sizes.recorded(world, balancer, cluster, 2)
    # The second is told by other positions.
    turned = replace(
        nights[1],
        brokers=nights[1].brokers[::-1],
        reports=replace(nights[1].reports, broker=turn(nights[1].reports.broker, nights[1])),
        lines=replace(nights[1].lines, broker=turn(nights[1].lines.broker, nights[1])),
        owners=replace(nights[1].owners, broker=turn(nights[1].owners.broker, nights[1])),
    )
    windows = Windows(60.0, 60.0)
    known = known_costs((nights[0], turned), windows)
    measured = Measured(host_s=60.0, stats_s=60.0, write_quorum=2.0)
    again = [
        rebuilt(each, measured, known=costs)
        for each, costs in zip((nights[0], turned), known, strict=True)
    ]
    assert known[0].broker_names == known[1].broker_names[::-1] == nights[0].brokers
    for first, second in zip(*costs_by_usage(again, 3), strict=True):
        assert first.quick.tobytes() == second.quick[::-1].tobytes()
        assert first.own.tobytes() == second.own.tobytes()
        assert first.shared.tobytes() == second.shared.tobytes()
    # More is known of two nights than of one.
    alone = known_costs(nights[:1], windows)[0]
    assert np.linalg.det(known[0].covariance) < np.linalg.det(alone.covariance)


def turn(broker: Ints, night: Evidence) -> Ints:
    """Give brokers by positions that are counted from the end."""
    return np.where(broker >= 0, len(night.brokers) - 1 - broker, -1)


def test_of_a_few_windows_nothing_is_learned(plain: tuple[Rebuilt, float]) -> None:
    again, _ = plain
    short = replace(again, used=replace(again.used, warm=again.used.warm[:3]))

    ours, drawn_before = costs_by_usage((short,), 2)[0], drawn_costs(short, 2)

    assert [each.shared.tobytes() for each in ours] == [
        each.shared.tobytes() for each in drawn_before
    ]
