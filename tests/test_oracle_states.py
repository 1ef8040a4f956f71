"""What is asked of Pulsar's classes: the same for the same seed, and of every kind."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import pytest
from oracle.agreement import Agreement
from oracle.golden import packed
from oracle.record import asked_again, repeatable
from oracle.shrink import shrunk
from oracle.states import MODULAR, ONLY, ROLES, SHARES, STRATEGIES, is_of_release, sequence

from tests.golden_vectors import GOLDEN, SUFFIX, packed_lines, whole_vectors
from trimtab.pulsar.keys import KEYS
from trimtab.pulsar.map_order import string_hash
from trimtab.pulsar.place import EXTENSIBLE_PLACERS, PLACERS
from trimtab.pulsar.sequences.decide import decide, result
from trimtab.pulsar.sequences.sequences import sequence as read_sequence
from trimtab.pulsar.shed import EXTENSIBLE_SHEDDERS, SHEDDERS

DRAWN = 1000
ODD_USAGE = {"nan", "inf", "-inf", "-1.0", "0.0"}


@pytest.fixture(scope="module", params=MODULAR)
def drawn(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    return [sequence(request.param, "test", number) for number in range(DRAWN)]


def reports(sequences: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rounds = [asked for s in sequences for asked in s["rounds"]]
    return [r for asked in rounds for r in asked.get("brokers", {}).values() if r is not None]


def test_every_strategy_that_we_have_is_asked() -> None:
    entries = (*SHEDDERS, *PLACERS, *EXTENSIBLE_SHEDDERS, *EXTENSIBLE_PLACERS)

    assert set(STRATEGIES) == {name for name, _ in entries}
    for name, release in entries:
        assert is_of_release(name, release)


def test_a_sequence_depends_on_class_seed_and_number_alone() -> None:
    def text(strategy: str, seed: str, number: int) -> str:
        return json.dumps(sequence(strategy, seed, number))

    for strategy in STRATEGIES:
        for number in range(20):
            assert text(strategy, "a", number) == text(strategy, "a", number)
        assert text(strategy, "a", 3) != text(strategy, "b", 3)
        assert text(strategy, "a", 3) != text(strategy, "a", 4)


def test_sequences_are_what_they_were() -> None:
    """A seed that somebody noted finds the same sequence on any machine."""
    noted = sequence("OverloadShedder", "noted", 4)

    assert noted["id"] == "noted/OverloadShedder/4"
    assert noted["tags"] == ["shape:idle"]
    assert noted["conf"] == {"loadBalancerBrokerOverloadedThresholdPercentage": 0}
    assert len(noted["rounds"]) == 3


@pytest.mark.slow
def test_every_tag_occurs_about_as_often_as_it_should(drawn: list[dict[str, Any]]) -> None:
    strategy = drawn[0]["strategy"]
    tags = Counter(tag for s in drawn for tag in set(s["tags"]))
    wanted = [tag for tag in SHARES if strategy in ONLY.get(tag, MODULAR)]

    assert wanted
    for tag in wanted:
        assert 0 < tags[tag] <= 2 * SHARES[tag] * DRAWN, tag


@pytest.mark.slow
def test_what_the_tags_promise_is_there(drawn: list[dict[str, Any]]) -> None:
    odd = reports([s for s in drawn if "odd-usage" in s["tags"]])
    values = {str(value) for r in odd for value in (*r.get("cpu", ()), *r.get("bandwidthIn", ()))}
    assert values >= ODD_USAGE

    huge = [s for s in drawn if "huge" in s["tags"] and "boundary" not in s["tags"]]
    assert any(len(s["rounds"][0].get("brokers", ())) >= 32 for s in huge)
    gone = [s for s in drawn for r in s["rounds"] if None in r.get("brokers", {}).values()]
    assert gone, "no broker ever leaves"
    lost = [s for s in drawn for r in s["rounds"] if None in r.get("bundle_data", {}).values()]
    assert lost, "no averages are ever lost"
    listed = {bundle for r in reports(drawn) for bundle in r["bundles"]}
    assert any(bundle.startswith("sla-monitor/") for bundle in listed)
    assert any(bundle.startswith("pulsar/system/") for bundle in listed)


def test_settings_are_the_releases_settings(drawn: list[dict[str, Any]]) -> None:
    names = {name for s in drawn for name in s["conf"]}

    assert names <= set(KEYS)
    if drawn[0]["strategy"] != "RoundRobinBrokerSelector":
        assert names


def test_questions_fit_the_role(drawn: list[dict[str, Any]]) -> None:
    rounds = [asked for s in drawn for asked in s["rounds"]]
    is_shed = [bool(asked.get("shed")) for asked in rounds]
    is_placed = [bool(asked.get("select")) for asked in rounds]
    role = ROLES[drawn[0]["strategy"]]

    assert all(is_shed) == (role != "place")
    assert any(is_placed) == (role != "shed")


def test_a_bundle_is_placed_only_when_its_averages_are_known(drawn: list[dict[str, Any]]) -> None:
    """The manager gives a bundle averages before it asks where it should go."""
    selections = 0
    for s in drawn:
        known: set[str] = set()
        for asked in s["rounds"]:
            for bundle, averages in asked.get("bundle_data", {}).items():
                (known.discard if averages is None else known.add)(bundle)
            for selection in asked.get("select", ()):
                selections += 1
                assert selection["bundle"] in known
            for bundles in asked.get("preallocated", {}).values():
                assert set(bundles) <= known
    assert selections or ROLES[drawn[0]["strategy"]] == "shed"


def test_averages_are_often_equal_to_the_last_bit() -> None:
    """Ties are what iteration order decides, and are nothing that chance alone would bring."""
    ties = 0
    for number in range(DRAWN):
        s = sequence("ThresholdShedder", "ties", number)
        given = s["rounds"][0].get("bundle_data", {}).values()
        weights = Counter(a["short"][2] + a["short"][3] for a in given if a["short"][2])
        ties += any(count > 1 for weight, count in weights.items() if not math.isnan(weight))

    assert ties > DRAWN / 10


# ------------------------------------------------------------------ recording


def test_what_was_drawn_by_chance_is_not_recorded() -> None:
    answered = {
        "want_logs": False,
        "expect": [
            {"select": [{"planned": "a", "placed": "a"}, {"random": True, "drawn": "b"}]},
            {"unload": [], "select": [{"planned": "b", "placed": "b"}]},
        ],
    }

    assert repeatable(answered) == {
        "expect": [
            {"select": [{"planned": "a", "placed": "a"}, {"random": True}]},
            {"unload": [], "select": [{"after_random": True}]},
        ],
    }


def test_a_recorded_vector_is_asked_again_with_its_log() -> None:
    question = {"id": "x", "strategy": "ThresholdShedder", "conf": {}, "rounds": [{}]}
    answer = {"version": "4.0.8", "expect": [{"logs": ["INFO …"]}]}

    assert asked_again(question | answer) == question | {"want_logs": True}
    assert asked_again(question | {"expect": [{}]}) == question


@pytest.mark.slow
@pytest.mark.parametrize("release", ["4.0.8", "2.10.4"])
def test_what_is_packed_is_what_the_tests_read(release: str) -> None:
    """A vector that is read and packed again is the line that it was, its input left out."""
    path = GOLDEN / f"ThresholdShedder-{release}{SUFFIX}"
    fulls = {vector["id"]: vector for vector in whole_vectors("ThresholdShedder", "4.0.8")}
    wholes = whole_vectors("ThresholdShedder", release)
    pairs = list(zip(packed_lines(path), wholes, strict=True))

    assert pairs
    for line, whole in pairs:
        full = None if release == "4.0.8" else fulls[whole["id"]]
        assert json.dumps(packed(whole, full)) == json.dumps(line)


def test_packing_leaves_out_what_no_test_reads() -> None:
    answer = {"unload": [], "bundle_order": ["b"], "logs": ["INFO"], "sorted": ["a"], "ties": False}
    vector = {"strategy": "OverloadShedder", "expect": [answer | {"select": [{"logs": []}]}]}

    (kept,) = packed(vector | {"ties": False}, None)["expect"]
    assert kept == {"unload": [], "select": [{}]}
    (kept,) = packed(vector, None)["expect"]
    assert kept == {"unload": [], "bundle_order": ["b"], "select": [{}]}
    (kept,) = packed(vector | {"strategy": "ThresholdShedder"}, None)["expect"]
    assert kept["logs"] == ["INFO"]


# ------------------------------------------------------------------- shrinking


def test_a_difference_is_made_small() -> None:
    """Of a busy sequence only the broker and the bundle that matter are left."""
    busy = sequence("ThresholdShedder", "shrink", 0)
    busy["conf"] = {"a": 1, "b": 2}
    broker = {"bundles": ["t/n/1", "t/n/2"]}
    named = {f"b{i}": broker for i in range(9)}
    known: dict[str, Any] = {f"t/n/{i}": {"short": [0.0] * 4} for i in range(9)}
    busy["rounds"] = [
        {"brokers": named, "bundle_data": known, "shed": True},
        {"active_brokers": list(named), "shed": True},
        {"shed": True},
    ]

    def compare(candidates: Any) -> list[Agreement]:
        """Differ in the last round that knows b3 and t/n/2 and has the setting b."""
        outcomes = []
        for candidate in candidates:
            text = json.dumps(candidate["rounds"])
            is_different = "b3" in text and "t/n/2" in text and "b" in candidate["conf"]
            last = len(candidate["rounds"]) - 1
            outcomes.append(Agreement(1, 0, "differs" if is_different else None, min(last, 1)))
        return outcomes

    small, outcome = shrunk(busy, compare)

    assert outcome.difference == "differs"
    assert small["conf"] == {"b": 2}
    assert len(small["rounds"]) == 1
    (asked,) = small["rounds"]
    assert list(asked["brokers"]) == ["b3"]
    assert len(json.dumps(asked)) < 150


def test_avg_shedder_walks_what_it_unloads_in_a_new_map_each_round() -> None:
    """A round that unloads from more than twelve brokers must not widen the next one's map."""
    drawn = dict(sequence("AvgShedder", "hh", 1321))
    asked = [{k: v for k, v in r.items() if k != "select_unloaded"} for r in drawn["rounds"]]
    drawn["rounds"] = asked
    decided = result(read := read_sequence(drawn, "4.0.8"), decide(read))
    rounds: Any = decided["results"]
    sources = [list(dict.fromkeys(b for b, _ in r.get("unload", ()))) for r in rounds]

    assert any(len(brokers) > 12 for brokers in sources[:-1])
    for brokers in sources:
        table = 16
        while len(brokers) > table * 3 // 4:
            table *= 2
        bins = [(string_hash(b) ^ (string_hash(b) >> 16)) & (table - 1) for b in brokers]
        assert bins == sorted(bins)
