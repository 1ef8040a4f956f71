"""`make screens`: first screens of twenty nights with a planted cause, to be judged by eye.

Ten families of each generator, and a seed for each, are drawn by one stated seed.  Each night is
explained and its page photographed as it opens; beside the pictures lie what was planted, where,
and the words that can be read on the screen.  docs/screens.md has the rubric and the result.

python -m tools.screens [SEED]
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

import trimtab
from tools.nights.families import FAMILIES as NIGHTS
from tools.nights.families import played
from tools.nights.folder import write_night
from tools.pictures import ROOT, View, launched, photographed
from tools.precision.families import CLEAN, case
from tools.precision.families import FAMILIES as CASES
from tools.precision.recorded import written

SCREEN = View("screen", 1280, 800, "light")
_SEED = 17
_EACH = 10
#: Seeds that may be looked at, of both generators.
_SEEDS = range(4, 21)
#: Words that lie in the window as it opens.
_READABLE = """() => [...document.querySelectorAll("h1, h2, h3, p, li, dd, dt")].filter((each) => {
  const box = each.getBoundingClientRect();
  return box.height > 0 && box.bottom <= innerHeight && !each.querySelector("p, li, dd, h3");
}).map((each) => each.innerText.trim())"""


def drawn(seed: int) -> list[tuple[str, str, int]]:
    """Return the nights of a draw: generator, family and seed of each."""
    chance = random.Random(seed)
    single = [name for name in NIGHTS if NIGHTS[name].code and not name.startswith(_OF_MANY)]
    planted = [name for name in CASES if name not in CLEAN]
    nights = [("nights", name) for name in chance.sample(single, _EACH)]
    cases = [("precision", name) for name in chance.sample(planted, _EACH)]
    return [(*each, chance.choice(_SEEDS)) for each in nights + cases]


_OF_MANY = ("mixed-", "ahead-")


def recorded(generator: str, family: str, seed: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Write a recording, and yield where its family's cause was planted."""
    if generator == "nights":
        night = played(family, seed)
        write_night(night, folder)
        for truth in night.truths:
            if truth.is_planted:
                yield {"code": truth.code, "names": sorted(truth.brokers | truth.bundles)}
        return
    for planted in written(case(family, seed), folder):
        if planted.code == family:
            yield {"code": planted.code, "names": [*planted.brokers, *planted.bundles]}


def one(browser: Browser, night: tuple[str, str, int], folder: Path) -> dict[str, Any]:
    """Explain one night, photograph its first screen, and return what there is to judge."""
    generator, family, seed = night
    name = f"{generator}-{family}-{seed}"
    planted = list(recorded(generator, family, seed, folder / name / "recording"))
    trimtab.explain(folder / name / "recording", output=folder / name / "explained")
    page = folder / name / "explained" / "report.html"
    readable = photographed(browser, page, SCREEN, folder / f"{name}.png", _READABLE)
    return {"night": name, "planted": planted[:5], "readable": readable}


def main(arguments: list[str]) -> int:
    """Photograph the nights of a draw into build/screens."""
    seed = int(arguments[0]) if arguments else _SEED
    folder = ROOT / "build" / "screens" / str(seed)
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = launched(playwright)
        rows = [one(browser, night, folder) for night in drawn(seed)]
        browser.close()
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "screens.jsonl").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
