"""What a recording tells → a cluster that can be simulated: found again from what brokers said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recorded_clusters import HOST_S, NIC_KBIT, SIZE, STATS_S, ZERO_S, Recorder
from trimtab.lab.costs.curve import curved
from trimtab.lab.costs.predict import traffic_cpu
from trimtab.lab.reconstruct.clocks import host_window, lives
from trimtab.lab.reconstruct.cluster import (
    Measured,
    NothingToSimulateError,
    Rebuilt,
    rebuilt,
)
from trimtab.lab.reconstruct.costs import in_simulation
from trimtab.lab.reconstruct.evidence import Evidence, Lines, Round, Stop
from trimtab.lab.reconstruct.leadership import continuation
from trimtab.lab.reconstruct.rates import traffic
from trimtab.lab.reconstruct.usage import WINDOWS_MIN, explained, wire
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.course import rounds_of_course
from trimtab.lab.simulate.physics import cpu_demand
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.simulate.world import Event, Kind, Run
from trimtab.pulsar.model import Floats

MEASURED = Measured(host_s=HOST_S, stats_s=STATS_S, write_quorum=2.0)
NOTHING_SHED = Balancer(None, "LeastLongTermMessageRate", "4.0.8")
CONF = {
    "statsUpdateFrequencyInSecs": "15",
    "loadBalancerBrokerThresholdShedderPercentage": "3",
    "loadBalancerBundleUnloadMinThroughputThreshold": "0.001",
}
THRESHOLD = Balancer("ThresholdShedder", "LeastResourceUsageWithWeight", "4.0.8", CONF)


def steady(bundle: int, time_s: float) -> float:
    del time_s
    return 20.0 + 10.0 * bundle


def stepped(bundle: int, time_s: float) -> float:
    """Double everything from 300 s on, at the edge of a window."""
    return steady(bundle, time_s) * (2.0 if time_s >= 300 else 1.0)


def two_brokers(**changes: object) -> Recorder:
    """Four bundles on the first of two brokers, of which one moves at 330 s."""
    owned = [(0.0, 0, 0), (0.0, 1, 0), (0.0, 2, 0), (0.0, 3, 1), (330.0, 0, 1)]
    return replace(Recorder(2, 4, stepped, owned), **changes)


def rates_of(told: Evidence, at_s: Floats) -> Floats:
    alive = lives(told.reports, HOST_S, STATS_S)
    rates = traffic(told.lines, told.owners, alive, STATS_S, ZERO_S + at_s).rates
    return np.stack(rates, axis=-1)


def run_of(again: Rebuilt, balancer: Balancer, let_go_s: float) -> Run:
    return continuation(again, balancer, let_go_s, again.world.seed).run


# ---------------------------------------------------------------- clocks


def test_phases_are_found_in_when_reports_come_and_change() -> None:
    told = two_brokers().told()
    found = lives(told.reports, HOST_S, STATS_S)
    assert [life.broker for life in found] == [0, 1]
    for life in found:
        # Windows of bundles close with each report, those of hosts with a minute.
        assert (life.stats_phase_s - ZERO_S) % STATS_S == pytest.approx(0.0, abs=0.01)
        since_report = (life.host_phase_s - ZERO_S) % HOST_S
        assert HOST_S - STATS_S <= since_report or since_report == 0.0


def test_a_life_ends_when_a_broker_has_gone_and_another_begins() -> None:
    told = two_brokers(alive={1: (120.0, 400.0)}).told()
    (first, second) = lives(told.reports, HOST_S, STATS_S)
    assert (first.from_s - ZERO_S, first.to_s) == (0.0, np.inf)
    assert (second.from_s - ZERO_S, second.to_s - ZERO_S) == (120.0, 400.0)


@pytest.mark.parametrize(("every_s", "expected_s"), [(10.0, 10.0), (20.0, 20.0), (60.0, 600.0)])
def test_windows_are_as_short_as_usage_changes_where_a_setting_says_ten_minutes(
    every_s: float, expected_s: float
) -> None:
    told = two_brokers().told().reports
    times = ZERO_S + np.arange(0.0, 600.0, 5.0)
    # Windows that last longer than half of the setting are those of the setting.
    window_s = every_s if every_s < 60.0 else 600.0
    usage = np.repeat(np.floor((times - ZERO_S) / window_s)[:, None], 5, axis=1)
    asked = replace(
        told,
        time_s=times,
        broker=np.zeros(times.size, np.int64),
        is_gone=np.zeros(times.size, np.bool_),
        is_stored=np.zeros(times.size, np.bool_),
        started_s=np.full(times.size, ZERO_S),
        usage=usage,
        limit=np.full(usage.shape, 100.0),
    )
    assert host_window(asked, 600.0) == expected_s
    # What brokers write when they please says nothing of it.
    stored = replace(asked, is_stored=np.ones(times.size, np.bool_))
    assert host_window(stored, 600.0) == 600.0


# ---------------------------------------------------------------- traffic


def test_rates_are_those_of_the_windows_that_were_told() -> None:
    at_s = np.array([100.0, 299.0, 301.0, 500.0])
    found = rates_of(two_brokers().told(), at_s)
    for bundle in range(4):
        expected = [stepped(bundle, time_s) for time_s in at_s.tolist()]
        assert found[:, bundle, 0] == pytest.approx(expected)
        assert found[:, bundle, 2] == pytest.approx([SIZE * rate for rate in expected])


def test_windows_that_nobody_told_are_joined_by_a_line() -> None:
    told = two_brokers(rate=lambda bundle, time_s: time_s).told()
    lines = told.lines
    # Of bundle 2 only the windows that close at 60 s and at 120 s are left.
    closes = lines.time_s - ZERO_S
    kept = (lines.bundle != 2) | (closes == 60.0) | (closes == 120.0)
    fewer = replace(told, lines=_only(lines, kept))
    found = rates_of(fewer, np.array([10.0, 50.0, 60.0, 82.5, 105.0, 300.0]))[:, 2, 0]
    # Means over 45–60 s and 105–120 s, held within, joined between, kept before and behind.
    assert found == pytest.approx([52.5, 52.5, 52.5, 82.5, 112.5, 112.5])


def test_up_to_what_a_broker_writes_by_itself_nothing_had_changed() -> None:
    told = two_brokers(rate=lambda bundle, time_s: time_s).told()
    lines = told.lines
    closes = lines.time_s - ZERO_S
    kept = (lines.bundle != 2) | (closes == 60.0) | (closes == 120.0)
    fewer = _only(replace(lines, is_prompt=closes == 120.0), kept)
    found = rates_of(replace(told, lines=fewer), np.array([60.0, 104.0, 106.0, 300.0]))[:, 2, 0]
    assert found == pytest.approx([52.5, 52.5, 112.5, 112.5])


def test_who_comes_to_its_first_owner_has_been_without_one_for_nobody() -> None:
    told = two_brokers().told()
    low = replace(told.lines, rates=told.lines.rates.copy())
    low.rates[told.lines.time_s == ZERO_S + STATS_S] /= 4
    found = rates_of(replace(told, lines=low), np.array([5.0, 20.0]))
    assert found[:, 0, 0] == pytest.approx([5.0, 20.0])


def test_what_comes_at_once_after_a_move_is_left_out() -> None:
    told = two_brokers().told()
    lines, moved = told.lines, 330.0
    closes = lines.time_s - ZERO_S
    burst = (lines.bundle == 0) & (closes > moved - 1) & (closes <= moved + STATS_S)
    assert burst.any()
    rates = np.where(burst[:, None], 7 * lines.rates, lines.rates)
    found = rates_of(replace(told, lines=replace(lines, rates=rates)), np.array([325.0, 335.0]))
    assert found[:, 0, 0] == pytest.approx([40.0, 40.0])


def test_a_window_without_producers_between_others_is_left_out() -> None:
    told = two_brokers().told()
    lines = told.lines
    closes = lines.time_s - ZERO_S
    away = (lines.bundle == 3) & (closes >= 120.0) & (closes <= 135.0)
    silent = replace(
        lines,
        rates=np.where(away[:, None], 0.0, lines.rates),
        producers=np.where(away, 0.0, lines.producers),
    )
    found = rates_of(replace(told, lines=silent), np.array([112.0, 130.0]))
    assert found[:, 3, 0] == pytest.approx([50.0, 50.0])
    # Whoever stays away for long wants nothing.
    gone = (lines.bundle == 3) & (closes >= 120.0) & (closes <= 360.0)
    silent = replace(
        lines,
        rates=np.where(gone[:, None], 0.0, lines.rates),
        producers=np.where(gone, 0.0, lines.producers),
    )
    found = rates_of(replace(told, lines=silent), np.array([240.0]))
    assert found[0, 3, 0] == 0.0


def _only(lines: Lines, kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Lines:
    names = ("time_s", "broker", "bundle", "rates", "topics", "producers", "is_prompt")
    return Lines(**{name: getattr(lines, name)[kept] for name in names})


# ---------------------------------------------------------------- costs


def test_costs_are_the_ones_that_are_learned_everywhere() -> None:
    again = rebuilt(two_brokers(until_s=2400.0).told(), MEASURED, seed=0)
    known = again.used.known
    assert known.shared.tobytes() == again.used.costs.shared.tobytes()
    takes = again.served.cpu(again.used.costs)
    traffic_takes = traffic_cpu(known)
    # But for topics and clients, whose number the replay takes to be the same all along.
    assert takes[-1] == pytest.approx(traffic_takes, rel=0.05)


def test_a_simulation_bends_work_as_the_costs_do() -> None:
    again = rebuilt(two_brokers(until_s=1200.0).told(), MEASURED, seed=0)
    shared = again.used.costs.shared.copy()
    shared[-1] = np.log(0.8)
    bent = replace(again.used.costs, shared=shared)
    work = again.served.work(bent)[100] @ np.eye(4)[:, :2]
    ours = curved(bent.quick * work, bent.log_exponent).cpu
    physics = replace(again.parameters.physics, work_exponent=0.8)
    theirs = cpu_demand(np.zeros(2), bent.quick * work * in_simulation(bent), physics)
    assert ours == pytest.approx(theirs)


def test_of_too_few_windows_it_is_not_said_how_well_costs_explain_them() -> None:
    few = explained(np.full(WINDOWS_MIN - 1, 12.0), np.full(WINDOWS_MIN - 1, 9.0))
    assert np.isnan(few.error_points)
    assert few.n_windows == WINDOWS_MIN - 1
    enough = explained(np.arange(8.0), np.arange(8.0) + 1.0)
    assert enough.error_points == pytest.approx(1.0)
    assert enough.r_squared == pytest.approx(1.0 - 1.0 / np.arange(8.0).var())


def test_the_wire_takes_so_much_of_each_byte() -> None:
    random = np.random.default_rng(3)
    bare = random.uniform(0.0, 20.0, (40, 2))
    each, idle = wire(bare, 1.2 * bare + 0.5)
    assert (each, idle) == (pytest.approx(1.2), pytest.approx(0.5))
    assert wire(bare[:3], bare[:3]) == (1.0, 0.0)


def test_usage_of_the_made_up_cluster_is_explained() -> None:
    again = rebuilt(two_brokers(until_s=2400.0).told(), MEASURED, seed=0)
    # 5 points, and 0.1 for each message/s in or out.
    assert again.used.cpu.error_points < 1.0
    assert again.used.cpu.r_squared > 0.95
    assert again.used.network.r_squared == pytest.approx(1.0, abs=0.02)
    nic = NIC_KBIT * 125.0 / again.used.costs.overhead
    assert again.world.machines.nic == pytest.approx([nic, nic])


# ---------------------------------------------------------------- events


def test_brokers_join_leave_and_are_killed_as_told() -> None:
    stops = (Stop(ZERO_S + 395.0, 1, is_kill=True),)
    told = two_brokers(alive={1: (120.0, 400.0)}, stops=stops).told()
    again = rebuilt(told, MEASURED, seed=0)
    begin = again.grid.from_s - ZERO_S
    kinds = [
        (event.kind, round(event.time_s + begin), event.subjects)
        for event in again.world.events
        if event.kind != Kind.UNLOAD
    ]
    assert kinds == [(Kind.JOIN, 120, (1,)), (Kind.KILL, 395, (1,))]
    assert again.parameters.clients.session_s == pytest.approx((5.0, 5.0))
    nobody = rebuilt(two_brokers(alive={1: (120.0, 400.0)}).told(), MEASURED, seed=0)
    assert [event.kind for event in nobody.world.events if event.kind != Kind.UNLOAD] == [
        Kind.JOIN,
        Kind.LEAVE,
    ]


def test_a_recording_without_bundles_cannot_be_simulated() -> None:
    told = two_brokers().told()
    nothing = _only(told.lines, np.zeros(told.lines.time_s.size, np.bool_))
    with pytest.raises(NothingToSimulateError, match=r"expected store/brokers\.jsonl"):
        rebuilt(replace(told, lines=nothing), MEASURED, seed=0)


# ---------------------------------------------------------------- simulating it


@pytest.mark.parametrize("let_go_s", [0.0, 200.0])
@pytest.mark.parametrize("balancer", [NOTHING_SHED, THRESHOLD], ids=["nothing shed", "shed"])
def test_nothing_is_lost_but_what_is_counted_as_lost(balancer: Balancer, let_go_s: float) -> None:
    stops = (Stop(ZERO_S + 395.0, 1, is_kill=True),)
    told = two_brokers(alive={1: (60.0, 405.0)}, stops=stops).told()
    run = run_of(rebuilt(told, MEASURED, seed=1), balancer, let_go_s)
    assert run.offered.sum() > 0
    assert run.served + run.lost == pytest.approx(run.offered)
    # The killed broker's bundles are served by nobody for a while.
    assert run.lost.sum() > 0
    known = run.usage[~np.isnan(run.usage)]
    assert known.min() >= 0
    assert known.max() <= 100


def test_whoever_carries_what_it_carried_uses_what_it_used() -> None:
    again = rebuilt(two_brokers().told(), MEASURED, seed=0)
    run = run_of(again, NOTHING_SHED, again.world.duration_s)
    compared = 0
    for span, broker in again.used.spans:
        told = np.max(again.used.usage[:, span.start, broker])
        # While a bundle changes hands, nobody carries it for a moment.
        assert np.mean(run.usage[span, broker]) == pytest.approx(told, abs=0.5)
        compared += 1
    assert compared >= 16


def test_a_leader_that_looks_on_decides_and_moves_nothing() -> None:
    rounds = tuple(Round(ZERO_S + 60.0 * minute + 30.0) for minute in range(1, 9))
    again = rebuilt(two_brokers(rounds=rounds).told(), MEASURED, seed=0)
    simulation = Simulation(again.world, THRESHOLD, again.parameters, again.surroundings)
    looks = list(rounds_of_course(simulation, again.course, again.world.duration_s))
    assert len(looks) == len(rounds)
    assert any(look.decision and look.decision.unloads for look in looks)
    assert simulation.cluster.owner.tolist() == [1, 0, 0, 1]
    assert simulation.records.moves == []


def test_a_leader_that_is_let_go_acts_at_the_round_that_was_to_come() -> None:
    rounds = tuple(Round(ZERO_S + 60.0 * minute + 30.0) for minute in range(1, 9))
    again = rebuilt(two_brokers(rounds=rounds).told(), MEASURED, seed=0)
    run = run_of(again, THRESHOLD, 200.0)
    begin = again.grid.from_s - ZERO_S
    assert run.rounds.time_s[0] + begin == pytest.approx(210.0)
    assert run.rounds.moved.sum() > 0


def test_the_same_recording_and_seed_give_the_same_bytes() -> None:
    told = two_brokers(alive={1: (60.0, 405.0)}).told()
    runs = [run_of(rebuilt(told, MEASURED, seed=7), THRESHOLD, 100.0) for _ in range(2)]
    for name in ("usage", "offered", "served", "lost"):
        assert getattr(runs[0], name).tobytes() == getattr(runs[1], name).tobytes()
    assert runs[0].moves.bundle.tobytes() == runs[1].moves.bundle.tobytes()


def test_a_recorded_bundle_is_split_and_each_half_has_half_of_it() -> None:
    again = rebuilt(two_brokers().told(), MEASURED, seed=0)
    world = replace(again.world, events=(Event(60.0, Kind.SPLIT, (0,)),))
    simulation = Simulation(world, NOTHING_SHED, again.parameters, again.surroundings)
    whole, split = again.surroundings.traffic, simulation.flows.traffic
    step = round(60.0 / again.grid.tick_s)
    before, after = split.rows(step - 1, step), split.rows(step, step + 1)
    count = len(again.world.bundles.names)
    assert before.rate_in[0, :count] == pytest.approx(whole.rate_in[step - 1])
    assert before.work[0, count:].sum() == 0.0
    assert after.rate_in[0, 0] == 0.0
    assert after.rate_in[0, count:] == pytest.approx([whole.rate_in[step, 0] / 2] * 2)
    for ours, theirs in ((after.rate_in, whole.rate_in), (after.work, whole.work)):
        assert ours.sum() == pytest.approx(theirs[step].sum())


def test_a_leader_that_has_unloaded_before_does_not_take_long_for_it_again() -> None:
    told = two_brokers().told()
    moved = np.asarray(told.owners.time_s > ZERO_S)
    assert moved.sum() == 1
    shed = replace(told, owners=replace(told.owners, is_shed=moved))
    for known, let_go_s, has_unloaded in (
        (shed, 400.0, True),
        (shed, 200.0, False),
        (told, 400.0, False),
    ):
        again = rebuilt(known, MEASURED, seed=0)
        simulation = Simulation(again.world, THRESHOLD, again.parameters, again.surroundings)
        assert list(rounds_of_course(simulation, again.course, let_go_s)) == []
        assert (simulation.unloaded_term == simulation.term) is has_unloaded
