"""A rebuilt cluster whose traffic costs something else, as the recording leaves it open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recorded_clusters import Recorder
from test_recorded_traffic import MEASURED, NOTHING_SHED, THRESHOLD, run_of, two_brokers
from trimtab.lab.costs.fit import deviation_variance
from trimtab.lab.reconstruct.cluster import Rebuilt, rebuilt
from trimtab.lab.reconstruct.cost_uncertainty import (
    Recosted,
    drawn_costs,
    drawn_overheads,
    missed,
    recosted,
    usage_error,
)
from trimtab.lab.reconstruct.costs import Costs


@pytest.fixture(scope="module")
def again() -> Rebuilt:
    return rebuilt(two_brokers().told(), MEASURED, seed=0)


def times(again: Rebuilt, factor: float, overhead: float) -> Costs:
    """Return costs that are so many times those that were learned."""
    costs = again.used.costs
    shared = costs.shared.copy()
    shared[:-1] += np.log(factor)
    return replace(costs, shared=shared, overhead=overhead)


def noisy(bundle: int, time_s: float) -> float:
    """Give each bundle a rate of its own, minute by minute."""
    random = np.random.default_rng([bundle, int(time_s // 60)])
    return float(random.uniform(10.0, 60.0))


def test_with_the_fitted_costs_nothing_changes(again: Rebuilt) -> None:
    found = recosted(again, again.used.costs)
    assert found.world.machines.nic == pytest.approx(again.world.machines.nic)
    before, after = again.surroundings, found.surroundings
    assert after.traffic.work == pytest.approx(before.traffic.work)
    assert after.others.percent == pytest.approx(before.others.percent, abs=1e-6)
    assert before.standing is not None
    assert after.standing is before.standing


@pytest.mark.parametrize(("factor", "overhead"), [(3.0, 1.3), (1e-3, 0.9)])
def test_whatever_it_costs_who_carries_what_it_carried_uses_what_it_used(
    again: Rebuilt, factor: float, overhead: float
) -> None:
    other = recosted(again, times(again, factor, overhead))
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
        for costs in (times(again, 1e-3, 1.0), times(again, 3.0, 1.3))
    ]
    assert usage[0] != pytest.approx(usage[1], abs=0.5)


@pytest.mark.slow
def test_draws_are_the_same_for_the_same_seed_and_spread_around_what_is_known() -> None:
    recorder = replace(two_brokers(), rate=noisy, until_s=2400.0)
    busy = rebuilt(recorder.told(), MEASURED, seed=0)

    drawn = drawn_costs(busy, 60)

    def plain(costs: tuple[Costs, ...]) -> list[list[float]]:
        arrays = [(c.shared, c.quick, c.rest, c.own, np.array([c.overhead])) for c in costs]
        return [np.concatenate(each).tolist() for each in arrays]

    assert plain(drawn) == plain(drawn_costs(busy, 60))
    assert plain(drawn[:7]) == plain(drawn_costs(busy, 7))
    assert plain(drawn) != plain(drawn_costs(busy, 60, seed=1))
    assert drawn_overheads(busy, 60) == tuple(each.overhead for each in drawn)
    known, shared = busy.used.known, np.stack([each.shared for each in drawn])
    deviation = np.sqrt(np.diag(known.covariance))
    assert shared.mean(axis=0) == pytest.approx(known.shared, abs=0.5 * deviation.max())
    assert shared.std(axis=0) == pytest.approx(deviation, rel=0.35)
    # What brokers take in all is surer than what a message and what a byte takes.
    work = [float(np.log(busy.served.work(each).sum())) for each in drawn]
    assert np.std(work) < shared[:, :-1].std(axis=0).min()
    own = np.stack([each.own for each in drawn])
    assert own.std() == pytest.approx(np.sqrt(deviation_variance(known)), rel=0.25)
    assert min(float(each.rest.min()) for each in drawn) >= 0.0


def test_too_few_windows_leave_costs_as_unsure_as_they_were() -> None:
    short = rebuilt(Recorder(1, 2, noisy, [(0.0, 0, 0), (0.0, 1, 0)], 200.0).told(), MEASURED)
    drawn = drawn_costs(short, 30)
    assert {each.overhead for each in drawn} == {1.0}
    assert np.std([each.shared[0] for each in drawn]) > 1.0
    assert missed(short) == ()
    assert np.isnan(usage_error(short))


def test_what_the_costs_miss_is_said_of_each_broker() -> None:
    # The made-up brokers use exactly what their traffic costs; it takes a while to be believed.
    again = rebuilt(two_brokers(until_s=2400.0).told(), MEASURED, seed=0)
    found = missed(again)
    assert [each.broker for each in found] == ["b0:8080", "b1:8080"]
    assert sum(each.n_windows for each in found) == again.used.cpu.n_windows
    assert max(each.error_points for each in found) < 1.5
    assert usage_error(again) < 1.5

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


def test_a_cluster_at_some_costs_is_at_hand_and_the_same(again: Rebuilt) -> None:
    costs = drawn_costs(again, 2)
    nights = Recosted(again, costs)
    first = nights.at(1)
    assert nights.at(1) is first
    for number in (1, 0):
        ours, theirs = nights.at(number), recosted(again, costs[number])
        one, other = ours.surroundings, theirs.surroundings
        assert one.traffic.work.tobytes() == other.traffic.work.tobytes()
        assert one.others.percent.tobytes() == other.others.percent.tobytes()
        assert ours.world.machines.nic.tobytes() == theirs.world.machines.nic.tobytes()
