"""Run balancers in the laboratory, and print how well they do beside AvgShedder and the oracle.

python -m tools.judge                                  the table, on the seeds for tuning
python -m tools.judge --drawn-by COMMIT --count 10     on seeds that nobody has looked at
python -m tools.judge --ablation                       Foresee without each of its parts
python -m tools.judge --steady                         where little or nothing is to be done
python -m tools.judge --unseen                         in worlds that nobody tuned on
python -m tools.judge --acting                         under the guards that acting is held back by
python -m tools.judge --strategies Foresee,Foresee@store --scenarios S05,S06 --seeds 100-102
python -m tools.judge --results FILE                   keep rows there, and run what is missing
python -m tools.judge --results FILE --kept            of what is kept there, running nothing
python -m tools.judge … --page                         put the tables into docs/foresee.md, too
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tools.judge import steady
from tools.judge.goals import goals
from tools.judge.runs import IMBALANCE, Job, row
from tools.judge.seeds import TUNING, drawn
from tools.judge.steady import bars
from tools.judge.table import by_scenario, summary
from tools.judge.worlds import UNSEEN

#: What stands in the table, and Foresee without each of its parts.
STRATEGIES = (
    "AvgShedder",
    "BusiestShare",
    "Foresee",
    "Foresee@store",
    "Foresee@store%2",
    "Foresee@polled",
    "Oracle",
)
PARTS = (
    "learning",
    "robust",
    "sequential",
    "episodes",
    "two_bands",
    "staging",
    "water",
    "placement",
    "patience",
    "aside",
    "catching_up",
)
#: In worlds that nobody tuned on, and by how much worse figures may be there.
STRANGERS = ("AvgShedder", "Foresee", "Foresee@store%2", "Foresee@store", "Foresee@polled")
_WORSE = 1.5
#: Under guards.
HELD_BACK = ("Foresee", "Foresee+guards", "Foresee+trusted", "Foresee@polled+trusted")
_PAGE = Path(__file__).resolve().parents[2] / "docs" / "foresee.md"


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.judge",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--strategies", help="A,B@sight/setting=value,…")
    parser.add_argument("--scenarios", help="S01,S02,…  [default: those out of balance]")
    parser.add_argument("--seeds", help="FIRST-LAST  [default: those for tuning]")
    parser.add_argument("--drawn-by", metavar="COMMIT", help="draw seeds from what it is called")
    parser.add_argument("--count", type=int, default=10, help="seeds to draw")
    parser.add_argument("--ablation", action="store_true", help="Foresee without each part")
    parser.add_argument("--steady", action="store_true", help="figures beside their bars")
    parser.add_argument("--unseen", action="store_true", help="in worlds drawn by the seed")
    parser.add_argument("--acting", action="store_true", help="under the guards of acting")
    parser.add_argument("--results", type=Path, help="JSONL, appended to")
    parser.add_argument("--kept", action="store_true", help="run nothing that is not kept")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--page", action="store_true", help="write docs/foresee.md")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Do what is asked."""
    options = _options(arguments)
    jobs = [
        Job(scenario, strategy, seed)
        for seed in _seeds(options)
        for scenario in _scenarios(options)
        for strategy in _strategies(options)
    ]
    rows = _rows(jobs, options)
    part = _part(options)
    tables = bars(rows) if part == "steady" else summary(rows)
    if part == "unseen":
        tables = f"{goals(rows, _WORSE)}\n{tables}"
    if part == "judged":
        tables = f"{tables}\n{goals(rows, 1.0)}"
    if part not in ("steady", "ablation"):
        tables += f"\n{by_scenario(rows)}"
    text = f"{_basis(options)}\n\n{tables}"
    print(text)
    if options.page:
        page = _PAGE.read_text(encoding="utf-8")
        place = re.compile(rf"(?<=<!-- {part} -->\n)(?:.*\n)*?(?=<!-- end -->)")
        _PAGE.write_text(place.sub(lambda _: f"\n{text}\n", page), encoding="utf-8")
    return 0


def _part(options: argparse.Namespace) -> str:
    """Return which part of the page it is that was asked for."""
    parts = ("ablation", "steady", "unseen", "acting")
    return next((each for each in parts if getattr(options, each)), "judged")


def _basis(options: argparse.Namespace) -> str:
    """Return which seeds these are."""
    seeds = _seeds(options)
    on = f" Scenarios {options.scenarios.replace(',', ' ')}." if options.scenarios else ""
    if options.drawn_by:
        commit, count = options.drawn_by[:12], f"{len(seeds)} seed{'s' * (len(seeds) > 1)}"
        return f"{count} drawn after the change was frozen, from commit {commit}.{on}"
    return f"Seeds {seeds[0]} to {seeds[-1]}, which are for tuning and prove nothing.{on}"


def _strategies(options: argparse.Namespace) -> tuple[str, ...]:
    if options.strategies:
        return tuple(options.strategies.split(","))
    if options.ablation:
        without = (f"Foresee/{part}=off" for part in PARTS)
        return ("Foresee", *without, "BusiestShare", "AvgShedder", "Oracle")
    of = {"steady": steady.STRATEGIES, "unseen": STRANGERS, "acting": HELD_BACK}
    return of.get(_part(options), STRATEGIES)


def _scenarios(options: argparse.Namespace) -> tuple[str, ...]:
    names = options.scenarios.split(",") if options.scenarios else IMBALANCE
    if options.steady and not options.scenarios:
        return steady.SCENARIOS
    return tuple(UNSEEN * options.unseen + name for name in names)


def _together(jobs: Sequence[Job]) -> int:
    """Return how many jobs in a row are of one scenario and seed: one process has them."""
    return max(1, len({job.strategy for job in jobs}))


def _seeds(options: argparse.Namespace) -> Sequence[int]:
    if options.drawn_by:
        return drawn(options.drawn_by, options.count)
    if not options.seeds:
        return TUNING
    first, _, last = options.seeds.partition("-")
    return range(int(first), int(last or first) + 1)


def _rows(jobs: Sequence[Job], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return a row for each job, in their order; those that are kept are not run again."""
    results: Path | None = options.results
    kept = dict[Job, dict[str, Any]]()
    if results is not None and results.exists():
        for line in results.read_text(encoding="utf-8").splitlines():
            of = json.loads(line)
            kept[Job(of["scenario"], of["strategy"], of["seed"])] = of
    missing = [job for job in jobs if job not in kept]
    if options.kept:
        return [kept[job] for job in jobs if job in kept]
    # Small matrices are not worth threads, and NumPy asks when it is loaded.
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    fresh = get_context("spawn")
    with ProcessPoolExecutor(options.jobs, fresh) as pool:
        for job, of in zip(
            missing, pool.map(row, missing, chunksize=_together(missing)), strict=True
        ):
            kept[job] = of
            if results is not None:
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(of) + "\n")
    return [kept[job] for job in jobs]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
