"""What a verdict is called, what it means, and how it is marked.

The words for codes that are known; a code that is not is shown as its own words, so that
a new cause needs no change here to be readable.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from trimtab.report.words import plain

#: How a move is judged: good; useless (it did no good); doubtful (a wrong way to decide,
#: without harm this time); unknown (not decidable from the recording).
Tone: TypeAlias = Literal["good", "useless", "doubtful", "unknown"]

#: A sign for each tone, so that colour is never the only difference.
SIGNS: dict[Tone, str] = {"good": "✓", "useless": "✕", "doubtful": "~", "unknown": "?"}

#: Verdicts that say that nothing can be said.
UNKNOWN = frozenset({"not-decidable", "undecidable", "unknown", ""})

#: code: (what a move with this verdict is called, what is meant).
VERDICTS: dict[str, tuple[str, str]] = {
    "sound": ("sound", "Of what the leader knew, this was a right move."),
    "random-placement": (
        "drawn by lot",
        "No broker was cold enough to be a candidate, so the target was drawn by lot.",
    ),
    "over-placement": (
        "onto a hot broker",
        "The target was, or by this move became, hotter than the average.",
    ),
    "over-unloading": (
        "from a cold broker",
        "The source was below the bar already; only its smoothed usage was still above.",
    ),
    "ping-pong": ("came back", "The bundle returned to a broker that it had just left."),
    "sole-candidate": (
        "one candidate left",
        "A filter had removed all brokers but one before loads were compared.",
    ),
    "cold-history": (
        "scores behind the load",
        "The smoothed scores had not caught up with the usage that brokers reported.",
    ),
    "score-disagreement": (
        "shedder and placer disagree",
        "The one who takes a bundle away and the one who places it score brokers differently.",
    ),
    "sole-bundle": (
        "one bundle, nothing to shed",
        "A broker over the bar owned a single bundle, and the last one is never taken.",
    ),
    "stale-report": (
        "on a stale report",
        "The decision rests on a report from before the last unload of the same broker.",
    ),
    "same-broker": ("back at once", "The broker that lost the bundle took it again."),
    "even-distribution-override": (
        "forced by a filter",
        "Only the broker with the fewest bundles was a candidate, and another was cooler.",
    ),
    "empty-bundle-moved": (
        "without traffic",
        "The bundle carried nothing, so nobody was relieved.",
    ),
    "jitter-chasing": ("for a passing peak", "The bundle's traffic was back a few minutes later."),
    "cold-cpu": (
        "for an unmeasured broker",
        "A broker that had just started lowered the average, and the source looked hot.",
    ),
    "vanished-bundle": ("nobody took it", "The bundle had traffic and no owner any more."),
    "lost-destination": ("taken by another", "Another broker than the one chosen took the bundle."),
    "unload-failed": ("unload failed", "Unloading the bundle failed or ran out of time."),
    "memory-as-load": (
        "for memory",
        "Memory made the source hot, and moving bundles does not lower it.",
    ),
    "not-decidable": ("not decidable", "The recording does not hold what a judgement needs."),
}


def tone_of(verdict: str, useless: Any) -> Tone:
    """Judge one move from its verdict and from whether it did any good."""
    if useless is True:
        return "useless"
    if verdict in UNKNOWN:
        return "unknown"
    return "good" if verdict == "sound" else "doubtful"


def label_of(verdict: str) -> str:
    """Name a verdict or a cause in plain words."""
    known = VERDICTS.get(verdict)
    return known[0] if known else plain(verdict) or "not decidable"


def meaning_of(verdict: str) -> str:
    """Explain a verdict in a sentence; empty for a code that is not known here."""
    known = VERDICTS.get(verdict)
    return known[1] if known else ""
