"""Bundles over a limit that could not be split."""

from __future__ import annotations

from trimtab.diagnose.entry import FindingEntry, Need
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import grouped, other_events, round_at

_MANY = 3
_MOST = "loadBalancerNamespaceMaximumBundles"


def split_refused(night: Night) -> list[Finding]:
    """Find bundles over a limit whose split was refused or failed.

    The check runs again and again, so the same line comes back; from three lines on it is of
    medium severity, before that low.  One finding a bundle.

    Source:
        impl/BundleSplitterTask.java findBundlesToSplit, 4.0.8 (#9484)
    """
    lines = [
        event for event in other_events(night, "split-refused", "split-failed") if event.bundle
    ]
    by_bundle = grouped(lines, lambda event: event.bundle or "")
    return [_finding(night, bundle, same) for bundle, same in by_bundle.items()]


def _finding(night: Night, bundle: str, lines: list[Event]) -> Finding:
    first = lines[0]
    why, advice = _why(first)
    return Finding(
        code="split-refused",
        severity="medium" if len(lines) >= _MANY else "low",
        time=first.time,
        round=round_at(night, first),
        title=f"{bundle} is over a limit and is not split",
        text=f"{why} The log says so {len(lines)} time(s).",
        better="a bundle below the limits, which a broker can carry and the shedder can move",
        advice=advice,
        bundles=(bundle,),
        evidence=tuple(lines[:5]),
        numbers={"refusals": len(lines), "namespace_bundles": first.count},
    )


def _why(event: Event) -> tuple[str, str]:
    if event.kind == "split-failed":
        return "The split failed.", "Look at the stack trace behind the line."
    if "too many bundles" in event.text:
        many = f" {event.count}" if event.count is not None else ""
        return f"Its namespace has as many bundles as it may:{many}.", f"Raise {_MOST}."
    if "less than 2" in event.text:
        return (
            "It has one topic, and a topic cannot be split.",
            "Partition the topic, so that its load can be on several brokers.",
        )
    return (
        "No boundary was found at which to split it.",
        "Choose another supportedNamespaceBundleSplitAlgorithms.",
    )


ENTRY = FindingEntry(
    rule=split_refused,
    rank=36,
    needs=(Need.LEADER_LOGS,),
    words=None,
    is_fault=True,
)
