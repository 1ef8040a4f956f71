"""Moves that are recorded on a real cluster: what is held out, and how predictions are scored."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from cluster.moves import profile
from cluster.profile import read_profile
from cluster.schedule import BROKERS, SLOT_S, schedule

from tools.recorded_moves import of_moves, summed_up, told
from trimtab.trials.backtest.walk import Scored

BROKER_IDS = ("a:8080", "b:8080", "c:8080")
END = Scored(True, 1.5, 1000.0, 0, 1, 40.0, 38.0, 0.5, 0.7, 40.0, 37.5, -5.0)


def test_the_same_seed_gives_the_same_schedule_and_another_another() -> None:
    assert schedule(3, 72) == schedule(3, 72)
    assert schedule(3, 72).slots != schedule(4, 72).slots


def test_every_move_goes_back_and_at_once_none_shares_a_broker() -> None:
    plan = schedule(1, 72)
    assert sum(len(slot.moves) for slot in plan.slots) == 72
    for there, back in zip(plan.slots[::2], plan.slots[1::2], strict=True):
        assert [(to, source) for source, to, _ in there.moves] == [
            (source, to) for source, to, _ in back.moves
        ]
        ends = [end for source, to, _ in there.moves for end in (source, to)]
        assert sorted(ends) == list(range(1, BROKERS + 1))
        assert there.is_held_out == back.is_held_out
    at_s = np.array([slot.at_s for slot in plan.slots])
    assert (np.diff(at_s) >= SLOT_S).all()


def test_half_is_held_out_of_the_steady_and_of_the_varying_load_and_of_whatever_is_done() -> None:
    plan = schedule(1, 72)
    varies = [slot.at_s > plan.varies_from_s for slot in plan.slots]
    for is_varying in (False, True):
        part = [s for s, is_so in zip(plan.slots, varies, strict=True) if is_so is is_varying]
        assert sum(slot.is_held_out for slot in part) == len(part) / 2
    done = [slot.what for slot in plan.slots if slot.what]
    assert done == ["restart", "slow", "neighbour", "undo", "restart", "slow", "neighbour"]


def test_the_load_is_steady_first_and_then_varies(tmp_path: Path) -> None:
    plan = schedule(1, 72)
    path = tmp_path / "load.toml"
    path.write_text(profile(plan), encoding="utf-8")
    (group,) = read_profile(path)
    assert group.rate(100.0) == group.rate(plan.varies_from_s) == 1000.0
    later = [group.rate(second) for second in np.arange(plan.varies_from_s + 60, plan.end_s, 200.0)]
    assert np.std(later) > 150.0


def test_only_moves_of_the_half_that_is_asked_for_are_scored(tmp_path: Path) -> None:
    rows = [
        {"time": 1010.0, "is_held_out": held, "source": "a:8080", "destination": to, "refusal": no}
        for held, to, no in ((False, "b:8080", ""), (True, "c:8080", ""), (False, "b:8080", "503"))
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "moves.jsonl").write_text(lines, encoding="utf-8")
    tuned, held = told(tmp_path, held_out=False), told(tmp_path, held_out=True)
    assert (len(tuned), len(held)) == (1, 1)
    scored = [
        END,
        replace(END, broker=1, before=20.0, after=22.0, by_share=5.0),
        replace(END, broker=2),
        replace(END, minutes=30),
        replace(END, time_s=5000.0),
        replace(END, is_move=False, bundles=0),
    ]
    assert [(side, each.broker) for side, each in of_moves(tuned, scored, BROKER_IDS)] == [
        (-1, 0),
        (1, 1),
    ]
    assert [side for side, _ in of_moves(held, scored, BROKER_IDS)] == [-1, 1]


def test_reliefs_and_gains_are_summed_up_alike() -> None:
    gained = replace(
        END, broker=1, before=20.0, after=22.0, measured_before=20.0, measured_after=22.5,
        by_share=5.0,
    )  # fmt: skip
    text = summed_up([(-1, END), (1, gained)])
    assert (
        "| what sources lost and targets gained, points | 2.50 ± 0.00 | 2.00 | 5.00 | 0 |" in text
    )
    assert "| of what was measured | 1 | 0.80 | 2.00 | 0 |" in text
    # Half a point off with deviations of 0.5 and 0.7: outside half of the cases, inside 80 %.
    assert "| change held by 50, 80, 90 % |  | 0, 100, 100 |" in text
