"""Java's map orders, against orders observed on OpenJDK 17."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trimtab.map_order import concurrent_hash_map_order, hash_map_order, string_hash

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


@given(st.sets(st.text(min_size=1, max_size=12), min_size=1, max_size=60))
def test_every_key_is_walked_once(keys: set[str]) -> None:
    assert sorted(hash_map_order(keys)) == sorted(keys)
    assert sorted(concurrent_hash_map_order(keys)) == sorted(keys)
