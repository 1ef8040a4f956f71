"""Bundles that were chosen for a split again after they had been split."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.diagnose.evidence import SHOWN
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import grouped, other_events, round_at

_DONE = frozenset({"split-done", "split-completed"})
#: So many numbers of an announcement must be known before two are the same.
_NUMBERS = 2


def repeated_split(night: Night) -> list[Finding]:
    """Find bundles that were split and then chosen for a split again, on the same numbers.

    A bundle that was split is gone; the leader chooses it again where no report has come from
    after the split.  It is proved by two announcements whose numbers are the same to the last
    digit, with the line between them that the bundle was split.  One finding a bundle, low.

    Source:
        impl/SimpleLoadManagerImpl.java doNamespaceBundleSplit (#826),
        impl/BundleSplitterTask.java findBundlesToSplit, 4.0.8
    """
    lines = [e for e in other_events(night, "split-due", *sorted(_DONE)) if e.bundle]
    findings = []
    for bundle, mine in grouped(lines, lambda event: event.bundle or "").items():
        repeated = _repeated(mine)
        if repeated:
            first, again = repeated[0], repeated[-1]
            findings.append(
                Finding(
                    "repeated-split",
                    "low",
                    first.time,
                    round_at(night, first.time),
                    bundles=(bundle,),
                    evidence=tuple(repeated[:SHOWN]),
                    numbers={"seconds": (again.time - first.time).total_seconds()},
                )
            )
    return findings


def _repeated(lines: Sequence[Event]) -> list[Event]:
    """Return an announcement, the line of the split, and the same announcement; or nothing."""
    dues: list[Event] = []
    done: Event | None = None
    for event in lines:
        if event.kind in _DONE:
            done = event
        elif done is not None and dues and _is_same(dues[-1], event):
            return [dues[-1], done, event]
        else:
            dues, done = [event], None
    return []


def _is_same(one: Event, other: Event) -> bool:
    is_enough = len(one.numbers) >= _NUMBERS and bool(one.numbers.get("rate"))
    return is_enough and (one.numbers, one.count) == (other.numbers, other.count)
