"""A recording → its cluster as it was at the end, what was learned of costs, and its history."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trimtab.lab.costs import Knowledge, Windows
from trimtab.lab.costs.load import costs, load
from trimtab.lab.planning import Planned, Snapshot, Wish, planned, unrestrained
from trimtab.lab.planning.columns import Column
from trimtab.lab.planning.hours import History, by_hours, history
from trimtab.lab.planning.profile import Expected
from trimtab.lab.planning.snapshot import columns, is_learned
from trimtab.lab.reconstruct.evidence import Evidence
from trimtab.lab.reconstruct.looks import sorted_reports
from trimtab.pulsar.model import Flags, Floats, Ints
from trimtab.trials.costs.document import night

# Days from which on some weekday was recorded twice.
_WEEKDAYS = 14
#: Percent up to which a plan fills a broker where nobody says.
CEILING = 85.0
#: How much resources count where nobody says: heap is left out.
WEIGHTS = np.array((1.0, 0.0, 1.0, 1.0, 1.0))


@dataclass(frozen=True, slots=True)
class RecordedCosts:
    """What a recording tells a plan."""

    #: Of the recording.
    name: str
    known: Knowledge
    is_learned: bool
    #: What each bundle carried, points of work.
    history: History
    snapshot: Snapshot


def recorded_costs(name: str, evidence: Evidence, windows: Windows) -> RecordedCosts:
    """Return what a recording tells a plan."""
    known = night(evidence, windows).known
    reports = sorted_reports(evidence.reports, evidence.lines)
    line_s = reports.time_s[reports.report]
    carried = loads(known, reports.bundle, reports.counts)
    return RecordedCosts(
        name=name,
        known=known,
        is_learned=is_learned(known),
        history=history(reports.bundle, line_s, carried, len(evidence.bundles)),
        snapshot=_snapshot(evidence, known),
    )


def recorded_plan(costs: RecordedCosts, wish: Wish, to_come: Ahead | None) -> Planned:
    """Return the moves that would have been worth making at a recording's end.

    Args:
        costs: what the recording told.
        wish: what is wanted of the plan.
        to_come: makes columns of the hours to come; None plans for now.
    """
    snapshot = costs.snapshot
    kinds = columns(snapshot, costs.known if costs.is_learned else None)
    if to_come is not None:
        kinds = to_come(snapshot, kinds, costs.known)
    free = unrestrained(len(snapshot.brokers), len(snapshot.bundles))
    is_there: Flags = np.asarray(~np.isnan(snapshot.usage).all(axis=1))
    ceiling = np.full(len(snapshot.brokers), CEILING)
    return planned(kinds, snapshot.owner, replace(free, takes=is_there, ceiling=ceiling), wish)


@dataclass(frozen=True, slots=True)
class Ahead:
    """Makes columns of the hours to come of those of now, by what a recording tells of hours."""

    costs: RecordedCosts
    hours: int

    def __call__(
        self, snapshot: Snapshot, kinds: tuple[Column, ...], known: Knowledge
    ) -> tuple[Column, ...]:
        """Return each column at each hour; bundles that were not recorded stay as they are."""
        then = self.costs.history.ahead(self.hours)
        place = {name: i for i, name in enumerate(self.costs.snapshot.bundles)}
        at = np.array([place.get(name, -1) for name in snapshot.bundles], np.int64)
        mean, deviation = (np.where(at[:, None] >= 0, each[at], np.nan) for each in then)
        everything = np.arange(at.size)
        now = loads(known, everything, known.bundles.counts[everything])
        return by_hours(kinds, snapshot.owner, now, Expected(mean, deviation))

    @property
    def note(self) -> str:
        """Return of how long bundles are known, and what that is worth."""
        days = self.costs.history.days
        text = f"hours ahead: by {days:.1f} days of hours recorded"
        return text if days >= _WEEKDAYS else f"{text}; weekdays are told apart from 14 days on"


def ahead(costs: RecordedCosts, hours: int) -> tuple[Ahead | None, str]:
    """Return what makes columns of the hours to come, and a sentence on it; None if nothing can.

    By the share of traffic a quiet hour would make of what a broker takes at rest the price of
    a loud one, so costs have to be learned.
    """
    if not hours:
        return None, ""
    if not costs.is_learned:
        return None, "planned for now: without learned costs the hours ahead cannot be told"
    if costs.history.days < 1:
        found = 24 * costs.history.days
        return None, f"planned for now: found {found:.0f} hours recorded, expected a day at least"
    able = Ahead(costs, hours)
    return able, able.note


def loads(known: Knowledge, bundle: Ints, counts: Floats) -> Floats:
    """Return what bundles cost by the learned costs, (n,) points of a 16-core machine."""
    work: Floats = load(known, bundle, counts) @ costs(known)
    return work


def traffic(counts: Floats) -> Floats:
    """Return the bytes/s of bundles, in and out."""
    total: Floats = counts[:, 2] + counts[:, 3]
    return total


def _snapshot(evidence: Evidence, known: Knowledge) -> Snapshot:
    reports = evidence.reports
    last = _last(reports.broker, len(evidence.brokers))
    with np.errstate(all="ignore"):
        percent = 100.0 * reports.usage / reports.limit
    there = (last >= 0) & ~reports.is_gone[np.maximum(last, 0)] if last.size else last >= 0
    usage = np.full((len(evidence.brokers), percent.shape[1]), np.nan)
    usage[there] = np.where(np.isfinite(percent[last[there]]), percent[last[there]], 0.0)
    owner = known.bundles.owner
    owner = np.where((owner >= 0) & there[np.maximum(owner, 0)], owner, -1)
    return Snapshot(
        brokers=evidence.brokers,
        bundles=evidence.bundles,
        usage=usage,
        weights=WEIGHTS,
        owner=owner,
        traffic=traffic(known.bundles.counts),
    )


def _last(broker: Ints, n_brokers: int) -> Ints:
    """Return the last row of each broker, -1 if it has none."""
    last = np.full(n_brokers, -1)
    last[broker] = np.arange(broker.size)
    return last
