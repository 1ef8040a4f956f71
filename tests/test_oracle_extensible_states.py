"""What is asked of the extensible load manager's classes: the same for the same seed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from oracle import extensible_agreement
from oracle.agreement import Agreement, agreement
from oracle.extensible_states import ONLY_SHED, ROLES, SHARES, extensible_sequence
from oracle.shrink import shrunk

from trimtab.pulsar.keys import KEYS

DRAWN = 1000


@pytest.fixture(scope="module", params=ROLES)
def drawn(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    return [extensible_sequence(request.param, "test", number) for number in range(DRAWN)]


def rounds(sequences: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (asked for sequence in sequences for asked in sequence["rounds"])


def test_a_sequence_depends_on_class_seed_and_number_alone() -> None:
    def text(strategy: str, seed: str, number: int) -> str:
        return json.dumps(extensible_sequence(strategy, seed, number))

    for strategy in ROLES:
        for number in range(20):
            assert text(strategy, "a", number) == text(strategy, "a", number)
        assert text(strategy, "a", 3) != text(strategy, "b", 3)
        assert text(strategy, "a", 3) != text(strategy, "a", 4)


def test_every_tag_occurs_about_as_often_as_it_should(drawn: list[dict[str, Any]]) -> None:
    is_shed = drawn[0]["role"] == "shed"
    tags = Counter(tag for s in drawn for tag in set(s["tags"]))

    for tag, share in SHARES.items():
        is_wanted = is_shed or tag not in ONLY_SHED
        assert (0 < tags[tag] <= 2 * share * DRAWN) == is_wanted, tag


def test_what_the_tags_promise_is_there(drawn: list[dict[str, Any]]) -> None:
    published = [p for r in rounds(drawn) for p in r.get("broker_load_data", {}).values()]
    assert None in published, "no broker ever leaves"
    given = [p for p in published if p is not None]
    assert {"weightedMaxEMA" in p for p in given} == {True, False}
    odd = {str(value) for p in given for value in p.values()}
    assert odd >= {"nan", "inf", "-1.0"}
    assert any("silent:8080" in r.get("available_brokers", ()) for r in rounds(drawn))
    sizes = {
        len(listed or ()) for r in rounds(drawn) for listed in r.get("top_bundles", {}).values()
    }
    if drawn[0]["role"] == "shed":
        assert sizes >= {0, 1, 2, 10}
        for key in ("filtered", "owners", "recently_unloaded", "recently_unloaded_brokers"):
            assert any(r.get(key) for r in rounds(drawn)), key


def test_settings_are_the_releases_settings(drawn: list[dict[str, Any]]) -> None:
    names = {name for s in drawn for name in s["conf"]}

    assert names
    assert names <= set(KEYS)


def test_questions_fit_the_role(drawn: list[dict[str, Any]]) -> None:
    is_shed = drawn[0]["role"] == "shed"

    assert {bool(r.get("shed")) for r in rounds(drawn)} == {is_shed}
    assert any(r.get("select") for r in rounds(drawn)) != is_shed


# ------------------------------------------------------------------ making it smaller


def test_only_what_makes_the_difference_is_left() -> None:
    """As if the class differed whenever a broker of that name has two bundles and more."""

    def compare(candidates: list[dict[str, Any]]) -> list[Agreement]:
        found = []
        for candidate in candidates:
            tops = [r.get("top_bundles", {}).get(culprit) or () for r in candidate["rounds"]]
            at = next((i for i, listed in enumerate(tops) if len(listed) > 1), None)
            found.append(Agreement(1, 0, None if at is None else "differs", at or 0))
        return found

    whole = extensible_sequence("TransferShedder", "shrink", 1)
    tops = [(n, b) for r in whole["rounds"] for n, b in r.get("top_bundles", {}).items()]
    culprit = next(name for name, listed in tops if listed and len(listed) > 1)
    small, outcome = shrunk(whole, compare)

    assert outcome.difference == "differs"
    assert small["conf"] == {}
    (left,) = small["rounds"]
    assert list(left["top_bundles"]) == [culprit]
    assert len(left["top_bundles"][culprit]) == 2
    assert set(left.get("broker_load_data", {})) <= {culprit}


# ------------------------------------------------------------------ comparing


def test_an_answer_that_is_not_ours_is_a_difference() -> None:
    asked = {
        "id": "one",
        "strategy": "TransferShedder",
        "version": "4.0.8",
        "conf": {},
        "rounds": [{"broker_load_data": {"b1:8080": {"weightedMaxEMA": 0.5}}, "shed": True}],
    }
    state = {"hits": 0, "avg": 0.5, "std": 0.0}
    told = {"broker_order": ["b1:8080"], "unload": [], "skip": "HitCount", "state": state}

    assert extensible_agreement.difference({**asked, "expect": [told]}) is None
    for wrong in (
        {"broker_order": ["b2:8080"]},
        {"unload": [["b1:8080", "x", None, "Overloaded"]]},
        {"skip": "NoBrokers"},
        {"state": {**state, "avg": 0.5000000000000001}},
        {"state": {**state, "std": -0.0}},
        {"recently_unloaded_brokers": []},
    ):
        answered = {**asked, "expect": [{**told, **wrong}]}
        assert extensible_agreement.difference(answered) is not None, wrong
        assert agreement(answered, "4.0.8").difference is not None
    ignored = {**asked, "conf_ignored": ["loadBalancerEnabled"], "expect": [told]}
    assert extensible_agreement.difference(ignored) is not None


def test_what_fails_in_ours_is_a_difference() -> None:
    answered = {
        "id": "one",
        "strategy": "TransferShedder",
        "version": "4.0.8",
        "conf": {},
        "rounds": [{"now": "noon", "shed": True}],
        "expect": [{"unload": []}],
    }

    found = agreement(answered, "4.0.8").difference
    assert found is not None
    assert found.startswith("raised FieldError: rounds[0].now: found 'noon'")
