"""What brokers measure: their host's usage and their bundles' rates, as means over windows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trimtab.model import Floats, Ints
from trimtab.simulate.cluster import Cluster
from trimtab.simulate.flow import Flow, Flows, served_share
from trimtab.simulate.surroundings import Phases
from trimtab.simulate.traffic import Rows


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
    #: (n,) bundles of brokers whose window closed, and whether they are served yet.
    bundles: Ints
    is_listed: np.ndarray[tuple[int], np.dtype[np.bool_]]
    #: (n,) messages/s.
    rate_in: Floats
    rate_out: Floats


@dataclass(slots=True)
class Windows:
    """Keeps what windows are made of, and closes them, each broker's at its own time."""

    cluster: Cluster
    flows: Flows
    phases: Phases
    #: Ticks in a window of a host and of bundles, and between two looks at either.
    host_ticks: int
    stats_ticks: int
    report_ticks: int
    #: (n_brokers,) windows close at ticks that are this many above a multiple of theirs.
    host_phase: Ints = field(init=False)
    stats_phase: Ints = field(init=False)
    #: Usage and passed shares of the last ticks, (4, n_ticks, n_brokers).
    _last: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Ask for the phases of the brokers."""
        brokers = self.cluster.nobody
        host, stats = self.phases.at_begin(self.host_ticks, self.stats_ticks)
        self.host_phase, self.stats_phase = self._on_grid(host), self._on_grid(stats)
        self._last = np.zeros((4, max(self.host_ticks, self.stats_ticks) - 1, brokers))

    def start(self, broker: int, tick: int) -> None:
        """Begin a broker's windows with its process."""
        phases = self._on_grid(np.array(self.phases.at_start(broker, tick)))
        self.host_phase[broker] = phases[0] % self.host_ticks
        self.stats_phase[broker] = phases[1] % self.stats_ticks

    def close(self, flow: Flow, rows: Rows) -> tuple[Sampled, Counted]:
        """Close the windows that end in a stretch, which is not longer than either."""
        brokers = flow.brokers
        new = np.stack((brokers.cpu, brokers.nic_in, brokers.nic_out, brokers.passed))
        ticks = np.concatenate((self._last, new), axis=1)
        length = new.shape[1]
        sampled = self._sampled(flow.first, length, ticks)
        counted = self._counted(flow.first, length, ticks[3], rows)
        self._last = ticks[:, length:]
        return sampled, counted

    def _on_grid(self, phase: Ints) -> Ints:
        """Let windows close when the broker looks whether it is to write a report."""
        return phase - phase % self.report_ticks + self.report_ticks - 1

    def _closing(self, phase: Ints, every: int, first: int, length: int) -> Ints:
        """Find at which tick of a stretch each broker's window closes, -1 for none."""
        tick = first + (phase - first) % every
        closes = (tick < first + length) & self.cluster.reports
        return np.where(closes, tick, -1)

    def _sampled(self, first: int, length: int, ticks: Floats) -> Sampled:
        closing = self._closing(self.host_phase, self.host_ticks, first, length)
        who = np.flatnonzero(closing >= 0)
        usage = np.zeros((closing.size, 3))
        if who.size:
            count = np.minimum(closing[who] + 1 - self.cluster.started[who], self.host_ticks)
            # Before a broker's start everything is 0, so whole windows may be added up.
            end = closing[who] - first + self._last.shape[1]
            at = end - np.arange(self.host_ticks)[:, None]
            usage[who] = (ticks[:3, at, who].sum(axis=1) / np.maximum(count, 1)).T
        return Sampled(closing, usage)

    def _counted(self, first: int, length: int, passed: Floats, rows: Rows) -> Counted:
        cluster = self.cluster
        closing = self._closing(self.stats_phase, self.stats_ticks, first, length)
        closes = closing >= 0
        server = cluster.server
        if closes[cluster.is_up].all() and server.size and server.max() < cluster.nobody:
            bundles = np.arange(server.size)
        else:
            bundles = np.flatnonzero(np.append(closes, False)[server])
        if bundles.size == 0:
            return Counted(closing, bundles, np.empty(0, np.bool_), np.empty(0), np.empty(0))
        weights = self._weights(first, closing, passed, rows)
        rates = _weighed(weights, rows, bundles, server)
        listed = np.ones(bundles.size, np.bool_)
        self._correct(Counted(closing, bundles, listed, *rates), passed, rows, first)
        return Counted(closing, bundles, listed, *rates)

    def _weights(self, first: int, closing: Ints, passed: Floats, rows: Rows) -> Floats:
        """Say how much each step counts in each broker's window, (n_steps, n_brokers)."""
        before = self._last.shape[1]
        tick = first - before + np.arange(len(passed))[:, None]
        is_inside = (tick <= closing) & (tick > closing - self.stats_ticks) & (tick >= 0)
        count = np.minimum(closing + 1 - self.cluster.started, self.stats_ticks)
        shares = np.where(is_inside, passed, 0.0) / np.maximum(count, 1)
        step = np.maximum(tick[:, 0], 0) // self.flows.step_ticks - rows.first
        # Ticks before the rows are of nobody's window.
        keep = step >= 0
        starts = np.flatnonzero(np.diff(step[keep], prepend=-1))
        return np.add.reduceat(shares[keep], starts, axis=0)

    def _correct(self, counted: Counted, passed: Floats, rows: Rows, first: int) -> None:
        """Give bundles that changed hands in their window the mean since they did.

        A rate is counted over the time since its producers and consumers came, so the
        first window of a moved bundle is short, not low.
        """
        cluster, tick_s = self.cluster, self.flows.parameters.measuring.tick_s
        if not cluster.moved:
            return
        place = np.full(cluster.server.size, -1)
        place[counted.bundles] = np.arange(counted.bundles.size)
        for i in dict.fromkeys(cluster.moved):
            at, since_s = int(place[i]), float(cluster.serve_from_s[i])
            if at < 0:
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
    """Average rates over steps, each bundle's with the weights of its server."""
    is_all = bundles.size == server.size
    who = server if is_all else server[bundles]
    rate_in, rate_out = np.zeros(bundles.size), np.zeros(bundles.size)
    for step in np.flatnonzero(weights.any(axis=1)).tolist():
        of_bundle = weights[step][who]
        at = step if is_all else (step, bundles)
        rate_in += of_bundle * rows.rate_in[at]
        rate_out += of_bundle * rows.rate_out[at]
    return rate_in, rate_out
