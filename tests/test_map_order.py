"""Java's map orders, against orders observed on OpenJDK 17."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle.states import MODULAR

from tests.golden_vectors import FULL, whole_vectors
from trimtab.pulsar.map_order import (
    ConcurrentHashMapKeys,
    HashMapKeys,
    concurrent_hash_map_order,
    concurrent_hash_map_walk,
    hash_map_copy_walk,
    hash_map_order,
    hash_map_size,
    hash_map_walk,
    spread,
    spreads,
    string_hash,
)
from trimtab.pulsar.sequences.leader_maps import LeaderMaps
from trimtab.pulsar.sequences.sequences import Round, sequence

# What was put in (+), taken out (-) or cleared (!), and how a HashMap and a ConcurrentHashMap
# of OpenJDK 17 walked what was left; the HashMap was spared what was taken out.  Some keys
# were made to fall into few bins.
WALKED = Path(__file__).parent / "testdata" / "java_maps.txt"

# Kind → orders recorded.
ORDERS = Counter({"brokers": 3101, "bundles": 1410, "preallocations": 3775, "candidates": 10951})

SIX = [f"broker-{i}:8080" for i in range(1, 7)]
TWELVE = [f"broker-{i}.ns.svc.cluster.local:8080" for i in range(1, 13)]


def numbers(order: tuple[str, ...]) -> list[int]:
    return [int(key.split("-")[1].split(".")[0].split(":")[0]) for key in order]


def test_hash_of_a_string_is_javas() -> None:
    assert string_hash("hello") == 99162322


def test_six_brokers_are_walked_alike_by_both_maps() -> None:
    assert numbers(hash_map_order(SIX)) == [5, 2, 6, 1, 3, 4]
    assert numbers(concurrent_hash_map_order(SIX)) == [5, 2, 6, 1, 3, 4]


def test_the_concurrent_map_grows_one_key_earlier() -> None:
    assert numbers(hash_map_order(TWELVE)) == [1, 2, 3, 8, 11, 12, 9, 10, 7, 4, 6, 5]
    assert numbers(concurrent_hash_map_order(TWELVE)) == [1, 3, 11, 9, 10, 4, 6, 2, 8, 12, 7, 5]


def test_map_that_was_emptied_keeps_the_size_of_its_table() -> None:
    """Of b0, b1 and b2 a new table of 16 has b2 in front; one of 32 has it behind."""
    three = ["b0", "b1", "b2"]

    assert [hash_map_size(count) for count in (0, 12, 13, 24, 25)] == [16, 16, 32, 32, 64]
    assert [hash_map_size(count, 32) for count in (0, 24, 25)] == [32, 32, 64]
    assert hash_map_order(three) == ("b2", "b0", "b1")
    assert hash_map_order(three, 32) == ("b0", "b1", "b2")


@given(st.sets(st.text(min_size=1, max_size=12), min_size=1, max_size=60))
def test_every_key_is_walked_once(keys: set[str]) -> None:
    assert sorted(hash_map_order(keys)) == sorted(keys)
    assert sorted(concurrent_hash_map_order(keys)) == sorted(keys)


@pytest.mark.parametrize(
    "line",
    WALKED.read_text(encoding="utf-8").splitlines(),
    ids=lambda line: f"{line.count(chr(43))} keys",
)
def test_maps_are_walked_as_the_java_walks_them(line: str) -> None:
    history, hash_map, concurrent = (words.split() for words in line.split("\t"))
    plain, keys = HashMapKeys(), ConcurrentHashMapKeys()
    for step in history:
        if step == "!":
            plain.clear()
            keys.clear()
        elif step[0] == "-":
            keys.remove(step[1:])
        else:
            plain.put(step[1:])
            keys.put(step[1:])

    assert tuple(hash_map) == plain.walk()
    assert tuple(concurrent) == keys.walk()


def test_a_table_stays_large_when_keys_leave() -> None:
    keys = ConcurrentHashMapKeys()
    for key in [*TWELVE, "late-1:8080"]:
        keys.put(key)
    for key in TWELVE[6:]:
        keys.remove(key)
    keys.remove("nobody:8080")
    keys.put(TWELVE[0])

    assert keys.walk() == tuple(
        key for key in concurrent_hash_map_order([*TWELVE, "late-1:8080"]) if key not in TWELVE[6:]
    )
    assert keys.walk() != concurrent_hash_map_order([*TWELVE[:6], "late-1:8080"])


def test_half_a_character_is_hashed_as_javas() -> None:
    assert string_hash("\ud800") == 0xD800


@pytest.mark.slow
def test_every_recorded_order_is_computed() -> None:
    """The orders of all maps that the recorded rounds went through, from their contents alone."""
    same: Counter[str] = Counter()
    differing = []
    for strategy in MODULAR:
        for vector in whole_vectors(strategy, FULL):
            given = {key: vector[key] for key in ("id", "strategy", "version", "conf", "rounds")}
            maps = LeaderMaps(FULL)
            for asked, answered in zip(sequence(given).rounds, vector["expect"], strict=True):
                maps.update(asked)
                for kind, recorded, computed in orders(maps, asked, answered):
                    if recorded == computed:
                        same[kind] += 1
                    else:
                        differing.append((strategy, vector["id"], kind))

    assert differing == []
    assert same == ORDERS


def orders(
    maps: LeaderMaps, asked: Round, answered: Mapping[str, Any]
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield kind, the Java's order, ours."""
    if "broker_order" in answered:
        yield "brokers", answered["broker_order"], list(maps.load().brokers)
    if "bundle_order" in answered:
        yield "bundles", answered["bundle_order"], list(maps.walked_bundles())
    for broker, order in answered.get("prealloc_order", {}).items():
        yield "preallocations", order, list(maps.walked_preallocations(broker))
    for selection, found in zip(asked.selections, answered.get("select", []), strict=True):
        if "after_random" not in found:
            order = found.get("candidate_order", list(selection.candidates))
            yield "candidates", order, list(hash_map_order(selection.candidates))


