"""Changes of the leader while the cluster ran."""

from __future__ import annotations

from trimtab.diagnose.elections import DEPOSED, ELECTED, first_lines
from trimtab.diagnose.evidence import of_lines
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import other_events

#: From so many changes on somebody should look.
_MANY = 3


def leader_change(night: Night) -> list[Finding]:
    """Find changes of the leader: each forgets what was smoothed, counted and moved.

    The new leader knows neither the smoothed usage nor the hit counts nor which bundles have
    just been moved.  One finding a night: low for one or two changes, medium from three on.

    Quirks:
        A recording's first election is the cluster's start, or not a change that is seen,
        unless somebody had led before: had a round, or released the leadership.

    Source:
        impl/ModularLoadManagerImpl.java, ThresholdShedder.java, AvgShedder.java, 4.0.8:
        kept in the leader's memory alone
    """
    lines = other_events(night, *ELECTED, *DEPOSED)
    elections = first_lines(lines)
    earlier = [event for event in elections if _is_earlier(night, event)]
    elections = [*earlier[-1:], *(event for event in elections if event not in earlier)]
    before = None if earlier else _leader_before(night, lines, elections)
    changes = elections if before else elections[1:]
    if not changes:
        return []
    names = [night.broker(event.log_broker) for event in changes]
    before = before or night.broker(elections[0].log_broker)
    is_often = len(changes) >= _MANY
    variant = ".once" * (len(changes) == 1) + ".many" * is_often
    return [
        Finding(
            f"leader-change{'.again' if set(names) == {before} else variant}",
            "medium" if is_often else "low",
            brokers=tuple(dict.fromkeys(names)),
            numbers={"changes": len(changes), "rounds": _first_rounds(night, changes)},
            values={"before": before, "names": " to ".join(names)},
            **of_lines(night, changes),
        )
    ]


def _is_earlier(night: Night, election: Event) -> bool:
    """Return whether the store tells of an election from before the recording."""
    return night.begin is not None and election.logger is None and election.time < night.begin


def _leader_before(night: Night, lines: list[Event], elections: list[Event]) -> str | None:
    """Return who is known to have led before the first election; None if nobody is."""
    if not elections:
        return None
    led = [r.log_broker for r in night.rounds if r.time < elections[0].time]
    if lines[0].kind == "leadership-released":
        led.append(lines[0].log_broker)
    return night.broker(led[-1]) if led else None


def _first_rounds(night: Night, changes: list[Event]) -> list[int]:
    """Return the number of the first round after each change: decided without a memory."""
    ends = [change.time for change in changes[1:]] + [None]
    return [
        first.number
        for change, end in zip(changes, ends, strict=True)
        if (first := next((r for r in night.rounds if r.time >= change.time), None)) is not None
        and (end is None or first.time < end)
    ]
