"""Recorded traffic as a simulation asks for it: the same rows however they were asked for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from trimtab.lab.simulate.surroundings import DividedTraffic, LatestRows, RecordedTraffic
from trimtab.lab.simulate.traffic import Rows, Splits

STEPS, BUNDLES = 40, 7


@pytest.fixture(scope="module")
def traffic() -> RecordedTraffic:
    random = np.random.default_rng(1)
    return RecordedTraffic(*(random.uniform(0.0, 9.0, (STEPS, BUNDLES)) for _ in range(4)))


def assert_same(ours: Rows, theirs: Rows) -> None:
    assert ours.first == theirs.first
    for one, other in zip(ours.arrays(), theirs.arrays(), strict=True):
        assert one.tobytes() == other.tobytes()


def test_what_is_at_hand_is_what_would_be_worked_out(traffic: RecordedTraffic) -> None:
    latest, random = LatestRows(traffic), np.random.default_rng(2)
    for _ in range(100):
        first, last = sorted(random.choice(STEPS + 1, 2, replace=False).tolist())
        assert_same(latest.rows(first, last), traffic.rows(first, last))


def test_parts_have_what_their_whole_has_while_there_are_any(traffic: RecordedTraffic) -> None:
    never = np.iinfo(np.int64).max
    # The third is split at step 10 into two that are the last.
    splits = Splits(
        origin=np.array([*range(BUNDLES), 2, 2]),
        share=np.array([1.0] * BUNDLES + [0.25, 0.75]),
        born=np.array([0] * BUNDLES + [10, 10]),
        gone=np.array([never, never, 10, *[never] * (BUNDLES - 1)]),
    )
    divided = DividedTraffic(traffic, splits)
    rows, whole = divided.rows(8, 12), traffic.rows(8, 12)

    assert_array_equal(rows.rate_in[:2, 2], whole.rate_in[:2, 2])
    assert not rows.rate_in[:2, BUNDLES:].any()
    assert not rows.rate_in[2:, 2].any()
    assert_array_equal(rows.work[2:, BUNDLES], 0.25 * whole.work[2:, 2])
    assert_array_equal(
        rows.bytes_out[2:, BUNDLES + 1],
        0.75 * whole.rate_out[2:, 2] * traffic.message_bytes[10:12, 2],
    )
    assert_array_equal(divided.sizes(11, np.empty(0))[BUNDLES:], traffic.message_bytes[11, [2, 2]])
    assert_same(divided.rows(0, STEPS).part(8, 12), rows)
