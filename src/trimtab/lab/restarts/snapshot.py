"""A cluster as it stands at one time → a world of the laboratory that goes on like that."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trimtab.lab.simulate.draw_scale import loads, works
from trimtab.lab.simulate.parameters import Physics
from trimtab.lab.simulate.world import Bundles, Event, Machines, World
from trimtab.pulsar.model import Floats

#: Percent of a broker's CPU that other processes take, on average and deviating.
_BACKGROUND, _BACKGROUND_DEVIATION = 3.0, 1.5
#: Bytes/s; what a NIC carries is not told, and counts within the usage that is.
_NIC = 1e12
_BYTES = 1024.0
_ENTRIES = 1000.0
_JITTER = 0.08
_GROUP = 12


@dataclass(frozen=True, slots=True)
class BundleLoad:
    """What a bundle does, as its broker reports it."""

    #: Messages/s and bytes/s, published and dispatched.
    rate_in: float
    rate_out: float
    bytes_in: float
    bytes_out: float
    topics: float


@dataclass(frozen=True, slots=True)
class ClusterNow:
    """A cluster at one time."""

    #: Broker id → its usage, %; NaN if it does not tell.
    usage_percent: Mapping[str, float]
    #: Broker id → its bundles.
    bundles: Mapping[str, Mapping[str, BundleLoad]]


def standing_world(now: ClusterNow, events: tuple[Event, ...], end_s: float, seed: int) -> World:
    """Return a world in which a cluster goes on as it stands, but for events.

    Brokers are positions in the order of their ids; the seed is of noise around the traffic.

    Properties:
        Without noise each broker stands where it stood: what its bundles cost is scaled to
        its usage, whichever resource that was.

    Quirks:
        All machines are taken for equal: a broker that stands higher with the same traffic
        has bundles that cost more, wherever they go.
    """
    names = tuple(sorted(now.usage_percent))
    bundles = _bundles(now, names)
    machines = Machines(
        names=names,
        capacity=np.ones(len(names)),
        nic=np.full(len(names), _NIC),
        background=np.full(len(names), _BACKGROUND),
        background_deviation=np.full(len(names), _BACKGROUND_DEVIATION),
        spikes_per_hour=np.zeros(len(names)),
        is_up=np.ones(len(names), dtype=np.bool_),
    )
    usage = np.array([now.usage_percent[name] for name in names])
    priced = dataclasses.replace(bundles, cost=bundles.cost * _scale(bundles, usage, machines))
    return World(machines, priced, (), events, end_s, 0.0, seed)


def _bundles(now: ClusterNow, names: tuple[str, ...]) -> Bundles:
    owned = [
        (bundle, owner, load)
        for owner, name in enumerate(names)
        for bundle, load in sorted(now.bundles.get(name, {}).items())
    ]
    n = len(owned)
    loads = [load for _, _, load in owned]
    rate_in = np.array([load.rate_in for load in loads], dtype=np.float64)
    rate_out = np.array([load.rate_out for load in loads], dtype=np.float64)
    # One that only dispatches, a backlog, is taken to publish a little.
    published = np.where((rate_in == 0) & (rate_out > 0), rate_out / 1000.0, rate_in)
    messages = rate_in + rate_out
    bytes_ = np.array([load.bytes_in + load.bytes_out for load in loads], dtype=np.float64)
    return Bundles(
        names=tuple(bundle for bundle, _, _ in owned),
        owner=np.array([owner for _, owner, _ in owned], dtype=np.int64),
        rate=published,
        message_bytes=_ratio(bytes_, messages, _BYTES),
        fan_out=_ratio(rate_out, published, 1.0),
        topics=np.array([load.topics for load in loads], dtype=np.float64),
        entries_limit=np.full(n, _ENTRIES),
        cost=np.ones(n),
        jitter=np.full(n, _JITTER),
        group=np.arange(n, dtype=np.int64) // _GROUP,
        wave=np.zeros(n),
        wave_phase=np.zeros(n),
        grace_until_s=np.zeros(n),
    )


def _scale(bundles: Bundles, usage: Floats, machines: Machines) -> Floats:
    """Return how much dearer each bundle is than usual, for its broker to stand where it does."""
    physics = Physics()
    known = np.where(np.isnan(usage), _BACKGROUND, np.minimum(usage, 100.0))
    burden = np.bincount(bundles.owner, works(bundles, physics), len(usage)).astype(np.float64)
    scale = _ratio(loads(known, machines, physics), burden, 1.0)
    return np.asarray(scale[bundles.owner], dtype=np.float64)


def _ratio(above: Floats, below: Floats, otherwise: float) -> Floats:
    """Return the quotient; something usual where there is nothing to divide by."""
    ratios = np.full(len(above), otherwise)
    np.divide(above, below, out=ratios, where=below > 0)
    return ratios
