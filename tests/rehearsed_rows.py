"""Rows of a made-up rehearsal, and its document."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from trimtab.lab.rehearsal.measures import Bar
from trimtab.trials.rehearse.answer import ASSUMED, answer
from trimtab.trials.rehearse.bar import bar_text
from trimtab.trials.rehearse.document import PLANNED, UNDISTURBED, course_document, main_document
from trimtab.trials.rehearse.verdict import CONFIDENCE, WANTED

BAR = Bar(peak_percent=85.0, over_min=3.0, topics=None, ownerless_s=60.0)
ONE_MORE, SPLIT = "one broker more", "the heaviest bundle split"


def row(course: str, seed: int, peak: float, over_min: float) -> dict[str, Any]:
    """Give the row of a run; the second broker is the fullest."""
    numbers = {
        "peak_percent": peak,
        "over_min": over_min,
        "topics": 12.0,
        "ownerless_s": 14.5,
        "moves": 6.0,
        "peak of b1:8080": peak / 2,
        "peak of b2:8080": peak,
        "over of b1:8080": 0.0,
        "over of b2:8080": over_min,
        "topics of shop/orders": 9.0,
        "topics of shop/carts": 3.0,
        **{f"course {i}": peak * (i + 1) / 8 for i in range(8)},
    }
    return {"scenario": course, "seed": seed, "status": "ok", "error": "", "numbers": numbers}


def rows(broken: Collection[int] = (), count: int = 20) -> list[dict[str, Any]]:
    """Give both courses; as planned the bar is broken on some seeds."""
    planned = [
        row(PLANNED, i, 60.0 + 35.0 * (i in broken), 5.0 * (i in broken)) for i in range(count)
    ]
    return [*planned, *(row(UNDISTURBED, i, 55.0, 0.0) for i in range(count))]


def rehearsal(
    broken: Collection[int] = (), *, is_trusted: bool | None = True, **changed: object
) -> dict[str, Any]:
    """Give a rehearsal as `rehearsal.json` has it."""
    checks = [
        {"name": "unloads", "found": "really 3, replayed 9", "rule": "by 3", "is_met": is_trusted}
    ]
    document: dict[str, Any] = {
        "trimtab": "0.1.0",
        "command": "trimtab rehearse night 'lose b1' -o rehearsed",
        "recording": "night",
        "release": "4.0.8",
        "from": "2026-11-21T07:10:33.000+00:00",
        "to": "2026-11-21T07:23:45.000+00:00",
        "hours": 0.22,
        "brokers": 2,
        "bundles": 28,
        "fidelity": {"checks": checks, "is_trusted": is_trusted},
        "events": ["lose b1 at 07:13"],
        "from_s": 147.0,
        "event_time": "2026-11-21T07:13:00Z",
        "strategy": "AvgShedder",
        "bar": asdict(BAR),
        "bar_text": bar_text(BAR),
        "assumed": list(ASSUMED),
        "untold": ["traffic: windows of 15 s tell of 89 % of the bundles' time"],
        "wanted_share": WANTED,
        "confidence": CONFIDENCE,
        "seeds": 20,
        "courses": None,
        "verdict": "not decidable",
        "remedies": [],
    }
    if is_trusted is not False:
        document |= main_document(rows(broken), BAR)
        tried = [row(ONE_MORE, i, 50.0, 0.0) for i in range(20)]
        tried += [row(SPLIT, i, 95.0, 5.0) for i in range(5)]
        document["remedies"] = [
            {"title": title, "event": event, **course_document(tried, title, BAR)}
            for title, event in ((ONE_MORE, "add 1"), (SPLIT, "split shop/orders/0x0_0x8"))
            if broken
        ]
    document |= changed
    return {"answer": answer(document), **document}
