"""What traffic costs a broker: work, CPU, network, and what passes when it is full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.simulate.parameters import Physics
from trimtab.lab.simulate.world import Bundles
from trimtab.pulsar.model import MEBIBYTE, Floats

Array: TypeAlias = NDArray[np.float64]
Number = TypeVar("Number", bound=np.generic)

#: Where a CPU that is not linear in its work takes as much as one that is, points.
FIXED_POINT = 50.0


@dataclass(frozen=True, slots=True)
class Costs:
    """What each bundle's traffic costs, points of a reference machine; all (n_bundles,)."""

    #: For a message/s, in and out.
    message_in: Floats
    message_out: Floats
    #: For an entry/s.
    entry: Floats
    #: Entries/s that batching tends to, in and out.
    limit_in: Floats
    limit_out: Floats
    #: For its topics, idle, and for having them in use.
    idle: Floats
    busy: Floats
    #: Messages/s published, from which its topics are in use.
    busy_rate: float

    def part(self, at: slice) -> Costs:
        """Return those of some bundles side by side, or once what is the same for all of them."""
        return Costs(
            once(self.message_in[at]),
            once(self.message_out[at]),
            once(self.entry[at]),
            once(self.limit_in[at]),
            once(self.limit_out[at]),
            once(self.idle[at]),
            once(self.busy[at]),
            self.busy_rate,
        )


def once(values: NDArray[Number]) -> NDArray[Number]:
    """Return (1,) of what is the same for all bundles, which is as good in arithmetic; else all."""
    return values[:1] if (values == values[:1]).all() else values


def costs(bundles: Bundles, physics: Physics) -> Costs:
    """Return what each bundle's traffic costs."""
    size_mib = bundles.message_bytes / MEBIBYTE
    topics = bundles.cost * bundles.topics * physics.cpu_per_topic
    return Costs(
        message_in=bundles.cost
        * (physics.cpu_per_kmessage / 1000 + physics.cpu_per_mib_in * size_mib),
        message_out=bundles.cost
        * (physics.cpu_per_kmessage / 1000 + physics.cpu_per_mib_out * size_mib),
        entry=bundles.cost * physics.cpu_per_kentry / 1000,
        limit_in=bundles.entries_limit,
        # Each subscription gets batches of its own; one that is paused still may catch up.
        limit_out=bundles.entries_limit * np.where(bundles.fan_out > 0, bundles.fan_out, 1.0),
        idle=topics * physics.idle_topic_share,
        busy=topics * (1 - physics.idle_topic_share),
        busy_rate=physics.busy_rate,
    )


def work(costs: Costs, rate_in: Array, rate_out: Array, out: Array | None = None) -> Array:
    """Return the work of each bundle, points of a reference machine.

    Args:
        costs: of these bundles.
        rate_in: (n, n_bundles) messages/s published.
        rate_out: (n, n_bundles) messages/s dispatched.
        out: room for it.

    Properties:
        Grows with either rate, ever more slowly: batches grow too.
    """
    done = np.multiply(rate_in, costs.message_in, out=out)
    # What is in few places stays in the processor's cache.
    part = rate_out * costs.message_out
    done += part
    entries = rate_in * costs.limit_in
    entries /= np.add(rate_in, costs.limit_in, out=part)
    entries_out = np.multiply(rate_out, costs.limit_out, out=part)
    entries_out /= costs.limit_out + rate_out
    entries += entries_out
    entries *= costs.entry
    done += entries
    if (rate_in < costs.busy_rate).any():
        in_use = np.divide(rate_in, costs.busy_rate, out=part)
        np.minimum(in_use, 1.0, out=in_use)
        in_use *= costs.busy
        done += in_use
    else:
        done += costs.busy
    done += costs.idle
    return done


def cpu_demand(background: Array, load: Array, physics: Physics) -> Array:
    """Return the CPU that is wanted, percent; above 100 it is not to be had.

    Args:
        background: percent that other processes take.
        load: work divided by capacity.
        physics: exponent and convexity.
    """
    if physics.work_exponent != 1.0:
        load = FIXED_POINT * (load / FIXED_POINT) ** physics.work_exponent
    wanted = background + load
    return wanted + physics.cpu_convexity * wanted * wanted


@dataclass(frozen=True, slots=True)
class Loaded:
    """What brokers carry; all of one shape, any of (n_brokers,) and (n_ticks, n_brokers)."""

    #: Percent, at most 100.
    cpu: Array
    nic_in: Array
    nic_out: Array
    #: Share of the traffic that passes.
    passed: Array

    def usage(self) -> Array:
        """Return percent of the busiest resource."""
        return np.maximum(np.maximum(self.cpu, self.nic_in), self.nic_out)


class Demand(NamedTuple):
    """What would pass if there were room for it."""

    #: Points of CPU.
    work: Array
    #: Bytes/s, published and dispatched.
    bytes_in: Array
    bytes_out: Array


def loaded(
    wanted: Demand, background: Array, machines: tuple[Array, Array], physics: Physics
) -> Loaded:
    """Return brokers under traffic; what does not fit is held back.

    Args:
        wanted: of each broker.
        background: percent of CPU that other processes take.
        machines: capacity, and bytes/s of the NIC; each (n_brokers,) or of the others' shape.
        physics: what it costs.

    Quirks:
        What a NIC cannot carry costs no CPU either; a CPU that is full holds back traffic
        and other processes alike.
    """
    work_wanted, bytes_in, bytes_out = wanted
    capacity, nic = machines
    into = (bytes_in + physics.nic_in_share * bytes_out) / nic
    out = (physics.write_quorum * bytes_in + bytes_out) / nic
    passed = 1.0 / np.maximum(np.maximum(into, out), 1.0)
    demand = cpu_demand(background, passed * work_wanted / capacity, physics)
    passed = passed / np.maximum(demand / 100.0, 1.0)
    return Loaded(
        cpu=np.minimum(np.maximum(demand, 0.0), 100.0),
        nic_in=np.minimum(100.0 * into * passed, 100.0),
        nic_out=np.minimum(100.0 * out * passed, 100.0),
        passed=passed,
    )
