"""Flows that are worked out ahead against those that are worked out when they are asked for."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest

from tests.simulated_worlds import drawn_balancer, drawn_parameters, drawn_world
from trimtab.lab.simulate import flow
from trimtab.lab.simulate.flow import Flow, Flows
from trimtab.lab.simulate.run import simulated
from trimtab.lab.simulate.traffic import Rows
from trimtab.lab.simulate.world import Run

SEEDS = range(4000, 4060)


def run(seed: int) -> Run:
    return simulated(drawn_world(seed), drawn_balancer(seed), drawn_parameters(seed))


def same(one: object, other: object) -> bool:
    """Say whether two runs are equal in every bit."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.tobytes() == other.tobytes()
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one)]
        return all(same(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.mark.slow
def test_looking_ahead_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[bool] = Counter()
    looks_ahead = True
    worked_out = Flows.flow

    def counted(self: Flows, rows: Rows, first: int, last: int) -> Flow:
        asked[looks_ahead] += 1
        return worked_out(self, rows, first, last)

    monkeypatch.setattr(Flows, "flow", counted)
    runs = [run(seed) for seed in SEEDS]
    looks_ahead = False
    monkeypatch.setattr(flow, "_NUMBERS", 0)
    for seed, ahead in zip(SEEDS, runs, strict=True):
        assert same(ahead, run(seed)), f"seed {seed}"
    assert asked[True] < 0.9 * asked[False]


def test_a_cluster_whose_steps_are_large_is_not_looked_ahead_of() -> None:
    for count, steps in ((0, 1 << 16), (1000, 65), (65536, 1), (65537, 0)):
        assert flow.steps_ahead(count) == steps
