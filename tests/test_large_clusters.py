"""What a diagnosis leaves out of a cluster of hundreds of brokers, and what it must not."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from trimtab.diagnose.deployment import deployment
from trimtab.diagnose.document import findings_document
from trimtab.diagnose.findings.score_disagreement import APART, score_disagreement
from trimtab.diagnose.night import BrokerState, Draw, Move, Night, Recomputed, Round
from trimtab.diagnose.usages import usages_of
from trimtab.diagnose.verdicts import verdicts

TIME = datetime(2026, 11, 21, 22, 0, tzinfo=UTC)


def night(brokers: int) -> Night:
    """One round with one move, from the third broker to the seventh."""
    random = np.random.default_rng(brokers)
    names = [f"b{i:03}:8080" for i in range(brokers)]
    smoothed, scores = random.random((2, brokers)).tolist()
    drawn = dict(zip(names, scores, strict=True))
    numbers = {"placer_scores": drawn, "usage": 0.5}
    move = Move(
        id="u1",
        time=TIME,
        round=1,
        bundle="t/n/0x0_0x1",
        source=names[2],
        target=names[6],
        strategy="ThresholdShedder",
        evidence=(),
        draw=Draw(count=brokers, is_fallback=False, scores=drawn, average=0.5, margin=0.1),
        recomputed=Recomputed(True, "", numbers),
    )
    states = {
        name: BrokerState(usage=value, smoothed=value)
        for name, value in zip(names, smoothed, strict=True)
    }
    logged = Round(1, 1, TIME, TIME, "b000", "ThresholdShedder", (), (move,), states)
    return Night((logged,), usages_of(()), 0.1, 0.1, 1800.0, 60.0)


def document(told: Night) -> dict[str, Any]:
    found = score_disagreement(told)
    return findings_document(
        told, found, verdicts(told, found), [], deployment({}, [], [], ([], []))
    )


@pytest.mark.parametrize("brokers", [7, 20, 100, 101, 250])
def test_every_pair_that_is_ranked_differently_counts(brokers: int) -> None:
    told = night(brokers)
    (logged,) = told.rounds
    draw = logged.moves[0].draw
    assert draw is not None
    pairs = [(state.smoothed or 0.0, draw.scores[b]) for b, state in logged.brokers.items()]
    swapped = [
        (i, j)
        for i, j in combinations(range(brokers), 2)
        if (pairs[i][0] - pairs[j][0]) * (pairs[i][1] - pairs[j][1]) < 0
        and min(abs(pairs[i][at] - pairs[j][at]) for at in (0, 1)) >= APART
    ]
    (finding,) = score_disagreement(told)
    assert finding.numbers["swapped_pairs"] == len(swapped)
    if swapped:
        i, j = swapped[0]
        assert f"b{i:03}:8080" in finding.text("text")
        assert f"b{j:03}:8080" in finding.text("text")
    assert len(finding.brokers) == (brokers if brokers <= 100 else 5)


def test_a_hundred_brokers_are_all_told_of() -> None:
    found = document(night(100))
    (logged,), (unload,) = found["round_list"], found["unloads"]
    assert len(logged["brokers"]) == 100
    assert "brokers_left_out" not in logged
    assert len(unload["recomputed"]["numbers"]["placer_scores"]) == 100


def test_of_more_those_concerned_and_the_extremes_are_told_of() -> None:
    told = night(250)
    found = document(told)
    (logged,), (unload,) = found["round_list"], found["unloads"]
    usage = {broker: state.usage or 0.0 for broker, state in told.rounds[0].brokers.items()}
    ranked = sorted(usage, key=usage.__getitem__)
    kept = {row["broker"] for row in logged["brokers"]}
    assert kept == {*ranked[:3], *ranked[-3:], "b002:8080", "b006:8080"}
    assert logged["brokers_left_out"] == 250 - len(kept)
    scores = unload["recomputed"]["numbers"]["placer_scores"]
    assert {"b002:8080", "b006:8080", min(scores, key=scores.get)} <= set(scores)
    assert 6 <= len(scores) <= 8
    assert unload["recomputed"]["numbers"]["usage"] == 0.5


def test_nobody_is_left_out_of_what_is_decided() -> None:
    told = night(250)
    before = dict(told.rounds[0].brokers)
    assert len(document(told)["brokers"]) == 250
    assert told.rounds[0].brokers == before
