"""A rolling restart is foretold: the world that goes on as it is, and the orders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from trimtab.lab.restarts.orders import Order, Timing, foretold, orders
from trimtab.lab.restarts.snapshot import BundleLoad, ClusterNow, standing_world
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.parameters import Parameters
from trimtab.lab.simulate.run import simulated
from trimtab.live.apply.restart_order import cluster_now

NOBODY = Balancer(None, "LeastLongTermMessageRate", "4.0.8")


def cluster(*usages: float, n_bundles: int = 12) -> ClusterNow:
    """Let every broker have so many bundles, each a third busier than the one before."""
    names = [f"b-{i}:8080" for i in range(len(usages))]
    bundles = {
        name: {
            f"t/n{i}/0x{k:08x}_0x{k + 1:08x}": BundleLoad(1000.0 + 300 * k, 2000.0, 1e6, 2e6, 4.0)
            for k in range(n_bundles)
        }
        for i, name in enumerate(names)
    }
    return ClusterNow(dict(zip(names, usages, strict=True)), bundles)


def test_the_world_stands_where_the_cluster_stands() -> None:
    now = cluster(20.0, 45.0, 70.0)
    run = simulated(standing_world(now, (), 900.0, 1), NOBODY, Parameters())

    usage = np.nanmean(run.usage, axis=0)
    assert usage == pytest.approx([20.0, 45.0, 70.0], abs=4.0)


def test_what_is_not_told_or_idle_can_be_simulated_too() -> None:
    idle = BundleLoad(0.0, 0.0, 0.0, 0.0, 0.0)
    backlog = BundleLoad(0.0, 500.0, 0.0, 1e5, 1.0)
    now = ClusterNow(
        {"a:1": math.nan, "b:1": 30.0, "c:1": 0.0},
        {"a:1": {"t/n/0x0_0x1": idle}, "b:1": {"t/n/0x1_0x2": backlog}, "c:1": {}},
    )
    found = foretold(now, Order("by name", ["a:1", "b:1", "c:1"]), Timing(30, 120), NOBODY, [0])

    assert 20.0 < found.peak_percent.median < 60.0


def test_a_bundle_that_two_brokers_report_is_at_the_one_that_reported_later() -> None:
    def report(last_update: int, *bundles: str) -> dict[str, Any]:
        stats = {bundle: {"msgRateIn": 10.0, "topics": 1} for bundle in bundles}
        return {"lastUpdate": last_update, "lastStats": stats, "bundles": list(bundles)}

    there, moved = "t/n/0x0_0x1", "t/n/0x1_0x2"
    reports = {"a:1": report(2_000, moved), "b:1": report(1_000, there, moved)}
    now = cluster_now(reports, "4.0.8")

    assert {name: set(bundles) for name, bundles in now.bundles.items()} == {
        "a:1": {moved},
        "b:1": {there},
    }
    order = Order("by name", ["a:1", "b:1"])
    assert foretold(now, order, Timing(30, 120), NOBODY, [0]).moves.median > 0


def test_the_leader_is_the_last_of_every_order() -> None:
    found = orders(cluster(50.0, 20.0, 30.0), "b-1:8080")

    assert found == {
        "least loaded first": ("b-2:8080", "b-0:8080", "b-1:8080"),
        "most loaded first": ("b-0:8080", "b-2:8080", "b-1:8080"),
        "by name": ("b-0:8080", "b-2:8080", "b-1:8080"),
    }
    assert orders(cluster(50.0), None)["by name"] == ("b-0:8080",)


def test_a_broker_that_is_away_is_carried_by_the_others() -> None:
    now = cluster(40.0, 40.0, 40.0)
    order = Order("by name", tuple(now.usage_percent))

    found = foretold(now, order, Timing(60, 300), NOBODY, [0, 1])
    again = foretold(now, order, Timing(60, 300), NOBODY, [0, 1])

    assert found == again
    assert found.brokers == order.brokers
    # Two carry what three did, so one of them at least stands at 60.
    assert found.restarts[0].peak_percent.median > 55.0
    assert found.restarts[0].peak_at != "b-0:8080"
    assert found.peak_percent.median >= max(it.peak_percent.median for it in found.restarts) - 1
    # Every bundle has to go at least once.
    assert found.moves.median >= 36


def test_brokers_are_positions_in_the_order_of_their_ids() -> None:
    world = standing_world(cluster(10.0, 20.0), (), 60.0, 0)

    assert world.machines.names == ("b-0:8080", "b-1:8080")
    assert len(world.bundles.names) == 24
    owners = zip(world.bundles.names, world.bundles.owner.tolist(), strict=True)
    assert {(name.split("/")[1], owner) for name, owner in owners} == {("n0", 0), ("n1", 1)}
