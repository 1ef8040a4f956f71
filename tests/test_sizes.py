"""Clusters whose need is known: what counts as known, where each night has its own luck."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tools import sizes
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.world import World

#: Nights that are asked, and the first of them.
NIGHTS, FIRST = 15, 7
#: A night by its place among those of the truth, and a number of brokers → whether it keeps.
Kept = Callable[[int, int], bool]


def truth(monkeypatch: pytest.MonkeyPatch, kept: Kept) -> tuple[sizes.Truth, list[tuple[int, int]]]:
    """Give a world whose nights keep to the bar as told, and what was tried of it so far."""
    cluster, balancer = sizes.cluster_of(7)
    world = drawn(cluster, 7)
    tried: list[tuple[int, int]] = []

    def keeps(night: World, *_: object) -> bool:
        count = int(str(_[-1]))
        place = (night.seed - world.seed) // 1_000_000 - FIRST
        # No other nights are asked.
        assert 0 <= place < NIGHTS
        tried.append((place, count))
        return kept(place, count)

    monkeypatch.setattr(sizes, "_keeps", keeps)
    monkeypatch.setattr(sizes, "_work", lambda *_: np.zeros((1, 1)))
    return sizes.Truth(world, balancer, cluster, range(FIRST, FIRST + NIGHTS)), tried


def test_most_nights_say_what_a_world_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = (4, 9, 6, 5, 12, 7, 8, 10, 3, 11, 13, 2, 14, 15, 16)
    assert len(needs) == NIGHTS
    assert truth(monkeypatch, lambda place, count: count >= needs[place])[0].need() == 9


def test_one_night_of_bad_luck_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    of, tried = truth(monkeypatch, lambda place, count: count >= 5 and (place, count) != (0, 20))
    assert of.need() == 5
    # Nights that agree and are more than half leave nothing to ask of the others.
    assert len(set(tried)) == len(tried) == (NIGHTS // 2 + 1) * (24 - 3) + 1


def test_a_world_that_no_number_suffices_has_no_need(monkeypatch: pytest.MonkeyPatch) -> None:
    assert truth(monkeypatch, lambda *_: False)[0].need() is None


def test_a_smaller_number_that_would_do_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    of, _ = truth(monkeypatch, lambda _, count: count >= 9 or count == 7)
    assert of.need() == 9
    assert of.has_gap(9)
    assert not truth(monkeypatch, lambda _, count: count >= 9)[0].has_gap(9)


def test_nights_are_recorded_one_after_the_other() -> None:
    cluster, balancer = sizes.cluster_of(1)
    world = drawn(cluster, 1)
    first, second = sizes.recorded(world, balancer, cluster, 2)
    assert second.reports.time_s[0] - first.reports.time_s[0] == pytest.approx(86_400, abs=120)
    # Bundles stay where they are until the next night.
    owners = [zip(it.owners.bundle, it.owners.broker, strict=True) for it in (first, second)]
    last, begin = dict(owners[0]), dict(list(owners[1])[: len(world.bundles.names)])
    assert begin == last
    assert first.owners.bundle.size > len(last)


def test_the_page_counts_what_is_right_and_what_is_too_few() -> None:
    def world(need: int | None, usual: float, sure: float, **others: Any) -> sizes.KnownWorld:
        whole = {"has_gap": False, **others}
        return sizes.KnownWorld(1000, 4, 40, need, said=sizes.Said(usual, sure), **whole)

    text = sizes.summary(
        [
            world(5, 5, 6, by_one=sizes.Said(7, 8), need_of_one=5, need_of_others=7),
            world(5, 6, 7, has_gap=True),
            world(7, 5, 6, by_one=sizes.Said(7, 8), need_of_one=None, need_of_others=6),
            world(None, 9, 9),
        ]
    )
    assert "| worlds | 4 | 2 | 2 |" in text
    assert "| of which some number up to 24 will do | 3 | 1 | 2 |" in text
    assert "| the same number | 1 of 3 (33.3 %) | 0 of 1 (0.0 %) | 0 of 2 (0.0 %) |" in text
    assert (
        "| right within one broker | 2 of 3 (66.7 %) | 0 of 1 (0.0 %) | 1 of 2 (50.0 %) |" in text
    )
    assert (
        "| too few by more than one | 1 of 3 (33.3 %) | 0 of 1 (0.0 %) | 1 of 2 (50.0 %) |" in text
    )
    assert "| too many by more than one | 0 of 3 (0.0 %) | 1 of 1 (100.0 %) |" in text
    assert "| the almost sure number is too few | 1 of 3 (33.3 %) | 0 of 1 (0.0 %) |" in text
    gap = "a smaller number would do, though one between does not"
    assert f"| {gap} | 1 of 3 (33.3 %) |  |  |" in text


def test_a_world_is_kept_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "KEPT", tmp_path)
    endless = sizes.Said(float("inf"), float("inf"))
    world = sizes.KnownWorld(7, 4, 40, 5, False, sizes.Said(5.0, 6.0), endless, None, 6)
    sizes.keep(world, "program")
    assert sizes.kept_world(7, "program") == world
    assert sizes.kept_world(7, "another") is None
    assert sizes.kept_world(8, "program") is None
