"""Shortcuts for many placements in a row give what the long way gives."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster_loads import loads
from trimtab.pulsar.model import ClusterLoad, History
from trimtab.pulsar.scores import remember, remember_at, smoothed, weighted_usage
from trimtab.pulsar.settings import ResourceWeights

WEIGHTS = ResourceWeights(1.0, None, 1.0, 0.5, 2.0)
BROKERS = tuple(f"b{i}:8080" for i in range(6))


def writeable(load: ClusterLoad) -> ClusterLoad:
    """The same with arrays that may be written to."""
    return dataclasses.replace(
        load, resource_usage=load.resource_usage.copy(), resource_limit=load.resource_limit.copy()
    )


@given(loads())
def test_reports_that_nobody_can_change_are_weighed_once(load: ClusterLoad) -> None:
    once = weighted_usage(load, WEIGHTS)

    assert weighted_usage(load, WEIGHTS) is once
    assert weighted_usage(dataclasses.replace(load, rate_in=load.rate_out), WEIGHTS) is once
    assert not once.flags.writeable
    np.testing.assert_array_equal(once, weighted_usage(writeable(load), WEIGHTS))


@given(loads())
def test_reports_that_change_are_weighed_anew(load: ClusterLoad) -> None:
    changing = writeable(load)
    weighted_usage(changing, WEIGHTS)
    changing.resource_usage[:] = 0.25
    changing.resource_limit[:] = 1.0

    assert (weighted_usage(changing, WEIGHTS) == 0.5).all()


def test_other_weights_are_other_usage() -> None:
    usage, limit = np.full((1, 5), 0.25), np.ones((1, 5))
    usage.flags.writeable = limit.flags.writeable = False
    load = ClusterLoad(
        **dict.fromkeys((field.name for field in dataclasses.fields(ClusterLoad)), np.zeros(1))
        | {"brokers": BROKERS[:1], "resource_usage": usage, "resource_limit": limit}
    )

    assert weighted_usage(load, WEIGHTS) == 0.5
    assert weighted_usage(load, dataclasses.replace(WEIGHTS, bandwidth_out=3.0)) == 0.75


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draw a history of some brokers, in any order, perhaps of one that left too."""
    brokers = draw(st.lists(st.sampled_from((*BROKERS, "gone:8080")), unique=True))
    usage = draw(st.lists(st.floats(), min_size=len(brokers), max_size=len(brokers)))
    return History(tuple(brokers), np.array(usage, dtype=np.float64))


@given(histories(), st.lists(st.integers(0, 5), unique=True), st.data())
def test_remembering_by_position_is_remembering_by_name(
    history: History, positions: list[int], data: st.DataObject
) -> None:
    """Also the second time, when the history stands in the order of the load."""
    for _ in range(2):
        size = len(positions)
        usage = np.array(data.draw(st.lists(st.floats(), min_size=size, max_size=size)))
        expected = remember(history, [BROKERS[i] for i in positions], usage)
        history = remember_at(history, BROKERS, np.array(positions, dtype=np.int64), usage)

        assert dict_of(history) == dict_of(expected)
        assert set(history.brokers) != set(BROKERS) or history.brokers == BROKERS


def dict_of(history: History) -> dict[str, str]:
    """Lay a history out so that NaN equals NaN, and -0.0 is not 0.0."""
    return {b: repr(u) for b, u in zip(history.brokers, history.usage.tolist(), strict=True)}


@given(histories(), st.lists(st.floats(), min_size=6, max_size=6), st.floats(0, 1))
def test_smoothing_does_not_depend_on_the_order_of_the_history(
    history: History, usage: list[float], share: float
) -> None:
    now = np.array(usage)
    everyone = remember_at(history, BROKERS, np.arange(6), now)
    by_name = History(everyone.brokers[::-1], everyone.usage[::-1])

    np.testing.assert_array_equal(
        smoothed(everyone, BROKERS, now[::-1].copy(), share),
        smoothed(by_name, BROKERS, now[::-1].copy(), share),
    )
