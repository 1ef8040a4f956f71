"""What holds for every placer, and for the one that sheds too, on generated clusters."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from tests.cluster_loads import UNOWNED, exact_loads, loads, without_long
from tests.test_properties import ANY, CONF, FEW, equal
from trimtab.pulsar.model import (
    ClusterLoad,
    Ints,
    NoCandidatesError,
    Placement,
    UnreportedCandidateError,
)
from trimtab.pulsar.place import PLACERS, placer
from trimtab.pulsar.scores import weighted_usage
from trimtab.pulsar.shed import SHEDDERS, shedder

# Placers that fail without candidates; the others name nobody then.
NEEDS_CANDIDATES = {("AvgShedder", "3.0.6"), ("AvgShedder", "4.0.0")}
# Placers whose choice does not depend on the candidates' load, but on the order.
TAKES_TURNS = {"RoundRobinBrokerSelector"}

placers = pytest.mark.parametrize(("name", "since"), PLACERS)
# The releases of the class that sheds and places, and whether scores are sorted exactly.
both = pytest.mark.parametrize(
    ("since", "is_exact"),
    [(since, since in ("4.0.8", "5.0.1")) for name, since in SHEDDERS if name == "AvgShedder"],
)


@st.composite
def placements(draw: st.DrawFn, candidates_min: int) -> tuple[ClusterLoad, str, Ints]:
    load = draw(loads(brokers_min=candidates_min))
    order = draw(st.permutations(range(len(load.brokers))))
    size = draw(st.integers(candidates_min, len(order)))
    bundle = draw(st.sampled_from((*load.bundles, UNOWNED)))
    return load, bundle, np.array(order[:size], dtype=np.int64)


def _questions(name: str, since: str) -> st.SearchStrategy[tuple[ClusterLoad, str, Ints]]:
    """Draw what the placer can answer."""
    return placements(1 if (name, since) in NEEDS_CANDIDATES else 0)


def _placed(
    name: str, since: str, asked: tuple[ClusterLoad, str, Ints], memory: Any
) -> tuple[Placement, Any]:
    """Place; let the first of the best be drawn."""
    load, bundle, candidates = asked
    entry = PLACERS[name, since]
    placement, memory = entry.place(load, bundle, candidates, memory, entry.settings(CONF, since))
    if placement.best.size:
        memory = entry.drawn(memory, bundle, load.brokers[placement.best[0]])
    return placement, memory


@pytest.mark.slow
@placers
@FEW
@given(data=st.data())
def test_placer_names_candidates_in_their_order(name: str, since: str, data: st.DataObject) -> None:
    asked = data.draw(_questions(name, since))
    placement, _ = _placed(name, since, asked, PLACERS[name, since].memory)
    candidates = asked[2].tolist()

    best = placement.best.tolist()
    assert [i for i in candidates if i in best] == best
    assert bool(best) == bool(candidates)
    assert len(placement.scores) == len(candidates)
    assert not placement.is_fallback or best == candidates


@pytest.mark.slow
@placers
@FEW
@given(data=st.data())
def test_placer_chooses_the_same_twice_and_leaves_its_memory_alone(
    name: str, since: str, data: st.DataObject
) -> None:
    asked, before = data.draw(_questions(name, since)), data.draw(_questions(name, since))
    empty = PLACERS[name, since].memory
    _, memory = _placed(name, since, before, empty)
    _, same = _placed(name, since, before, empty)
    one, one_memory = _placed(name, since, asked, memory)
    other, other_memory = _placed(name, since, asked, memory)

    assert equal(memory, same)
    assert equal(one, other)
    assert equal(one_memory, other_memory)


@placers
@FEW
@given(data=st.data())
def test_placer_that_reads_no_long_averages_chooses_without_them(
    name: str, since: str, data: st.DataObject
) -> None:
    entry = PLACERS[name, since]
    if entry.reads_long:
        pytest.skip(f"{name} reads them")
    asked = data.draw(_questions(name, since))
    one, one_memory = _placed(name, since, asked, entry.memory)
    other, other_memory = _placed(name, since, (without_long(asked[0]), *asked[1:]), entry.memory)

    assert equal(one, other)
    assert equal(one_memory, other_memory)


@placers
@FEW
@given(load=loads())
def test_placer_without_candidates_names_nobody_or_says_so(
    name: str, since: str, load: ClusterLoad
) -> None:
    entry = PLACERS[name, since]
    nobody = np.array([], dtype=np.int64)
    if (name, since) in NEEDS_CANDIDATES:
        with pytest.raises(NoCandidatesError, match="no candidates for t/n/unowned"):
            _placed(name, since, (load, UNOWNED, nobody), entry.memory)
    else:
        placement, _ = _placed(name, since, (load, UNOWNED, nobody), entry.memory)
        assert placement.best.size == 0


@pytest.mark.slow
@placers
@FEW
@given(data=st.data(), beyond=st.sampled_from([-1, 0, 1]))
def test_placer_refuses_a_candidate_that_is_no_broker(
    name: str, since: str, data: st.DataObject, beyond: int
) -> None:
    load, bundle, candidates = data.draw(placements(0))
    stranger = -1 if beyond < 0 else len(load.brokers) + beyond
    entry = PLACERS[name, since]

    with pytest.raises(UnreportedCandidateError, match=f"candidate {candidates.size} is"):
        entry.place(
            load,
            bundle,
            np.append(candidates, stranger),
            entry.memory,
            entry.settings(CONF, since),
        )


@placers
@FEW
@given(load=exact_loads(), data=st.data())
def test_order_of_candidates_does_not_matter(
    name: str, since: str, load: ClusterLoad, data: st.DataObject
) -> None:
    if name in TAKES_TURNS:
        pytest.skip(f"{name} goes by the order of the candidates")
    order = np.array(data.draw(st.permutations(range(len(load.brokers)))), dtype=np.int64)
    empty = PLACERS[name, since].memory
    one, _ = _placed(name, since, (load, UNOWNED, np.arange(order.size)), empty)
    other, _ = _placed(name, since, (load, UNOWNED, order), empty)

    assert set(one.best.tolist()) == set(other.best.tolist())
    assert one.is_fallback == other.is_fallback


@pytest.mark.slow
@placers
def test_properties_of_placers_are_not_vacuous(name: str, since: str) -> None:
    """Among the generated clusters are some with a real choice, and some with none."""

    def twice(load: ClusterLoad) -> tuple[Placement, Placement]:
        everyone = np.arange(len(load.brokers))
        first, memory = _placed(name, since, (load, UNOWNED, everyone), PLACERS[name, since].memory)
        bundle, shedding = UNOWNED, shedder(name, since)
        if shedding is not None:  # then it may have planned where a bundle goes
            decision, memory = shedding.shed(load, memory, shedding.settings(CONF, since))
            bundle = next((unload.bundle for unload in decision.unloads), UNOWNED)
        return first, _placed(name, since, (load, bundle, everyone), memory)[0]

    def is_chosen(load: ClusterLoad) -> bool:
        return any(0 < placed.best.size < len(load.brokers) for placed in twice(load))

    find(exact_loads(), is_chosen, settings=ANY)
    if name not in TAKES_TURNS:
        find(exact_loads(), lambda load: twice(load)[0].is_fallback, settings=ANY)


# ------------------------------------------------------------ one by one


@given(load=loads())
def test_least_long_term_message_rate_equals_going_through_the_candidates(
    load: ClusterLoad,
) -> None:
    entry = PLACERS["LeastLongTermMessageRate", "4.0.0"]
    rules = entry.settings({}, "4.0.0")
    assert load.long_rate_in is not None
    assert load.long_rate_out is not None
    usage = weighted_usage(load, rules.weights)
    ahead = load.preallocations
    best: list[int] = []
    lowest = math.inf
    with np.errstate(all="ignore"):
        for i in range(len(load.brokers)):
            coming = np.float64(0.0)
            for broker, rate in zip(ahead.broker, ahead.rate_in + ahead.rate_out, strict=True):
                coming = coming + rate if broker == i else coming
            score = coming + (load.long_rate_in[i] + load.long_rate_out[i])
            score = math.inf if usage[i] > 0.85 else score
            if score < lowest:
                best, lowest = [i], score
            elif score == lowest:
                best.append(i)
    everyone = np.arange(len(load.brokers))
    placement, _ = entry.place(load, UNOWNED, everyone, None, rules)

    assert (best or everyone.tolist()) == placement.best.tolist()


@given(load=exact_loads(), rounds=st.integers(1, 3))
def test_round_robin_gives_everybody_as_many_turns(load: ClusterLoad, rounds: int) -> None:
    name, since = "RoundRobinBrokerSelector", "3.0.0"
    memory = PLACERS[name, since].memory
    everyone = np.arange(len(load.brokers))
    turns = []
    for _ in range(rounds * everyone.size):
        placement, memory = _placed(name, since, (load, UNOWNED, everyone), memory)
        turns += placement.best.tolist()

    assert everyone.tolist() * rounds == turns


@both
@given(load=exact_loads())
def test_avg_shedder_places_where_it_planned(since: str, is_exact: bool, load: ClusterLoad) -> None:
    shedding, placing = shedder("AvgShedder", since), placer("AvgShedder", since)
    assert shedding is not None
    assert placing is not None
    rules = shedding.settings(CONF, since)
    everyone = np.arange(len(load.brokers))
    decision, memory = shedding.shed(load, shedding.memory, rules)
    for unload in decision.unloads:
        placement, memory = placing.place(load, unload.bundle, everyone, memory, rules)

        assert [unload.target] == [load.brokers[i] for i in placement.best]
        assert not placement.is_fallback
    placement, _ = placing.place(load, UNOWNED, everyone, memory, rules)
    assert placement.is_fallback


@both
@given(load=loads())
def test_avg_shedder_moves_from_the_hotter_to_the_colder(
    since: str, is_exact: bool, load: ClusterLoad
) -> None:
    entry = SHEDDERS["AvgShedder", since]
    decision, _ = entry.shed(load, entry.memory, entry.settings(CONF, since))
    scores = dict(zip(load.brokers, decision.scores.tolist(), strict=True))
    sources = {unload.source for unload in decision.unloads}
    targets = {unload.target for unload in decision.unloads}

    assert not sources & targets
    assert len(targets) <= len(sources)
    for unload in decision.unloads:
        assert unload.target is not None
        gap = scores[unload.source] - scores[unload.target]
        assert not gap < 15
        assert math.isnan(gap) or not is_exact or gap >= 15


@both
@given(load=exact_loads())
def test_avg_shedder_moves_no_more_than_it_was_to(
    since: str, is_exact: bool, load: ClusterLoad
) -> None:
    entry = SHEDDERS["AvgShedder", since]
    decision, _ = entry.shed(load, entry.memory, entry.settings(CONF, since))
    weight = dict(zip(load.bundles, load.bundle_traffic().rate_in.tolist(), strict=True))
    for i, broker in enumerate(load.brokers):
        moved = [weight[u.bundle] for u in decision.unloads if u.source == broker]

        # Bundles carry as many messages as bytes here.
        assert not moved or sum(moved) <= decision.offload[i]
        assert sorted(moved, reverse=True) == moved


@pytest.mark.slow
@both
def test_properties_of_the_class_that_sheds_and_places_are_not_vacuous(
    since: str, is_exact: bool
) -> None:
    entry = SHEDDERS["AvgShedder", since]

    def pairs(load: ClusterLoad) -> int:
        decision, _ = entry.shed(load, entry.memory, entry.settings(CONF, since))
        return len({unload.source for unload in decision.unloads})

    find(exact_loads(), lambda load: pairs(load) > 1, settings=ANY)
    find(loads(), lambda load: pairs(load) > 0, settings=ANY)


def test_load_without_long_term_rates_is_refused() -> None:
    entry = PLACERS["LeastLongTermMessageRate", "4.0.0"]
    load = dataclasses.replace(find(loads(), lambda load: bool(load.brokers)), long_rate_in=None)

    with pytest.raises(ValueError, match="no long-term rates"):
        entry.place(load, UNOWNED, np.arange(1), None, entry.settings({}, "4.0.0"))
