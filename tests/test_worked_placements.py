"""Published examples of placement that take more than one selection."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.cluster_text import cluster
from trimtab.pulsar.leader.bundle_averages import BundleAverages, no_averages
from trimtab.pulsar.leader.preallocations import Preallocated, in_order, preallocate
from trimtab.pulsar.model import ClusterLoad
from trimtab.pulsar.place import placer


def carrying(rates: list[float], bundle_rate: float) -> tuple[ClusterLoad, BundleAverages]:
    """Make brokers of such long-term rates at 50 %, and bundles of another that are to come."""
    load = cluster(tuple(f"b{i} 0.5 x{i}=1" for i in range(len(rates))))
    load = dataclasses.replace(
        load, long_rate_in=np.array(rates), long_rate_out=np.zeros(len(rates))
    )
    averages = no_averages(100)
    rate = np.zeros_like(averages.long)
    rate[:, 0] = bundle_rate
    return load, dataclasses.replace(averages, long=rate, is_known=np.ones(100, dtype=np.bool_))


def placed(
    load: ClusterLoad, averages: BundleAverages, bundles: int, *, is_remembered: bool
) -> list[int]:
    """Place bundles one after the other on the same reports, each on the first of the best."""
    entry = placer("LeastLongTermMessageRate", "4.0.8")
    assert entry is not None
    settings, given, owners = entry.settings({}, "4.0.8"), Preallocated(), list[int]()
    everyone = np.arange(len(load.brokers))
    for bundle in range(bundles):
        ahead = in_order(given, np.arange(given.broker.size))
        asked = dataclasses.replace(load, preallocations=ahead)
        placement, _ = entry.place(asked, str(bundle), everyone, None, settings)
        owners.append(int(placement.best[0]))
        if is_remembered:
            given = preallocate(given, bundle, owners[-1], averages)
    return owners


@pytest.mark.parametrize(
    ("is_remembered", "owners"),
    [
        # The published example: 100 + 20 is more than 110, so the second bundle goes elsewhere.
        (True, [0, 1]),
        # In a round of shedding nothing is remembered, and both go to the same broker.
        (False, [0, 0]),
    ],
)
def test_a_bundle_on_its_way_counts(is_remembered: bool, owners: list[int]) -> None:
    load, averages = carrying([100.0, 110.0], 20.0)

    assert placed(load, averages, 2, is_remembered=is_remembered) == owners


def test_scaling_in_by_three_of_eleven_brokers() -> None:
    """The published case of over-placement: eight stay, and take what the others had."""
    load, averages = carrying([1000.0 + i for i in range(8)], 50.0)
    carried = 1000.0 + np.arange(8)

    spread = np.bincount(placed(load, averages, 60, is_remembered=True), minlength=8)
    heaped = np.bincount(placed(load, averages, 60, is_remembered=False), minlength=8)

    assert heaped.tolist() == [60, 0, 0, 0, 0, 0, 0, 0]
    assert (carried + 50.0 * heaped).max() == 4000.0
    assert np.ptp(spread) <= 1
    assert (carried + 50.0 * spread).max() <= 1410.0
