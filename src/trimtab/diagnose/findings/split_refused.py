"""Bundles over a limit that could not be split."""

from __future__ import annotations

from trimtab.diagnose.evidence import of_lines
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import grouped, other_events

_MANY = 3


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
    return [
        Finding(
            f"split-refused{_why(same[0])}",
            "medium" if len(same) >= _MANY else "low",
            bundles=(bundle,),
            numbers={"refusals": len(same), "namespace_bundles": same[0].count},
            values={"many": "" if same[0].count is None else f" {same[0].count}"},
            **of_lines(night, same),
        )
        for bundle, same in by_bundle.items()
    ]


def _why(event: Event) -> str:
    """Return the variant of the wording that says why, by a bundle's first line."""
    if event.kind == "split-failed":
        return ".failed"
    if "too many bundles" in event.text:
        return ".crowded"
    return ".one-topic" if "less than 2" in event.text else ""
