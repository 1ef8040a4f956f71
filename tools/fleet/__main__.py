"""Make a fleet with planted changes of settings, explain it, and hold `trimtab trends` against it.

python -m tools.fleet                      twelve clusters with six nights: the page's output
python -m tools.fleet --clusters 50 --nights 30 --brokers 6 --minutes 45 --changed 10
python -m tools.fleet ... --keep           go on with what is there, wherever it was broken off

What is planted is written down first, in truth.json.  What a change really did is known, too:
each night after it is recorded a second time, as it would have been without it, with the same
load and the same luck.  Writes what came of it into docs/trends.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable

from tools.fleet.making import ROOT, change_one, made
from tools.fleet.meter import Measures, trimtab
from tools.fleet.page import (
    PAGE,
    Steps,
    about,
    beside_the_truth,
    keep_rows,
    lines,
    rewritten,
    with_outputs,
)
from tools.fleet.plan import Plan, large, small
from tools.fleet.truth import faults
from trimtab.spark.program import digest

_EXPLAIN = "explain 'nights/*/*/' -o explained"
_TRENDS = "trends explained -o trends"


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.fleet")
    parser.add_argument("--clusters", type=int, help="of a large fleet; without it the small one")
    parser.add_argument("--nights", type=int, default=30, help="of each cluster")
    parser.add_argument("--brokers", type=int, default=6, help="of each cluster")
    parser.add_argument("--minutes", type=int, default=45, help="of each night")
    parser.add_argument("--changed", type=int, default=10, help="clusters with a planted change")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--keep", action="store_true", help="go on with what is there")
    parser.add_argument("--no-page", action="store_true", help="print, and leave the page alone")
    return parser.parse_args(arguments)


def measured(plan: Plan, cores: int) -> Steps:
    """Return what each step printed and cost: made, explained thrice, compared."""
    measures = Measures(plan.folder / "measured.json", digest())
    words = ("--cores", str(cores))

    def explained(*options: str) -> str:
        return trimtab(plan.folder, "explain", *options, *words)

    def otherwise() -> str:
        return explained("otherwise/*/*/", "-o", "explained-otherwise")

    def fleet() -> str:
        return explained("nights/*/*/", "-o", "explained")

    steps: dict[str, Callable[[], str]] = {
        "made": lambda: f"{made(plan, cores)} nights were made.",
        "explained": fleet,
        "unchanged": fleet,
        "one changed": lambda: (change_one([*plan.each()]), fleet())[1],
        "otherwise": otherwise,
        "trends": lambda: trimtab(plan.folder, "trends", "explained", "-o", "trends"),
    }
    results = {}
    for name, step in steps.items():
        results[name] = measures.run(name, step)
        print(f"{name}: {results[name][0].splitlines()[0]} {results[name][1]}", flush=True)
    return results


def main(arguments: list[str]) -> int:
    """Make the fleet, unless it is to be kept, and write what came of it into the page."""
    options = _arguments(arguments)
    size = options.clusters, options.nights
    build = ROOT / "build"
    plan = (
        large(build, size, options.brokers, options.minutes, options.changed)
        if options.clusters
        else small(build)
    )
    if not options.keep:
        shutil.rmtree(plan.folder, ignore_errors=True)
        plan.folder.mkdir(parents=True)
    steps = measured(plan, options.cores)
    wrong = faults(plan)
    document = json.loads((plan.folder / "trends" / "trends.json").read_text(encoding="utf-8"))
    listed = "".join(f"- {each}\n" for each in lines(plan, steps, wrong, options.cores))
    part = f"\n{listed}\n{beside_the_truth(plan, document)}"
    print(part, *wrong, sep="\n")
    if options.no_page:
        return int(bool(wrong))
    text = PAGE.read_text(encoding="utf-8")
    if options.clusters:
        text = rewritten(text, "<!-- month -->", about(plan) + part)
        PAGE.write_text(text, encoding="utf-8")
        return int(bool(wrong))
    keep_rows(plan)
    outputs = {_EXPLAIN: steps["explained"][0], _TRENDS: steps["trends"][0]}
    text = rewritten(with_outputs(text, outputs), "<!-- fleet -->", part)
    PAGE.write_text(text, encoding="utf-8")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
