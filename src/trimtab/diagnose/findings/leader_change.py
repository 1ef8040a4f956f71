"""Changes of the leader while the cluster ran."""

from __future__ import annotations

from itertools import pairwise

from trimtab.diagnose.entry import FindingEntry, Need
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import other_events, round_at

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
    before, first = changes[0]
    names = [night.names.get(event.log_broker, event.log_broker) for _, event in changes]
    many = "once" if len(changes) == 1 else f"{len(changes)} times"
    return [
        Finding(
            code="leader-change",
            severity="medium" if len(changes) >= _MANY else "low",
            time=first.time,
            round=round_at(night, first),
            title=f"The leader changed {many}",
            text=(
                f"From {night.names.get(before.log_broker, before.log_broker)} to "
                f"{' to '.join(names)}. Each began without smoothed usage and hit counts, and free "
                "to move again what had just been moved."
            ),
            better="one leader through the night",
            advice=(
                "If brokers were not restarted by hand, look for lost sessions of the metadata "
                "store and long pauses of the garbage collector on the leader."
                if len(changes) >= _MANY
                else "None, where a broker was restarted; scores need some rounds to settle."
            ),
            brokers=tuple(dict.fromkeys(names)),
            evidence=tuple(event for _, event in changes[:5]),
            numbers={"changes": len(changes)},
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


ENTRY = FindingEntry(
    rule=leader_change,
    rank=33,
    needs=(Need.LEADER_LOGS, Need.ELECTIONS),
    words=None,
)
