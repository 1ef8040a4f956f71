"""Published examples that take a loop, or numbers that the text files of clusters do not have."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.cluster_text import MEBIBYTE, cluster
from trimtab.pulsar.model import ClusterLoad, Decision, Reason
from trimtab.pulsar.shed import shedder

# A hot broker of the example has so many bundles of so many messages a second.
BUNDLES, RATE = 10, 1000.0


def shed(name: str, release: str, load: ClusterLoad) -> Decision:
    entry = shedder(name, release)
    assert entry is not None
    decision, _ = entry.shed(load, entry.memory, entry.settings({}, release))
    return decision


def hot_and_new(hot: int, new: int) -> ClusterLoad:
    """Make a cluster of equally hot brokers to which empty ones have been added."""
    names = [[f"{i}-{j}=1#{RATE}" for j in range(BUNDLES)] for i in range(hot)]
    lines = [f"b{i} 0.5 {' '.join(bundles)}" for i, bundles in enumerate(names)]
    return cluster(tuple(lines + [f"b{hot + i} 0.5" for i in range(new)]))


def moved(load: ClusterLoad, decision: Decision) -> ClusterLoad:
    """Give what was unloaded to the broker that is the lowest, and report it at once."""
    target = decision.reasons.index(Reason.UNDERLOADED)
    gone = {unload.bundle for unload in decision.unloads}
    owner = np.where([name in gone for name in load.bundles], target, load.bundle_broker)
    count = np.bincount(owner, minlength=len(load.brokers))
    traffic = load.bundle_traffic()
    rate = np.bincount(owner, traffic.rate_in, minlength=len(load.brokers))
    carried = np.bincount(owner, traffic.throughput_in, minlength=len(load.brokers))
    return dataclasses.replace(
        load, bundle_broker=owner, bundle_count=count, rate_in=rate, throughput_in=carried
    )


@pytest.mark.parametrize(
    ("release", "rounds"),
    [
        # Half of the difference a round: what was published, a round for each hot broker, and
        # at a round a minute 100 minutes.
        ("5.0.1", 100),
        # By default it was a fifth at the time, and takes about twice as long.
        ("4.0.8", 200),
    ],
)
def test_uniform_load_shedder_relieves_one_of_a_hundred_brokers_a_round(
    release: str, rounds: int
) -> None:
    load, taken = hot_and_new(100, 100), 0
    while (decision := shed("UniformLoadShedder", release, load)).unloads:
        assert len({unload.source for unload in decision.unloads}) == 1
        load, taken = moved(load, decision), taken + 1

    assert taken == rounds
    assert load.rate_in.max() <= 1.5 * load.rate_in.min()


def test_bytes_in_and_bytes_out_add_up() -> None:
    """The published sums: a bundle of 10 in and 20 out is one of 30, a broker of 1 and 2 of 3."""
    load = cluster(("b0 0.80 @1024 a=10 b=15 c=29", "b1 0.50 d=1", "b2 0.50 e=1"))
    traffic = load.bundle_traffic()
    load = dataclasses.replace(
        load,
        throughput_out=np.array([2048 * MEBIBYTE, 0, 0]),
        bundle_traffic=lambda: dataclasses.replace(
            traffic, throughput_out=np.array([20 * MEBIBYTE, 10 * MEBIBYTE, 0, 0, 0])
        ),
    )

    decision = shed("ThresholdShedder", "4.0.8", load)

    # 0.15 of 3 GiB/s, which 30 + 29 + 25 do not reach; a of 10 + 20 is the heaviest.
    assert decision.offload[0] / MEBIBYTE == pytest.approx(0.15 * 3072)
    assert [unload.bundle for unload in decision.unloads] == ["a", "c", "b"]
