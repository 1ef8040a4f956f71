"""A page of every kind that trimtab writes, made without Spark."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fleet_rows import failed, fleet
from fleet_rows import night as fleet_night
from rehearsed_rows import rehearsal
from report_nights import hostile_night, night, regret, render
from sized_night import sized
from sweep_rows import KEYS, rows
from test_counterfactual import document
from test_rating import made
from test_reproduce import reproduced
from test_what_if_page import advised
from trimtab.diagnose.verdicts import VERDICT_WORDS
from trimtab.explanation.replayed_changes import with_replayed
from trimtab.explanation.trends.document import trends_document
from trimtab.explanation.words import finding_pages
from trimtab.report.comparison import render_comparison
from trimtab.report.ratings import render_ratings
from trimtab.report.rehearsal import render_rehearsal
from trimtab.report.render import render as report_of
from trimtab.report.reproductions import render_reproductions
from trimtab.report.size import render_size
from trimtab.report.trends import render_trends
from trimtab.report.what_if import render_what_if
from trimtab.trials.compare.comparison import comparison

THRESHOLD = Path(__file__).parent / "testdata" / "report" / "threshold.json"


def explained() -> str:
    """Give the page of a night with everything that one can have."""
    given = json.loads(THRESHOLD.read_text(encoding="utf-8"))
    findings = {**given["findings"], "what_if": advised(), "regret": regret()}
    against = {"settings": [], "against": ["random-placement"]}
    findings["changes"] = [against | each for each in findings["changes"]]
    findings["changes"] = with_replayed(findings)
    # A move of every tone.
    findings["unloads"][0] |= {"verdict": "not-decidable", "useless": None}
    return report_of(findings, given["picture"], VERDICT_WORDS, finding_pages())


def compared() -> str:
    """Give the page of a comparison on two scenarios."""
    asked = {"S05": "How soon does it carry its part?", "S02": ""}
    told = comparison(rows("S05", 12) + rows("S02", 12), KEYS, asked)
    return render_comparison({**told, "command": "trimtab compare S05 S02"})


def rated() -> str:
    """Give the page of a rating."""
    never: dict[tuple[str, str], list[float]] = {
        ("stability", "T"): [1.0, 1.6],
        ("stability", "A"): [4.0, 20.0],
        ("speed", "T"): [math.inf, math.inf],
        ("speed", "A"): [math.nan, math.nan],
    }
    return render_ratings(made(never))


def trends() -> str:
    """Give the page of a fleet with a change of settings, another one and a failed night."""
    rows = [
        *fleet({"c01": 3, "c04": 3, "c07": 2}, -30.0, nights=8),
        *(fleet_night("d", 5 * at, 30, release="4.0.8" if at < 6 else "4.1.0") for at in range(8)),
        failed("c03", "2026-10-17", "logs: none of 12 lines in 2 files could be read"),
    ]
    document = {**trends_document(rows), "command": "trimtab trends explained -o trends"}
    return render_trends(document, lambda folder: f"../explained/{folder}/report.html")


#: Kind → its text.
PAGES: dict[str, Callable[[], str]] = {
    "explained": explained,
    "many": lambda: render(*night(13, 70, 310)),
    "quiet": lambda: render({"recording": "quiet"}, {}),
    "hostile": lambda: render(*hostile_night()),
    "compared": compared,
    "what-if": lambda: render_what_if(document()),
    "what-if-untrusted": lambda: render_what_if(document(is_trusted=False)),
    "rehearsed": lambda: render_rehearsal(rehearsal(range(9))),
    "rehearsed-untrusted": lambda: render_rehearsal(rehearsal(is_trusted=False)),
    "sized": lambda: render_size(sized()),
    "trends": trends,
    "rated": rated,
    "reproduced": lambda: render_reproductions(reproduced()),
}


def written(folder: Path) -> dict[str, Path]:
    """Write them all into a folder; give the file of each."""
    files: dict[str, Path] = {}
    for kind, page in PAGES.items():
        files[kind] = folder / f"{kind}.html"
        files[kind].write_text(page(), encoding="utf-8")
    return files


__all__: list[Any] = ["PAGES", "written"]
