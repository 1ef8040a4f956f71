"""The leader that runs and the plain one, told the same and held against each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import asdict

import numpy as np

from tests.plain_leader import load as plain_load
from tests.plain_leader import objects
from tests.plain_leader.load_manager import LoadManager
from trimtab.pulsar.leader.load import broker_load
from trimtab.pulsar.leader.reports import Report
from trimtab.pulsar.leader.view import LeaderView


def reports(broker: str, stats: Mapping[str, objects.Stats]) -> tuple[Report, objects.Report]:
    """Make a report as both take it, of which nothing counts but its bundles."""
    nothing = np.zeros(5), np.zeros(5), np.zeros(4)
    names = tuple(stats)
    samples = np.array(list(stats.values()), np.float64).reshape(-1, 5)
    return (
        Report(broker, *nothing, names, names, samples),
        objects.Report(broker, *nothing, names, stats),
    )


def assert_same(fast: LeaderView, plain: LoadManager) -> None:
    """Hold all that both know against each other, to the last bit."""
    known = fast.averages.bundle_data()
    assert known is not None
    contents = dict(zip(known.rows, known.values[:].tolist(), strict=True))
    assert contents == {name: data.contents() for name, data in plain.bundle_data.items()}
    ahead = [load.preallocations for load in (broker_load(fast), plain_load.broker_load(plain))]
    np.testing.assert_equal(asdict(ahead[0]), asdict(ahead[1]))


def assert_same_sums(fast: LeaderView, plain: LoadManager) -> Set[str]:
    """Hold brokers' long-term rates against each other; return whose were.

    The Java adds up a broker's bundles before it has fed those of the brokers behind it, and
    the leader that runs when it has fed all: not the same where two brokers report a bundle.
    """
    load = broker_load(fast)
    assert load.long_rate_in is not None and load.long_rate_out is not None
    stats = {name: data.local_data.stats for name, data in plain.broker_data.items()}
    count = Counter(bundle for of_broker in stats.values() for bundle in of_broker)
    alone = {name for name, mine in stats.items() if all(count[bundle] == 1 for bundle in mine)}
    for i, broker in enumerate(load.brokers):
        if broker in alone:
            sums = [float(rates[i]) for rates in (load.long_rate_in, load.long_rate_out)]
            assert sums == plain.broker_data[broker].long_term[:2]
    return alone
