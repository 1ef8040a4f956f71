"""Hypothesis strategies for clusters: of any numbers at all, and of exact ones without ties."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from trimtab.pulsar.model import (
    RESOURCES,
    BundleData,
    BundleTraffic,
    ClusterLoad,
    Floats,
    Preallocations,
)

#: A bundle of every load that no broker reports.
UNOWNED = "t/n/unowned"

odd = st.sampled_from([math.nan, math.inf, -math.inf, -1.0, -0.0, 0.0, 1e300, 1e-300])
plain = st.floats(0, 1.5, width=32)
anything = st.one_of(plain, odd, st.floats(width=32))


@st.composite
def loads(draw: st.DrawFn, numbers: st.SearchStrategy[float] = anything) -> ClusterLoad:
    """Draw a cluster of up to six brokers, with any numbers at all in its reports."""
    broker_count = draw(st.integers(0, 6))
    bundles = draw(st.integers(0, 12)) if broker_count else 0
    owner = draw(
        st.lists(st.integers(0, max(broker_count - 1, 0)), min_size=bundles, max_size=bundles)
    )
    flags = draw(st.lists(st.booleans(), min_size=bundles, max_size=bundles))
    table = _table(draw, numbers, broker_count, 2 * len(RESOURCES) + 4)
    averages = _table(draw, numbers, bundles, 4)
    return _frozen(
        brokers=tuple(f"b{i}:8080" for i in range(broker_count)),
        resource_usage=table[:, :5],
        resource_limit=table[:, 5:10],
        totals=table[:, 10:],
        bundles=tuple(f"t/n/{i}" for i in range(bundles)),
        bundle_broker=np.array(owner, dtype=np.int64),
        averages=averages,
        bundle_is_sheddable=np.array(flags, dtype=np.bool_),
    )


def without_long(load: ClusterLoad) -> ClusterLoad:
    """Leave out what only strategies that read long-term averages look at."""
    return dataclasses.replace(
        load,
        long_rate_in=None,
        long_rate_out=None,
        bundle_data=None,
        preallocations=Preallocations(),
    )


@st.composite
def exact_loads(draw: st.DrawFn) -> ClusterLoad:
    """Draw a cluster without ties, of numbers for which the order of a sum does not matter."""
    broker_count = draw(st.integers(2, 6))
    bundles = draw(st.integers(2, 16))
    owner = draw(st.lists(st.integers(0, broker_count - 1), min_size=bundles, max_size=bundles))
    usage = draw(_distinct(broker_count, 64))
    weight = draw(_distinct(bundles, 256))
    table = np.zeros((broker_count, 5))
    table[:, 0] = np.array(usage) / 64
    averages = np.zeros((bundles, 4))
    # Thousands, so that strategies with a fixed least rate find enough to move.
    averages[:, 0] = averages[:, 2] = np.array(weight, dtype=np.float64) * 64
    totals = np.zeros((broker_count, 4))
    np.add.at(totals, owner, averages)
    return _frozen(
        brokers=tuple(f"b{i}:8080" for i in range(broker_count)),
        resource_usage=table,
        resource_limit=np.ones((broker_count, 5)),
        totals=totals,
        bundles=tuple(f"t/n/{i}" for i in range(bundles)),
        bundle_broker=np.array(owner, dtype=np.int64),
        averages=averages,
        bundle_is_sheddable=np.ones(bundles, dtype=np.bool_),
    )


def _distinct(count: int, largest: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(1, largest), min_size=count, max_size=count, unique=True)


def _table(draw: st.DrawFn, numbers: st.SearchStrategy[float], rows: int, columns: int) -> Floats:
    row = st.lists(numbers, min_size=columns, max_size=columns)
    drawn = draw(st.lists(row, min_size=rows, max_size=rows))
    return np.array(drawn, dtype=np.float64).reshape(rows, columns)


def _frozen(*, totals: Floats, averages: Floats, **fields: Any) -> ClusterLoad:
    """Make a load whose arrays cannot be written to, so that a strategy that tries fails.

    The long-term averages are the short-term ones; the first bundle is on its way to the
    first broker, and `UNOWNED` is a bundle that no broker reports.
    """
    names = (*fields["bundles"], UNOWNED)
    values = np.zeros((len(names), 11))
    values[:-1, :4] = values[:-1, 5:9] = averages
    ahead = averages[:1]
    load = ClusterLoad(
        long_rate_in=totals[:, 0],
        long_rate_out=totals[:, 1],
        preallocations=Preallocations(np.zeros(len(ahead), np.int64), ahead[:, 0], ahead[:, 1]),
        bundle_data=BundleData(
            {name: i for i, name in enumerate(names)}, np.arange(len(names)), values
        ),
        rate_in=totals[:, 0],
        rate_out=totals[:, 1],
        throughput_in=totals[:, 2],
        throughput_out=totals[:, 3],
        bundle_count=np.bincount(fields["bundle_broker"], minlength=len(fields["brokers"])),
        bundle_traffic=partial(BundleTraffic, *averages.T),
        **fields,
    )
    for part in (load, load.bundle_traffic(), load.preallocations, load.bundle_data):
        for field in dataclasses.fields(part):
            if isinstance(value := getattr(part, field.name), np.ndarray):
                value.flags.writeable = False
    return load
