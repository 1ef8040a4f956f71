"""What holds for the extensible load manager's strategies, on generated clusters."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from tests.cluster_loads import Numbers, any_numbers, anything, cells, codes, plain_numbers
from tests.test_properties import ANY, FEW
from trimtab.files.fields import Field
from trimtab.pulsar.load_statistics import after_transfer, load_statistics
from trimtab.pulsar.model import ExtensibleLoad, Reason, TransferDecision
from trimtab.pulsar.place import EXTENSIBLE_PLACERS
from trimtab.pulsar.scores import ascending, descending
from trimtab.pulsar.sequences.extensible.rounds import extensible_round
from trimtab.pulsar.sequences.extensible.stores import LoadStores
from trimtab.pulsar.settings import broker_load_settings
from trimtab.pulsar.shed import EXTENSIBLE_SHEDDERS

NOW_MS = 10_000_000
# Whatever is out of balance is to be mended at once.
CONF = {
    "loadBalancerBrokerLoadTargetStd": "0.05",
    "loadBalancerSheddingConditionHitCountThreshold": "0",
}

# One release of each function.
SINCE = {entry.shed: since for (_, since), entry in EXTENSIBLE_SHEDDERS.items()}
shedders = pytest.mark.parametrize("since", SINCE.values())
(PLACER,) = EXTENSIBLE_PLACERS.values()


@st.composite
def extensible_loads(draw: st.DrawFn, numbers: Numbers = any_numbers) -> ExtensibleLoad:
    """Draw a cluster of up to six brokers, with any numbers at all in what they publish."""
    count = draw(st.integers(0, 6))
    bundles = draw(st.integers(0, 16)) if count else 0

    def mostly(size: int) -> Any:
        return draw(codes(size)) % 4 != 3

    names = tuple(f"b{i}:8080" for i in range(count))
    carried = numbers(draw(cells(bundles)))
    owner = draw(codes(bundles)).astype(np.int64) % max(count, 1)
    busy = np.bincount(owner, np.abs(np.nan_to_num(carried, posinf=1, neginf=1)), minlength=count)
    ages = np.array([0, 1, 60_000, 1_800_000, 1_800_001])
    listed = tuple(f"t/n{i % 3}/0x{i:08x}_0x{i + 1:08x}" for i in range(bundles))
    return ExtensibleLoad(
        brokers=names,
        has_load_data=np.sort(mostly(count))[::-1],
        is_available=mostly(count),
        usage=numbers(draw(cells(count))),
        throughput_smoothed=busy,
        throughput_in=busy,
        throughput_out=np.zeros(count),
        updated_at_ms=NOW_MS - ages[draw(codes(count)) % ages.size],
        now_ms=NOW_MS,
        bundles=listed,
        bundle_broker=owner,
        bundle_throughput_in=carried,
        bundle_throughput_out=np.zeros(bundles),
        bundle_is_sheddable=mostly(bundles),
        bundle_has_policy=~mostly(bundles),
        filtered={
            name: frozenset(n for n in names if draw(st.booleans()))
            for name in listed
            if draw(st.integers(0, 9)) == 0
        },
        unloaded_at_ms={
            name: NOW_MS - draw(st.sampled_from([0, 240_000, 2_000_000]))
            for name in names
            if draw(st.integers(0, 9)) == 0
        },
    )


def shed(
    since: str, load: ExtensibleLoad, hits: int = 0, **conf: str
) -> tuple[TransferDecision, int]:
    entry = EXTENSIBLE_SHEDDERS["TransferShedder", since]
    return entry.shed(load, hits, entry.settings(CONF | conf, since))


@shedders
@FEW
@given(load=extensible_loads(), is_debugging=st.booleans())
def test_what_moves_may_move(since: str, load: ExtensibleLoad, is_debugging: bool) -> None:
    decision, _ = shed(since, load, loadBalancerDebugModeEnabled=str(is_debugging).lower())
    position = {name: i for i, name in enumerate(load.brokers)}
    bundle = {name: i for i, name in enumerate(load.bundles)}
    available = dict(zip(load.brokers, load.is_available.tolist(), strict=True))

    moved = [unload.bundle for transfer in decision.transfers for unload in transfer.unloads]
    assert len(moved) == len(set(moved))
    for transfer in decision.transfers:
        pair = {transfer.source, transfer.target}
        assert len(pair) == 2
        for unload in transfer.unloads:
            source, i = position[unload.source], bundle[unload.bundle]
            assert unload.target is not None
            assert {source, position[unload.target]} == pair
            assert load.bundle_broker[i] == source
            assert available[unload.target]
            assert unload.target in load.filtered.get(unload.bundle, load.brokers)
            assert not load.bundle_has_policy[i]
            assert load.bundle_is_sheddable[i] or source == transfer.target


@shedders
@FEW
@given(load=extensible_loads(), hits=st.integers(0, 5))
def test_a_round_that_does_nothing_says_why(since: str, load: ExtensibleLoad, hits: int) -> None:
    decision, after = shed(since, load, hits, loadBalancerSheddingConditionHitCountThreshold="3")
    is_anything_moved = any(transfer.unloads for transfer in decision.transfers)

    assert (decision.skipped is None) == is_anything_moved
    if is_anything_moved:
        assert hits >= 3
        assert after == 0
    elif decision.skipped in (Reason.COOL_DOWN, Reason.OUTDATED_DATA, Reason.NO_BROKERS):
        assert after == hits
    else:
        assert after in (0, hits, hits + 1)


@shedders
@FEW
@given(load=extensible_loads(plain_numbers), most=st.integers(0, 3))
def test_no_more_brokers_are_relieved_than_may_be(
    since: str, load: ExtensibleLoad, most: int
) -> None:
    decision, _ = shed(since, load, loadBalancerMaxNumberOfBrokerSheddingPerCycle=str(most))
    relieved = [transfer for transfer in decision.transfers if transfer.refusal is None]

    assert len(relieved) <= most
    brokers = [i for transfer in relieved for i in (transfer.source, transfer.target)]
    assert len(brokers) == len(set(brokers))
    sources = [transfer.source for transfer in decision.transfers]
    assert sources == sorted(set(sources), key=sources.index)


@shedders
@FEW
@given(load=extensible_loads())
def test_the_same_is_decided_twice(since: str, load: ExtensibleLoad) -> None:
    one, other = shed(since, load), shed(since, load)

    assert repr(one) == repr(other)  # NaN is not equal to NaN


@shedders
@FEW
@given(load=extensible_loads(plain_numbers))
def test_names_do_not_matter(since: str, load: ExtensibleLoad) -> None:
    new = {name: f"x{len(load.brokers) - i}" for i, name in enumerate(load.brokers)}
    renamed = dataclasses.replace(
        load,
        brokers=tuple(new.values()),
        filtered={b: frozenset(new[n] for n in names) for b, names in load.filtered.items()},
        unloaded_at_ms={new[name]: at for name, at in load.unloaded_at_ms.items()},
    )
    decision, hits = shed(since, load)
    other, other_hits = shed(since, renamed)

    assert hits == other_hits
    assert [
        (new[unload.source], unload.bundle, new[unload.target or ""])
        for transfer in decision.transfers
        for unload in transfer.unloads
    ] == [
        (unload.source, unload.bundle, unload.target)
        for transfer in other.transfers
        for unload in transfer.unloads
    ]


@pytest.mark.slow
@shedders
@pytest.mark.parametrize("is_swap", [False, True])
def test_the_generator_reaches_transfers_and_exchanges(since: str, is_swap: bool) -> None:
    """Otherwise what is said of them above would hold for want of cases."""

    def is_found(load: ExtensibleLoad) -> bool:
        decision, _ = shed(since, load)
        unloads = [(u, t) for t in decision.transfers for u in t.unloads]
        return any((load.brokers[t.target] == u.source) == is_swap for u, t in unloads)

    assert find(
        extensible_loads(plain_numbers), is_found, settings=settings(ANY, max_examples=3000)
    )


# ------------------------------------------------------------------ statistics


def levels(brokers_min: int) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(0, 2), min_size=brokers_min, max_size=20)


@given(usage=levels(1))
def test_deviation_is_about_what_numpy_says(usage: list[float]) -> None:
    found = load_statistics(np.array(usage))

    assert found.average == pytest.approx(np.mean(usage), abs=1e-12)
    # Where it is next to nothing a difference of rounded squares may even be below 0.
    spread = 0.0 if math.isnan(found.deviation) else found.deviation
    assert spread == pytest.approx(np.std(usage), abs=1e-6)


@given(usage=levels(2), share=st.floats(0, 1))
def test_deviation_after_a_transfer_is_that_of_the_brokers_after_it(
    usage: list[float], share: float
) -> None:
    most, least = max(usage), min(usage)
    offload = share * most
    after = [*usage]
    after[after.index(most)] = most - offload
    after[len(after) - 1 - after[::-1].index(least)] += offload
    found = after_transfer(load_statistics(np.array(usage)), most, least, offload)

    if most != least:
        assert found.deviation == pytest.approx(np.std(after), abs=1e-6)
    assert found.average == load_statistics(np.array(usage)).average


# ------------------------------------------------------------------ order


def _compare(one: float, other: float) -> int:
    """Compare as Double.compare does."""
    if one < other or one > other:
        return -1 if one < other else 1
    ranks = [(2 if math.isnan(x) else 0 if math.copysign(1, x) < 0 else 1) for x in (one, other)]
    if one == other or math.isnan(one) == math.isnan(other):
        return (ranks[0] > ranks[1]) - (ranks[0] < ranks[1]) if one == other else 0
    return 1 if math.isnan(one) else -1


@given(values=st.lists(anything | st.sampled_from([0.0, -0.0, math.nan])))
def test_ascending_is_the_javas_sort(values: list[float]) -> None:
    order = functools.cmp_to_key(_compare)
    expected = sorted(range(len(values)), key=lambda i: order(values[i]))

    assert ascending(np.array(values, dtype=np.float64)).tolist() == expected


@given(values=st.lists(anything, unique_by=lambda x: (math.isnan(x), math.copysign(1, x), x)))
def test_ascending_is_descending_backwards_without_ties(values: list[float]) -> None:
    numbers = np.array(values, dtype=np.float64)
    if np.isnan(numbers).sum() < 2:
        assert ascending(numbers).tolist() == descending(numbers).tolist()[::-1]


# ------------------------------------------------------------------ placement


@given(load=extensible_loads(), data=st.data())
def test_placer_names_candidates_in_their_order(load: ExtensibleLoad, data: st.DataObject) -> None:
    order: Sequence[int] = data.draw(st.permutations(range(len(load.brokers))))
    candidates = np.array(order[: data.draw(st.integers(0, len(order)))], dtype=np.int64)
    placement = PLACER.place(load, candidates, PLACER.settings({}, "4.0"))
    best = placement.best.tolist()

    assert [i for i in candidates.tolist() if i in best] == best
    assert bool(best) == bool(candidates.size)
    if placement.is_fallback:
        assert best == candidates.tolist()
    else:
        assert all(load.has_load_data[i] for i in best)
        assert all(load.usage[i] <= placement.average for i in best)
    known = load.has_load_data[candidates]
    assert np.array_equal(placement.scores[known], load.usage[candidates][known], equal_nan=True)
    assert np.isnan(placement.scores[~known]).all()


# ------------------------------------------------------------------ what brokers publish


@given(
    usages=st.lists(st.floats(0, 200, width=32), min_size=1, max_size=6),
    share=st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]),
)
def test_a_broker_smooths_what_it_measures(usages: list[float], share: float) -> None:
    conf = {"loadBalancerHistoryResourcePercentage": str(share)}
    stores = LoadStores(broker_load_settings(conf, "4.0.8"))
    expected: tuple[float, float] | None = None
    for usage in usages:
        told = {"b:8080": {"cpu": [usage, 100], "msgThroughputIn": usage, "msgThroughputOut": 1}}
        stores.update(extensible_round(Field({"broker_load_data": told})))
        measured = (float(np.float32(usage) / np.float32(100) * np.float32(100)) / 100, usage + 1)
        expected = (
            measured
            if expected is None
            else tuple(  # type: ignore[assignment]  # two again
                before * share + (1 - share) * now
                for before, now in zip(expected, measured, strict=True)
            )
        )

        assert stores.smoothed("b:8080") == expected


def test_a_broker_that_was_gone_begins_anew() -> None:
    stores = LoadStores(broker_load_settings({}, "4.0.8"))
    for told in ({"cpu": [80, 100]}, None, {"cpu": [40, 100]}):
        stores.update(extensible_round(Field({"broker_load_data": {"b:8080": told}})))

    assert stores.smoothed("b:8080")[0] == pytest.approx(0.4)
