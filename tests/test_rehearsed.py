"""A recorded night with something planned in it, simulated; and what may be said of its seeds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from test_recorded_traffic import MEASURED, THRESHOLD, two_brokers
from trimtab.lab.costs.knowledge import CORES
from trimtab.lab.reconstruct.cluster import Rebuilt, rebuilt
from trimtab.lab.reconstruct.leadership import continuation
from trimtab.lab.rehearsal.disturbed import disturbed, rehearsed, remaining
from trimtab.lab.rehearsal.going_on import besides_of
from trimtab.lab.rehearsal.measures import Bar, by_name, course, measures
from trimtab.lab.rehearsal.plan import Rehearsal, Scaling
from trimtab.lab.rehearsal.processes import Process
from trimtab.lab.simulate.world import Event, Kind, Run
from trimtab.trials.rehearse.verdict import WANTED, Holding, Verdict
from trimtab.trials.rehearse.work import Courses

FROM_S = 120.0
BAR = Bar(peak_percent=85.0, over_min=3.0, topics=None, ownerless_s=60.0)


@pytest.fixture(scope="module")
def again() -> Rebuilt:
    # Wide enough to be split.
    names = tuple(f"t/n/0x{i:04x}0000_0x{i + 1:04x}0000" for i in range(4))
    return rebuilt(replace(two_brokers().told(), bundles=names), MEASURED, seed=0)


def run_of(again: Rebuilt, seed: int = 0, **planned: object) -> Run:
    plan = replace(Rehearsal(FROM_S, THRESHOLD), **planned)
    return rehearsed(again, plan, again.used.costs, seed)


def test_where_nothing_is_planned_all_goes_on_as_it_was(again: Rebuilt) -> None:
    ours, theirs = run_of(again), continuation(again, THRESHOLD, FROM_S, 0).run
    assert ours.usage == pytest.approx(theirs.usage, nan_ok=True, abs=1e-3)
    assert ours.moves.bundle.tolist() == theirs.moves.bundle.tolist()
    assert ours.moves.target.tolist() == theirs.moves.target.tolist()


def test_up_to_the_event_nothing_is_otherwise(again: Rebuilt) -> None:
    lost = Event(FROM_S, Kind.KILL, (1,))
    ticks = round(FROM_S / again.grid.tick_s)
    for planned in (
        {"events": (lost,)},
        {"scalings": (Scaling((0, 1), FROM_S, np.inf, 3.0),)},
        {"added": ("new",), "events": (Event(FROM_S, Kind.JOIN, (2,)),)},
    ):
        usage = run_of(again, **planned).usage[:ticks, :2]
        assert usage.tobytes() == run_of(again).usage[:ticks].tobytes()


def test_who_is_restarted_warms_up_as_some_process_did(again: Rebuilt) -> None:
    back_s = FROM_S + 30.0
    events = (Event(FROM_S, Kind.LEAVE, (1,)), Event(back_s, Kind.JOIN, (1,)))
    plan = Rehearsal(FROM_S, THRESHOLD, events)
    young = Process(0, 60.0, (20.0, 10.0, 5.0, 0.0, 0.0))
    cold, warm = (
        Courses(again, (again.used.costs,), {"planned": plan}, BAR, like) for like in ((young,), ())
    )
    usages = [
        rehearsed(again, plan, again.used.costs, 0, besides_of(again, events, each.like, 60.0))
        for each in (cold, warm)
    ]
    first, last = (round((back_s + at_s) / again.grid.tick_s) for at_s in (10.0, 50.0))
    own, other = (run.usage[first:last, 1].mean() for run in usages)
    by_cores = again.used.known.brokers.by_cores[1] / CORES
    assert own - other == pytest.approx(20.0 * by_cores, rel=0.2)
    # As a task it is the same, and what was run of the one is not taken for the other.
    (task,) = cold.tasks("planned", [0])
    numbers = cold(task).numbers
    assert numbers is not None
    assert numbers["peak_percent"] == measures(usages[0], BAR)["peak_percent"]
    assert cold.basis()["plans"] != warm.basis()["plans"]


def test_who_is_lost_stays_away_and_its_bundles_wait_for_its_session(again: Rebuilt) -> None:
    run = run_of(again, events=(Event(FROM_S, Kind.KILL, (1,)),))
    after = round((FROM_S + 5.0) / run.tick_s)
    assert np.isnan(run.usage[after:, 1]).all()
    since = run.moves.time_s >= FROM_S
    assert (run.moves.target[since] == 0).all()
    found = measures(replace(run, world=replace(run.world, event_s=FROM_S)), BAR)
    low, high = again.parameters.clients.session_s
    assert low <= found["ownerless_s"] <= high + 2.0
    assert found["topics"] == since.sum()


def test_who_is_added_is_like_the_median_and_at_rest(again: Rebuilt) -> None:
    joins = Event(FROM_S, Kind.JOIN, (2,))
    plan = Rehearsal(FROM_S, THRESHOLD, (joins,), ("new",))
    world = disturbed(again, plan, again.used.costs).world
    assert world.machines.names[2] == "new"
    capacity = world.machines.capacity
    assert capacity[2] == pytest.approx(np.median(capacity[:2]))
    run = rehearsed(again, plan, again.used.costs, 0)
    first = round((FROM_S + 1.0) / run.tick_s)
    assert run.usage[first, 2] == pytest.approx(again.used.costs.rest.mean(), abs=0.5)
    assert np.isnan(run.usage[: first - round(2.0 / run.tick_s), 2]).all()


def test_traffic_is_multiplied_while_it_is_said_to_be(again: Rebuilt) -> None:
    whole = run_of(again)
    run = run_of(again, scalings=(Scaling((0, 1, 2, 3), FROM_S, FROM_S + 60.0, 2.0),))
    begin, end = (round(at_s / run.tick_s) for at_s in (FROM_S, FROM_S + 60.0))
    ratio = run.offered / whole.offered
    assert ratio[begin + 1 : end] == pytest.approx(np.full(end - begin - 1, 2.0))
    assert ratio[:begin] == pytest.approx(np.ones(begin))
    assert ratio[end + 1 :] == pytest.approx(np.ones(len(ratio) - end - 1))


def test_a_split_leaves_as_much_traffic_as_there_was(again: Rebuilt) -> None:
    run = run_of(again, events=(Event(FROM_S, Kind.SPLIT, (0,)),))
    assert run.offered == pytest.approx(run_of(again).offered)
    assert run.counts["splits"] == 1


def test_what_happened_to_who_is_lost_happens_no_more() -> None:
    recorded = (
        Event(10.0, Kind.LEAVE, (1,)),
        Event(20.0, Kind.JOIN, (1,)),
        Event(60.0, Kind.KILL, (1,)),
        Event(70.0, Kind.LEADER, (1,)),
    )
    lost = Event(30.0, Kind.KILL, (1,))
    assert remaining(recorded, (lost,)) == (*recorded[:2], recorded[3])
    back = Event(40.0, Kind.JOIN, (1,))
    assert remaining(recorded, (lost, back)) == recorded


def test_a_run_is_measured_from_its_event_on(again: Rebuilt) -> None:
    run = run_of(again)
    found = measures(run, replace(BAR, peak_percent=0.0))
    # The first minute is over a minute after the event.
    observed_min = (again.world.duration_s - FROM_S) / 60.0 - 0.75
    assert found["over_min"] == pytest.approx(observed_min, abs=0.26)
    assert set(by_name(found, "peak")) == set(again.world.machines.names)
    assert found["peak_percent"] == max(by_name(found, "peak").values())
    assert sum(by_name(found, "topics").values()) == found["topics"]
    assert by_name(found, "over").keys() == by_name(found, "peak").keys()
    assert course(run).max() >= found["peak_percent"]


@pytest.mark.parametrize(
    ("numbers", "is_met"),
    [
        ({"over_min": 3.0, "topics": 5.0, "ownerless_s": 60.0}, True),
        ({"over_min": 3.25, "topics": 5.0, "ownerless_s": 60.0}, False),
        ({"over_min": 0.0, "topics": 5.0, "ownerless_s": 60.1}, False),
        ({"over_min": np.nan, "topics": 5.0, "ownerless_s": 0.0}, False),
    ],
)
def test_a_bar_is_kept_as_a_whole(numbers: dict[str, float], is_met: bool) -> None:
    assert BAR.is_met(numbers) is is_met
    assert replace(BAR, topics=4.0).is_met(numbers) is False


@settings(max_examples=20)
@given(st.integers(1, 60), st.data())
def test_more_seeds_that_hold_never_make_it_less_safe(count: int, data: st.DataObject) -> None:
    held = data.draw(st.integers(0, count))
    order = [Verdict.NOT_SAFE, Verdict.NOT_DECIDABLE, Verdict.SAFE]
    ranks = [order.index(Holding(each, count).verdict) for each in range(count + 1)]
    assert ranks == sorted(ranks)
    one = Holding(held, count)
    assert 0.0 <= one.low <= held / count <= one.high <= 1.0
    assert (one.verdict == Verdict.SAFE) == (one.low >= WANTED)
    assert one.seeds_to_decide >= 2 * count or one.seeds_to_decide == 10_000


def test_twenty_seeds_say_safe_if_all_hold_and_not_safe_if_seven_break() -> None:
    found = {held: Holding(held, 20).verdict for held in (13, 14, 19, 20)}
    assert found[20] == Verdict.SAFE
    assert found[19] == found[14] == Verdict.NOT_DECIDABLE
    assert found[13] == Verdict.NOT_SAFE
    assert Holding(0, 0).verdict == Verdict.NOT_DECIDABLE


def test_an_interval_holds_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(0)
    for truth in (0.8, 0.85, 0.95):
        lows = np.array([Holding(held, 20).low for held in range(21)])
        assert np.mean(lows[random.binomial(20, truth, 4000)] <= truth) >= 0.94
