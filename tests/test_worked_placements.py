"""Published examples of placement that take more than one selection."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.both_leaders import reports
from tests.cluster_text import cluster
from trimtab.pulsar.leader.averages import Average
from trimtab.pulsar.leader.load import broker_load
from trimtab.pulsar.leader.view import LeaderView
from trimtab.pulsar.model import ClusterLoad
from trimtab.pulsar.place import placer


def carrying(rates: list[float], bundle_rate: float) -> tuple[ClusterLoad, LeaderView]:
    """Make brokers of such long-term rates at 50 %, and bundles of another that are to come."""
    load = cluster(tuple(f"b{i} 0.5 x{i}=1" for i in range(len(rates))))
    load = dataclasses.replace(
        load, long_rate_in=np.array(rates), long_rate_out=np.zeros(len(rates))
    )
    leader = LeaderView()
    for broker in load.brokers:
        leader.put(reports(broker, {})[0])
    of_bundle = np.array([[bundle_rate, 0.0, 0.0, 0.0]])
    one, nothing = np.array([1]), np.array([0])
    for bundle in range(100):
        leader.store((str(bundle),), Average(one, of_bundle, one, of_bundle, nothing, nothing))
    return load, leader


def placed(
    load: ClusterLoad, leader: LeaderView, bundles: int, *, is_remembered: bool
) -> list[int]:
    """Place bundles one after the other on the same reports, each on the first of the best."""
    entry = placer("LeastLongTermMessageRate", "4.0.8")
    assert entry is not None
    settings, owners = entry.settings({}, "4.0.8"), list[int]()
    leader.preallocated.by_broker.clear()
    everyone = np.arange(len(load.brokers))
    place = np.array([load.brokers.index(broker) for broker in leader.order()])
    for bundle in range(bundles):
        ahead = broker_load(leader).preallocations
        ahead = dataclasses.replace(ahead, broker=place[ahead.broker])
        asked = dataclasses.replace(load, preallocations=ahead)
        placement, _ = entry.place(asked, str(bundle), everyone, None, settings)
        owners.append(int(placement.best[0]))
        if is_remembered:
            leader.give(str(bundle), load.brokers[owners[-1]])
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
    load, leader = carrying([100.0, 110.0], 20.0)

    assert placed(load, leader, 2, is_remembered=is_remembered) == owners


def test_scaling_in_by_three_of_eleven_brokers() -> None:
    """The published case of over-placement: eight stay, and take what the others had."""
    load, leader = carrying([1000.0 + i for i in range(8)], 50.0)
    carried = 1000.0 + np.arange(8)

    spread = np.bincount(placed(load, leader, 60, is_remembered=True), minlength=8)
    heaped = np.bincount(placed(load, leader, 60, is_remembered=False), minlength=8)

    assert heaped.tolist() == [60, 0, 0, 0, 0, 0, 0, 0]
    assert (carried + 50.0 * heaped).max() == 4000.0
    assert np.ptp(spread) <= 1
    assert (carried + 50.0 * spread).max() <= 1410.0
