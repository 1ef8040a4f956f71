"""What passes through the brokers while nobody's bundles change hands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.lab.simulate.cluster import Cluster
from trimtab.lab.simulate.parameters import Parameters
from trimtab.lab.simulate.physics import Demand, Loaded, loaded
from trimtab.lab.simulate.surroundings import Others, Wanted
from trimtab.lab.simulate.traffic import Rows
from trimtab.pulsar.model import Floats, Ints

# Numbers of a flow's traffic that are worked out ahead at most: it is for clusters in which
# a step takes longer to ask for than to compute.
_NUMBERS = 1 << 16
# Bundles of which so few are summed up for all steps at once.
_FEW = 512


@dataclass(frozen=True, slots=True)
class Flow:
    """What passed in some ticks."""

    #: Number of the first tick.
    first: int
    #: All arrays are (n_ticks, n_brokers), 0 for a broker that is down.
    brokers: Loaded
    #: (n_ticks, n_brokers) percent that other processes took.
    background: Floats
    #: (n_ticks,) bytes that clients wanted to pass, that passed, and that did not.
    offered: Floats
    served: Floats
    lost: Floats
    #: (n_ticks,) points of a reference machine, of all bundles.
    work: Floats


class Flows:
    """Puts the traffic on its brokers."""

    def __init__(
        self, cluster: Cluster, traffic: Wanted, background: Others, parameters: Parameters
    ) -> None:
        """Divide steps into ticks."""
        self.cluster, self.traffic = cluster, traffic
        self.background, self.parameters = background, parameters
        #: Ticks a step of traffic.
        self.step_ticks = max(
            1, round(parameters.physics.traffic_step_s / parameters.measuring.tick_s)
        )
        #: The last step that was added up, of which version, and what came of it.
        self._last: tuple[int, int, Floats] = -1, -1, np.empty((3, 0))

    def rows(self, first: int, last: int, back: int) -> Rows:
        """Return the traffic of the ticks from `first` up to `last`, and of some before."""
        since = max(0, first - back) // self.step_ticks
        return self.traffic.rows(since, (last - 1) // self.step_ticks + 1)

    def sizes(self, tick: int) -> Floats:
        """Return bytes a message of each bundle in a tick, (n_bundles,)."""
        usual = self.cluster.bundles.message_bytes
        return self.traffic.sizes(tick // self.step_ticks, usual)

    def flow(self, rows: Rows, first: int, last: int) -> Flow:
        """Return what passes in the ticks from `first` up to `last`."""
        cluster, tick_s = self.cluster, self.parameters.measuring.tick_s
        since = first // self.step_ticks
        rows = rows.part(since, (last - 1) // self.step_ticks + 1)
        step = np.arange(first, last) // self.step_ticks - since
        sums = [of_steps[step] for of_steps in self._sums(rows)]
        unserved = sums[1][:, -1] + sums[2][:, -1]
        wanted = tuple(array[:, :-1] for array in sums)
        unserved = unserved + self._hold_back(wanted, rows, step, first)
        machines = self._speeds(first, last), cluster.machines.nic
        background = self.background.ticks(first, last) + cluster.extra
        np.maximum(background, self.background.least, out=background)
        np.minimum(background, 100.0, out=background)
        brokers = loaded(Demand(*wanted), background, machines, self.parameters.physics)
        brokers = _beside(brokers, self.background.network(first, last))
        bytes_wanted = wanted[1] + wanted[2]
        return Flow(
            first=first,
            brokers=_without(brokers, cluster),
            background=background,
            offered=rows.all_bytes[step] * tick_s,
            served=(bytes_wanted * brokers.passed).sum(axis=1) * tick_s,
            lost=((bytes_wanted * (1.0 - brokers.passed)).sum(axis=1) + unserved) * tick_s,
            work=rows.all_work[step],
        )

    def _speeds(self, first: int, last: int) -> Floats:
        """Return the capacity of brokers in some ticks, (n_ticks, n_brokers) or (n_brokers,).

        A process that has just begun is slower; how long those run that are there from the
        beginning nobody knows.
        """
        cluster, physics = self.cluster, self.parameters.physics
        if physics.warm_up_share == 0.0 or not cluster.started.any():
            return cluster.capacity
        ticks = np.arange(first, last)[:, None] - cluster.started
        aged_s = np.maximum(ticks, 0) * self.parameters.measuring.tick_s
        lacks = np.where(cluster.started > 0, np.exp(-aged_s / physics.warm_up_s), 0.0)
        return np.asarray(cluster.capacity * (1.0 - physics.warm_up_share * lacks))

    def _sums(self, rows: Rows) -> Floats:
        """Return work, bytes in and out of steps by server, (3, n_steps, n_brokers + 1).

        The last of a stretch is often the first of the next one too.
        """
        version, steps = self.cluster.version, len(rows.work)
        sums = np.empty((3, steps, self.cluster.nobody + 1))
        is_known = self._last[:2] == (rows.first, version)
        if is_known:
            sums[:, 0] = self._last[2]
        sums[:, is_known:] = self._by_broker(rows.part(rows.first + is_known, rows.first + steps))
        self._last = rows.first + steps - 1, version, sums[:, -1]
        return sums

    def _by_broker(self, rows: Rows) -> Floats:
        """Return work, bytes in and out of each server's bundles, (3, n_steps, n_brokers + 1).

        The last are nobody's.
        """
        bins, server, steps = self.cluster.nobody + 1, self.cluster.server, len(rows.work)
        if server.size < _FEW:
            # A call for each step would take longer than what it adds up.
            apart = np.arange(3 * steps)[:, None] * bins + server
            arrays = np.concatenate((rows.work, rows.bytes_in, rows.bytes_out))
            at_once = np.bincount(apart.ravel(), arrays.ravel(), 3 * steps * bins)
            return np.asarray(at_once, np.float64).reshape(3, steps, bins)
        sums = np.empty((3, steps, bins))
        for i, size in enumerate(rows.size):
            into, out = rows.rate_in[i] * size, rows.rate_out[i] * size
            for place, array in zip(sums[:, i], (rows.work[i], into, out), strict=True):
                place[:] = np.bincount(server, array, bins)
        return sums

    def _hold_back(self, wanted: tuple[Floats, ...], rows: Rows, step: Ints, first: int) -> Floats:
        """Take out what clients cannot pass while they look for the new owner of a bundle.

        Returns:
            (n_ticks,) bytes/s.
        """
        cluster, tick_s = self.cluster, self.parameters.measuring.tick_s
        if not cluster.moved:
            return np.zeros(step.size)
        late = [i for i in dict.fromkeys(cluster.moved) if cluster.serve_from_s[i] > first * tick_s]
        bundles = np.array([i for i in late if cluster.server[i] < cluster.nobody], np.int64)
        if bundles.size == 0:
            return np.zeros(step.size)
        end_s = np.arange(first + 1, first + 1 + step.size, dtype=np.float64) * tick_s
        share = 1.0 - served_share(cluster.serve_from_s[bundles], end_s, tick_s)
        ticks = np.broadcast_to(np.arange(step.size)[:, None], share.shape)
        at = ticks, np.broadcast_to(cluster.server[bundles], share.shape)
        missing = np.zeros(step.size)
        size = rows.size[:, bundles]
        into, out = rows.rate_in[:, bundles] * size, rows.rate_out[:, bundles] * size
        for sums, array in zip(wanted, (rows.work[:, bundles], into, out), strict=True):
            backlog = share * array[step]
            np.subtract.at(sums, at, backlog)
            np.maximum(sums, 0.0, out=sums)
            if sums is not wanted[0]:
                missing += backlog.sum(axis=1)
        return missing


def served_share(serve_from_s: Floats, end_s: Floats, tick_s: float) -> Floats:
    """Return in which share of each tick bundles are served, (n_ticks, n_bundles)."""
    return np.clip((end_s[:, None] - serve_from_s) / tick_s, 0.0, 1.0)


def _beside(brokers: Loaded, network: Floats) -> Loaded:
    """Return the load with what other processes take of the NIC; it holds back no traffic."""
    if not network.any():
        return brokers
    into, out = np.clip(brokers.nic_in + network[0], 0, 100), brokers.nic_out + network[1]
    return Loaded(brokers.cpu, into, np.clip(out, 0, 100), brokers.passed)


def _without(brokers: Loaded, cluster: Cluster) -> Loaded:
    """Return the load with nothing on brokers that are down."""
    if cluster.is_up.all():
        return brokers
    arrays = (brokers.cpu, brokers.nic_in, brokers.nic_out, brokers.passed)
    return Loaded(*(array * cluster.is_up for array in arrays))


@dataclass(slots=True)
class Forecast:
    """Works flows out ahead, further each time that it was right, and anew when it was not.

    Properties:
        A flow is the same as if it had been worked out when it was asked for.
    """

    flows: Flows
    #: Ticks of the whole simulation, and before a flow that are asked for with it.
    n_ticks: int
    back: int
    _flow: Flow | None = None
    #: The tick after its last, and `Cluster.version` of which it holds.
    _end: int = 0
    _version: int = -1

    def flow(self, first: int, end: int) -> tuple[Rows, Flow]:
        """Return the traffic and what passes in the ticks from `first` up to `end`."""
        flow, cluster = self._flow, self.flows.cluster
        if flow is None or cluster.version != self._version:
            flow = self._worked_out(first, end)
        elif end > self._end:
            ahead = steps_ahead(len(cluster.bundles.names)) * self.flows.step_ticks
            flow = self._worked_out(first, max(end, first + min(2 * len(flow.work), ahead)))
        rows = self.flows.rows(first, end, self.back)
        return rows, flow if flow.first == first and self._end == end else _part(flow, first, end)

    def _worked_out(self, first: int, end: int) -> Flow:
        self._end, self._version = min(end, self.n_ticks), self.flows.cluster.version
        rows = self.flows.rows(first, self._end, self.back)
        self._flow = self.flows.flow(rows, first, self._end)
        return self._flow


def steps_ahead(n_bundles: int) -> int:
    """Return for how many steps of traffic it is worth to look ahead."""
    return _NUMBERS // max(1, n_bundles)


def _part(flow: Flow, first: int, end: int) -> Flow:
    """Return some ticks of a flow."""
    at = slice(first - flow.first, end - flow.first)
    brokers = flow.brokers
    return Flow(
        first,
        Loaded(brokers.cpu[at], brokers.nic_in[at], brokers.nic_out[at], brokers.passed[at]),
        flow.background[at],
        flow.offered[at],
        flow.served[at],
        flow.lost[at],
        flow.work[at],
    )
