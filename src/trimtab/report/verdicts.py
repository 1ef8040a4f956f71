"""What a verdict is called, what it means, and how it is marked.

A code without words is shown as its own words, so that every cause can be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from trimtab.report.words import plain

#: How a move is judged: good; useless (it did no good); doubtful (a wrong way to decide,
#: without harm this time); unknown (not decidable from the recording).
Tone: TypeAlias = Literal["good", "useless", "doubtful", "unknown"]

#: A sign for each tone, so that colour is never the only difference.
SIGNS: dict[Tone, str] = {"good": "✓", "useless": "✕", "doubtful": "~", "unknown": "?"}

#: Verdicts that say that nothing can be said.
UNKNOWN = frozenset({"not-decidable", "undecidable", "unknown", ""})

#: Verdict → what a move with it is called, and what is meant; whoever judges moves has the words.
Words: TypeAlias = Mapping[str, tuple[str, str]]


def tone_of(verdict: str, useless: Any) -> Tone:
    """Judge one move from its verdict and from whether it did any good."""
    if useless is True:
        return "useless"
    if useless is None or verdict in UNKNOWN:
        return "unknown"
    return "good" if verdict == "sound" else "doubtful"


def label_of(verdict: str, words: Words) -> str:
    """Return a verdict or a cause in plain words."""
    label, _ = words.get(verdict, ("", ""))
    return label or plain(verdict) or "not decidable"


def meaning_of(verdict: str, words: Words) -> str:
    """Return what a verdict means, in a sentence; empty for one that has no words."""
    _, meaning = words.get(verdict, ("", ""))
    return meaning
