"""A simulated cluster → what a strategy of trimtab's own is shown of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trimtab.lab.costs import Look, Windows
from trimtab.lab.simulate.leader import Leader
from trimtab.lab.simulate.noise import generator
from trimtab.lab.simulate.simulation import Simulation
from trimtab.lab.steering import Network, Sight
from trimtab.pulsar.model import Flags, Floats, Ints


class Lines(NamedTuple):
    """Which bundles stand in whose report; all arrays are (n_lines,)."""

    broker: Ints
    bundle: Ints
    rate_in: Floats
    rate_out: Floats

    def part(self, rows: Ints) -> Lines:
        """Return some of them."""
        return Lines(self.broker[rows], self.bundle[rows], self.rate_in[rows], self.rate_out[rows])


class Handovers(NamedTuple):
    """Bundles that have changed hands; all arrays are (n,)."""

    bundle: Ints
    source: Ints
    target: Ints
    time_s: Floats


class Seen(NamedTuple):
    """What brokers say of themselves now."""

    #: (n_brokers,) has something to say, and the s at which it was measured or written.
    says: Flags
    at_s: Floats
    #: (n_brokers, 3) percent of CPU, NIC in and NIC out; of CPU by others, NaN if not measured.
    usage: Floats
    others: Floats
    lines: Lines


class Eyes:
    """Looks at a simulation, and remembers up to when it has seen what."""

    def __init__(self, simulation: Simulation, sight: Sight, every_s: float) -> None:
        """Begin with nothing seen."""
        self.simulation, self.sight, self.every_s = simulation, sight, every_s
        # A strategy of trimtab's own is not at the wheel where a recording leads.
        assert isinstance(simulation.leader, Leader)
        self.leader: Leader = simulation.leader
        #: (n_brokers,) s of the last report that was shown.
        self.shown_s: Floats = np.full(self.simulation.cluster.nobody, -np.inf)
        self.measuring = simulation.parameters.measuring
        self.random = generator(self.simulation.world.seed, "polls")

    @property
    def windows(self) -> Windows:
        """Return over how long means are taken that this sight shows."""
        if self.sight is Sight.POLLED:
            return Windows(self.every_s, self.every_s)
        of, tick_s = self.simulation.windows, self.simulation.parameters.measuring.tick_s
        return Windows(of.host_ticks * tick_s, of.stats_ticks * tick_s)

    def look(self, time_s: float) -> tuple[Look, Network]:
        """Return what is new since the look before."""
        simulation = self.simulation
        seen = self._polled(time_s) if self.sight is Sight.POLLED else self._reports()
        is_new = seen.says & (seen.at_s > self.shown_s)
        who = np.flatnonzero(is_new)
        self.shown_s[who] = seen.at_s[who]
        place = np.full(is_new.size, -1)
        place[who] = np.arange(who.size)
        listed = np.flatnonzero(place[seen.lines.broker] >= 0)
        lines = seen.lines.part(listed)
        machines, moved = simulation.world.machines, self._handovers()
        cores = np.full(is_new.size, np.nan) if machines.cores is None else machines.cores
        tick_s, started = simulation.parameters.measuring.tick_s, simulation.cluster.started
        look = Look(
            time_s=time_s,
            broker=who,
            written_s=seen.at_s[who],
            started_s=np.where(started > 0, started * tick_s, np.nan)[who],
            cpu=seen.usage[who, 0],
            others=seen.others[who],
            cores=cores[who],
            report=place[lines.broker],
            bundle=lines.bundle,
            counts=self._counts(lines),
            moved=moved.bundle,
            moved_from=moved.source,
            moved_to=moved.target,
            moved_s=moved.time_s,
        )
        return look, Network(seen.usage[who, 1:], machines.nic[who])

    def _counts(self, lines: Lines) -> Floats:
        size = self.simulation.cluster.message_bytes[lines.bundle]
        rate_in, rate_out = lines.rate_in, lines.rate_out
        topics = self.simulation.cluster.bundles.topics[lines.bundle]
        unknown = np.full(topics.size, np.nan)
        counts = (rate_in, rate_out, rate_in * size, rate_out * size, topics, unknown, unknown)
        return np.stack(counts, axis=1)

    def _handovers(self) -> Handovers:
        """Return bundles that have changed hands since the look before."""
        cluster = self.simulation.cluster
        changed = cluster.handovers or []
        cluster.handovers = []
        kept = [each for each in changed if each[1] != each[2]]
        bundle, source, target, from_s = np.array(kept, np.float64).reshape(-1, 4).T
        moved_s = np.where(np.isfinite(from_s), from_s, self._now_s())
        owners = source.astype(np.int64), target.astype(np.int64)
        return Handovers(bundle.astype(np.int64), *owners, moved_s)

    def _now_s(self) -> float:
        return self.simulation.tick * self.simulation.parameters.measuring.tick_s

    def _reports(self) -> Seen:
        """Return the reports of all brokers, as they are now or as they were written last."""
        simulation, is_stored = self.simulation, self.sight is Sight.STORE
        reports, leader, cluster = simulation.reports, self.leader, simulation.cluster
        listings, tick_s = leader.listings, simulation.parameters.measuring.tick_s
        if is_stored:
            usage, listed = reports.written_usage, listings.is_written
            rates = leader.averages.sample_in, leader.averages.sample_out
            at_s = (reports.written + 1) * tick_s
        else:
            usage, listed = reports.usage, listings.is_listed
            rates = listings.rate_in, listings.rate_out
            last, every = simulation.tick - 1, simulation.windows.stats_ticks
            at_s = (last - (last - simulation.windows.phase[1]) % every + 1) * tick_s
        own = np.flatnonzero(listed & (cluster.owner >= 0))
        former = [
            (each.broker, each.bundle, each.rate_in, each.rate_out)
            for each in listings.all_formers()
            if (each.is_written if is_stored else each.is_listed)
        ]
        others = np.array(former, np.float64).reshape(-1, 4).T
        lines = Lines(
            np.concatenate((cluster.owner[own], others[0].astype(np.int64))),
            np.concatenate((own, others[1].astype(np.int64))),
            np.concatenate((rates[0][own], others[2])),
            np.concatenate((rates[1][own], others[3])),
        )
        unmeasured = np.full(at_s.size, np.nan)
        comes, lost = cluster.reports, self.measuring.reports_lost_share
        if lost > 0:
            comes = comes & (self.random.random(at_s.size) >= lost)
        return Seen(comes, np.asarray(at_s, np.float64), usage, unmeasured, lines)

    def _polled(self, time_s: float) -> Seen:
        """Return counters since the last poll: some polls are lost, all are noisy."""
        simulation, random = self.simulation, self.random
        cluster, tick_s = simulation.cluster, simulation.parameters.measuring.tick_s
        count = max(1, min(round(self.every_s / tick_s), simulation.tick))
        last = simulation.windows.last(count)
        n = cluster.nobody
        comes = cluster.reports & (random.random(n) >= self.measuring.polls_lost_share)
        usage = last[:3].mean(axis=1).T * self._off((n, 3))
        others = simulation.background_of(count) * self._off((n,))
        own = np.flatnonzero((cluster.owner >= 0) & (cluster.server < n))
        ticks = np.arange(max(0, simulation.tick - count), max(1, simulation.tick))
        rows = simulation.flows.rows(int(ticks[0]), int(ticks[-1]) + 1, 0)
        step = ticks // simulation.flows.step_ticks - rows.first
        weights = np.bincount(step, minlength=len(rows.work)) / ticks.size
        passed = last[3].mean(axis=0)[cluster.owner[own]]
        rates = [
            (weights @ array)[own] * passed * self._off((own.size,))
            for array in (rows.rate_in, rows.rate_out)
        ]
        lines = Lines(cluster.owner[own], own, rates[0], rates[1])
        return Seen(comes, np.full(n, time_s), np.minimum(usage, 100.0), others, lines)

    def _off(self, shape: tuple[int, ...]) -> Floats:
        """Return factors by which what is polled is off."""
        noise = self.random.standard_normal(shape)
        return np.maximum(1.0 + self.measuring.scrape_noise * noise, 0.0)
