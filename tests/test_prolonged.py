"""What is known of a night by some time, and how it goes on as if nothing else came."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recorded_clusters import ZERO_S
from test_recorded_traffic import MEASURED, NOTHING_SHED, THRESHOLD, two_brokers
from trimtab.lab.reconstruct.cluster import Rebuilt, rebuilt
from trimtab.lab.reconstruct.cost_uncertainty import drawn_costs
from trimtab.lab.reconstruct.evidence import Round
from trimtab.lab.reconstruct.evidence_until import evidence_until
from trimtab.lab.rehearsal.disturbed import rehearsed
from trimtab.lab.rehearsal.plan import Rehearsal
from trimtab.lab.rehearsal.prolonged import prolonged

MORE_S = 120.0


@pytest.fixture(scope="module")
def again() -> Rebuilt:
    return rebuilt(two_brokers().told(), MEASURED, seed=0)


def test_nothing_later_than_the_time_is_known() -> None:
    rounds = tuple(Round(ZERO_S + 60.0 * minute) for minute in range(1, 9))
    whole = two_brokers(rounds=rounds).told()
    known = evidence_until(whole, ZERO_S + 200.0)
    for columns in (known.reports, known.lines, known.owners):
        assert columns.time_s.max() <= ZERO_S + 200.0
    assert [each.time_s - ZERO_S for each in known.rounds] == [60.0, 120.0, 180.0]
    assert (known.brokers, known.bundles) == (whole.brokers, whole.bundles)
    rows = known.lines.time_s.size
    assert known.lines.rates.tobytes() == whole.lines.rates[:rows].tobytes()
    later = evidence_until(evidence_until(whole, ZERO_S + 400.0), ZERO_S + 200.0)
    assert later.reports.usage.tobytes() == known.reports.usage.tobytes()


def test_up_to_where_it_ended_nothing_is_otherwise(again: Rebuilt) -> None:
    longer = prolonged(again, MORE_S)
    n_ticks = again.grid.n_ticks
    assert longer.world.duration_s == pytest.approx(again.world.duration_s + MORE_S)
    for name in ("rate_in", "rate_out", "work", "message_bytes"):
        ours = getattr(longer.surroundings.traffic, name)
        assert ours[:n_ticks].tobytes() == getattr(again.surroundings.traffic, name).tobytes()
    others = longer.surroundings.others.percent
    assert others[:, :n_ticks].tobytes() == again.surroundings.others.percent.tobytes()


def test_it_goes_on_as_in_its_last_minute(again: Rebuilt) -> None:
    longer = prolonged(again, MORE_S)
    n_ticks = again.grid.n_ticks
    last = round(60.0 / again.grid.tick_s)
    mean = again.served.rate_in[-last:].mean(axis=0)
    assert longer.served.rate_in[n_ticks:] == pytest.approx(
        np.broadcast_to(mean, longer.served.rate_in[n_ticks:].shape)
    )
    assert (longer.owner[n_ticks:] == again.owner[-1]).all()


def test_what_goes_on_can_be_rehearsed(again: Rebuilt) -> None:
    longer = prolonged(again, MORE_S)
    (costs,) = drawn_costs(longer, 1)
    plan = Rehearsal(again.world.duration_s - 1.0, NOTHING_SHED)
    run = rehearsed(longer, plan, costs, 0)
    assert len(run.usage) == longer.grid.n_ticks
    assert not np.isnan(run.usage).any()
    assert run.usage[-1] == pytest.approx(run.usage[again.grid.n_ticks + 10], abs=1.0)


def test_the_leaders_clock_goes_on_where_no_later_round_is_told() -> None:
    rounds = tuple(Round(ZERO_S + 7.0 + 60.0 * minute) for minute in range(1, 9))
    known = evidence_until(two_brokers(rounds=rounds).told(), ZERO_S + 200.0)
    before = rebuilt(known, MEASURED, seed=0)
    begin_s = before.grid.from_s - ZERO_S
    longer, from_s = prolonged(before, MORE_S), before.world.duration_s
    (costs,) = drawn_costs(longer, 1)
    run = rehearsed(longer, Rehearsal(from_s, THRESHOLD), costs, 0)
    assert run.rounds.time_s[0] + begin_s == pytest.approx(247.0, abs=1.0)


def test_brokers_that_have_told_nothing_are_like_those_that_have(again: Rebuilt) -> None:
    told = two_brokers().told()
    more = rebuilt(replace(told, brokers=(*told.brokers, "b9:8080")), MEASURED, seed=0)
    assert more.used.known.brokers.by_cores[2] == np.median(again.used.known.brokers.by_cores)
    assert more.world.machines.nic[2] == pytest.approx(np.median(more.world.machines.nic[:2]))
