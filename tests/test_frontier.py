"""The lowest peak with so many moves: against everything tried, and at sizes where nobody can."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from trimtab.lab.frontier import Moves, Question, fewest, frontier, moved, question
from trimtab.lab.frontier.question import limits, peak_of
from trimtab.pulsar.model import Floats

_SEARCH_ALONE = 0


def drawn(seed: int, n_brokers: int, n_bundles: int, n_columns: int = 1) -> Question:
    """Draw a cluster of unlike brokers, some bundles of which may not go everywhere."""
    random = np.random.default_rng([seed, n_brokers, n_bundles, n_columns])
    cost = random.lognormal(0.0, 0.8, (n_bundles, n_columns))
    speed = random.choice((0.5, 1.0, 2.0), (n_brokers, 1)) * np.ones(n_columns)
    owner = random.choice(n_brokers, n_bundles, p=random.dirichlet(np.full(n_brokers, 3.0)))
    rest = random.uniform(1.0, 10.0, (n_brokers, n_columns))
    carried = np.stack([np.bincount(owner, each, n_brokers) for each in cost.T], axis=1)
    scale = 60.0 / (speed * carried).max()
    speed = speed * scale
    asked = question(rest + speed * carried, speed, cost, owner)
    allowed = random.random((3, n_brokers)) < 0.8
    allowed[0] = True
    return Question(
        usage=asked.usage,
        speed=asked.speed,
        cost=asked.cost,
        owner=asked.owner,
        is_movable=random.random(n_bundles) < 0.9,
        kind=random.choice(3, n_bundles, p=(0.7, 0.15, 0.15)),
        allowed=allowed,
        ceiling=np.where(random.random(n_brokers) < 0.2, 30.0, np.inf),
        is_counted=random.random(n_brokers) < 0.95,
    )


def check(asked: Question, moves: Moves) -> None:
    """Check that moves are those that may be made."""
    assert np.unique(moves.bundle).size == moves.bundle.size
    assert asked.is_movable[moves.bundle].all()
    assert asked.allowed[asked.kind[moves.bundle], moves.to].all()
    assert (asked.owner[moves.bundle] != moves.to).all()
    assert asked.is_counted[asked.owner[moves.bundle]].all()
    after, limit = moved(asked, moves).max(axis=1), limits(asked, np.inf)
    assert (after[moves.to] <= limit[moves.to] + 1e-4).all()


def tried(asked: Question, moves_max: int) -> Floats:
    """Return the lowest peak with each number of moves, by trying everything."""
    n_brokers, n_bundles = len(asked.usage), asked.owner.size
    lowest = np.full(moves_max + 1, asked.peak)
    for count in range(1, moves_max + 1):
        for bundles in itertools.combinations(range(n_bundles), count):
            for to in itertools.product(range(n_brokers), repeat=count):
                moves = Moves(np.array(bundles), np.array(to))
                try:
                    check(asked, moves)
                except AssertionError:
                    continue
                lowest[count] = min(lowest[count], peak_of(asked, moved(asked, moves)))
    return np.minimum.accumulate(lowest)


@pytest.mark.exhaustive
@pytest.mark.parametrize("n_columns", [1, 2])
def test_small_clusters_come_as_low_as_trying_everything_brings_them(
    n_columns: int, is_exhaustive: bool
) -> None:
    for seed in range(100 if is_exhaustive else 10):
        asked = drawn(seed, 3, 6, n_columns)
        lowest = tried(asked, 2)

        found = frontier(asked, 2)

        assert found.peak == pytest.approx(lowest, abs=0.06), seed
        assert found.is_exact.all()
        for moves in found.moves:
            check(asked, moves)


@pytest.mark.exhaustive
def test_fewest_moves_of_small_clusters(is_exhaustive: bool) -> None:
    """Search alone needs at most 5 % more moves than programming proves to be needed."""
    needed = used = 0
    for seed in range(200 if is_exhaustive else 10):
        asked = drawn(seed, 4, 20)
        lowest = frontier(asked, 5, _SEARCH_ALONE).peak[-1]
        bar = float(lowest + (asked.peak - lowest) * (0.1 + 0.1 * (seed % 3)))
        exact = fewest(asked, bar, 10)
        assert exact.moves is not None and exact.is_exact, seed
        check(asked, exact.moves)
        assert peak_of(asked, moved(asked, exact.moves)) <= bar + 0.001
        alone = fewest(asked, bar, 20, _SEARCH_ALONE)
        assert alone.bound <= exact.moves.bundle.size
        needed += exact.moves.bundle.size
        # Where it finds nothing it is taken to need twice as many.
        used += 2 * exact.moves.bundle.size if alone.moves is None else alone.moves.bundle.size

    assert needed > 0
    assert used <= 1.05 * needed


@pytest.mark.parametrize("n_columns", [1, 3])
def test_frontier_of_a_large_cluster_is_near_its_bound(n_columns: int) -> None:
    asked = drawn(1, 60, 1500, n_columns)
    found = frontier(asked, 12)

    assert (np.diff(found.peak) <= 0).all()
    assert (found.bound <= found.peak + 1e-9).all()
    assert found.peak[-1] < found.peak[0]
    for count, moves in enumerate(found.moves):
        assert moves.bundle.size <= count
        check(asked, moves)
        assert peak_of(asked, moved(asked, moves)) == pytest.approx(found.peak[count])
    gained = found.peak[0] - found.peak[-1]
    assert found.peak[-1] - found.bound[-1] <= 0.05 * gained


def test_same_question_gives_the_same_moves() -> None:
    one, other = (frontier(drawn(5, 30, 600), 8) for _ in range(2))

    for mine, yours in zip(one.moves, other.moves, strict=True):
        assert mine.bundle.tolist() == yours.bundle.tolist()
        assert mine.to.tolist() == yours.to.tolist()


def test_one_bundle_that_is_most_of_a_broker_stays_and_the_bound_says_so() -> None:
    cost = np.array([[60.0], [2.0], [10.0], [10.0]])
    owner = np.array([0, 0, 1, 2])
    usage = np.array([[65.0], [15.0], [15.0]])
    found = frontier(question(usage, np.ones((3, 1)), cost, owner), 3, _SEARCH_ALONE)

    assert found.peak.tolist() == [65.0, 63.0, 63.0, 63.0]
    # A broker without its own bundle could take the giant, and would stand at 65.
    assert found.bound == pytest.approx([65.0, 63.0, 63.0, 63.0])


def test_nothing_to_move_is_a_flat_frontier() -> None:
    nothing = question(
        np.array([[50.0], [40.0]]), np.ones((2, 1)), np.empty((0, 1)), np.empty(0, np.int64)
    )
    found = frontier(nothing, 4)

    assert found.peak.tolist() == [50.0] * 5
    assert all(moves.bundle.size == 0 for moves in found.moves)
    assert fewest(nothing, 45.0, 4).moves is None
    assert fewest(nothing, 55.0, 4).bound == 0.0
