"""What a watch says of recorded nights, as if it had been there."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest

from tests.watched_nights import Told, told, watched
from trimtab.lab.costs import nothing_known
from trimtab.lab.costs.knowledge import with_brokers, with_bundles
from trimtab.lab.costs.predict import works
from trimtab.lab.outcomes.recording import Unloaded
from trimtab.live.watch.memory import Span
from trimtab.live.watch.nouns import Compared, Decided, Relearn, Scored
from trimtab.live.watch.scores import projected
from trimtab.live.watch.targets import moves_of

#: Night → rounds that the leaders logged, and of how many the time of a departure is not known.
NIGHTS = {"uniform": (9, 0), "threshold": (8, 0), "avg": (9, 2)}


@pytest.mark.parametrize("name", NIGHTS)
def test_every_round_is_the_leaders_to_the_last_digit(name: str) -> None:
    logged, unknown = NIGHTS[name]
    compared = [each for each in watched(told(name), 0.5) if isinstance(each, Compared)]
    verdicts = [each.logged.recomputed.equal for each in compared]

    assert len(verdicts) == logged
    assert verdicts.count(True) == logged - unknown
    assert verdicts.count(None) == unknown


@pytest.mark.parametrize("step_s", [1.7, 6.0])
def test_steps_decide_nothing(step_s: float) -> None:
    night = told("uniform")

    def said(step_s: float) -> list[object]:
        return [
            (each.number, each.time, each.pulsar, each.shadow)
            for each in watched(night, step_s)
            if isinstance(each, Decided) and each.time < night.ended
        ]

    assert said(step_s) == said(0.5)
    assert len(said(0.5)) > 10


def test_another_strategy_decides_beside_and_changes_nothing() -> None:
    night = told("uniform")
    conf = {**night.settings.conf, "loadBalancerAvgShedderHitCountHighThreshold": "1"}
    other = replace(night.settings, shedder="AvgShedder", placer="AvgShedder", conf=conf)
    said = watched(night, 1.0, other)

    rounds = [each for each in said if isinstance(each, Decided)]
    assert any(moves_of(each.shadow) != moves_of(each.pulsar) for each in rounds)
    assert all(each.pulsar is not None and each.shadow is not None for each in rounds)
    verdicts = [each.logged.recomputed.equal for each in said if isinstance(each, Compared)]
    assert verdicts == [True] * NIGHTS["uniform"][0]


def test_a_leader_that_takes_over_is_followed() -> None:
    said = watched(told("avg"), 1.0)

    assert [each.leader for each in said if isinstance(each, Relearn)] == [
        "10.213.0.11:8080",
        "10.213.0.12:8080",
    ]
    (last,) = [each for each in said if isinstance(each, Compared)][-1:]
    assert last.logged.log_broker == "broker2"
    assert last.logged.recomputed.equal is True


def test_rounds_are_counted_where_no_log_is_read() -> None:
    night = told("uniform")
    said = watched(night, 1.0, replace(night.settings, logs={}))

    rounds = [each for each in said if isinstance(each, Decided)]
    assert not [each for each in said if isinstance(each, Compared)]
    assert {each.guessed for each in rounds} == {
        "the leader's log is not read, so rounds are counted from its election"
    }
    steps = {(after.time - before.time).total_seconds() for before, after in pairwise(rounds)}
    assert steps == {60.0}


def test_rounds_before_the_watch_began_are_left_alone() -> None:
    night = told("uniform")
    late = replace(night, began=night.began + timedelta(minutes=5, seconds=20))
    said = watched(late, 1.0, replace(night.settings, logs={}))

    (led,) = [each for each in said if isinstance(each, Relearn)]
    rounds = [each for each in said if isinstance(each, Decided)]
    assert rounds[0].time > late.began
    assert (rounds[0].time - led.since).total_seconds() % 60 == 0
    assert rounds[0].time - late.began <= timedelta(minutes=1)


def test_both_are_scored_by_the_same_outcomes() -> None:
    night = told("uniform")
    scored = [each for each in watched(night, 1.0) if isinstance(each, Scored)]

    assert len(scored) > 8
    for each in scored:
        assert each.pulsar["peak_percent"] > 0
        assert set(each.shadow) <= set(each.pulsar) | {"last_unload_min"}
        # It is Pulsar's own strategy, which draws its targets anew.
        assert each.shadow["unloads"] == each.pulsar["unloads"]


def span(night: Told, number: int) -> Span:
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
    decided = span(told("uniform"), 1)
    shift = projected(decided, [])

    assert max(shift.values()) > 1.0
    assert sum(shift.values()) == pytest.approx(0.0, abs=1e-9)


def test_who_did_the_same_needs_no_projection() -> None:
    decided = span(told("uniform"), 1)
    same = [
        Unloaded(0.0, 0, bundle, source, target)
        for bundle, source, target in moves_of(decided.decided.shadow)
    ]

    shift = projected(decided, same)
    assert shift
    assert max(map(abs, shift.values())) < 1e-9


def test_what_is_learned_of_costs_takes_the_place_of_the_share_of_traffic() -> None:
    decided = span(told("uniform"), 1)
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
