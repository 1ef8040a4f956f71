"""What holds for every strategy and every score, on generated clusters."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from tests.cluster_loads import (
    anything,
    exact_loads,
    loads,
    plain,
    plain_numbers,
    ranked_by_traffic,
    without_long,
)
from trimtab.pulsar.model import (
    RESOURCES,
    ClusterLoad,
    Decision,
    History,
    Reason,
)
from trimtab.pulsar.scores import (
    descending,
    forget,
    mean_in_order,
    remember,
    smoothed,
    unweighted_usage,
    weighted_usage,
)
from trimtab.pulsar.settings import ResourceWeights
from trimtab.pulsar.shed import SHEDDERS

# Strategies that give up as many bundles a round as it takes.
SHEDS_SEVERAL = {"AvgShedder", "OverloadShedder", "ThresholdShedder", "UniformLoadShedder"}
# Strategies that give up a broker's only bundle.
SHEDS_SOLE_BUNDLE = {"AvgShedder"}
# Where a strategy sheds from brokers of high usage, whatever the others' is, the usage below that.
LEVELS = {"OverloadShedder": st.floats(0, 0.84, exclude_max=True)}
# Strategies for which brokers of equal traffic are a tie, whatever their usage.
RANKS_BY_TRAFFIC = {"UniformLoadShedder"}
# Strategies for which the order of brokers decides without any tie, see their Quirks.
DEPENDS_ON_ORDER = {("UniformLoadShedder", "2.10.0"), ("UniformLoadShedder", "3.0.0")}

# With these a small cluster sheds at all, and numbers that are multiples of 1/64 stay exact.
CONF = {
    "loadBalancerHistoryResourcePercentage": "0.5",
    "loadBalancerBundleUnloadMinThroughputThreshold": "0",
    "minUnloadMessage": "0",
    "minUnloadMessageThroughput": "0",
    "loadBalancerAvgShedderHitCountLowThreshold": "1",
    "loadBalancerAvgShedderHitCountHighThreshold": "1",
}
LOWER = CONF | {"lowerBoundarySheddingEnabled": "true"}

# Looks for an example and is content with the first, however big.
ANY = settings(phases=[Phase.generate], derandomize=True, max_examples=20_000)

# Releases share most of their code, so that few examples of each are many of it.
FEW = settings(max_examples=40)

shedders = pytest.mark.parametrize(("name", "line"), SHEDDERS)


def _permuted(load: ClusterLoad, order: Sequence[int]) -> ClusterLoad:
    """Let the leader walk its brokers in another order."""
    place = np.argsort(order)
    fields = {
        field.name: getattr(load, field.name)[list(order)]
        for field in dataclasses.fields(load)
        if isinstance(getattr(load, field.name), np.ndarray)
        and not field.name.startswith("bundle_")
    }
    return dataclasses.replace(
        load,
        **fields,
        brokers=tuple(load.brokers[i] for i in order),
        bundle_count=load.bundle_count[list(order)],
        bundle_broker=place[load.bundle_broker],
    )


def _by_broker(load: ClusterLoad, decision: Decision) -> dict[str, tuple[Any, ...]]:
    """Lay a decision out by broker, with bundles in their order of selection."""
    bundles: dict[str, list[str]] = {broker: [] for broker in load.brokers}
    for unload in decision.unloads:
        bundles[unload.source].append(unload.bundle)
    return {
        broker: (tuple(bundles[broker]), decision.reasons[i], float(decision.scores[i]))
        for i, broker in enumerate(load.brokers)
    }


def equal(one: Any, other: Any) -> bool:
    """Compare decisions, placements and memories; NaN equals NaN."""
    if one is None:
        return other is None
    for field in dataclasses.fields(one):
        left, right = getattr(one, field.name), getattr(other, field.name)
        is_number = isinstance(left, np.ndarray | float)
        if not (np.array_equal(left, right, equal_nan=True) if is_number else left == right):
            return False
    return True


def _shed(name: str, line: str, load: ClusterLoad, conf: dict[str, str] = CONF) -> Decision:
    entry = SHEDDERS[name, line]
    decision: Decision
    decision, _ = entry.shed(load, entry.memory, entry.settings(conf, line))
    return decision


# ---------------------------------------------------------------- shedders


@pytest.mark.slow
@shedders
@FEW
@given(load=loads(), after=loads())
def test_shedder_answers_for_every_broker_and_names_what_it_owns(
    name: str, line: str, load: ClusterLoad, after: ClusterLoad
) -> None:
    entry = SHEDDERS[name, line]
    for conf in (CONF, LOWER, {}):
        memory = entry.memory
        for current in (load, after, after):
            decision, memory = entry.shed(current, memory, entry.settings(conf, line))
            _assert_complete(current, decision)


def _assert_complete(load: ClusterLoad, decision: Decision) -> None:
    """A decision says something of every broker, and names what brokers own, once."""
    pairs = [(unload.source, unload.bundle) for unload in decision.unloads]
    owners = [load.brokers[owner] for owner in load.bundle_broker]
    listed = zip(owners, load.bundles, load.bundle_is_sheddable, strict=True)
    owned = {(owner, bundle) for owner, bundle, ok in listed if ok}

    assert set(pairs) <= owned
    assert len(pairs) == len(set(pairs))
    assert all(u.target is None or u.target in load.brokers for u in decision.unloads)
    parts = (decision.reasons, decision.scores, decision.offload)
    assert [len(load.brokers)] * 3 == [len(part) for part in parts]


@pytest.mark.slow
@shedders
@FEW
@given(load=loads(), before=loads())
def test_shedder_decides_the_same_twice_and_leaves_its_memory_alone(
    name: str, line: str, load: ClusterLoad, before: ClusterLoad
) -> None:
    entry = SHEDDERS[name, line]
    rules = entry.settings(LOWER, line)
    _, memory = entry.shed(before, entry.memory, rules)
    _, same = entry.shed(before, entry.memory, rules)
    one, one_memory = entry.shed(load, memory, rules)
    other, other_memory = entry.shed(load, memory, rules)

    assert equal(memory, same)
    assert equal(one, other)
    assert equal(one_memory, other_memory)


@pytest.mark.slow
@shedders
@FEW
@given(load=loads())
def test_shedder_that_reads_no_long_averages_decides_without_them(
    name: str, line: str, load: ClusterLoad
) -> None:
    entry = SHEDDERS[name, line]
    if entry.reads_long:
        pytest.skip(f"{name} reads them")
    rules = entry.settings(LOWER, line)
    one, one_memory = entry.shed(load, entry.memory, rules)
    other, other_memory = entry.shed(without_long(load), entry.memory, rules)

    assert equal(one, other)
    assert equal(one_memory, other_memory)


@pytest.mark.slow
@shedders
@given(load=exact_loads(), data=st.data())
def test_order_of_brokers_does_not_matter_without_ties(
    name: str, line: str, load: ClusterLoad, data: st.DataObject
) -> None:
    if (name, line) in DEPENDS_ON_ORDER:
        pytest.skip(f"{name} of {line} looks at one broker after the other, see its Quirks")
    if name in RANKS_BY_TRAFFIC:
        load = data.draw(ranked_by_traffic(load))
    order = data.draw(st.permutations(range(len(load.brokers))))
    other = _permuted(load, order)

    for conf in (CONF, LOWER):
        expected = _by_broker(load, _shed(name, line, load, conf))
        assert expected == _by_broker(other, _shed(name, line, other, conf))


@pytest.mark.slow
@shedders
@given(load=loads(plain_numbers), data=st.data())
def test_balanced_cluster_is_left_alone(
    name: str, line: str, load: ClusterLoad, data: st.DataObject
) -> None:
    level = data.draw(LEVELS.get(name, st.floats(0, 1)))
    count = len(load.brokers)
    level_load = dataclasses.replace(
        load,
        resource_usage=np.full((count, 5), level),
        resource_limit=np.ones((count, 5)),
        rate_in=np.full(count, 1000.0),
        rate_out=np.full(count, 1000.0),
        throughput_in=np.full(count, 1e9),
        throughput_out=np.full(count, 1e9),
    )

    for conf in (CONF, LOWER):
        assert () == _shed(name, line, level_load, conf).unloads


@pytest.mark.slow
@shedders
@FEW
@given(load=loads())
def test_single_bundle_broker_is_left_alone(name: str, line: str, load: ClusterLoad) -> None:
    if name in SHEDS_SOLE_BUNDLE:
        pytest.skip(f"{name} gives up a broker's only bundle, see its Quirks")
    for conf in (CONF, LOWER):
        sources = {unload.source for unload in _shed(name, line, load, conf).unloads}
        sole = {b for b, n in zip(load.brokers, load.bundle_count, strict=True) if n == 1}
        assert not sources & sole


@pytest.mark.slow
@shedders
def test_properties_of_shedders_are_not_vacuous(name: str, line: str) -> None:
    """Generated clusters do shed, both of odd numbers and of exact ones."""
    least = 2 if name in SHEDS_SEVERAL else 1
    find(loads(), lambda load: len(_shed(name, line, load).unloads) >= least, settings=ANY)
    find(exact_loads(), lambda load: len(_shed(name, line, load).unloads) >= least, settings=ANY)


@given(load=exact_loads())
def test_threshold_shedder_gives_reasons_that_fit(load: ClusterLoad) -> None:
    decision = _shed("ThresholdShedder", "3.0.0", load)
    sources = {unload.source for unload in decision.unloads}
    overloaded = {
        broker
        for broker, reason in zip(load.brokers, decision.reasons, strict=True)
        if reason is Reason.OVERLOADED
    }

    assert sources == overloaded
    for reason, offload in zip(decision.reasons, decision.offload, strict=True):
        assert math.isnan(offload) == (reason is Reason.BALANCED)


# ------------------------------------------------------------------ scores

weights = st.builds(
    ResourceWeights,
    cpu=plain,
    memory=st.none() | plain,
    direct_memory=plain,
    bandwidth_in=plain,
    bandwidth_out=plain,
)


def _percent(usage: float, limit: float) -> np.float32:
    """One percentage as the Java computes it, value by value."""
    with np.errstate(all="ignore"):
        ratio = np.float32(usage) / np.float32(limit) if limit > 0 else np.float32(0)
        return np.float32(ratio * np.float32(100))


@given(load=loads(), weighing=weights)
@settings(max_examples=300)
def test_weighted_usage_equals_weighing_value_by_value(
    load: ClusterLoad, weighing: ResourceWeights
) -> None:
    expected = []
    for usages, limits in zip(load.resource_usage, load.resource_limit, strict=True):
        largest = -math.inf
        for usage, limit, weight in zip(usages, limits, weighing.by_resource(), strict=True):
            if weight is not None and (value := float(_percent(usage, limit)) * weight) > largest:
                largest = value
        expected.append(largest / 100)

    np.testing.assert_array_equal(np.array(expected), weighted_usage(load, weighing))


@given(load=loads(), weighing=weights, heap=anything)
def test_resource_that_is_left_out_changes_nothing(
    load: ClusterLoad, weighing: ResourceWeights, heap: float
) -> None:
    without = dataclasses.replace(weighing, memory=None)
    usage = load.resource_usage.copy()
    usage[:, RESOURCES.index("memory")] = heap
    changed = dataclasses.replace(load, resource_usage=usage)

    np.testing.assert_array_equal(weighted_usage(load, without), weighted_usage(changed, without))
    np.testing.assert_array_equal(unweighted_usage(load), unweighted_usage(changed))


@given(load=loads())
def test_unweighted_usage_equals_doing_it_in_32_bits(load: ClusterLoad) -> None:
    expected = []
    for usages, limits in zip(load.resource_usage, load.resource_limit, strict=True):
        largest = np.float32(-math.inf)
        for i in (0, 2, 3, 4):
            if (value := _percent(usages[i], limits[i])) > largest:
                largest = value
        expected.append(float(largest / np.float32(100)))

    np.testing.assert_array_equal(np.array(expected), unweighted_usage(load))


@given(load=loads(plain_numbers), weighing=weights)
def test_weighted_usage_is_bounded_and_needs_a_limit(
    load: ClusterLoad, weighing: ResourceWeights
) -> None:
    bounded = dataclasses.replace(load, resource_limit=np.ones_like(load.resource_limit))
    unlimited = dataclasses.replace(load, resource_limit=np.zeros_like(load.resource_limit))
    heaviest = max(weight or 0.0 for weight in weighing.by_resource())
    bound = heaviest * load.resource_usage.max(axis=1, initial=0) * (1 + 2**-22)

    assert (weighted_usage(bounded, weighing) <= bound + 1e-40).all()
    assert (weighted_usage(unlimited, weighing) == 0).all()


usages = st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 2), max_size=6)


def _history(usage: dict[str, float]) -> History:
    return History(tuple(usage), np.array(list(usage.values()), dtype=np.float64))


@given(before=usages, now=usages, share=st.floats(0, 1))
def test_smoothed_lies_between_before_and_now(
    before: dict[str, float], now: dict[str, float], share: float
) -> None:
    usage = np.array(list(now.values()), dtype=np.float64)
    after = dict(zip(now, smoothed(_history(before), tuple(now), usage, share), strict=True))

    for broker, value in now.items():
        old = before.get(broker, value)
        assert min(old, value) - 1e-15 <= after[broker] <= max(old, value) + 1e-15
        if broker not in before or share == 0:
            assert value == after[broker]
        else:
            assert old * share + (1 - share) * value == after[broker]


@given(before=usages, now=usages, share=st.floats(0, 1), data=st.data())
def test_smoothed_does_not_depend_on_order(
    before: dict[str, float], now: dict[str, float], share: float, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(list(now)))
    history = _history(before)
    one = smoothed(history, tuple(now), np.array(list(now.values())), share)
    other = smoothed(history, order, np.array([now[broker] for broker in order]), share)

    assert dict(zip(now, one, strict=True)) == dict(zip(order, other, strict=True))


@given(before=usages, now=usages)
def test_remember_replaces_and_keeps(before: dict[str, float], now: dict[str, float]) -> None:
    usage = np.array(list(now.values()), dtype=np.float64)
    once = remember(_history(before), tuple(now), usage)

    assert before | now == dict(zip(once.brokers, once.usage.tolist(), strict=True))
    assert equal(once, remember(once, tuple(now), usage))


@given(before=usages, active=st.sets(st.sampled_from("abcdefg")))
def test_forget_keeps_those_that_are_active(before: dict[str, float], active: set[str]) -> None:
    kept = forget(_history(before), active)
    expected = {broker: value for broker, value in before.items() if broker in active}

    assert list(expected.items()) == list(zip(kept.brokers, kept.usage.tolist(), strict=True))


@given(values=st.lists(anything, max_size=12))
def test_descending_sorts_as_java_compares_backwards(values: list[float]) -> None:
    def key(i: int) -> tuple[bool, float, float]:
        value = values[i]
        is_nan = math.isnan(value)
        return not is_nan, 0.0 if is_nan else -value, -math.copysign(1, 0.0 if is_nan else value)

    order = descending(np.array(values, dtype=np.float64))
    assert sorted(range(len(values)), key=key) == order.tolist()


@given(values=st.lists(st.floats(width=64), max_size=40))
def test_mean_in_order_equals_a_loop_of_additions(values: list[float]) -> None:
    total = 0.0
    for value in values:
        total += value
    expected = total / len(values) if values else 0.0

    np.testing.assert_equal(mean_in_order(np.array(values, dtype=np.float64)), expected)
