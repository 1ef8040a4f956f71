"""What may be done to a broker, whatever is seen and remembered; and what a journal keeps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.live.control.drain import BrokerState, Frame, levelling
from trimtab.live.control.entries import Begun, Done, Stopped, entry_line
from trimtab.live.control.limits import Limits
from trimtab.live.control.rollout import entries
from trimtab.live.control.rollout.account import expected_s, rollout_account
from trimtab.live.control.rollout.memory import Phase, RolloutMemory, after, remembered
from trimtab.live.control.rollout.plan import RolloutPlan, read_rollout, rollout_text
from trimtab.live.control.rollout.step import (
    BrokerHealth,
    Empty,
    Fill,
    Finish,
    HandOver,
    Note,
    RolloutView,
    SwitchOff,
    step,
)
from trimtab.live.control.step import End

NAMES = ("a:8080", "b:8080", "c:8080")
PLAN = RolloutPlan("demo", 1.0, NAMES, "a test", "level", 85.0, 10.0, 300.0, 900.0)
HANDED = entries.Handed(5.0, "a:8080", 100.0)

healths = st.builds(
    BrokerHealth,
    is_answering=st.booleans(),
    started_s=st.sampled_from([100.0, 100.2, 99.0, 200.0]),
    trouble=st.sampled_from(["", "ill"]),
)
views = st.builds(
    RolloutView,
    time_s=st.floats(0.0, 5000.0),
    brokers=st.dictionaries(st.sampled_from(NAMES), healths),
    is_shedding=st.sampled_from([True, False, None]),
    is_lock_ours=st.booleans(),
    is_killed=st.booleans(),
    hook_status=st.sampled_from([None, 0, 1]),
    is_hook_running=st.booleans(),
)
written = st.sampled_from(
    [
        Begun(1.0, PLAN.digest, 1),
        entries.Paused(2.0, "true"),
        entries.PutBack(2.0, "true"),
        entries.Emptying(3.0, "a:8080", 4, 60.0),
        entries.Emptied(4.0, "a:8080", 4, 0),
        entries.Emptied(4.0, "a:8080", 4, 3),
        entries.Hindered(4.0, "a:8080", "why"),
        HANDED,
        entries.HookEnded(6.0, "a:8080", 1),
        entries.Again(7.0, "a:8080"),
        entries.Back(8.0, "a:8080", 200.0),
        entries.Filled(9.0, "a:8080", 2),
        Stopped(10.0, "why"),
        Done(11.0),
    ]
)


@given(views, st.lists(written, max_size=12), st.integers(1, 3))
def test_nothing_is_done_that_must_not_be(
    view: RolloutView, journal: list[entries.RolloutEntry], turns: int
) -> None:
    memory = RolloutMemory()
    for entry in journal:
        # As a journal can be: nobody is back who was not handed over.
        if not isinstance(entry, entries.Back) or memory.handed is not None:
            memory = after(memory, entry)
    if memory.phase is Phase.AWAY and memory.handed is None:
        return

    act = step(PLAN, turns, view, memory)

    if isinstance(act, Empty | HandOver | Fill | SwitchOff):
        assert view.is_lock_ours
        assert not view.is_killed
        assert memory.turn < turns
        assert not memory.trouble
    if isinstance(act, Empty | HandOver | Fill):
        assert view.is_shedding is False
    if isinstance(act, Empty | HandOver):
        assert set(view.brokers) == set(NAMES)
        assert all(each.is_answering and not each.trouble for each in view.brokers.values())
    restarted = NAMES[: memory.turn]
    if isinstance(act, Empty):
        assert all(view.time_s - view.brokers[name].started_s >= 300.0 for name in restarted)
    if isinstance(act, HandOver):
        assert memory.phase is Phase.EMPTIED
    if isinstance(act, Note) and isinstance(act.entry, entries.Back):
        assert abs(act.entry.started_s - HANDED.started_s) > 0.5
        assert not view.is_hook_running


@pytest.mark.parametrize("kind", [Begun, *entries.OfBroker.__args__])
def test_after_the_hand_over_only_a_word_hands_over_again(kind: type) -> None:
    memory = remembered([Begun(1.0, "p", 1), entries.Emptied(4.0, "a:8080", 4, 0), HANDED])
    later = {
        Begun: Begun(9.0, "p", 2),
        entries.Emptying: entries.Emptying(9.0, "a:8080", 1, 1.0),
        entries.Hindered: entries.Hindered(9.0, "a:8080", "why"),
        entries.HookEnded: entries.HookEnded(9.0, "a:8080", 1),
        entries.Again: entries.Again(9.0, "a:8080"),
    }
    if kind in later:
        after_it = after(memory, later[kind])
        assert (after_it.phase is Phase.AWAY) == (kind is not entries.Again)


def test_what_was_emptied_and_not_handed_over_is_emptied_again() -> None:
    memory = remembered([entries.Emptied(4.0, "a:8080", 4, 0)])
    assert memory.phase is Phase.EMPTIED
    assert after(memory, Begun(9.0, "p", 2)).phase is Phase.FULL


def test_three_hindrances_end_a_run_and_a_new_one_tries_again() -> None:
    hindered = entries.Hindered(4.0, "a:8080", "no room")
    memory = remembered([Begun(1.0, "p", 1), hindered, hindered])
    assert memory.trouble == ""
    memory = after(memory, hindered)
    view = RolloutView(5.0, {}, is_shedding=False, is_lock_ours=True)
    assert step(PLAN, 3, view, memory) == Finish("no room")
    assert after(memory, Begun(9.0, "p", 2)).trouble == ""
    assert step(PLAN, 3, view, after(memory, Stopped(6.0, "x"))) == End("x")


@given(written)
def test_an_entry_is_read_as_it_was_written(entry: entries.RolloutEntry) -> None:
    assert entries.read_rollout_entry(entry_line(entry)) == entry


def test_a_plan_is_read_as_it_was_written() -> None:
    assert read_rollout(rollout_text(PLAN)) == PLAN


def test_an_account_counts_what_was_done_to_each() -> None:
    journal: list[entries.RolloutEntry] = [
        Begun(1.0, "p", 1),
        entries.Paused(2.0, "true"),
        entries.Emptying(3.0, "a:8080", 4, 60.0),
        entries.Emptied(20.0, "a:8080", 4, 1),
        entries.Handed(21.0, "a:8080", 100.0),
        entries.Back(61.0, "a:8080", 200.0),
        entries.Filled(63.0, "a:8080", 2),
    ]
    account = rollout_account(PLAN, journal)
    first, second, _ = account.brokers
    assert (first.state, first.moves_away, first.moves_back) == ("restarted", 4, 2)
    assert (first.away_s, first.took_s, first.expected_s) == (40.0, 60.0, 60.0)
    assert second.state == "open"
    assert account.is_paused
    assert account.left_s(3) == 120.0
    # Four moves, of ten seconds and what one takes besides, and as long away as the first was.
    assert expected_s(4, 10.0, account.away_s, None) == 46.0 + 40.0
    assert expected_s(4, 10.0, account.away_s, 300.0) == 46.0 + 40.0 + 300.0 + 46.0


@given(
    st.dictionaries(st.sampled_from("abcd"), st.floats(0, 100), min_size=1),
    st.floats(0, 30),
    st.dictionaries(st.integers(0, 30), st.floats(0, 1e6), max_size=20),
)
def test_who_is_filled_stands_no_higher_than_who_gives(
    usage: dict[str, float], idle: float, traffic: dict[int, float]
) -> None:
    givers = sorted(usage)
    owner = {f"t/n/0x{i:04x}_0x{i + 1:04x}": givers[i % len(givers)] for i in traffic}
    states = {"old": BrokerState(idle, {})}
    for giver in givers:
        owned = {
            name: bytes_s
            for (name, of), bytes_s in zip(owner.items(), traffic.values(), strict=True)
            if of == giver
        }
        states[giver] = BrokerState(usage[giver], owned)
    kept_away = set(sorted(owner)[:2])

    plan = levelling("old", states, set(owner) - kept_away, Frame("demo", 0.0, Limits()))

    assert {move.bundle for move in plan.moves}.isdisjoint(kept_away)
    stand = dict(usage) | {"old": idle}
    for move in plan.moves:
        state = states[move.source]
        assert owner[move.bundle] == move.source
        total = sum(state.bundles.values())
        share = state.bundles[move.bundle] / total if total else 1.0 / len(state.bundles)
        points = share * max(0.0, state.usage_percent - idle)
        stand["old"] += points
        stand[move.source] -= points
        assert stand["old"] <= stand[move.source] + 1e-6
