"""What brokers of the extensible load manager know of themselves, and what they publish."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.lab.simulate.reports import Measured
from trimtab.lab.simulate.simulation import Simulation
from trimtab.pulsar.bundles import is_system_bundle
from trimtab.pulsar.leader import report_gate
from trimtab.pulsar.leader.top_bundles import BundleStats, top_bundles
from trimtab.pulsar.map_order import ConcurrentHashMapKeys, concurrent_hash_map_order
from trimtab.pulsar.model import Flags, Floats, Ints
from trimtab.pulsar.scores import blended, busiest_resource
from trimtab.pulsar.settings import ResourceWeights, broker_load_settings
from trimtab.pulsar.settings.reader import Reader

#: A broker does not take back what it published more often than that, s.
_TAKEN_BACK_S = 10.0
#: A topic in use has a producer and a consumer.
_CLIENTS_PER_TOPIC = 3
_ALL_ALIKE = ResourceWeights(1.0, None, 1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class TopBundles:
    """A broker's heaviest bundles as it published them."""

    bundles: tuple[int, ...]
    #: (n,) bytes/s.
    throughput_in: tuple[float, ...]
    throughput_out: tuple[float, ...]


@dataclass(slots=True)
class _Local:
    """What brokers know of themselves; all arrays are (n_brokers,)."""

    #: Percent of CPU, NIC in and NIC out, (n_brokers, 3), and weighed, as a fraction.
    usage: Floats
    busiest: Floats
    #: The same unweighed, heap aside.
    unweighed: Floats
    totals: Floats
    bundles: Ints

    def before(self, other: _Local, is_before: Flags, is_counted_before: Flags) -> _Local:
        """Return this where it still holds, and the other elsewhere."""
        return _Local(
            np.where(is_before[:, None], self.usage, other.usage),
            np.where(is_before, self.busiest, other.busiest),
            np.where(is_before, self.unweighed, other.unweighed),
            np.where(is_counted_before[:, None], self.totals, other.totals),
            np.where(is_counted_before, self.bundles, other.bundles),
        )


