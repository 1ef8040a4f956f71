"""Namespaces split over and over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from trimtab.diagnose.evidence import densest, of_lines
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import grouped, other_events
from trimtab.pulsar.bundles import namespace

#: So many splits of one namespace within the window are a storm, and so many of a cascade.
_SPLITS, _OF_CASCADE = 8, 6
_WINDOW = timedelta(hours=1)
#: A half that is split again so soon goes on with the cascade.
_SOON = timedelta(minutes=10)
#: What leader and owner log of one split, before it and after.
_ORDERED, _DONE = ("split", "admin-split"), ("split-done", "split-completed")


def split_storm(night: Night) -> list[Finding]:
    """Find namespaces of which very many bundles were split within an hour.

    Eight are too many, and six of a cascade: each but the first came of another of them ten
    minutes before or less.  Each split drops the averages of the bundle and, where it unloads,
    interrupts its clients; splits in a row mean that the limits are far below the load.  One
    finding a namespace, medium.

    Quirks:
        Leader and owner tell of the same split, and some lines of either are often missing: a
        bundle counts once, with its first line.  One whose split failed was not split.

    Source:
        impl/ModularLoadManagerImpl.java checkNamespaceBundleSplit, 4.0.8
    """
    findings = []
    for name, lines in grouped(_splits(night), lambda line: namespace(line.bundle or "")).items():
        storm = lines[densest([event.time for event in lines], _WINDOW)]
        cascade = _longest_cascade(lines)
        if len(storm) >= _SPLITS:
            findings.append(_finding(night, name, storm, "split-storm"))
        elif len(cascade) >= _OF_CASCADE:
            findings.append(_finding(night, name, cascade, "split-storm.cascade"))
    return findings


def _splits(night: Night) -> list[Event]:
    """Return the first line of each bundle that was split, in order of time."""
    # The owner's line of the end has the range alone, and never stands without its order.
    lines = [e for e in other_events(night, *_ORDERED, *_DONE) if "/" in (e.bundle or "")]
    done = {event.bundle for event in lines if event.kind in _DONE}
    failures = other_events(night, "split-failed", "admin-split-failed")
    failed = {event.bundle for event in failures} - done
    first: dict[str | None, Event] = {}
    for event in lines:
        if event.bundle not in failed:
            first.setdefault(event.bundle, event)
    return list(first.values())


def _longest_cascade(splits: Sequence[Event]) -> list[Event]:
    """Return the longest run of splits of one namespace that came of one another."""
    cascades: list[list[Event]] = []
    member: dict[int, list[Event]] = {}
    for i, event in enumerate(splits):
        parent = next((j for j in reversed(range(i)) if _is_half(event, splits[j])), None)
        if parent is None:
            cascades.append([])
        cascade = cascades[-1] if parent is None else member[parent]
        cascade.append(event)
        member[i] = cascade
    return max(cascades, key=len, default=[])


def _is_half(event: Event, earlier: Event) -> bool:
    """Return whether a bundle is a part of one that was split shortly before."""
    (low, high), (least, most) = _ends(event), _ends(earlier)
    is_part = least <= low and high <= most and (low, high) != (least, most)
    return is_part and event.time - earlier.time <= _SOON


def _ends(event: Event) -> tuple[int, int]:
    low, _, high = (event.bundle or "").rpartition("/")[2].partition("_")
    return int(low, 16), int(high, 16)


def _finding(night: Night, name: str, storm: Iterable[Event], wording: str) -> Finding:
    lines = list(storm)
    minutes = (lines[-1].time - lines[0].time).total_seconds() / 60
    return Finding(
        wording,
        "medium",
        bundles=tuple(dict.fromkeys(event.bundle for event in lines if event.bundle)),
        numbers={"splits": len(lines), "minutes": minutes},
        values={"name": name},
        **of_lines(night, lines),
    )
