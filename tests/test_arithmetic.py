"""What is counted without a library for it: fits without negative factors, shares, programs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from trimtab.lab.costs.arithmetic import factors, half_width
from trimtab.lab.frontier.integer_program import Effort, Program, Rows, solved

ALL = Effort(1_000, 0.0)


@pytest.mark.parametrize(
    ("share", "deviations"), [(0.0, 0.0), (0.6827, 1.0), (0.95, 1.959964), (0.99, 2.575829)]
)
def test_so_many_deviations_hold_a_share(share: float, deviations: float) -> None:
    assert half_width(share) == pytest.approx(deviations, abs=1e-4)


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_no_factors_above_zero_come_closer(n_columns: int) -> None:
    random = np.random.default_rng(n_columns)
    zeros = 0
    for _ in range(100):
        columns, values = random.normal(size=(9, n_columns)), random.normal(size=9)
        found = factors(columns, values)
        # The conditions of Karush, Kuhn and Tucker: what is left pulls at no factor.
        pull = columns.T @ (values - columns @ found)
        assert (found >= 0).all()
        assert pull[found > 0] == pytest.approx(0.0, abs=1e-9)
        assert (pull[found == 0] <= 1e-9).all()
        zeros += int((found == 0).sum())
    assert zeros > 10


def carried(weights: list[float], least: float) -> Program:
    """Return who is to be carried, so that all together weigh enough, and as few as can be."""
    n, whole = len(weights), np.array(weights)
    rows = Rows(np.zeros(n, np.int64), np.arange(n), whole, np.array([least]), np.array([np.inf]))
    ends = np.zeros(n + 1), np.append(np.ones(n), 0.0)
    return Program(np.append(np.ones(n), 0.0), *ends, [rows])


def test_a_small_program_is_solved_as_trying_everything_does() -> None:
    random = np.random.default_rng(5)
    for _ in range(30):
        weights = random.uniform(1.0, 9.0, 7).tolist()
        least = float(random.uniform(5.0, 35.0))
        enough = [
            len(some)
            for size in range(8)
            for some in itertools.combinations(weights, size)
            if sum(some) >= least
        ]
        found = solved(carried(weights, least), ALL)
        assert found.is_proved
        if not enough:
            assert found.values is None
            assert found.bound == np.inf
            continue
        assert found.values is not None
        assert round(found.values.sum()) == min(enough) == round(found.bound)
        assert np.array(weights) @ found.values[:-1] >= least - 1e-6


def test_a_search_that_is_broken_off_has_a_bound_and_prints_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    random = np.random.default_rng(2)
    n_brokers, n = 5, 30
    cost = random.lognormal(0.0, 0.8, n)
    each, broker = (part.ravel() for part in np.mgrid[:n, :n_brokers])
    choice = np.arange(n * n_brokers)
    usages = Rows(
        np.append(broker, np.arange(n_brokers)),
        np.append(choice, np.full(n_brokers, choice.size)),
        np.append(cost[each], -np.ones(n_brokers)),
        np.full(n_brokers, -np.inf),
        np.zeros(n_brokers),
    )
    once = Rows(each, choice, np.ones(choice.size), np.ones(n), np.ones(n))
    objective = np.append(np.zeros(choice.size), 1.0)
    high = np.append(np.ones(choice.size), np.inf)
    program = Program(objective, np.zeros(objective.size), high, [usages, once])

    found = solved(program, Effort(2, 0.0))

    assert not found.is_proved
    assert found.bound <= cost.sum() / n_brokers + 1e-6 or found.values is not None
    assert found.values is None or found.values[-1] >= found.bound
    assert capfd.readouterr() == ("", "")
