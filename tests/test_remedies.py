"""What is tried of a plan that is not safe: each is the plan with one thing changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from test_recorded_traffic import MEASURED, THRESHOLD, two_brokers
from trimtab.lab.reconstruct.cluster import Rebuilt, rebuilt
from trimtab.lab.rehearsal.plan import Rehearsal
from trimtab.lab.restarts.orders import Timing, rolling
from trimtab.lab.simulate.world import Event, Kind
from trimtab.trials.rehearse.remedies import Remedy, remedies

FROM_S = 120.0


@pytest.fixture(scope="module")
def again() -> Rebuilt:
    names = tuple(f"t/n/0x{i:04x}0000_0x{i + 1:04x}0000" for i in range(4))
    return rebuilt(replace(two_brokers().told(), bundles=names), MEASURED, seed=0)


def by_event(plan: Rehearsal, again: Rebuilt) -> dict[str, Remedy]:
    tried = remedies(plan, again)
    assert len({each.title for each in tried}) == len(tried)
    return {each.event: each for each in tried}


def test_one_thing_is_changed_at_a_time(again: Rebuilt) -> None:
    plan = Rehearsal(FROM_S, THRESHOLD, (Event(FROM_S, Kind.KILL, (1,)),))
    tried = by_event(plan, again)
    assert tried["add 1"].plan.added == ("added-1",)
    assert tried["add 1"].plan.events == (Event(FROM_S, Kind.JOIN, (2,)), *plan.events)
    drained = tried["remove instead of lose"].plan
    assert drained == replace(plan, events=(Event(FROM_S, Kind.LEAVE, (1,)),))
    split = next(each for event, each in tried.items() if event.startswith("split "))
    assert split.plan.events[0].kind is Kind.SPLIT
    assert split.event == "split t/n/0x00030000_0x00040000"
    assert "strategy ThresholdShedder+LeastResourceUsageWithWeight" not in tried
    assert tried["strategy none+LeastLongTermMessageRate"].plan.balancer.shedder is None
    for event, each in tried.items():
        if event.startswith(("set ", "strategy ")):
            assert replace(each.plan, balancer=plan.balancer) == plan
            assert each.plan.balancer != plan.balancer


def test_a_restart_is_tried_more_slowly_if_the_recording_is_long_enough(again: Rebuilt) -> None:
    events = rolling((0, 1), FROM_S, Timing(down_s=30.0, every_s=100.0))
    slower = by_event(Rehearsal(FROM_S, THRESHOLD, events), again)["every: twice as long"]
    assert [(event.time_s, event.kind.value) for event in slower.plan.events] == [
        (FROM_S, "leave"),
        (FROM_S + 30.0, "join"),
        (FROM_S + 200.0, "leave"),
        (FROM_S + 230.0, "join"),
    ]
    late = rolling((0, 1), 300.0, Timing(down_s=30.0, every_s=100.0))
    assert "every: twice as long" not in by_event(Rehearsal(300.0, THRESHOLD, late), again)


def test_what_is_quieter_at_another_time_is_tried_there(again: Rebuilt) -> None:
    # From 300 s on there is twice as much to do.
    plan = Rehearsal(479.0, THRESHOLD, (Event(479.0, Kind.LEAVE, (1,)),))
    moved = next(each for event, each in by_event(plan, again).items() if event.startswith("at "))
    assert moved.plan.from_s < 300.0
    assert moved.plan.events[0].time_s == moved.plan.from_s
