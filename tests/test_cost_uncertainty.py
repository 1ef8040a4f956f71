"""A rebuilt cluster whose traffic costs something else, as the recording leaves it open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recorded_clusters import Recorder
from test_recorded_traffic import MEASURED, NOTHING_SHED, THRESHOLD, run_of, two_brokers
from trimtab.lab.reconstruct.cluster import Rebuilt, rebuilt
from trimtab.lab.reconstruct.cost_uncertainty import (
    Costs,
    drawn_costs,
    fitted_costs,
    missed,
    recosted,
    usage_error,
)

DEAR = Costs((0.3, 0.0, 1e-5, 2.0), 1.3)


@pytest.fixture(scope="module")
def again() -> Rebuilt:
    return rebuilt(two_brokers().told(), MEASURED, seed=0)


def noisy(bundle: int, time_s: float) -> float:
    """Give each bundle a rate of its own, minute by minute."""
    random = np.random.default_rng([bundle, int(time_s // 60)])
    return float(random.uniform(10.0, 60.0))


def test_with_the_fitted_costs_nothing_changes(again: Rebuilt) -> None:
    found = recosted(again, fitted_costs(again))
    assert found.world.machines.nic == pytest.approx(again.world.machines.nic)
    before, after = again.surroundings, found.surroundings
    assert after.traffic.work == pytest.approx(before.traffic.work)
    assert after.others.percent == pytest.approx(before.others.percent, abs=1e-6)


@pytest.mark.parametrize("costs", [DEAR, Costs((0.0, 0.0, 0.0, 0.0), 0.9)])
def test_whatever_it_costs_who_carries_what_it_carried_uses_what_it_used(
    again: Rebuilt, costs: Costs
) -> None:
    other = recosted(again, costs)
    assert other.surroundings.traffic.work.sum() != pytest.approx(
        again.surroundings.traffic.work.sum()
    )
    run = run_of(other, NOTHING_SHED, again.world.duration_s)
    for span, broker in again.used.spans:
        told = np.max(again.used.usage[:, span.start, broker])
        # Traffic doubles within a window, in which not one resource is the busiest all along.
        assert np.mean(run.usage[span, broker]) == pytest.approx(told, abs=1.5)


def test_what_moves_otherwise_costs_what_it_is_said_to_cost(again: Rebuilt) -> None:
    usage = [
        float(np.nanmax(run_of(recosted(again, costs), THRESHOLD, 0.0).usage))
        for costs in (Costs((0.0, 0.0, 0.0, 5.0), 1.0), DEAR)
    ]
    assert usage[0] != pytest.approx(usage[1], abs=0.5)


def test_draws_are_the_same_for_the_same_seed_and_spread_around_the_fit() -> None:
    busy = rebuilt(replace(two_brokers(), rate=noisy, until_s=1500.0).told(), MEASURED, seed=0)
    told = replace(busy.used, usage=busy.used.usage.copy())
    random = np.random.default_rng(4)
    for span, broker in busy.used.spans:
        told.usage[0, span, broker] += random.normal(0.0, 3.0)
    busy = replace(busy, used=told)

    drawn = drawn_costs(busy, 40)

    assert drawn == drawn_costs(busy, 40)
    assert drawn[:7] == drawn_costs(busy, 7)
    assert drawn != drawn_costs(busy, 40, seed=1)
    cpu = np.array([each.cpu for each in drawn])
    assert (cpu >= 0).all()
    assert np.ptp(cpu[:, 3]) > 0.1
    fitted = np.array(fitted_costs(busy).cpu)
    assert (cpu.min(axis=0) <= fitted + 1e-9)[3]
    assert (cpu.max(axis=0) >= fitted - 1e-9)[3]


def test_too_few_windows_leave_nothing_to_draw() -> None:
    short = rebuilt(Recorder(1, 2, noisy, [(0.0, 0, 0), (0.0, 1, 0)], 200.0).told(), MEASURED)
    assert drawn_costs(short, 3) == (fitted_costs(short),) * 3
    assert missed(short) == ()
    assert np.isnan(usage_error(short))


def test_what_the_costs_miss_is_said_of_each_broker(again: Rebuilt) -> None:
    # The made-up brokers use exactly what their traffic costs.
    found = missed(again)
    assert [each.broker for each in found] == ["b0:8080", "b1:8080"]
    assert sum(each.n_windows for each in found) == again.used.cpu.n_windows
    assert max(each.error_points for each in found) < 1.0
    assert usage_error(again) < 1.0

    told = again.used.usage.copy()
    told[0, :, 1] += 20.0
    off = missed(replace(again, used=replace(again.used, usage=told)))
    assert off[1].bias_points == pytest.approx(found[1].bias_points + 20.0, abs=1e-6)
    assert off[0] == found[0]


def test_a_broker_whose_usage_never_changes_still_says_what_it_uses() -> None:
    recorder = Recorder(2, 2, lambda bundle, _: 30.0 + bundle, [(0.0, 0, 0), (0.0, 1, 1)])
    told = recorder.told()
    usage = told.reports.usage.copy()
    usage[:, 0] = np.where(told.reports.broker == 0, 40.0, 10.0)
    flat = replace(told, reports=replace(told.reports, usage=usage))

    found = rebuilt(flat, MEASURED, seed=0)

    assert len(found.used.spans) > 10
    run = run_of(found, NOTHING_SHED, found.world.duration_s)
    assert np.nanmedian(run.usage, axis=0) == pytest.approx([40.0, 10.0], abs=1.0)
