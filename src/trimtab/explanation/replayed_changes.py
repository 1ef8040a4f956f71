"""What to change by the causes and what a replay found better → one list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

_Change: TypeAlias = dict[str, Any]

_CHANGES_MAX = 5


def with_replayed(document: Mapping[str, Any]) -> list[_Change]:
    """Return the changes of an explained recording with those of its replay among them.

    What a replay found better gives the change of the same settings its figures.  Of its own it
    stands behind the changes that come of causes, and only where nothing of high severity was
    found: that would not be touched by it.

    Args:
        document: findings.json with `what_if`.
    """
    changes: list[_Change] = [dict(each) for each in document["changes"]]
    is_grave = any(finding["severity"] == "high" for finding in document["findings"])
    for replayed in document["what_if"]["changes"]:
        figures = _figures(replayed, document["what_if"])
        mine = next((it for it in changes if set(it["settings"]) & set(replayed["set"])), None)
        if mine is None and not is_grave:
            changes.append(figures)
        elif mine is not None and not mine["title"].startswith(figures["title"]):
            _give(mine, figures)
    return changes[:_CHANGES_MAX]


def _give(change: _Change, figures: _Change) -> None:
    """Give a change the settings and the figures of a replay, unless it has some already."""
    if change["confidence"] != figures["confidence"]:
        change |= {**figures, "why": change["why"], "against": change["against"]}


def _figures(replayed: Mapping[str, Any], what_if: Mapping[str, Any]) -> _Change:
    """Return a change as the replay alone has it."""
    lines = [f"{key} = {value}" for key, value in replayed["set"].items()]
    return {
        "title": "; ".join(lines),
        "why": f"Better in a replay of the same load: {replayed['strategy']}.",
        "effect": "; ".join(map(_effect, replayed["effects"])) + ".",
        "evidence": "",
        "confidence": f"replayed with {what_if['seeds']} seeds, {what_if['confidence']:.0%} sure",
        "against": [],
        "settings": list(replayed["set"]),
    }


def _effect(effect: Mapping[str, Any]) -> str:
    """Return what a change does to one measure; no range where the difference is not known."""
    difference = effect["difference"] or {}
    low, high = difference.get("low"), difference.get("high")
    unit = f" {effect['unit']}" if effect["unit"] else ""
    known = "" if low is None or high is None else f" (by {low:+.3g} to {high:+.3g})"
    now, then = (_figure(effect[name]) for name in ("now", "then"))
    return f"{effect['title']} {now} → {then}{unit}{known}"


def _figure(value: float | None) -> str:
    return "not known" if value is None else f"{value:.3g}"
