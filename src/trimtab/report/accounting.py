"""What was read of the recording, and what could not be."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

from trimtab.report.input import Fields, entries, part, text, whole
from trimtab.report.moves import Line
from trimtab.report.words import clock

#: Parts into which every line falls, in the order of the sentence.
PARTS = ("rows", "other", "continuation", "rejected")

#: Files and rejects listed on the page; `findings.json` has all of them.
LISTED_MAX = 1000

#: What the template shows of one thing, by name.
Shown: TypeAlias = dict[str, Any]


def accounting_of(findings: Fields) -> Shown | None:
    """Return how many lines there were and what became of them; None if the input has no books."""
    books = part(findings, "accounting")
    if not books:
        return None
    by_file = [_lines(each, text(each, "file")) for each in entries(books, "by_file")]
    rejects = [
        {
            "line": Line(text(each, "file"), whole(each, "line"), text(each, "text")),
            "reason": text(each, "reason"),
        }
        for each in entries(books, "rejects")[:LISTED_MAX]
    ]
    total = _lines(books, "")
    return {
        "total": total,
        "adds_up": total["lines"] == sum(total[name] for name in PARTS),
        "files": whole(books, "files") or len(by_file),
        "by_source": _by_source(books),
        "by_file": by_file[:LISTED_MAX],
        "files_left_out": max(0, len(by_file) - LISTED_MAX),
        "rejects": rejects,
        # The books carry the first of them.
        "rejects_left_out": max(0, (whole(books, "rejected") or 0) - len(rejects)),
        "unused": [
            {name: text(each, name) for name in ("file", "reason")}
            for each in entries(books, "unused")
        ],
    }


def _lines(fields: Fields, name: str) -> Shown:
    return {"name": name, **{key: whole(fields, key) or 0 for key in ("lines", *PARTS)}}


def _by_source(books: Fields) -> list[Shown]:
    sources: dict[str, Counter[str]] = {}
    for each in entries(books, "by_file"):
        numbers = {key: whole(each, key) or 0 for key in ("lines", *PARTS)}
        sources.setdefault(text(each, "source"), Counter()).update(numbers)
    return [_lines(numbers, name) for name, numbers in sources.items()]


def clocks_of(findings: Fields) -> Shown | None:
    """Return how clocks stood to one of them, in words; None if nothing tells."""
    fields = part(findings, "clocks")
    clocks = [
        {
            "broker": text(each, "broker"),
            "ahead": _ahead(each),
            "pairs": whole(each, "pairs") or 0,
            "is_corrected": bool(each["is_corrected"]),
        }
        for each in entries(fields, "brokers")
    ]
    # Whoever is off comes first.
    clocks.sort(key=lambda it: not it["is_corrected"])
    if not clocks:
        return None
    return {
        "reference": text(fields, "reference"),
        "clocks": clocks[:LISTED_MAX],
        "left_out": max(0, len(clocks) - LISTED_MAX),
    }


def _ahead(fields: Fields) -> str:
    ahead_s, bound_s = fields.get("ahead_s"), fields.get("bound_s")
    if ahead_s is None or bound_s is None:
        return "not bounded on both sides"
    way = "ahead" if ahead_s >= 0 else "behind"
    return f"{abs(ahead_s):.3f} s {way}, ± {bound_s:.3f} s"


def unanswered_of(findings: Fields, *, with_day: bool) -> list[Shown]:
    """Return the questions that could not be answered, and what would have been needed."""
    return [
        {
            "what": text(each, "what"),
            "when": clock(each.get("time"), with_day=with_day),
            "round": whole(each, "round"),
            "why": text(each, "why"),
            "missing": text(each, "missing"),
        }
        for each in entries(findings, "undecidable")
    ]
