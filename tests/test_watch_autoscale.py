"""How many brokers to have: what is needed of them, and how seldom that changes."""

from __future__ import annotations

import inspect
import math
import random
import re
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from trimtab.live.watch import metrics
from trimtab.live.watch.autoscale import (
    FEWER_AFTER_MIN,
    MORE_AFTER_MIN,
    Needed,
    Recommended,
    needed,
    recommended,
)

ROOT = Path(__file__).parent.parent
BAR, SPREAD = 0.85, 0.2
USAGES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30)
ZERO_S = 1_700_000_040.0  # the beginning of a minute


@pytest.mark.parametrize(
    ("usages", "need"),
    [
        # Four at half: 2 brokers' work, which two and a bit carry, or three, and one is lost.
        ([0.5] * 4, Needed(3, 4)),
        # Of what all have in common nobody knows whether it is traffic.
        ([0.425] * 4, Needed(2, 4)),
        ([0.0] * 14, Needed(2, 2)),
        ([0.9, 0.0, 0.0], Needed(3, 3)),
        ([1.0] * 10, Needed(15, 15)),
    ],
)
def test_what_is_needed_carries_the_load_and_the_loss_of_one(
    usages: list[float], need: Needed
) -> None:
    found = needed(usages, BAR, SPREAD)
    assert found is not None
    assert found.high == need.high
    assert found.low <= found.high


def test_of_brokers_that_say_nothing_nothing_is_said() -> None:
    assert needed([], BAR, SPREAD) is None
    assert needed([math.nan], BAR, SPREAD) is None
    assert needed([math.nan, 0.5], BAR, SPREAD) == needed([0.5], BAR, SPREAD)


@given(USAGES, st.floats(0.0, 0.3))
def test_whoever_has_more_to_carry_needs_no_fewer(usages: list[float], more: float) -> None:
    less = needed(usages, BAR, SPREAD)
    fuller = needed([*usages[:-1], usages[-1] + more], BAR, SPREAD)
    assert less is not None
    assert fuller is not None
    assert 2 <= less.low <= less.high <= fuller.high
    # At the high end all of them carry it, though one is away and they are as uneven as may be.
    assert sum(usages) / (less.high - 1) + SPREAD / 2 <= BAR + 1e-6


def course(needs: list[Needed], n_brokers: int, step_s: float = 30.0) -> list[int]:
    """Give what is recommended at each look."""
    now: Recommended | None = None
    counts = []
    for i, need in enumerate(needs):
        now = recommended(now, need, n_brokers, ZERO_S + i * step_s)
        counts.append(now.brokers)
    return counts


def test_the_first_look_leaves_what_is_there() -> None:
    assert course([Needed(3, 5)], 4) == [4]
    assert course([Needed(3, 5)], 14) == [14]
    assert course([Needed(6, 8)], 4) == [8]


def test_nobody_is_superfluous_for_not_having_said_anything_yet() -> None:
    now: Recommended | None = None
    for i, there in enumerate([1, 2, 4, 4, 14, 14, 14, 14, 14, 14, 13]):
        now = recommended(now, Needed(2, 3), there, ZERO_S + 30.0 * i)
        assert now.is_known is (i >= 2 * (MORE_AFTER_MIN - 1))
    assert now is not None
    assert now.brokers == 14


def test_too_few_for_sure_are_more_at_once_and_perhaps_too_few_after_minutes() -> None:
    assert course([Needed(3, 4), Needed(5, 7)], 4) == [4, 7]
    counts = course([Needed(3, 4)] * 3 + [Needed(3, 6)] * 20, 4)
    changed = counts.index(6)
    # The minute in which it began still had looks that needed no more.
    assert 3 + 2 * (MORE_AFTER_MIN - 1) <= changed <= 3 + 2 * MORE_AFTER_MIN + 1
    assert set(counts[:changed]) == {4}
    # A peak of a minute is none.
    assert set(course([Needed(3, 4)] * 9 + [Needed(3, 6)] * 2 + [Needed(3, 4)] * 50, 4)) == {4}


def test_fewer_are_enough_once_they_were_for_an_hour() -> None:
    hour = 2 * FEWER_AFTER_MIN
    quiet = [Needed(2, 2)] * (hour + 10)
    counts = course([Needed(10, 14), *quiet], 14)
    assert set(counts[:hour]) == {14}
    assert counts[-1] == 2
    # Half an hour of quiet between two peaks takes nobody away.
    busy = ([Needed(2, 2)] * 60 + [Needed(10, 14)] * 4) * 5
    assert set(course(busy, 14)) == {14}
    # It goes to the most that was needed, not to what is needed now.
    ramp = [Needed(2, 6)] * hour + [Needed(2, 2)] * 10
    assert course(ramp, 14)[-1] == 6


def test_a_load_that_trembles_for_a_day_changes_next_to_nothing() -> None:
    draw = random.Random(5)
    looks = [
        needed([0.45 + draw.uniform(-0.1, 0.1) for _ in range(8)], BAR, SPREAD)
        for _ in range(2 * 24 * 60)
    ]
    counts = course([each for each in looks if each], 8)
    changes = sum(a != b for a, b in pairwise(counts))
    needs = [each.high for each in looks if each]
    assert sum(a != b for a, b in pairwise(needs)) > 100
    assert changes <= 2


@given(
    st.lists(st.tuples(st.integers(2, 9), st.integers(0, 5)), min_size=1, max_size=200),
    st.integers(1, 14),
)
def test_never_fewer_than_are_surely_needed(needs: list[tuple[int, int]], there: int) -> None:
    looks = [Needed(low, low + more) for low, more in needs]
    counts = course(looks, there, step_s=45.0)
    assert all(count >= min(look.low, count) for look, count in zip(looks, counts, strict=True))
    assert all(count >= look.low for look, count in zip(looks, counts, strict=True))
    # The same look twice says nothing new.
    twice = course([look for look in looks for _ in range(2)], there, step_s=22.5)
    assert twice[-1] >= looks[-1].low


def test_what_is_kept_does_not_grow() -> None:
    now: Recommended | None = None
    for i in range(1000):
        now = recommended(now, Needed(2, 3 + i % 3), 4, ZERO_S + 17.0 * i)
    assert now is not None
    assert len(now.minutes) <= FEWER_AFTER_MIN


def test_the_manifests_ask_for_what_is_offered() -> None:
    page = (ROOT / "docs" / "watch.md").read_text(encoding="utf-8")
    manifests = [yaml.safe_load(text) for text in re.findall(r"(?s)```yaml\n(.*?)```", page)]
    assert {each["kind"] for each in manifests} == {"ScaledObject", "HorizontalPodAutoscaler"}
    offered = inspect.getsource(metrics)
    for each in manifests:
        names = set(re.findall(r"trimtab_\w+", str(each)))
        assert "trimtab_cluster_brokers_recommended" in names
        assert all(f'"{name}"' in offered for name in names)
        # Nobody is taken away with bundles on it.
        assert "'scaleDown': {'selectPolicy': 'Disabled'}" in str(each)
