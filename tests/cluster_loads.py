"""Hypothesis strategies for clusters: of any numbers at all, and of exact ones without ties."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
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

ODD = (math.nan, math.inf, -math.inf, -1.0, -0.0, 0.0, 1e300, 1e-300)
odd = st.sampled_from(ODD)
plain = st.floats(0, 1.5, width=32)
anything = st.one_of(plain, odd, st.floats(width=32))

#: What a number of a table is made of: which of three kinds, which of the listed ones, and bits.
CELL = np.dtype([("kind", "u1"), ("which", "u1"), ("bits", "<u4")])
#: Plain numbers at which something may turn, which random bits would hardly meet.
EDGES = np.array([0.0, 1.0, 0.5, 1.5])
#: Likewise of any 32 bits: the largest, the smallest, the smallest that is normal, and 2^24.
EXTREMES = np.array([3.4028235e38, 1e-45, 1.1754944e-38, 16777216.0])
ODDITIES = np.array([*ODD, *EXTREMES, *-EXTREMES])


Cells = np.ndarray[Any, np.dtype[np.void]]
#: How cells are read.
Numbers = Callable[[Cells], Floats]


def cells(*shape: int) -> st.SearchStrategy[Cells]:
    """Draw cells in one piece: drawn one by one, numbers take most of the time of the tests."""
    size = math.prod(shape) * CELL.itemsize
    return st.binary(min_size=size, max_size=size).map(
        lambda text: np.frombuffer(text, CELL).reshape(shape)
    )


def codes(size: int) -> st.SearchStrategy[np.ndarray[Any, np.dtype[np.uint8]]]:
    """Draw numbers up to 255, likewise."""
    return st.binary(min_size=size, max_size=size).map(lambda text: np.frombuffer(text, np.uint8))


def plain_numbers(cells: Cells) -> Floats:
    """Return numbers like those of `plain`, an eighth of them edges."""
    inside = (cells["bits"] / 2.0**32 * 1.5).astype(np.float32)
    return np.where(cells["which"] < 32, EDGES[cells["which"] % EDGES.size], inside)


def any_numbers(cells: Cells) -> Floats:
    """Return numbers like those of `anything`: a third plain, a third odd, a third of any bits."""
    oddities = ODDITIES[cells["which"] % ODDITIES.size]
    with np.errstate(invalid="ignore"):  # NaN comes in two kinds, and one complains
        any_bits = cells["bits"].view(np.float32).astype(np.float64)
    return np.choose(cells["kind"] % 3, [plain_numbers(cells), oddities, any_bits])


@st.composite
def loads(draw: st.DrawFn, numbers: Numbers = any_numbers, brokers_min: int = 0) -> ClusterLoad:
    """Draw a cluster of up to six brokers, with any numbers at all in its reports."""
    broker_count = draw(st.integers(brokers_min, 6))
    bundles = draw(st.integers(0, 12)) if broker_count else 0
    owner = draw(codes(bundles)).astype(np.int64) % max(broker_count, 1)
    flags = draw(codes(bundles)) % 2 == 0
    table = numbers(draw(cells(broker_count, 2 * len(RESOURCES) + 4)))
    averages = numbers(draw(cells(bundles, 4)))
    return _frozen(
        brokers=tuple(f"b{i}:8080" for i in range(broker_count)),
        resource_usage=table[:, :5],
        resource_limit=table[:, 5:10],
        totals=table[:, 10:],
        bundles=tuple(f"t/n/{i}" for i in range(bundles)),
        bundle_broker=owner,
        averages=averages,
        bundle_is_sheddable=flags,
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


@st.composite
def ranked_by_traffic(draw: st.DrawFn, load: ClusterLoad) -> ClusterLoad:
    """Draw which of an exact load's brokers has the more traffic where two have the same."""
    # Averages are multiples of 64, so that less than that tells brokers apart and joins none.
    more = draw(st.permutations(range(len(load.brokers))))
    return dataclasses.replace(
        load, rate_in=load.rate_in + more, throughput_in=load.throughput_in + more
    )


def _distinct(count: int, largest: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(1, largest), min_size=count, max_size=count, unique=True)


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
