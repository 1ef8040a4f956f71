"""Clusters whose need is known: what counts as known, where each night has its own luck."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tools import sizes
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.world import World

#: A night by its place among those of a world, and a number of brokers → whether it keeps.
Kept = Callable[[int, int], bool]


def need(monkeypatch: pytest.MonkeyPatch, kept: Kept) -> tuple[int | None, int]:
    """Give the need of a world whose nights keep to the bar as told, and how many were tried."""
    cluster, balancer = sizes.cluster_of(7)
    world, tried = drawn(cluster, 7), []

    def keeps(night: World, *_: object) -> bool:
        count = int(str(_[-1]))
        place = (night.seed - world.seed) // 1_000_000
        tried.append((place, count))
        return kept(place, count)

    monkeypatch.setattr(sizes, "_keeps", keeps)
    monkeypatch.setattr(sizes, "_work", lambda *_: np.zeros((1, 1)))
    found = sizes.truth(world, balancer, cluster)
    assert len(set(tried)) == len(tried)
    return found, len(tried)


def test_most_nights_say_what_a_world_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = (4, 9, 6, 5, 12, 7, 8, 10, 3, 11, 13, 2, 14, 15, 16)
    assert len(needs) == sizes.NIGHTS
    assert need(monkeypatch, lambda place, count: count >= needs[place])[0] == 9


def test_one_night_of_bad_luck_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    found, tried = need(monkeypatch, lambda place, count: count >= 5 and (place, count) != (0, 20))
    assert found == 5
    # Nights that agree and are more than half leave nothing to ask of the others.
    assert tried == (sizes.NIGHTS // 2 + 1) * (24 - 3) + 1


def test_a_world_that_no_number_suffices_has_no_need(monkeypatch: pytest.MonkeyPatch) -> None:
    assert need(monkeypatch, lambda *_: False)[0] is None


def test_the_page_counts_what_is_right_and_what_is_too_few() -> None:
    def world(need: int | None, usual: float, sure: float) -> sizes.KnownWorld:
        return sizes.KnownWorld(1000, 4, 40, need, usual, sure)

    text = sizes.summary([world(5, 5, 6), world(5, 6, 7), world(7, 5, 6), world(None, 9, 9)])
    assert "| worlds, of which some number up to 24 will do | 4, 3 |" in text
    assert "| the same number | 1 of 3 (33.3 %) |" in text
    assert "| right within one broker | 2 of 3 (66.7 %) |" in text
    assert "| too few by more than one | 1 of 3 (33.3 %) |" in text
    assert "| the almost sure number is too few | 1 of 3 (33.3 %) |" in text