class LoadData:
    """Smooths, publishes and takes back, broker by broker, each at its own time.

    Quirks:
        A broker smooths every five seconds what it measures every minute, so that its usage
        has settled long before the next measurement.
        A broker that gives a bundle up, splits one or comes to own one takes back what it
        published and forgets what it smoothed, at most every ten seconds; it publishes its
        load anew at once, and its bundles only when it has counted them again.
        What matters for publishing is usage unweighed, heap aside.

    Source:
        extensions/reporter/BrokerLoadDataReporter.java, TopBundleLoadDataReporter.java,
        data/BrokerLoadData.java, 4.0.8; read, and seen in a recorded cluster's debug log.
    """

    def __init__(self, simulation: Simulation) -> None:
        """Begin with nothing measured and nothing published."""
        conf, release = simulation.balancer.conf, simulation.balancer.release
        n, measuring = simulation.cluster.nobody, simulation.parameters.measuring
        self.simulation, self.release = simulation, release
        self.settings = broker_load_settings(conf, release)
        reader = Reader(conf, release)
        self.count_max = int(reader.number("loadBalancerMaxNumberOfBundlesInBundleLoadReport"))
        self.memory = measuring.memory_percent, measuring.direct_memory_percent
        self.now = self._measured()
        every_s = simulation.settings.report_interval_s_min
        self.look_ticks = max(1, round(every_s / measuring.tick_s))
        #: (n_brokers,) smoothed usage and throughput; the first is what is measured.
        self.usage: Floats = np.zeros(n)
        self.throughput: Floats = np.zeros(n)
        self.is_new: Flags = np.ones(n, np.bool_)
        #: (n_brokers,) s of the last report, -inf for none, and what stood in it.
        self.reported_s: Floats = np.full(n, -np.inf)
        self.reported = report_gate.Measured(np.zeros((n, 4)), np.zeros(n, np.int64), np.zeros(n))
        self.taken_back_s: Floats = np.full(n, -np.inf)
        self.started: Ints = simulation.cluster.started.copy()
        #: What the leader has: load data, (n_brokers, 4) usage and throughput smoothed, bytes/s
        #: in and out; who has any, and the s at which they were computed.
        self.published: Floats = np.zeros((n, 4))
        self.has_load: Flags = np.zeros(n, np.bool_)
        self.updated_s: Floats = np.zeros(n)
        self.tops: dict[int, TopBundles] = {}
        #: Brokers in the order in which the leader walks its map of them.
        self.keys = ConcurrentHashMapKeys()
        names = simulation.world.bundles.names
        self._is_system = np.array([is_system_bundle(name, release) for name in names], np.bool_)

    # -------------------------------------------------------------- as time passes

    def passed(self, measured: Measured, first: int, end: int) -> None:
        """Take what was measured in a stretch of ticks, and publish where it is time."""
        self.members_changed(first)
        before, after = self.now, self._measured()
        sampled, counted = measured.sampled.tick, measured.counted.tick
        reports, tick_s = self.simulation.cluster.reports, self._tick_s
        for tick in range(first, end):
            if (tick + 1) % self.look_ticks:
                continue
            is_before = (sampled >= 0) & (tick < sampled)
            self.now = before.before(after, is_before, (counted >= 0) & (tick < counted))
            self._look(reports, (tick + 1) * tick_s)
            for broker in np.flatnonzero((counted == tick) & reports).tolist():
                self._publish_bundles(broker, measured)
        self.now = after

    def members_changed(self, tick: int) -> None:
        """Take note of bundles that changed hands, and of brokers that came or went."""
        cluster = self.simulation.cluster
        changes, cluster.handovers = cluster.handovers or [], []
        time_s = tick * self._tick_s
        for _, source, target, _ in changes:
            for broker in {source, target} - {-1}:
                if source != target and cluster.is_registered[broker]:
                    self._take_back(broker, time_s)
        is_gone = ~cluster.is_registered | (cluster.started != self.started)
        for broker in np.flatnonzero(is_gone & self.has_load).tolist():
            self._remove(broker)
        for broker in np.flatnonzero(cluster.started != self.started).tolist():
            self._forget(broker)
        self.started = cluster.started.copy()

    def publish_all(self, time_s: float) -> None:
        """Let all brokers publish what they have, as they do when a leader is elected."""
        for broker in np.flatnonzero(self.has_load).tolist():
            self._remove(broker, is_keeping_bundles=True)
        who = np.flatnonzero(self.simulation.cluster.reports)
        self._publish(who, time_s)

    @property
    def _tick_s(self) -> float:
        return self.simulation.parameters.measuring.tick_s

    def _measured(self) -> _Local:
        """Return what brokers have measured and counted by now."""
        reports = self.simulation.reports
        memory, direct = (np.full(len(reports.usage), value) for value in self.memory)
        cpu, inward, outward = reports.usage.T
        resources = np.stack((cpu, memory, direct, inward, outward), axis=1)
        limit = np.full(resources.shape, 100.0)
        return _Local(
            reports.usage.copy(),
            busiest_resource(resources, limit, self.settings.weights),
            busiest_resource(resources, limit, _ALL_ALIKE),
            reports.totals.copy(),
            reports.bundles.copy(),
        )

    def _look(self, reports: Flags, time_s: float) -> None:
        """Let brokers smooth, and publish where something has changed or it is time."""
        now, share = self.now, self.settings.history_share
        throughput = now.totals[:, 2] + now.totals[:, 3]
        usage = np.where(self.is_new, now.busiest, blended(self.usage, now.busiest, share))
        smoothed = np.where(self.is_new, throughput, blended(self.throughput, throughput, share))
        self.usage = np.where(reports, usage, self.usage)
        self.throughput = np.where(reports, smoothed, self.throughput)
        self.is_new = self.is_new & ~reports
        current = report_gate.Measured(now.totals, now.bundles, now.unweighed)
        age_s = time_s - self.reported_s
        due = report_gate.need_broker_data_update_2_10(
            self.reported, current, age_s, self.simulation.settings
        )
        self._publish(np.flatnonzero(due & reports), time_s)

    def _publish(self, who: Ints, time_s: float) -> None:
        """Let brokers publish their load."""
        if not who.size:
            return
        now = self.now
        self.published[who, 0], self.published[who, 1] = self.usage[who], self.throughput[who]
        self.published[who, 2:] = now.totals[who, 2:]
        self.updated_s[who] = self.reported_s[who] = time_s
        self.reported.totals[who] = now.totals[who]
        self.reported.bundle_count[who] = now.bundles[who]
        self.reported.usage[who] = now.unweighed[who]
        for broker in who[~self.has_load[who]].tolist():
            self.keys.put(self.simulation.world.machines.names[broker])
        self.has_load[who] = True

    def _publish_bundles(self, broker: int, measured: Measured) -> None:
        """Let a broker publish its heaviest bundles."""
        counted, cluster = measured.counted, self.simulation.cluster
        is_mine = counted.is_listed & (cluster.server[counted.bundles] == broker)
        at = np.flatnonzero(is_mine & ~self._is_system[counted.bundles])
        size = cluster.message_bytes.take(counted.bundles[at])
        topics = cluster.bundles.topics[counted.bundles[at]]
        names = self.simulation.world.bundles.names
        stats = {
            names[bundle]: BundleStats(bundle, r_in * b, r_out * b, r_in + r_out, int(clients))
            for bundle, r_in, r_out, b, clients in zip(
                counted.bundles[at].tolist(),
                counted.rate_in[at].tolist(),
                counted.rate_out[at].tolist(),
                size.tolist(),
                (topics * _CLIENTS_PER_TOPIC).tolist(),
                strict=True,
            )
        }
        walked = [stats[name] for name in concurrent_hash_map_order(stats)]
        top = top_bundles(walked, self.count_max, self.release)
        self.tops[broker] = TopBundles(
            tuple(each.bundle for each in top),
            tuple(each.throughput_in for each in top),
            tuple(each.throughput_out for each in top),
        )

    def _take_back(self, broker: int, time_s: float) -> None:
        """Let a broker forget what it smoothed, and take back what it published."""
        self._forget(broker)
        if time_s - self.taken_back_s[broker] >= _TAKEN_BACK_S:
            self.taken_back_s[broker] = time_s
            self._remove(broker)

    def _forget(self, broker: int) -> None:
        self.is_new[broker] = True
        self.reported_s[broker] = -np.inf

    def _remove(self, broker: int, *, is_keeping_bundles: bool = False) -> None:
        """Remove what the leader has of a broker."""
        self.has_load[broker] = False
        self.keys.remove(self.simulation.world.machines.names[broker])
        if not is_keeping_bundles:
            self.tops.pop(broker, None)
