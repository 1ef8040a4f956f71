"""Brokers in namespaces and groups of their own: each reports what it alone uses.

All traffic goes to one of two brokers.  Where they share a machine's figures both would report
the same; here the one that does the work must stand out, in CPU and on its network card.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import kernel
from cluster.run import FOLDER, down, stopped_on_failure, up
from cluster.state import State, web

from beside import running
from loopback_cluster import load_report

pytestmark = pytest.mark.pulsar

#: A broker that has just started is busy with itself for a while, and counts its bundles' rates
#: once a minute.
WAIT_S = 120.0
SETTINGS = {
    "loadBalancerHostUsageCheckIntervalMinutes": "5",
    "loadBalancerSheddingEnabled": "false",
}
#: A namespace of one bundle is one broker's.
PROFILE = """\
[[group]]
namespace = "one/bundle"
bundles = 1
topics = 4
bytes = 1024
consumers = 1
messages_per_s = [[0, 300]]
"""


@pytest.fixture
def cluster() -> Iterator[State]:
    if (obstacle := kernel.obstacle()) is not None:
        pytest.skip(f"no namespaces and groups for brokers: {obstacle}")
    with stopped_on_failure(FOLDER):
        state = up(State(FOLDER, mode="namespaces", settings=SETTINGS, is_sampled_quickly=True), 2)
        yield state
        down(FOLDER)


@pytest.fixture
def traffic(cluster: State, tmp_path: Path) -> Iterator[None]:
    profile = tmp_path / "one.toml"
    profile.write_text(PROFILE)
    with running("-m", "cluster.load", str(profile), stdout=None, stderr=None):
        yield


def works_more(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether the one stands out, with a bundle of its own in its report.

    The first look at CPU divides by decades, and is no look.  The network card is read before the
    bundles' rates are first counted: until then a report has traffic, and no bundle that has it.
    """
    is_looked_at = other["cpu"]["usage"] > 0.01
    is_busier = one["cpu"]["usage"] > 2 * other["cpu"]["usage"]
    ones, others = (each["bandwidthIn"]["usage"] for each in (one, other))
    is_counted = one["bundles"] != []
    return bool(is_counted and is_looked_at and is_busier and ones > 1000 and ones > 10 * others)


def test_the_broker_that_has_the_traffic_reports_more(cluster: State, traffic: None) -> None:
    last = time.monotonic() + WAIT_S
    busy: dict[str, Any] = {}
    idle: dict[str, Any] = {}
    while not (busy and works_more(busy, idle)):
        assert time.monotonic() < last, f"waited {WAIT_S:.0f} s for {busy} beside {idle}"
        time.sleep(1)
        both = [load_report(web(number, cluster.network)) for number in (1, 2)]
        idle, busy = sorted(both, key=lambda each: float(each["msgRateIn"]))

    assert busy["bundles"] == ["one/bundle/0x00000000_0xffffffff"]
    assert idle["bundles"] == []
    # Of what `places.settings` says, in kbit/s.
    assert busy["bandwidthIn"]["limit"] == idle["bandwidthIn"]["limit"] == 50_000
    assert all(made.path.exists() for made in cluster.made)

    down(FOLDER)

    assert [made for made in cluster.made if made.path.exists()] == []
    assert [name for name, each in cluster.processes.items() if each.is_alive] == []
