"""Bundles that would hold any broker above the others: found by what they cost, seen or not."""

from __future__ import annotations

import numpy as np

from trimtab.lab.steering.foresight.large import too_large
from trimtab.pulsar.model import Flags, Floats

NONE = np.zeros(4, np.bool_)


def large(
    levels: tuple[float, ...], cpu: tuple[float, ...], owner: tuple[int, ...], was: Flags = NONE
) -> list[int]:
    """Return the positions of bundles that are too large; they take nothing of the network."""
    usage, points = (_cpu_alone(values) for values in (levels, cpu))
    return np.flatnonzero(too_large(usage, points, np.array(owner), was)).tolist()


def _cpu_alone(values: tuple[float, ...]) -> Floats:
    return np.array([(value, 0.0, 0.0) for value in values])


def test_one_that_no_broker_can_carry_among_the_others_is_too_large() -> None:
    # Wherever it is it takes 64 points, and the others 28 when they have all else.
    assert large((75.0, 22.0, 22.0), (60.0, 11.0, 18.0, 18.0), (0, 0, 1, 2)) == [0]


def test_one_that_stands_at_the_upper_edge_is_not() -> None:
    assert large((63.0, 31.0, 31.0, 31.0), (42.0, 18.0, 28.0, 28.0), (0, 0, 1, 2)) == []


def test_what_fills_a_broker_may_cost_more_than_can_be_seen() -> None:
    cpu, owner = (42.0, 18.0, 32.0, 32.0), (0, 0, 1, 2)

    # Of 100 points 60 are explained: by its share the first takes 67 of the other 96.
    assert large((100.0, 36.0, 36.0), cpu, owner) == [0]
    assert large((64.0, 36.0, 36.0), cpu, owner) == []


def test_one_that_was_too_large_stays_so_until_it_is_well_inside() -> None:
    cpu, owner = (54.0, 6.0, 40.0, 40.0), (0, 0, 1, 2)
    was = np.array((True, False, False, False))

    assert large((63.0, 43.0, 43.0), cpu, owner) == []
    assert large((63.0, 43.0, 43.0), cpu, owner, was) == [0]
    assert large((50.0, 46.0, 46.0), (37.0, 10.0, 43.0, 43.0), owner, was) == []


def test_one_that_nobody_owns_and_a_broker_alone_have_none() -> None:
    assert large((75.0, 22.0, 22.0), (60.0, 11.0, 18.0, 18.0), (-1, 0, 1, 2)) == []
    assert large((75.0, np.nan, np.nan), (60.0, 11.0, 18.0, 18.0), (0, 0, 1, 2)) == []


def test_a_network_that_hardly_anybody_uses_keeps_no_bundle_aside() -> None:
    usage, points = (
        _cpu_alone(values) for values in ((75.0, 42.0, 42.0), (43.0, 29.0, 39.0, 39.0))
    )
    usage[:, 1], points[0, 1] = (21.0, 1.0, 1.0), 20.0
    assert not too_large(usage, points, np.array((0, 0, 1, 2)), np.ones(4, np.bool_)).any()
    # Where it is the network that is full, it is by that.
    usage[:, 1], points[0, 1] = (91.0, 31.0, 31.0), 60.0
    assert too_large(usage, points, np.array((0, 0, 1, 2)), NONE).tolist() == [True, *3 * [False]]
