"""What brokers measure: their host's usage and their bundles' rates, as means over windows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.simulate.cluster import Cluster
from trimtab.lab.simulate.flow import Flow, Flows, served_share
from trimtab.lab.simulate.physics import Number
from trimtab.lab.simulate.surroundings import Lengths, Phases
from trimtab.lab.simulate.traffic import Rows
from trimtab.pulsar.model import Floats, Ints

# Bundles whose means are taken at a time: their rates stay in the processor's cache.
_SIDE_BY_SIDE = 1 << 12


@dataclass(frozen=True, slots=True)
class Sampled:
    """Windows of hosts that closed in a stretch: Pulsar's CPU and NIC usage."""

    #: (n_brokers,) tick at whose end it closed; -1 if it did not.
    tick: Ints
    #: (n_brokers, 3) percent of CPU, NIC in and NIC out.
    usage: Floats


@dataclass(frozen=True, slots=True)
class Counted:
    """Windows of bundles that closed in a stretch: Pulsar's bundle stats."""

    #: (n_brokers,) tick at whose end it closed; -1 if it did not.
    tick: Ints
    #: (n,) bundles of brokers whose window closed, in ascending order, and whether they are
    #: served yet.
    bundles: Ints
    is_listed: np.ndarray[tuple[int], np.dtype[np.bool_]]
    #: (n,) messages/s.
    rate_in: Floats
    rate_out: Floats

    def of_all(self, values: NDArray[Number]) -> NDArray[Number]:
        """Return of values of all bundles, (n_bundles,), those of these bundles."""
        return values if self.bundles.size == values.size else values.take(self.bundles)


