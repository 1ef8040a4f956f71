"""Bundles over a limit that could not be split."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.diagnose.evidence import of_lines
from trimtab.diagnose.night import Event, Finding, Night
from trimtab.diagnose.other_events import grouped, other_events

_MANY = 3
_BY_OWNER = "admin-split-failed"


def split_refused(night: Night) -> list[Finding]:
    """Find bundles over a limit whose split was refused or failed.

    The check runs again and again, so the same line comes back; from three refusals on it is of
    medium severity, before that low.  One finding a bundle.  Leader and owner both tell of a
    split that failed: the half that tells of more counts.

    Source:
        impl/BundleSplitterTask.java findBundlesToSplit, 4.0.8 (#9484)
    """
    kinds = ("split-refused", "split-failed", _BY_OWNER)
    lines = [event for event in other_events(night, *kinds) if event.bundle]
    by_bundle = grouped(lines, lambda event: event.bundle or "")
    return [
        Finding(
            f"split-refused{_why(_first(same))}",
            "medium" if _refusals(same) >= _MANY else "low",
            bundles=(bundle,),
            numbers={"refusals": _refusals(same), "namespace_bundles": _first(same).count},
            values={"many": "" if _first(same).count is None else f" {_first(same).count}"},
            **of_lines(night, same),
        )
        for bundle, same in by_bundle.items()
    ]


def _refusals(lines: Sequence[Event]) -> int:
    """Return how often a split came to nothing: by the leader's lines, or by the owner's."""
    by_owner = sum(event.kind == _BY_OWNER for event in lines)
    return max(by_owner, len(lines) - by_owner)


def _first(lines: Sequence[Event]) -> Event:
    """Return the first line of the leader, who knows why, or the first of all."""
    return next((event for event in lines if event.kind != _BY_OWNER), lines[0])


def _why(event: Event) -> str:
    """Return the variant of the wording that says why."""
    if event.kind == _BY_OWNER:
        return ".failed.by-owner"
    if event.kind == "split-failed":
        return ".failed"
    if "too many bundles" in event.text:
        return ".crowded"
    return ".one-topic" if "less than 2" in event.text else ""
