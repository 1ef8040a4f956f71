"""What a leader makes of reports and lookups: averages, bundles on their way, destinations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from tests.plain_leader.objects import (
    NUM_LONG_SAMPLES,
    NUM_SHORT_SAMPLES,
    BrokerData,
    BundleData,
    Report,
    Stats,
    TimeAverageMessageData,
)
from trimtab.pulsar.map_order import concurrent_hash_map_order
from trimtab.pulsar.releases import release_order


@dataclass(slots=True)
class LoadManager:
    """The leader's maps, of bundles and brokers by their names."""

    release: str = "4.0.8"
    broker_data: dict[str, BrokerData] = field(default_factory=dict)
    bundle_data: dict[str, BundleData] = field(default_factory=dict)
    #: Below /loadbalance/bundle-data, and below /loadbalance/resource-quota.
    stored: dict[str, BundleData] = field(default_factory=dict)
    quotas: dict[str, Stats] = field(default_factory=dict)
    #: Bundle → s at which it was unloaded.
    recently_unloaded_bundles: dict[str, float] = field(default_factory=dict)
    #: Broker → bundles given to it at lookups since (Pulsar: a field of its `BrokerData`; here
    #: a broker that has not written yet has it, too).
    preallocated_bundle_data: dict[str, dict[str, BundleData]] = field(default_factory=dict)
    preallocated_bundle_to_broker: dict[str, str] = field(default_factory=dict)
    bundle_broker_affinity_map: dict[str, str] = field(default_factory=dict)
    #: Bundles that the leader itself owns.
    own: set[str] = field(default_factory=set)
    #: Objects made so far.
    made: int = 0

    # ------------------------------------------------------------------ reports

    def order(self) -> tuple[str, ...]:
        """Return the brokers in the order in which the map of them is walked."""
        return concurrent_hash_map_order(self.broker_data)

    def write(self, report: Report) -> bool:
        """Put a broker's report into the map; return whether the broker is new."""
        known = self.broker_data.get(report.broker)
        if known is not None:
            known.local_data = report
            return False
        self.broker_data[report.broker] = BrokerData(report)
        return True

    def leave(self, broker: str) -> bool:
        """Drop what is known of a broker that left, and what it was given.

        Source:
            apache/pulsar 2.10.4 to 5.0.0-M1, impl/ModularLoadManagerImpl.java
            updateAllBrokerData; read.
        """
        self.preallocated_bundle_data.pop(broker, None)
        return self.broker_data.pop(broker, None) is not None

    def look(self, writes: Sequence[Report | str]) -> None:
        """Take all that was written since the last look: reports, and names of brokers gone.

        Quirks:
            Every notification below `/loadbalance/brokers` feeds each bundle's average one
            more sample, whether its numbers are new or not: one for a write, two when a
            broker's node comes or goes, since the parent is notified too.

        Source:
            impl/ModularLoadManagerImpl.java handleDataNotification, updateAll; 4.0.8
        """
        notifications = 0
        for write in writes:
            if isinstance(write, str):
                notifications += 2 * self.leave(write)
            else:
                notifications += 1 + self.write(write)
        for _ in range(notifications):
            self.update_bundle_data()

    # ----------------------------------------------------------------- averages

    def get_bundle_data_or_default(self, bundle: str) -> BundleData:
        """Return what is known of a bundle, or else what is stored of it, or Pulsar's defaults.

        Quirks:
            Placing a bundle that nobody reports makes the leader know it, by 50 messages/s and
            50 kB/s in either direction; the next look at the reports forgets it again.
            Averages from the store go on with their number of samples.
            A resource quota counts as if it were the average of ten samples, and of a thousand:
            what the bundle really carries shows in the long-term average after hundreds of
            looks only.

        Source:
            apache/pulsar 2.10.4 to 5.0.0-M1, impl/ModularLoadManagerImpl.java
            getBundleDataOrDefault, selectBroker; read.
        """
        if bundle not in self.bundle_data:
            self.made += 1
            if bundle in self.stored:
                new = self.stored[bundle].copy(self.made)
            elif bundle in self.quotas:
                quota = tuple(self.quotas[bundle])
                new = BundleData(
                    self.made,
                    TimeAverageMessageData(NUM_SHORT_SAMPLES, NUM_SHORT_SAMPLES, quota),
                    TimeAverageMessageData(NUM_LONG_SAMPLES, NUM_LONG_SAMPLES, quota),
                )
            else:
                new = BundleData(
                    self.made,
                    TimeAverageMessageData(NUM_SHORT_SAMPLES),
                    TimeAverageMessageData(NUM_LONG_SAMPLES),
                )
            self.bundle_data[bundle] = new
        return self.bundle_data[bundle]

    def update_bundle_data(self) -> None:
        """Feed one sample to each bundle that is reported, and forget those that are not.

        Called at each look at the reports: once for each notification of a change below
        `/loadbalance/brokers`, and once whenever averages are stored.

        Quirks:
            Samples are looks, not minutes: any broker's report feeds every bundle's average
            once more, with the same numbers as before if its own broker has nothing new.
            Ten samples are a few seconds in a large cluster and 25 minutes in a small idle one.
            A bundle on its way, which its old broker no longer reports and its new one not yet,
            is forgotten, in the store too: its averages begin anew with the first sample after
            the move, which is often near 0.
            A bundle that two brokers list takes a sample of each.
            In 3.0.0, 3.0.1 and from 3.1.0 until #20620 bundles are forgotten after each broker
            that were not met so far: only those of the broker that is walked first keep their
            averages, here and in the store; all others begin anew at every look, so that
            short-term and long-term average are the latest sample.
            2.10 forgets nothing: a bundle that moves keeps its averages, and so does one that
            was split or deleted.

        Source:
            apache/pulsar 3.0.2, and 3.2.3 to 5.0.1, impl/ModularLoadManagerImpl.java updateAll,
            updateBundleData, with the leader's part; 4.0.8 checked against runs of the latter,
            but for what is stored.  2.10.4, 3.0.0 and 3.1.0 read.
        """
        active: set[str] = set()
        for broker in self.order():
            of_broker = self.broker_data[broker]
            for bundle, stats in of_broker.local_data.stats.items():
                active.add(bundle)
                self.get_bundle_data_or_default(bundle).update(stats)
            if self._forgets_after_each_broker():
                self._forget_all_but(active)
            self.preallocated_bundle_to_broker = {
                bundle: to
                for bundle, to in self.preallocated_bundle_to_broker.items()
                if bundle not in self.preallocated_bundle_data.get(broker, ())
            }
            self.reset_time_average(of_broker)
        if release_order(self.release) >= release_order("3.0.0"):
            self._forget_all_but(active)
        self.clean_up()

    def reset_time_average(self, of_broker: BrokerData) -> None:
        """Add up the averages of the bundles that a broker reports.

        Quirks:
            A bundle on its way counts nowhere, and one that two brokers list counts twice: for
            the first of them without the second one's sample, since sums are taken in between.

        Source:
            apache/pulsar 2.10.4 to 5.0.0-M1, TimeAverageBrokerData.java reset,
            impl/ModularLoadManagerImpl.java updateBundleData; 4.0.8 checked against runs of the
            latter.
        """
        of_broker.long_term = [0.0] * 4
        for bundle in of_broker.local_data.stats:
            values = self.bundle_data[bundle].long.values
            of_broker.long_term = [
                old + more for old, more in zip(of_broker.long_term, values, strict=True)
            ]

    def write_bundle_data(self) -> None:
        """Store all averages."""
        self.stored = {bundle: data.copy(0) for bundle, data in self.bundle_data.items()}

    def restart(self) -> None:
        """Be another process: what is in the store is all there is."""
        self.bundle_data = {}

    def _forgets_after_each_broker(self) -> bool:
        release = release_order(self.release)
        return release_order("3.0.0") <= release < release_order("3.0.2") or release_order(
            "3.1.0"
        ) <= release < release_order("3.2.3")

    def _forget_all_but(self, active: Collection[str]) -> None:
        """Forget bundles; of those the leader deletes what is stored."""
        for bundle in self.bundle_data.keys() - set(active):
            del self.bundle_data[bundle]
            self.stored.pop(bundle, None)

    # ----------------------------------------------------- bundles on their way

    def preallocate_bundle(self, bundle: str, broker: str) -> None:
        """Give a bundle to a broker.

        Quirks:
            Only a lookup gives: a destination chosen while shedding, or asked for by hand, is
            not remembered here, so that all bundles of a round see the same brokers.

        Source:
            apache/pulsar 2.10.4 to 5.0.0-M1, impl/ModularLoadManagerImpl.java
            preallocateBundle, selectBrokerForAssignment; 4.0.8 checked against runs of the
            former.
        """
        data = self.get_bundle_data_or_default(bundle)
        self.preallocated_bundle_data.setdefault(broker, {})[bundle] = data
        self.preallocated_bundle_to_broker[bundle] = broker

    def clean_up(self) -> None:
        """Drop what brokers were given, at each look at the reports.

        Quirks:
            Only bundles that the leader itself owns stay, until it reports them.
            What was given to another broker than the leader is forgotten at the next look,
            whoever's report caused it: as a rule within seconds, and up to a minute before the
            broker reports the bundle.  In between the bundle weighs nowhere.
            A bundle that is looked up after that is placed anew, perhaps elsewhere, although
            it was given away before.
            An object that the leader has forgotten stands there with the numbers it had last.

        Source:
            apache/pulsar 2.10.4 to 5.0.0-M1, impl/ModularLoadManagerImpl.java
            updateBundleData, as of #19420; 4.0.8 checked against runs of the method.
        """
        for broker, preallocated in self.preallocated_bundle_data.items():
            known = self.broker_data.get(broker)
            reported = known.local_data.bundles if known else ()
            for bundle in list(preallocated):
                if bundle not in self.own or bundle in reported:
                    del preallocated[bundle]

    def reap_dead_broker_preallocations(self, alive: Collection[str]) -> None:
        """Send nobody any more to brokers that left; asked at each notification.

        Quirks:
            Only brokers of which the leader still has data are looked at: if the next look
            at the reports is faster, bundles stay assigned to a broker that is gone.

        Source:
            apache/pulsar 2.10.4 to 5.0.0-M1, impl/ModularLoadManagerImpl.java
            reapDeadBrokerPreallocations; read.
        """
        for bundle, broker in list(self.preallocated_bundle_to_broker.items()):
            if broker in self.broker_data and broker not in alive:
                del self.preallocated_bundle_to_broker[bundle]

    # -------------------------------------------------------- what was unloaded

    def forget_unloads(self, now_s: float, grace_period_s: float) -> None:
        """Drop the unloads whose grace period is over, at the start of a round.

        Quirks:
            A bundle unloaded exactly one grace period ago is recent still.
            What counts is the end of the unloading, and only if it succeeded.
            Unloads by hand do not count.  A new leader knows of none: what was moved a minute
            ago may move again.
            Bundles that were selected and then stayed, for want of a broker that may take them,
            are not recent: they are selected again a round later.

        Source:
            apache/pulsar 2.10.4 to 5.0.0-M1, impl/ModularLoadManagerImpl.java doLoadShedding;
            read.
        """
        for bundle, time_s in list(self.recently_unloaded_bundles.items()):
            if time_s < now_s - grace_period_s:
                del self.recently_unloaded_bundles[bundle]

    # ------------------------------------------------------ what was asked for

    def affinity_key(self, bundle: str) -> str | None:
        """Return what a bundle is known by whose destination is asked for; None: none can be.

        Quirks:
            Up to 4.x it is its range alone, and bundles of other namespaces have the same
            ranges: whichever is looked up first goes to the destination that was asked for, and
            the other goes anywhere.

        Source:
            apache/pulsar 3.0.0 to 4.0.8, and by its full name 5.0.0-M1 and 5.0.1 (#25518),
            impl/ModularLoadManagerWrapper.java getLeastLoaded; read.
        """
        if release_order(self.release) < release_order("3.0.0"):
            return None
        is_named = release_order(self.release) >= release_order("5.0.0-M1")
        return bundle if is_named else bundle.rpartition("/")[2]

    def set_namespace_bundle_affinity(self, bundle: str, broker: str) -> None:
        """Remember where a bundle is to go; a blank name is none.

        Quirks:
            Nothing forgets it but the next lookup.  If nobody looks the bundle up, it waits
            for ever, and so it does for a bundle that has no owner.

        Source:
            apache/pulsar 3.0.0 to 5.0.0-M1, impl/ModularLoadManagerImpl.java
            setNamespaceBundleAffinity; read.
        """
        key = self.affinity_key(bundle)
        if key is not None:
            self.bundle_broker_affinity_map.pop(key, None)
            if broker.strip():
                self.bundle_broker_affinity_map[key] = broker

    def get_least_loaded(self, bundle: str) -> str | None:
        """Return where a bundle that is looked up was asked to go, and forget it.

        Quirks:
            Two lookups at once: the first goes where it was asked for, the second is placed
            like any other, and whichever broker is faster gets the bundle.
            Whether the broker is still there is not checked, and the bundle is not counted as
            on its way to it.

        Source:
            apache/pulsar 3.0.0 to 5.0.0-M1, impl/ModularLoadManagerWrapper.java getLeastLoaded;
            read.
        """
        return self.bundle_broker_affinity_map.pop(self.affinity_key(bundle) or "", None)
