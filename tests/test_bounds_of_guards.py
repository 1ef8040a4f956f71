"""What guards, plans and accounts of them say on either side of each bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from trimtab.live.control import entries
from trimtab.live.control.account import Account, MoveAccount, account, open_matters
from trimtab.live.control.drain import BrokerState, Frame, emptying, emptying_limits, levelling
from trimtab.live.control.guards import Pace, pace, standings
from trimtab.live.control.headroom import Outlook, outlooks, refusal, remedies, spares_needed
from trimtab.live.control.limits import Limits
from trimtab.live.control.memory import Memory, Phase, remembered
from trimtab.live.control.plan import Plan, PlannedMove
from trimtab.live.control.rollout.memory import RolloutMemory
from trimtab.live.control.rollout.plan import RolloutPlan
from trimtab.live.control.rollout.step import Finish, RolloutView, step
from trimtab.live.control.step import Record, Wait
from trimtab.live.control.step import step as next_act
from trimtab.live.control.throttle import Bars, Health, bad_signs
from trimtab.live.control.view import BrokerView, View

FRAME = Frame("demo", 1000.0, Limits())
MOVES = (PlannedMove("t/n/1", "a", "b", ""), PlannedMove("t/n/2", "a", "b", ""))
BARS = Bars()


def plan_of(moves: Sequence[PlannedMove], limits: Limits) -> Plan:
    return Plan("demo", 0.0, tuple(moves), limits, "")


def view(time_s: float) -> View:
    return View(time_s, {}, {"t/n/1": "a", "t/n/2": "a"}, is_shedding=False, is_lock_ours=True)


# ----------------------------------------------------------------- emptying, levelling


def test_an_empty_broker_takes_bundles_whose_traffic_is_unknown_by_their_number() -> None:
    brokers = {"a": BrokerState(0.0, {}), "b": BrokerState(60.0, {"t/n/1": 0.0, "t/n/2": 0.0})}

    (move,) = levelling("a", brokers, ("t/n/1", "t/n/2"), FRAME).moves

    assert (move.source, move.destination) == ("b", "a")
    assert "30 %" in move.reason


def test_of_takers_that_stand_alike_the_one_with_less_traffic_takes() -> None:
    owned = {"t/n/1": 3e6, "t/n/2": 1e6, "t/n/3": 5e5}
    old = BrokerState(60.0, owned, dict.fromkeys(owned, 5.0))
    brokers = {"old": old, "a": BrokerState(10.0, {}), "b": BrokerState(10.0, {})}

    moves = emptying("old", brokers, ("a", "b"), FRAME).moves

    assert [move.destination for move in moves] == ["a", "b", "b"]


def test_a_plan_to_empty_a_broker_goes_out_after_a_day() -> None:
    assert emptying_limits(85.0, 1.0, 1.0).plan_age_max_s == 24 * 3600


# --------------------------------------------------------------------------- headroom


def test_what_would_make_room_is_a_bar_or_less_traffic() -> None:
    assert remedies([Outlook("a", 50.0, (60.0, 90.4))], 85.0) == ("--bar 91", "6 % less traffic")
    assert remedies([Outlook("a", 50.0, (60.0, 80.0))], 85.0) == ("--bar 80",)
    assert remedies([Outlook("a", 50.0, (60.0, 120.0))], 85.0) == ("30 % less traffic",)


def test_a_bundle_whose_traffic_is_unknown_is_all_that_its_broker_has() -> None:
    brokers = {"old": BrokerState(60.0, {"t/n/1": 0.0}), "a": BrokerState(20.0, {})}
    move = PlannedMove("t/n/1", "old", "a", "")

    assert outlooks([move], brokers) == (Outlook("a", 20.0, (60.0, 80.0)),)


def test_the_least_traffic_is_shared_as_any_is() -> None:
    brokers = {"old": BrokerState(60.0, {"t/n/1": 0.5, "t/n/2": 0.25}), "a": BrokerState(0.0, {})}

    (outlook,) = outlooks([PlannedMove("t/n/2", "old", "a", "")], brokers)

    assert outlook.then == pytest.approx((20.0, 20.0))


@pytest.mark.parametrize(("idle", "count"), [(60.0, 1), (70.0, 3)])
def test_as_few_brokers_more_are_asked_for_as_make_room(idle: float, count: int) -> None:
    owned = {f"t/n/{i}": 1e6 for i in range(4)}
    points = dict.fromkeys(owned, 10.0)
    brokers = {"old": BrokerState(60.0, owned, points), "a": BrokerState(idle, {})}
    frame = Frame("demo", 1000.0, emptying_limits(85.0, 1.0, 1.0))

    assert spares_needed("old", brokers, ("a",), frame) == count


def test_a_broker_without_any_load_shows_that_idling_takes_nothing() -> None:
    brokers = {"old": BrokerState(60.0, {"t/n/1": 1e6}), "a": BrokerState(0.0, {})}
    brokers["c"] = BrokerState(50.0, {})
    move = PlannedMove("t/n/1", "old", "a", "")

    assert outlooks([move], brokers) == (Outlook("a", 0.0, (60.0, 60.0)),)


@pytest.mark.parametrize(("count", "ending"), [(3, "95 %"), (4, "; and 1 more")])
def test_three_brokers_above_the_bar_are_named(count: int, ending: str) -> None:
    above = [Outlook(name, 50.0, (95.0, 95.0)) for name in "abcd"[:count]]

    assert refusal(above, 85.0).endswith(ending)


def test_a_bar_of_all_is_a_bar() -> None:
    above = [Outlook("a", 50.0, (101.0, 101.0))]

    assert refusal(above, 100.0) != ""
    assert refusal(above, 100.5) == ""


# ------------------------------------------------------------------------------ guards


def test_pace_says_when_the_hour_lets_one_more_through() -> None:
    plan = plan_of(MOVES, replace(Limits(), moves_per_round=99, moves_per_hour=1))
    memory = Memory(move=1, unloads=((1000.0, "t/n/1"),))

    objection = pace(plan, view(1600.0), memory)

    assert objection == Pace(
        "1 moves were made within an hour; moves_per_hour allows no more", 3000.0
    )
    assert pace(plan, view(1000.0 + 3601.0), memory) is None


def test_a_move_whose_turn_has_not_come_is_asked_about_as_if_nobody_had_tried() -> None:
    plan = plan_of(MOVES, replace(Limits(), grace_s=600.0))
    memory = Memory(unloads=((1000.0, "t/n/2"),))

    _, second = standings(plan, view(1100.0), memory)

    assert not second.is_begun
    assert "grace" in [name for name, _ in second.objections]


def test_what_is_at_a_bar_is_no_bad_sign() -> None:
    bar = BARS.publish_latency_ms

    assert bad_signs(Health(publish_latency_ms=bar), BARS) == ()
    assert len(bad_signs(Health(publish_latency_ms=math.nextafter(bar, math.inf)), BARS)) == 1


# ------------------------------------------------------------------- what was under way

ASKED = entries.Asked(1000.0, 0, "t/n/1", "a", "b")
BEGUN = entries.Begun(2000.0, "digest", 7)


def test_an_unload_without_an_answer_may_run_for_as_long_again_after_a_new_start() -> None:
    memory = remembered([ASKED, BEGUN], (), 3000.0)
    assert (memory.phase, memory.asked_s) == (Phase.ASKED, 2000.0)


def test_a_new_start_changes_nothing_of_a_bundle_that_has_arrived() -> None:
    memory = remembered([ASKED, entries.Verified(1500.0, 0), BEGUN], (), 3000.0)
    assert (memory.phase, memory.asked_s, memory.verified_s) == (Phase.MOVED, 1000.0, 1500.0)


@pytest.mark.parametrize("is_there", [True, False])
def test_the_effect_on_a_broker_that_does_not_answer_is_not_waited_for(*, is_there: bool) -> None:
    plan = plan_of(MOVES, Limits())
    silent = BrokerView(30.0, 0.0, 0.0, is_answering=False)
    brokers = {"a": BrokerView(20.0, 9e9, 0.0, is_answering=True)}
    brokers |= {"b": silent} if is_there else {}
    memory = Memory(phase=Phase.MOVED, verified_s=1500.0)

    act = next_act(plan, replace(view(1600.0), brokers=brokers), memory)

    assert isinstance(act, Record)
    assert isinstance(act.entry, entries.Effect)
    assert act.entry.source_percent == 20.0
    assert math.isnan(act.entry.destination_percent)


# ---------------------------------------------------------------------------- accounts


def test_runs_are_counted() -> None:
    plan = plan_of(MOVES, Limits())

    assert account(plan, ()).runs == 0
    assert account(plan, [entries.Begun(1.0, plan.digest, 7)]).runs == 1


@pytest.mark.parametrize(
    ("state", "unloads", "owner", "words"),
    [
        ("open", 0, "a", ""),
        ("open", 1, "a", "is at a, not at b"),
        ("verified", 1, "b", ""),
        ("verified", 1, "c", "is at c, not at b"),
        ("verified", 1, "", "has no owner that is known"),
        ("verified", 1, None, ""),
        ("under way", 1, None, "has no owner that is known"),
    ],
)
def test_what_was_moved_and_is_not_where_it_should_be_is_a_matter(
    state: str, unloads: int, owner: str | None, words: str
) -> None:
    move = MoveAccount("t/n/1", "a", "b", state=state, unloads=unloads, last_owner=owner)

    matters = open_matters(Account("", (move,), 1, ""))

    assert len(matters) == bool(words)
    assert all(words in matter for matter in matters)


# ----------------------------------------------------------------------------- rollouts


def test_a_restart_waits_for_the_rest_of_what_it_may_wait() -> None:
    plan = RolloutPlan("demo", 1.0, ("a:8080",), "a test", "level", 85.0, 10.0, 300.0, 900.0)
    memory = RolloutMemory(last_s=1000.0)

    def act(time_s: float) -> object:
        # Whether Pulsar's own shedding is on could not be read.
        return step(plan, 1, RolloutView(time_s, {}, None, is_lock_ours=True), memory)

    waits = act(1400.0)
    assert isinstance(waits, Wait)
    assert (waits.left_s, waits.is_last) == (500.0, True)
    assert isinstance(act(1900.0), Wait)
    assert isinstance(act(1901.0), Finish)