class Windows:
    """Keeps what windows are made of, and closes them, each broker's at its own time."""

    def __init__(self, cluster: Cluster, flows: Flows, phases: Phases, lengths: Lengths) -> None:
        """Ask for the phases of the brokers."""
        self.cluster, self.flows = cluster, flows
        self.phases, self.lengths = phases, lengths
        #: (2, n_brokers) windows of hosts and of bundles close at ticks that are this many
        #: above a multiple of theirs.
        self.phase: Ints = phases.at_begin(lengths)
        self.host_ticks, self.stats_ticks = lengths.host, lengths.stats
        #: Usage and passed shares of the last ticks, (4, n_ticks, n_brokers).
        self._last: Floats = np.zeros((4, max(lengths.host, lengths.stats) - 1, cluster.nobody))

    def start(self, broker: int, tick: int) -> None:
        """Begin a broker's windows with its process."""
        phases = self.phases.at_start(broker, tick, self.lengths)
        self.phase[:, broker] = phases % (self.host_ticks, self.stats_ticks)

    def last(self, count: int) -> Floats:
        """Return usage and passed shares of the last few ticks, (4, count, n_brokers)."""
        return self._last[:, -count:]

    def close(self, flow: Flow, rows: Rows) -> tuple[Sampled, Counted]:
        """Close the windows that end in a stretch, which is not longer than either."""
        brokers = flow.brokers
        before, length = self._last.shape[1], len(brokers.cpu)
        ticks = np.empty((4, before + length, brokers.cpu.shape[1]))
        ticks[:, :before] = self._last
        new = (brokers.cpu, brokers.nic_in, brokers.nic_out, brokers.passed)
        for place, array in zip(ticks[:, before:], new, strict=True):
            place[:] = array
        sampling, counting = self._closing(flow.first, length)
        sampled = self._sampled(sampling, flow.first, ticks)
        counted = self._counted(counting, flow.first, ticks[3], rows)
        self._last = ticks[:, length:]
        return sampled, counted

    def _closing(self, first: int, length: int) -> tuple[Ints, Ints]:
        """Return at which tick of a stretch each broker's two windows close, -1 for not at all."""
        reports = self.cluster.reports
        ticks = [
            first + (phase - first) % every
            for phase, every in zip(self.phase, (self.host_ticks, self.stats_ticks), strict=True)
        ]
        closes = [np.where((tick < first + length) & reports, tick, -1) for tick in ticks]
        return closes[0], closes[1]

    def _sampled(self, closing: Ints, first: int, ticks: Floats) -> Sampled:
        host_ticks = self.host_ticks
        (who,) = (closing >= 0).nonzero()
        usage = np.zeros((closing.size, 3))
        if who.size:
            closed = closing[who]
            count = np.minimum(closed + 1 - self.cluster.started[who], host_ticks)
            # Before a broker's start everything is 0, so whole windows may be added up.
            end = closed - first + self._last.shape[1]
            of_usage = np.arange(3)[:, None] * ticks[0].size
            at = of_usage + (end - np.arange(host_ticks)[:, None, None]) * closing.size + who
            usage[who] = (ticks.take(at).sum(axis=0) / np.maximum(count, 1)).T
        return Sampled(closing, usage)

    def _counted(self, closing: Ints, first: int, passed: Floats, rows: Rows) -> Counted:
        cluster = self.cluster
        closes = closing >= 0
        server = cluster.server
        if closes[cluster.is_up].all() and server.size and server.max() < cluster.nobody:
            bundles = np.arange(server.size)
        else:
            (bundles,) = np.append(closes, False)[server].nonzero()
        if bundles.size == 0:
            return Counted(closing, bundles, np.empty(0, np.bool_), np.empty(0), np.empty(0))
        weights = self._weights(first, closing, passed, rows)
        rates = _weighed(weights, rows, bundles, server)
        listed = np.ones(bundles.size, np.bool_)
        self._correct(Counted(closing, bundles, listed, *rates), passed, rows, first)
        return Counted(closing, bundles, listed, *rates)

    def _weights(self, first: int, closing: Ints, passed: Floats, rows: Rows) -> Floats:
        """Return how much each step counts in each broker's window, (n_steps, n_brokers)."""
        before, stats_ticks = self._last.shape[1], self.stats_ticks
        tick = first - before + np.arange(len(passed))[:, None]
        is_inside = (tick <= closing) & (tick > np.maximum(closing - stats_ticks, -1))
        count = np.minimum(closing + 1 - self.cluster.started, stats_ticks)
        shares = np.where(is_inside, passed, 0.0) / np.maximum(count, 1)
        step = np.maximum(tick[:, 0], 0) // self.flows.step_ticks
        # Ticks before the rows are of nobody's window.
        kept = int(step.searchsorted(rows.first))
        changes = (step[kept + 1 :] != step[kept:-1]).nonzero()[0] + 1
        return np.add.reduceat(shares[kept:], np.append(0, changes), axis=0)

    def _correct(self, counted: Counted, passed: Floats, rows: Rows, first: int) -> None:
        """Give bundles that changed hands in their window the mean since they did.

        A rate is counted over the time since its producers and consumers came, so the
        first window of a moved bundle is short, not low.
        """
        cluster, tick_s = self.cluster, self.flows.parameters.measuring.tick_s
        if not cluster.moved:
            return
        moved = list(dict.fromkeys(cluster.moved))
        places = np.searchsorted(counted.bundles, moved).tolist()
        for i, at in zip(moved, places, strict=True):
            since_s = float(cluster.serve_from_s[i])
            if at == counted.bundles.size or counted.bundles[at] != i:
                continue
            broker = int(cluster.server[i])
            last = int(counted.tick[broker])
            if since_s <= (last + 1 - self.stats_ticks) * tick_s:
                continue
            ticks = np.arange(max(int(since_s // tick_s), last + 1 - self.stats_ticks), last + 1)
            end_s = (ticks + 1).astype(np.float64) * tick_s
            share = served_share(np.array([since_s]), end_s, tick_s)[:, 0]
            if ticks.size == 0 or share.sum() <= 0:
                counted.is_listed[at] = False
                counted.rate_in[at] = counted.rate_out[at] = 0.0
                continue
            share = share / share.sum() * passed[ticks - first + self._last.shape[1], broker]
            step = ticks // self.flows.step_ticks - rows.first
            counted.rate_in[at] = share @ rows.rate_in[step, i]
            counted.rate_out[at] = share @ rows.rate_out[step, i]


def _weighed(weights: Floats, rows: Rows, bundles: Ints, server: Ints) -> tuple[Floats, Floats]:
    """Return means of rates over steps, each bundle's with the weights of its server."""
    steps = len(weights)
    rate_in, rate_out = rows.rate_in[:steps], rows.rate_out[:steps]
    if bundles.size < server.size:
        server, rate_in, rate_out = server[bundles], rate_in[:, bundles], rate_out[:, bundles]
    means = np.empty((2, server.size))
    for first in range(0, server.size, _SIDE_BY_SIDE):
        at = slice(first, first + _SIDE_BY_SIDE)
        of_bundles = weights.take(server[at], axis=1)
        weighed = of_bundles * rate_in[:, at]
        np.add.reduce(weighed, axis=0, out=means[0, at])
        np.multiply(of_bundles, rate_out[:, at], out=weighed)
        np.add.reduce(weighed, axis=0, out=means[1, at])
    return means[0], means[1]
