"""Namespaces split over and over."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from trimtab.diagnose.evidence import densest, of_lines
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import grouped, other_events
from trimtab.pulsar.bundles import namespace

#: So many splits of one namespace within the window are a storm.
_SPLITS = 8
_WINDOW = timedelta(hours=1)


def split_storm(night: Night) -> list[Finding]:
    """Find namespaces of which eight or more bundles were split within an hour.

    Each split drops the averages of the bundle and, where it unloads, interrupts its
    clients; splits in a row mean that the limits are far below the load.  One finding a
    namespace.

    Source:
        impl/ModularLoadManagerImpl.java checkNamespaceBundleSplit, 4.0.8
    """
    splits = [event for event in other_events(night, "split") if event.bundle]
    findings = []
    for name, lines in grouped(splits, lambda event: namespace(event.bundle or "")).items():
        storm = lines[densest([event.time for event in lines], _WINDOW)]
        if len(storm) >= _SPLITS:
            findings.append(_finding(night, name, storm))
    return findings


def _finding(night: Night, name: str, storm: Sequence[Event]) -> Finding:
    minutes = (storm[-1].time - storm[0].time).total_seconds() / 60
    return Finding(
        "split-storm",
        "medium",
        bundles=tuple(dict.fromkeys(event.bundle for event in storm if event.bundle)),
        numbers={"splits": len(storm), "minutes": minutes},
        values={"name": name},
        **of_lines(night, storm),
    )