@pytest.mark.parametrize("count", [0, 1, 12, 13, 47, 48, 49, 95, 96, 97, 1000, 6143, 6144])
def test_many_keys_at_once_are_walked_as_one_after_the_other(count: int) -> None:
    random = np.random.default_rng(count)
    keys = [f"t/n{i % 7}/0x{n:08x}" for i, n in enumerate(random.integers(0, 1 << 32, count))]
    keys = list(dict.fromkeys(keys))
    walked = concurrent_hash_map_walk(keys, spreads(keys))
    assert tuple(keys[i] for i in walked.tolist()) == concurrent_hash_map_order(keys)
    walked = hash_map_walk(keys, spreads(keys))
    assert tuple(keys[i] for i in walked.tolist()) == hash_map_order(keys)


@pytest.mark.parametrize("count", [3, 48, 49, 800])
def test_many_keys_at_once_are_walked_in_a_copy_as_one_after_the_other(count: int) -> None:
    keys = [f"t/n{i % 7}/0x{i:08x}_0x{i + 1:08x}" for i in range(count)]
    walked = np.arange(count)[::-1]
    backwards = [keys[i] for i in walked.tolist()]
    for table_size in (16, 64, 2048):
        copied = hash_map_copy_walk(walked, keys, spreads(keys), table_size)
        ordered = tuple(sorted(backwards, key=lambda key: spread(key) % table_size))
        if hash_map_size(count) <= table_size:
            ordered = hash_map_order(backwards, table_size)
        assert tuple(keys[i] for i in copied.tolist()) == ordered


@given(st.lists(st.text(max_size=9), min_size=64, max_size=80))
def test_many_keys_have_the_hashes_that_each_has_alone(keys: list[str]) -> None:
    assert spreads(keys).tolist() == [spread(key) for key in keys]


def test_many_keys_of_plain_characters_are_hashed_all_at_once() -> None:
    keys = ["", "a\0", "\0", "\uffff" * 40, *(f"t/n{i}/0x{i:08x}" for i in range(100))]
    assert spreads(keys).tolist() == [spread(key) for key in keys]
