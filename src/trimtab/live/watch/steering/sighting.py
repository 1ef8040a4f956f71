"""Rows as they come in → a cluster as a strategy of trimtab's own is shown it.

Whoever watches meets brokers and bundles one after the other; each name keeps the position that
it gets, also over a restart of the program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trimtab.lab.costs import Look, Windows
from trimtab.lab.costs.by_name import BrokerReport
from trimtab.lab.costs.look import COUNTS
from trimtab.lab.steering import Change, Fate, Member, Network, View
from trimtab.live.watch.costs import report_of, reported
from trimtab.live.watch.events import write_time
from trimtab.live.watch.nouns import Row
from trimtab.pulsar.bundles import is_system_bundle
from trimtab.pulsar.model import Flags, Floats

# kbit/s in bytes/s; and what is taken of a card whose speed nobody says: nothing fills it.
_BYTES = 125.0
_UNKNOWN_CARD = 1e15
# s by which clocks of machines and of this program may differ.
_CLOCKS_S = 60.0
# s by which a start is another one.
_OTHER_START_S = 1.0


@dataclass(frozen=True, slots=True)
class SeenReport:
    """A report, and what it says of the network: percent in and out, bytes/s of the card."""

    of: BrokerReport
    percent: tuple[float, float]
    capacity: float


@dataclass(frozen=True, slots=True)
class Names:
    """Who has which position; names are only ever added."""

    brokers: tuple[str, ...] = ()
    bundles: tuple[str, ...] = ()


@dataclass(slots=True)
class Sighting:
    """What has come in of a cluster, and what of it was not shown yet."""

    release: str
    windows: Windows
    #: s for which a bundle that was unloaded is left alone.
    grace_s: float
    #: What brokers write counts each time, what they answer only where it is new.
    is_store: bool
    #: s since 1970 at which the watch began, or what is remembered ended: who started before has
    #: not joined.
    began_s: float
    names: Names = field(default_factory=Names)
    #: Who is a member, who went when, and when each process began (NaN: not known).
    there: set[str] = field(default_factory=set)
    gone_s: dict[str, float] = field(default_factory=dict)
    started_s: dict[str, float] = field(default_factory=dict)
    #: Broker → the last report that was shown, and the newest that was not.
    shown: dict[str, BrokerReport] = field(default_factory=dict)
    newest: dict[str, SeenReport] = field(default_factory=dict)
    #: Bundle → its owner, and the one that was shown; bundle → when it changed hands.
    owners: dict[str, str | None] = field(default_factory=dict)
    shown_owners: dict[str, str | None] = field(default_factory=dict)
    changed_s: dict[str, float] = field(default_factory=dict)
    #: Bundle → when it went from one member to another.
    moved_s: dict[str, float] = field(default_factory=dict)
    members: list[tuple[float, str, Change]] = field(default_factory=list)
    _brokers: dict[str, int] = field(default_factory=dict)
    _bundles: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Give everybody the position that they had."""
        self._brokers = {name: i for i, name in enumerate(self.names.brokers)}
        self._bundles = {name: i for i, name in enumerate(self.names.bundles)}

    def take(self, rows: Sequence[Row]) -> None:
        """Take rows of `load_reports`, `bundle_reports` and `ownership`."""
        for row, lines in list(reported(rows)):
            report = report_of(row, lines, self.release)
            self._member(report)
            if self.is_store or self._is_new(report):
                self.newest[report.broker] = SeenReport(report, *_network(row))
        for table, row in rows:
            if table == "load_reports" and row["is_gone"]:
                self._leave(row["broker"], write_time(row).timestamp())
            elif table == "ownership" and row["bundle"] is not None:
                self._own(row)

    def view(self, time_s: float, fates: Sequence[tuple[float, str, str]] = ()) -> View:
        """Return the cluster as it is seen now; what was new of it is shown once.

        Args:
            time_s: now, s since 1970.
            fates: commands of before: when, bundle and where it was to go.
        """
        seen = [self.newest[name] for name in sorted(self.newest) if name in self.there]
        self.newest.clear()
        for each in seen:
            self.shown[each.of.broker] = each.of
        changes = self._changes()
        for name in (*(each.of.broker for each in seen), *self.there):
            self._broker(name)
        look = self._look(time_s, [each.of for each in seen], changes)
        members = tuple(
            Member(at_s, self._broker(name), change) for at_s, name, change in self.members
        )
        self.members.clear()
        fate = tuple(
            Fate(
                at_s, self._bundles[bundle], self._broker(to), self._broker(self.owners.get(bundle))
            )
            for at_s, bundle, to in fates
            if bundle in self._bundles
        )
        self.names = Names(tuple(self._brokers), tuple(self._bundles))
        return View(
            brokers=self.names.brokers,
            bundles=self.names.bundles,
            look=look,
            network=Network(
                np.array([each.percent for each in seen], np.float64).reshape(-1, 2),
                np.array([each.capacity for each in seen], np.float64),
            ),
            windows=self.windows,
            is_there=np.array([name in self.there for name in self.names.brokers], np.bool_),
            members=members,
            fates=fate,
            is_movable=self._movable(time_s),
        )

    # ------------------------------------------------------------------------- rows

    def _member(self, report: BrokerReport) -> None:
        """Take that a broker is there, and whether it has come."""
        name, started_s = report.broker, report.started_s
        before_s = self.started_s.get(name, math.nan)
        at_s = report.written_s if math.isnan(started_s) else started_s
        if name in self.there and started_s > before_s + _OTHER_START_S:
            # It was away for so short that nobody saw it go.
            self.members += [(at_s, name, Change.LEAVE), (at_s, name, Change.RETURN)]
        elif name not in self.there and name in self.gone_s:
            self.members.append((report.written_s, name, Change.RETURN))
        elif name not in self.there and started_s > self.began_s + _CLOCKS_S:
            is_back = name in self._brokers
            self.members.append((at_s, name, Change.RETURN if is_back else Change.JOIN))
        self.there.add(name)
        if not math.isnan(started_s):
            self.started_s[name] = started_s

    def _leave(self, name: str, time_s: float) -> None:
        if name in self.there:
            self.there.discard(name)
            self.members.append((time_s, name, Change.LEAVE))
        self.gone_s[name] = time_s
        self.newest.pop(name, None)
        self.shown.pop(name, None)

    def _own(self, row: Mapping[str, object]) -> None:
        """Take who owns a bundle; whoever owned it when it was listed first did not get it now."""
        bundle, owner = str(row["bundle"]), row["broker"]
        if is_system_bundle(bundle, self.release):
            return
        now = None if owner is None else str(owner)
        if bundle not in self.owners and row["is_full"]:
            self.shown_owners[bundle] = now
        before = self.shown_owners.get(bundle)
        self.owners[bundle] = now
        if now != before:
            time_s = write_time(row).timestamp()
            self.changed_s[bundle] = time_s
            if now is not None and before in self.there:
                self.moved_s[bundle] = time_s

    def _is_new(self, report: BrokerReport) -> bool:
        """Return whether an answer tells more than the one that was shown: a further window.

        Brokers are asked more often than they measure.
        """
        before = self.shown.get(report.broker)
        if before is None or report.written_s >= before.written_s + self.windows.bundle_s:
            return True
        common = report.bundles.keys() & before.bundles.keys()
        return any(tuple(report.bundles[name]) != tuple(before.bundles[name]) for name in common)

    # ------------------------------------------------------------------------- views

    def _changes(self) -> list[tuple[str, str | None, str | None, float]]:
        """Return what has changed hands since the view before: bundle, from, to and when."""
        changes = [
            (bundle, before, now, at_s)
            for bundle, at_s in self.changed_s.items()
            for before, now in [(self.shown_owners.get(bundle), self.owners[bundle])]
            if before != now
        ]
        self.shown_owners |= {bundle: now for bundle, _, now, _ in changes}
        self.changed_s.clear()
        return sorted(changes, key=lambda each: (each[3], each[0]))

    def _look(
        self,
        time_s: float,
        reports: Sequence[BrokerReport],
        changes: Sequence[tuple[str, str | None, str | None, float]],
    ) -> Look:
        lines = [
            (i, self._bundle(name), counts)
            for i, report in enumerate(reports)
            for name, counts in report.bundles.items()
        ]
        counts = np.array([each for _, _, each in lines], np.float64)
        return Look(
            time_s=time_s,
            broker=np.array([self._broker(each.broker) for each in reports], np.int64),
            written_s=_floats([each.written_s for each in reports]),
            started_s=_floats([each.started_s for each in reports]),
            cpu=_floats([each.cpu_percent for each in reports]),
            others=np.full(len(reports), np.nan),
            cores=_floats([each.cores for each in reports]),
            report=np.array([each[0] for each in lines], np.int64),
            bundle=np.array([each[1] for each in lines], np.int64),
            counts=counts.reshape(-1, len(COUNTS)),
            moved=np.array([self._bundle(each[0]) for each in changes], np.int64),
            moved_from=np.array([self._broker(each[1]) for each in changes], np.int64),
            moved_to=np.array([self._broker(each[2]) for each in changes], np.int64),
            moved_s=_floats([each[3] for each in changes]),
        )

    def _movable(self, time_s: float) -> Flags:
        rests = {bundle for bundle, at_s in self.moved_s.items() if at_s > time_s - self.grace_s}
        self.moved_s = {bundle: self.moved_s[bundle] for bundle in rests}
        owned = self.owners
        return np.array(
            [name not in rests and owned.get(name) is not None for name in self.names.bundles],
            np.bool_,
        )

    def _broker(self, name: str | None) -> int:
        return -1 if name is None else self._brokers.setdefault(name, len(self._brokers))

    def _bundle(self, name: str) -> int:
        return self._bundles.setdefault(name, len(self._bundles))


def _network(row: Mapping[str, object]) -> tuple[tuple[float, float], float]:
    """Return percent of the card in use, in and out, and its bytes/s."""
    limits = [_number(row.get(f"bandwidth_{way}_limit")) for way in ("in", "out")]
    usages = [_number(row.get(f"bandwidth_{way}_usage")) for way in ("in", "out")]
    speed = max(limits)
    if not speed > 0:
        return (0.0, 0.0), _UNKNOWN_CARD
    into, out = (100.0 * max(usage, 0.0) / speed for usage in usages)
    return (into, out), _BYTES * speed


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _floats(values: Sequence[float]) -> Floats:
    return np.array(values, np.float64)
