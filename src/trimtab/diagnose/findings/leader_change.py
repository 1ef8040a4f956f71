"""Changes of the leader while the cluster ran."""

from __future__ import annotations

from itertools import pairwise

from trimtab.diagnose.evidence import of_lines
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import other_events

_ELECTED = ("elected-leader", "leadership-acquired")
#: From so many changes on somebody should look.
_MANY = 3
#: The two lines of one election are this close.
_SAME_S = 5.0


def leader_change(night: Night) -> list[Finding]:
    """Find changes of the leader: each forgets what was smoothed, counted and moved.

    The new leader knows neither the smoothed usage nor the hit counts nor which bundles have
    just been moved.  One finding a night: low for one or two changes, medium from three on.

    Quirks:
        A recording's first election is the cluster's start, or not a change that is seen.

    Source:
        impl/ModularLoadManagerImpl.java, ThresholdShedder.java, AvgShedder.java, 4.0.8:
        kept in the leader's memory alone
    """
    changes = _changes(other_events(night, *_ELECTED))
    if not changes:
        return []
    before, _ = changes[0]
    names = [night.broker(event.log_broker) for _, event in changes]
    is_often = len(changes) >= _MANY
    variant = ".once" * (len(changes) == 1) + ".many" * is_often
    return [
        Finding(
            f"leader-change{variant}",
            "medium" if is_often else "low",
            brokers=tuple(dict.fromkeys(names)),
            numbers={"changes": len(changes)},
            values={"before": night.broker(before.log_broker), "names": " to ".join(names)},
            **of_lines(night, [event for _, event in changes]),
        )
    ]


def _changes(elections: list[Event]) -> list[tuple[Event, Event]]:
    """Return each election with the one before it, if it is not another line of the same."""
    changes = []
    for before, after in pairwise(elections):
        is_same = (
            after.log_broker == before.log_broker
            and after.kind != before.kind
            and (after.time - before.time).total_seconds() <= _SAME_S
        )
        if not is_same:
            changes.append((before, after))
    return changes
