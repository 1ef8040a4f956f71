"""What a watch says of recorded nights, as if it had been there."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest

from tests.watched_nights import RecordedNight, recorded_night, watched
from trimtab.lab.costs import nothing_known
from trimtab.lab.costs.knowledge import with_brokers, with_bundles
from trimtab.lab.costs.predict import works
from trimtab.lab.outcomes.recording import Reported, Unloaded
from trimtab.live.watch.document import words
from trimtab.live.watch.memory import Span
from trimtab.live.watch.nouns import Compared, Decided, Relearn, Scored, Unexplained
from trimtab.live.watch.scores import projected, shifted
from trimtab.live.watch.targets import moves_of

#: Night → rounds that the leaders logged, and of how many the time of a departure is not known.
NIGHTS = {"uniform": (9, 0), "threshold": (8, 0), "avg": (9, 2)}


@pytest.mark.slow
@pytest.mark.parametrize("name", NIGHTS)
def test_every_round_is_the_leaders_to_the_last_digit(name: str) -> None:
    logged, unknown = NIGHTS[name]
    compared = [each for each in watched(recorded_night(name), 0.5) if isinstance(each, Compared)]
    verdicts = [each.logged.recomputed.equal for each in compared]

    assert len(verdicts) == logged
    assert verdicts.count(True) == logged - unknown
    assert verdicts.count(None) == unknown


@pytest.mark.parametrize("step_s", [1.7, 6.0])
def test_steps_decide_nothing(step_s: float) -> None:
    night = recorded_night("uniform")

    def said(step_s: float) -> list[object]:
        return [
            (each.number, each.time, each.pulsar, each.shadow)
            for each in watched(night, step_s)
            if isinstance(each, Decided) and each.time < night.ended
        ]

    assert said(step_s) == said(0.5)
    assert len(said(0.5)) > 10


def test_another_strategy_decides_beside_and_changes_nothing() -> None:
    night = recorded_night("uniform")
    conf = {**night.settings.conf, "loadBalancerAvgShedderHitCountHighThreshold": "1"}
    other = replace(night.settings, shedder="AvgShedder", placer="AvgShedder", conf=conf)
    said = watched(night, 1.0, other)

    rounds = [each for each in said if isinstance(each, Decided)]
    assert any(moves_of(each.shadow) != moves_of(each.pulsar) for each in rounds)
    assert all(each.pulsar is not None and each.shadow is not None for each in rounds)
    verdicts = [each.logged.recomputed.equal for each in said if isinstance(each, Compared)]
    assert verdicts == [True] * NIGHTS["uniform"][0]


def test_a_leader_that_takes_over_is_followed() -> None:
    said = watched(recorded_night("avg"), 1.0)

    assert [each.leader for each in said if isinstance(each, Relearn)] == [
        "10.213.0.11:8080",
        "10.213.0.12:8080",
    ]
    (last,) = [each for each in said if isinstance(each, Compared)][-1:]
    assert last.logged.log_broker == "broker2"
    assert last.logged.recomputed.equal is True


def test_rounds_are_counted_where_no_log_is_read() -> None:
    night = recorded_night("uniform")
    said = watched(night, 1.0, replace(night.settings, logs={}))

    rounds = [each for each in said if isinstance(each, Decided)]
    assert not [each for each in said if isinstance(each, Compared)]
    assert {each.guessed for each in rounds} == {
        "the leader's log is not read, so rounds are counted from its election"
    }
    steps = {(after.time - before.time).total_seconds() for before, after in pairwise(rounds)}
    assert steps == {60.0}


def test_rounds_before_the_watch_began_are_left_alone() -> None:
    night = recorded_night("uniform")
    late = replace(night, began=night.began + timedelta(minutes=5, seconds=20))
    said = watched(late, 1.0, replace(night.settings, logs={}))

    (led,) = [each for each in said if isinstance(each, Relearn)]
    rounds = [each for each in said if isinstance(each, Decided)]
    assert rounds[0].time > late.began
    assert (rounds[0].time - led.since).total_seconds() % 60 == 0
    assert rounds[0].time - late.began <= timedelta(minutes=1)


def test_both_are_scored_by_the_same_outcomes() -> None:
    night = recorded_night("uniform")
    scored = [each for each in watched(night, 1.0) if isinstance(each, Scored)]

    assert len(scored) > 8
    for each in scored:
        assert each.pulsar["peak_percent"] > 0
        assert set(each.shadow) <= set(each.pulsar) | {"last_unload_min"}
        # It is Pulsar's own strategy, which draws its targets anew.
        assert each.shadow["unloads"] == each.pulsar["unloads"]


def span(night: RecordedNight, number: int) -> Span:
    (round_,) = [
        each for each in watched(night, 1.0) if isinstance(each, Decided) and each.number == number
    ]
    assert round_.shadow is not None
    brokers = round_.shadow["brokers"].to_pylist()
    return Span(
        round_,
        {row["broker"]: row["usage"] for row in brokers},
        {row["broker"]: row["throughput"] for row in brokers},
    )


def test_a_projection_moves_usage_and_makes_none() -> None:
    decided = span(recorded_night("uniform"), 1)
    shift = projected(decided, [])

    assert max(shift.values()) > 1.0
    assert sum(shift.values()) == pytest.approx(0.0, abs=1e-9)


def test_what_is_full_gets_no_fuller() -> None:
    reported = [Reported(1.0, "a", 90.0), Reported(2.0, "a", 90.0), Reported(2.0, "b", 120.0)]
    reported += [Reported(2.0, "c", 10.0), Reported(2.0, "d", None)]

    found = shifted(reported, {"a": 87.0, "b": 5.0, "c": -30.0, "d": 1.0}, 1.0)

    assert [each.usage for each in found] == [90.0, 100.0, 120.0, 0.0, None]


def test_an_outcome_of_the_shadow_lies_between_its_ends() -> None:
    night = recorded_night("uniform")
    # A shadow that moves nothing stands where Pulsar's moves have helped it away from.
    conf = {**night.settings.conf, "loadBalancerBrokerOverloadedThresholdPercentage": "99"}
    still = replace(night.settings, shedder="OverloadShedder", conf=conf)
    scored = [each for each in watched(night, 1.0, still) if isinstance(each, Scored)]

    assert any(each.shadow["unloads"] == 0 < each.pulsar["unloads"] for each in scored)
    for each in scored:
        for name, (low, high) in each.between.items():
            assert low <= each.shadow[name] <= high
    apart = [low < high for each in scored for low, high in [each.between["peak_percent"]]]
    assert any(apart)


def test_who_did_the_same_needs_no_projection() -> None:
    decided = span(recorded_night("uniform"), 1)
    same = [
        Unloaded(0.0, 0, bundle, source, target)
        for bundle, source, target in moves_of(decided.decided.shadow)
    ]

    shift = projected(decided, same)
    assert shift
    assert max(map(abs, shift.values())) < 1e-9


def test_moves_that_the_log_does_not_explain_are_told_live() -> None:
    night = recorded_night("uniform")
    # The log goes on, and its lines of rounds and unloads cannot be read.
    rows = [
        (heard, [row for row in rows if row[0] != "log_events" or "lead" in row[1]["kind"]])
        for heard, rows in night.rows
    ]
    said = watched(replace(night, rows=rows), 1.0, misread=1)

    strange = [each for each in said if isinstance(each, Unexplained)]
    rounds = [each for each in said if isinstance(each, Decided)]
    assert {each.guessed for each in rounds} == {
        "the leader's log is not understood, so the time is that at which the round was due"
    }
    assert sum(len(each.moves) for each in strange) > 20
    (first, *_) = strange
    assert words(first, night.settings).startswith(
        f"{first.time:%H:%M:%S}Z round {first.number}: moves were made that the log does not "
        f"explain: {first.moves[0][0]} from {first.moves[0][1]} to {first.moves[0][2]}"
    )
    assert f"{first.misread} lines of it could not be read" in words(first, night.settings)
    scores = {each.number: each for each in said if isinstance(each, Scored)}
    assert scores[first.number].pulsar["unloads"] == len(first.moves)


@pytest.mark.parametrize("name", NIGHTS)
def test_nothing_is_strange_where_the_log_tells_all(name: str) -> None:
    assert not [
        each for each in watched(recorded_night(name), 0.5) if isinstance(each, Unexplained)
    ]


def test_what_is_learned_of_costs_takes_the_place_of_the_share_of_traffic() -> None:
    decided = span(recorded_night("uniform"), 1)
    ((bundle, source, target), *_) = [
        move for move in moves_of(decided.decided.shadow) if move[2] is not None
    ]
    known = nothing_known((source, target), (bundle,))
    counts = np.zeros((1, 7))
    counts[0, 0] = 5000.0
    # The target has half the cores.
    known = with_brokers(with_bundles(known, counts=counts), by_cores=np.array((1.0, 2.0)))
    only = replace(
        decided,
        decided=replace(
            decided.decided,
            shadow={
                **decided.decided.shadow,
                "unloads": [
                    each for each in decided.decided.shadow["unloads"] if each["bundle"] == bundle
                ],
            },
        ),
    )

    shift = projected(only, [], known)

    assert shift[source] == pytest.approx(-works(known)[0], rel=1e-6)
    assert shift[target] == pytest.approx(2.0 * works(known)[0], rel=1e-6)
    assert shift[source] != pytest.approx(projected(only, [])[source], rel=0.01)
