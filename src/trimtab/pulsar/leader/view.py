"""What the leader knows: the latest report of each broker and each bundle's averages.

Fed with the writes to the metadata store in order of time, it holds at any moment the
numbers that the leader's own maps held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import count, repeat

import numpy as np

from trimtab.pulsar.bundles import namespace
from trimtab.pulsar.candidates.fewest import fewest
from trimtab.pulsar.leader.averages import Average, LeaderAverages
from trimtab.pulsar.leader.layout import Listed, Walked, listed
from trimtab.pulsar.leader.preallocations import PreallocatedBundles
from trimtab.pulsar.leader.reports import BrokerColumns, Report, Rewrites, broker_columns
from trimtab.pulsar.leader.time_average import DEFAULT_STATS
from trimtab.pulsar.map_order import concurrent_hash_map_order, hash_map_order
from trimtab.pulsar.model import Floats, Ints


@dataclass(slots=True)
class LeaderView:
    """The leader's maps, as far as strategies read them.

    Quirks:
        Every notification below `/loadbalance/brokers` feeds each bundle's average one
        more sample, whether its numbers are new or not: one for a write, two when a
        broker's node comes or goes, since the parent is notified too.  So ten samples are
        ten notifications, not ten minutes.

    Source:
        impl/ModularLoadManagerImpl.java updateAll, updateBundleData; 4.0.8
    """

    averages: LeaderAverages = field(default_factory=LeaderAverages)
    recently_unloaded: dict[str, float] = field(default_factory=dict)
    preallocated: PreallocatedBundles = field(init=False)
    #: Bundles that the leader itself owns.
    own: set[str] = field(default_factory=set)
    #: What `load` laid out last, and of which bundles.
    walked: tuple[int, Listed, Walked] | None = None
    _reports: dict[str, Report] = field(default_factory=dict)
    #: Broker → its newest report, if that is not in `_reports` yet: where it stands among others.
    _unread: dict[str, tuple[Rewrites, int]] = field(default_factory=dict)
    #: Row → brokers that report it, each with its place in their report.
    _holders: dict[int, dict[str, int]] = field(default_factory=dict)
    #: Rows that two brokers report, that are known and not reported, and the other way round.
    _doubled: set[int] = field(default_factory=set)
    _unreported: set[str] = field(default_factory=set)
    _unmet: set[int] = field(default_factory=set)
    _order: tuple[str, ...] | None = None
    _set_order: tuple[str, ...] | None = None
    #: What `rank` gave last, and of which order.
    _rank: tuple[tuple[str, ...], Mapping[str, int]] | None = None
    #: Broker → rows of the bundles that its report lists, and of those that it gives numbers of.
    _listed_rows: dict[str, Ints] = field(default_factory=dict)
    _measured_rows: dict[str, Ints] = field(default_factory=dict)
    #: What `listed` and `measured` gave last.
    _listed: Listed | None = None
    _measured: Listed | None = None
    _columns: BrokerColumns | None = None
    #: Brokers that `order` has and whose reports are newer than what `broker_columns` gave last.
    _rewritten: set[str] = field(default_factory=set)
    #: What `long_rates` gave last, and of which averages.
    _long: tuple[int, tuple[Floats, Floats]] | None = None
    #: Rows that several brokers report, turn by turn, with the samples of each turn.
    _turns: list[tuple[Ints, Floats]] | None = None

    def __post_init__(self) -> None:
        """Start without preallocated bundles."""
        self.preallocated = PreallocatedBundles(self.averages)

    # -------------------------------------------------------------- what it hears

    @property
    def reports(self) -> Mapping[str, Report]:
        """Return the newest report of each broker."""
        self._read()
        return self._reports

    def _read(self) -> None:
        """Make the reports that were rewritten."""
        for broker, (told, i) in self._unread.items():
            self._reports[broker] = told.report(i, self._reports[broker])
        self._unread.clear()

    def take(self, report: Report) -> None:
        """Take a broker's write."""
        self.look((report,))

    def look(self, writes: Sequence[Report | str]) -> None:
        """Take all that was written since the last look: reports, and names of brokers gone."""
        notifications = 0
        for write in writes:
            if isinstance(write, str):
                notifications += 2 if self.remove(write) else 0
            else:
                notifications += 1 if write.broker in self._reports else 2
                self.put(write)
        for _ in range(notifications):
            self.recompute()

    @property
    def is_settled(self) -> bool:
        """Return whether a look does no more than to feed averages, if brokers stay."""
        is_told_once = not (self._unmet or self._unreported or self._doubled)
        return is_told_once and not self.preallocated.by_broker

    def rewrite(self, told: Rewrites) -> None:
        """Take one after the other what brokers wrote, while `is_settled`.

        Few of these reports are ever looked at one by one, so they are made when somebody asks.
        """
        rows = np.concatenate([self._measured_rows[broker] for broker in told.brokers])
        self.averages.feed_each(rows, told.samples, np.diff(told.offsets))
        self._unread.update(zip(told.brokers, zip(repeat(told), count()), strict=False))
        if self._columns is not None:
            rank = self.rank()
            at = [rank[broker] for broker in told.brokers]
            new = BrokerColumns(told.usage, told.limit, told.totals, self._columns.bundles[at])
            self._columns = self._columns.but(at, new)

    def put(self, report: Report) -> None:
        """Have a broker's report without looking at it yet."""
        broker, before = report.broker, self._reports.get(report.broker)
        if before is None:
            self._order = self._set_order = self._columns = None
        if before is None or before.measured != report.measured:
            self._let_go(broker, () if before is None else before.measured)
            self._measured_rows[broker] = self.averages.rows(report.measured)
            self._hold(report)
        if before is None or before.bundles != report.bundles:
            self._listed = None
            self._listed_rows[broker] = self.averages.rows(report.bundles)
        self.averages.tell(self._measured_rows[broker], report.samples)
        self._unread.pop(broker, None)
        self._reports[broker] = report
        self._rewritten.add(broker)
        self._turns = None if self._doubled else self._turns

    def remove(self, broker: str) -> bool:
        """Drop a broker's report without looking at the others; return whether there was one."""
        self.preallocated.by_broker.pop(broker, None)
        self._unread.pop(broker, None)
        report = self._reports.pop(broker, None)
        if report is not None:
            self._order = self._set_order = self._listed = self._columns = None
            self._let_go(broker, report.measured)
        return report is not None

    def drop(self, broker: str) -> None:
        """Take the news that a broker has gone."""
        self.look((broker,))

    def recompute(self) -> None:
        """Feed every reported bundle's average one sample; forget bundles nobody reports.

        What was given at lookups is forgotten too, unless the leader itself owns it and
        does not report it yet.
        """
        if self._unmet:
            self._meet_reported()
        # Nothing is fed to these, so they may go first.
        for bundle in self._unreported:
            if bundle in self.averages.bundles.known:
                self._forget(bundle)
        self._unreported.clear()
        self.averages.feed()
        if self._doubled:
            self._feed_doubled()
        if brokers := self.preallocated.by_broker:
            reported = {it: set(self._reports[it].bundles) for it in brokers if it in self._reports}
            self.preallocated.take_back(self.own, reported)

    def store(self, bundles: tuple[str, ...], averages: Average) -> None:
        """Set bundles' averages to what the leader itself wrote to the metadata store."""
        rows = self.averages.store(bundles, averages)
        if self._unmet:
            self._unmet.difference_update(rows.tolist())
        lock_state = np.flatnonzero(self.averages.reported[rows] == 0)
        self._unreported.update(bundles[i] for i in lock_state.tolist())

    def meet(self, bundle: str) -> int:
        """Have averages of a bundle, of Pulsar's defaults if it is not known; return its row."""
        row = self.averages.meet(bundle)
        self._unmet.discard(row)
        if not self._holders.get(row):
            self._unreported.add(bundle)
        return row

    def forget(self, bundle: str) -> None:
        """Drop a bundle that is no more, out of all reports, too."""
        for report in list(self.reports.values()):
            if bundle in report.bundles or bundle in report.measured:
                at = [i for i, name in enumerate(report.measured) if name != bundle]
                self.put(
                    Report(
                        report.broker,
                        report.usage,
                        report.limit,
                        report.totals,
                        tuple(name for name in report.bundles if name != bundle),
                        tuple(report.measured[i] for i in at),
                        report.samples[at],
                    )
                )
        if bundle in self.averages.bundles.known:
            self._forget(bundle)

    def start(self) -> None:
        """Begin as the leader's process did: with the averages that were in the store."""
        for bundle in self.averages.bundles.known if self.preallocated.by_broker else ():
            self.preallocated.keep(bundle)
        self.averages.start()
        known = self.averages.bundles.known
        reported = {row for row, holders in self._holders.items() if holders}
        self._unmet = {row for row in reported if not self.averages.bundles.is_known[row]}
        self._unreported = {bundle for bundle, row in known.items() if row not in reported}
        self.recompute()

    def forget_unloads_before(self, time_s: float) -> None:
        """Drop the unloads whose grace period is over; one exactly over stays, as in the Java."""
        self.recently_unloaded = {b: t for b, t in self.recently_unloaded.items() if t >= time_s}

    def give(self, bundle: str, broker: str) -> None:
        """Take the news that a lookup gave a bundle to a broker."""
        self.preallocated.give(bundle, self.meet(bundle), broker)

    def settle(self) -> None:
        """Feed all that waits and read what is not read yet, so that nothing is kept for later."""
        self.averages.settle()
        self._read()

    # -------------------------------------------------------------- what it shows

    def order(self) -> tuple[str, ...]:
        """Return the brokers in the order in which the leader's map walks them."""
        if self._order is None:
            self._order = concurrent_hash_map_order(self._reports)
        return self._order

    def rank(self) -> Mapping[str, int]:
        """Return each broker's position in `order`."""
        order = self.order()
        if self._rank is None or self._rank[0] is not order:
            self._rank = order, {broker: i for i, broker in enumerate(order)}
        return self._rank[1]

    def set_order(self) -> tuple[str, ...]:
        """Return the brokers in the order in which a set of them is walked."""
        if self._set_order is None:
            self._set_order = hash_map_order(self._reports)
        return self._set_order

    def listed(self) -> Listed:
        """Return which bundles which brokers say that they have, broker by broker."""
        if self._listed is None:
            self._listed = listed([self._listed_rows[broker] for broker in self.order()])
        return self._listed

    def measured(self) -> Listed:
        """Return of which bundles which brokers give numbers, broker by broker."""
        if self._measured is None:
            self._measured = listed([self._measured_rows[broker] for broker in self.order()])
        return self._measured

    def broker_columns(self) -> BrokerColumns:
        """Return what the brokers say of themselves."""
        if self._columns is None:
            self._columns = broker_columns([self.reports[broker] for broker in self.order()])
        elif self._rewritten:
            rank = self.rank()
            at = [rank[broker] for broker in self._rewritten]
            new = broker_columns([self.reports[broker] for broker in self._rewritten])
            self._columns = self._columns.but(at, new)
        self._rewritten.clear()
        return self._columns

    def long_rates(self) -> tuple[Floats, Floats] | tuple[None, None]:
        """Return the sums of brokers' bundles' long-term rates (Pulsar: `TimeAverageBrokerData`).

        Without long-term averages there are none.
        """
        averages = self.averages
        if not averages.keeps_long:
            return None, None
        if self._long is None or self._long[0] != averages.version:
            measured = self.measured()
            is_known = averages.bundles.is_known[measured.rows]
            long = averages.of(measured.rows).long
            rates = (np.where(is_known, long[:, i], DEFAULT_STATS[i]) for i in range(2))
            # It adds one after the other, as the Java does; without any broker they are
            # counts, and whole numbers.
            into, out = (
                np.bincount(measured.brokers, rate, len(self._reports)).astype(np.float64)
                for rate in rates
            )
            self._long = averages.version, (into, out)
        return self._long[1]

    def brokers_with_fewest(self, wanted: str, but: Set[str] = frozenset()) -> tuple[str, ...]:
        """Return the brokers but some with the fewest bundles of a namespace, in set order.

        Bundles count that a broker reports, and those that it was given since.

        Source:
            impl/LoadManagerShared.java removeMostServicingBrokersForNamespace; 4.0.8
        """
        listed, brokers = self.listed(), self.order()
        members = self.averages.bundles.of_namespace(wanted)
        counts = np.bincount(listed.brokers[members[listed.rows]], minlength=len(brokers))
        place = self.rank()
        for broker, bundles in self.preallocated.by_broker.items():
            if broker in place:
                new = set(bundles) - set(self._reports[broker].bundles)
                counts[place[broker]] += sum(namespace(bundle) == wanted for bundle in new)
        in_set = np.array([place[it] for it in self.set_order() if it not in but], np.int64)
        return tuple(brokers[i] for i in fewest(in_set, counts).tolist())

    # -------------------------------------------------------------- how it keeps it

    def _let_go(self, broker: str, measured: tuple[str, ...]) -> None:
        """Have a broker report no bundle any more."""
        self._measured = self._turns = self._long = None
        rows = self.averages.rows(measured)
        self.averages.report(rows, -1)
        for bundle, row in zip(measured, rows.tolist(), strict=True):
            holders = self._holders[row]
            del holders[broker]
            if not holders:
                self._unmet.discard(row)
                self._unreported.add(bundle)
            elif len(holders) == 1:
                self._doubled.discard(row)
                ((other, place),) = holders.items()
                self.averages.tell(np.array([row]), self.reports[other].samples[[place]])

    def _hold(self, report: Report) -> None:
        """Have a broker report bundles."""
        rows = self._measured_rows[report.broker]
        self.averages.report(rows, 1)
        for place, (bundle, row) in enumerate(zip(report.measured, rows.tolist(), strict=True)):
            holders = self._holders.setdefault(row, {})
            holders[report.broker] = place
            self._unreported.discard(bundle)
            if len(holders) > 1:
                self._doubled.add(row)
            if bundle not in self.averages.bundles.known:
                self._unmet.add(row)

    def _meet_reported(self) -> None:
        """Make averages of what is reported and not known, in the order of the walk."""
        rank = self.rank()
        walk = []
        for row in self._unmet:
            broker, place = min(self._holders[row].items(), key=lambda holding: rank[holding[0]])
            walk.append((rank[broker], place, self._reports[broker].measured[place]))
        for _, _, bundle in sorted(walk):
            self.averages.meet(bundle)
        self._unmet.clear()

    def _feed_doubled(self) -> None:
        """Feed bundles that several brokers report a sample of each, in the order of the walk."""
        if self._turns is None:
            rank, reports = self.rank(), self.reports
            turns: dict[int, list[tuple[int, Floats]]] = {}
            for row in self._doubled:
                holders = self._holders[row]
                for turn, broker in enumerate(sorted(holders, key=rank.__getitem__)):
                    sample = reports[broker].samples[holders[broker]]
                    turns.setdefault(turn, []).append((row, sample))
            self._turns = [
                (np.array([row for row, _ in fed]), np.array([sample for _, sample in fed]))
                for _, fed in sorted(turns.items())
            ]
        for rows, samples in self._turns:
            self.averages.feed_rows(rows, samples)

    def _forget(self, bundle: str) -> None:
        self.preallocated.keep(bundle)
        self.averages.forget(bundle)
