"""Bundles that changed hands, as they do, and what that did to both brokers once it is measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from trimtab.lab.outcomes.recording import Reported
from trimtab.live.watch.memory import Memory, Term
from trimtab.live.watch.nouns import Action, Compared, Unexplained

#: After a move before its effect is read: a window of load data.
_SETTLE = timedelta(seconds=90)
#: Nothing is waited for any longer.
_GIVEN_UP = timedelta(minutes=10)
_KEPT_MAX = 200
#: Whoever unloads a bundle does so at most so long before it has a new owner.
_NEAR = timedelta(minutes=5)
#: Points that usage swings by itself.
_SWING = 1.0
OURS, UNKNOWN = "this watch", "somebody unknown"


@dataclass(frozen=True, slots=True)
class OwnerChange:
    """A bundle that has a new owner."""

    time: datetime
    bundle: str
    source: str
    target: str
    #: Who moved it, in words.
    by: str
    #: Empty as long as it is not known.
    verdict: str = ""
    #: good, bad or unknown.
    tone: str = "unknown"


class OwnerChanges:
    """The last changes of owners of a watch; never more than so many."""

    def __init__(self) -> None:
        """Begin without any."""
        self._changes: list[OwnerChange] = []
        #: How many there were.
        self.count = 0
        #: Those of the last minutes, which the term has still.
        self._known: set[tuple[datetime, str]] = set()

    @property
    def newest(self) -> Sequence[OwnerChange]:
        """Return the last changes, the newest first."""
        return sorted(self._changes, key=lambda each: each.time, reverse=True)

    def take(self, memory: Memory, actions: Iterable[Action], now: datetime) -> None:
        """Take what changed hands since, who is said to have moved it, and what it did."""
        term = memory.term
        if term is None:
            return
        for time, bundle, source, target in term.owners.handovers:
            if (time, bundle) not in self._known:
                by = _mover(memory, term, time, bundle, source)
                self._changes.append(OwnerChange(time, bundle, source, target, by))
                self.count += 1
        self._known = {(time, bundle) for time, bundle, *_ in term.owners.handovers}
        del self._changes[:-_KEPT_MAX]
        # Of a plan that is under way it is not known yet what it has unloaded.
        self._changes = [
            replace(it, by=_mover(memory, term, it.time, it.bundle, it.source))
            if it.by == UNKNOWN
            else it
            for it in self._changes
        ]
        for action in actions:
            self._explain(action)
        self._judge(memory.usages, now)

    def _explain(self, action: Action) -> None:
        """Take what the leader's log says of who moved what."""
        named: dict[str, datetime] = {}
        by = UNKNOWN
        if isinstance(action, Compared):
            named, by = {move.bundle: move.time for move in action.logged.moves}, "Pulsar"
        elif isinstance(action, Unexplained):
            named = {bundle: action.time for bundle, *_ in action.moves}
            by = "somebody unknown: no line of the leader's log says why"
        if named:
            self._changes = [
                replace(each, by=by) if _is_named(each, named) else each for each in self._changes
            ]

    def _judge(self, usages: Iterable[Reported], now: datetime) -> None:
        due = [each for each in self._changes if not each.verdict and now >= each.time + _SETTLE]
        if not due:
            return
        reports: dict[str, list[tuple[float, float]]] = {}
        for each in due:
            reports |= {each.source: [], each.target: []}
        for report in usages:
            if report.broker in reports and report.usage is not None:
                reports[report.broker].append((report.time_s, report.usage))
        self._changes = [
            judged(each, reports, now) if each in due else each for each in self._changes
        ]


def judged(
    change: OwnerChange, reports: Mapping[str, Sequence[tuple[float, float]]], now: datetime
) -> OwnerChange:
    """Return a change with what became of the gap between both brokers, if that is measured.

    Args:
        change: that is not judged yet.
        reports: broker → its usage in percent at times, s since 1970, in order.
        now: after which nothing has come in.
    """
    change_s, settled_s = change.time.timestamp(), (change.time + _SETTLE).timestamp()
    ends: list[tuple[float, float]] = []
    for broker in (change.source, change.target):
        before = [usage for time_s, usage in reports[broker] if time_s <= change_s]
        after = [usage for time_s, usage in reports[broker] if time_s >= settled_s]
        if before and after:
            ends.append((before[-1], after[0]))
    if len(ends) < 2:
        if now < change.time + _GIVEN_UP:
            return change
        return replace(change, verdict="not decidable: no usage before it, or none after")
    (source, source_after), (target, target_after) = ends
    gap, left = source - target, source_after - target_after
    words = f"{source:.0f} / {target:.0f} % → {source_after:.0f} / {target_after:.0f} %"
    if gap < -_SWING:
        return replace(change, verdict=f"to the busier broker: {words}", tone="bad")
    if abs(left) > abs(gap) + _SWING:
        return replace(change, verdict=f"further apart: {words}", tone="bad")
    if abs(left) < abs(gap) - _SWING:
        return replace(change, verdict=f"closer: {words}", tone="good")
    return replace(change, verdict=f"no difference to be seen: {words}")


def _is_named(change: OwnerChange, named: Mapping[str, datetime]) -> bool:
    """Return whether somebody else is said to have moved it, by bundle and time."""
    time = named.get(change.bundle)
    return change.by != OURS and time is not None and abs(change.time - time) <= _NEAR


def _mover(memory: Memory, term: Term, time: datetime, bundle: str, source: str) -> str:
    own = memory.own.get(bundle)
    if own is not None and abs(time - own) <= _NEAR:
        return OURS
    gone = term.gone.get(source)
    if gone is not None and abs(time - gone) <= _NEAR:
        return f"Pulsar, since {source} has gone"
    return UNKNOWN
