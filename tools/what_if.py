"""Write what is measured in docs/what-if.md: recordings replayed, nights whose truth is known.

A block that begins with `$ trimtab compare …` holds what that command prints.  The table of
nights comes of simulated clusters that were recorded, read and replayed under every strategy,
and simulated under the same strategies without a recording between: do both put them in the
same order?  Nights that are done are kept in build/what-if, as long as the program is the same.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from pyspark import SparkContext

from tools.catalogue import code, table
from trimtab.cli.compare import compare
from trimtab.files.fields import Field
from trimtab.ingest.recording import open_recording
from trimtab.lab.reconstruct.cost_uncertainty import drawn_costs, usage_error
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.run import simulated
from trimtab.pulsar.model import Floats
from trimtab.spark.program import digest
from trimtab.spark.session import opened_spark
from trimtab.trials.compare.compare import Contest
from trimtab.trials.record import Options, record
from trimtab.trials.recorded_cluster import RecordedCluster
from trimtab.trials.rerun.command import Question as Rerun
from trimtab.trials.rerun.command import reconstructed, simulated_again
from trimtab.trials.simulate.question import Experiment, experiment_of
from trimtab.trials.simulate.question import Question as Simulated
from trimtab.trials.sweep.grid import USUAL, pair
from trimtab.trials.sweep.task import NOBODY, Task
from trimtab.trials.what_if.command import what_if
from trimtab.trials.what_if.fidelity import fidelity
from trimtab.trials.what_if.replay import MATRIX_MEASURES, Replay, numbers

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "what-if.md"
KEPT = ROOT / "build" / "what-if"

#: Replays of each strategy on a night; the median counts.
SEEDS = 3
#: Scenario, who steered while it was recorded, and the seed: none was used while this was built.
NIGHTS = (
    ("S01", "ThresholdShedder+LeastResourceUsageWithWeight", 9001),
    ("S02", "UniformLoadShedder", 9002),
    ("S03", "UniformLoadShedder", 9003),
    ("S05", "AvgShedder", 9004),
    ("S14", "ThresholdShedder", 9005),
    ("S16", "AvgShedder", 9006),
    ("asim-full", "ThresholdShedder", 9008),
    ("asim-rebalancing", "OverloadShedder", 9009),
    ("book-kill2", "AvgShedder", 9010),
    ("destination-lost", "UniformLoadShedder", 9011),
)

_BLOCK = re.compile(r"(?<=```text\n)\$ trimtab compare (.*)\n(?:.*\n)*?(?=```)")
_NIGHTS = re.compile(r"(?<=<!-- nights -->\n)(?:.*\n)*?(?=<!-- end -->)")
_RANKED = {
    "unloads_a_day": "unloads",
    "p95_spread_points": "95th percentile of spread",
    "above_percent": "time above the band",
    "disconnected_a_day": "topics disconnected",
    "unavailability_s_a_day": "unavailability",
}

_Outcomes = Mapping[str, Mapping[str, float | None]]


@dataclass(frozen=True, slots=True)
class Night:
    """One night: how well its own strategy was replayed, and every strategy both ways."""

    scenario: str
    steered: str
    seed: int
    checks: Sequence[Mapping[str, Any]]
    is_trusted: bool
    #: Strategy → measure → number; None for what could not be taken.
    replayed: _Outcomes
    #: The same of the laboratory: with the luck of the night, and with other luck.
    truth: _Outcomes
    elsewhere: _Outcomes


def commands(text: str) -> tuple[str, ...]:
    """List the arguments of the commands that a page shows."""
    return tuple(found.group(1) for found in _BLOCK.finditer(text))


def answers(spark: SparkContext, text: str) -> dict[str, list[str]]:
    """Run the commands that a page shows; their files go to a folder that is thrown away."""
    found = {}
    for command in commands(text):
        asked = dict(compare.make_context("compare", command.split()).params)
        contest = Contest(
            strategies=asked["strategies"],
            settings=asked["settings"],
            release=asked["release"],
            n_seeds=asked["seeds"],
        )
        with (
            open_recording(ROOT / asked["scenarios"][0]) as opened,
            TemporaryDirectory(prefix="trimtab-") as folder,
        ):
            said = what_if(spark, opened, contest, Path(folder) / "out", anew=False)
        found[command] = list(said.lines())
    return found


def nights(spark: SparkContext) -> list[Night]:
    """Make all nights that are not done yet."""
    KEPT.mkdir(parents=True, exist_ok=True)
    return [_kept(spark, *asked) for asked in NIGHTS]


def _kept(spark: SparkContext, scenario: str, steered: str, seed: int) -> Night:
    path = KEPT / f"{scenario}-{seed}.json"
    if path.is_file():
        known = json.loads(path.read_text(encoding="utf-8"))
        if known.pop("program") == digest():
            return Night(**known)
    made = night(spark, scenario, steered, seed)
    path.write_text(json.dumps({"program": digest(), **asdict(made)}, indent=1), encoding="utf-8")
    print(f"{scenario}: {'' if made.is_trusted else 'not '}reproduced", flush=True)
    return made


def night(spark: SparkContext, scenario: str, steered: str, seed: int) -> Night:
    """Record a simulated cluster, replay it under every strategy, and simulate those, too."""
    asked = experiment_of(Simulated(scenario, strategy=steered, seed=seed))
    options = Options(noise_per_hour=60.0, metrics_s=0.0)
    with TemporaryDirectory(prefix="trimtab-") as folder:
        root = Path(folder) / scenario
        record(asked.world, asked.balancer, asked.scenario.parameters, root, options)
        with open_recording(root) as opened:
            cluster, document = reconstructed(spark, opened)
    again = simulated_again(cluster, document, Rerun(n_seeds=SEEDS)).document
    judged = fidelity(again, usage_error(cluster.rebuilt), is_shedding=cluster.is_shedding)
    return Night(
        scenario=scenario,
        steered=steered,
        seed=seed,
        checks=judged["checks"],
        is_trusted=judged["is_trusted"],
        replayed=_replayed(cluster),
        truth=simulated_again_as(asked, [seed]),
        elsewhere=simulated_again_as(asked, range(seed + 100, seed + 100 + SEEDS)),
    )


def _replayed(cluster: RecordedCluster) -> dict[str, dict[str, float | None]]:
    balancer = cluster.balancer
    replay = Replay(cluster.rebuilt, balancer.conf, drawn_costs(cluster.rebuilt, SEEDS))
    found = {}
    for name in USUAL:
        sheds, places = pair(Field(name))
        runs = [
            replay(Task("night", sheds, places, balancer.release, "{}", seed)).numbers or {}
            for seed in range(SEEDS)
        ]
        found[name] = _medians_of(runs)
    return found


def simulated_again_as(asked: Experiment, seeds: Iterable[int]) -> dict[str, Any]:
    """Simulate the cluster itself under every strategy, and count from its beginning.

    Machines, bundles and what happens to them are the night's; a seed is the noise of its
    traffic and whatever else chance brings.  The median over the seeds counts.
    """
    worlds = [dataclasses.replace(asked.world, event_s=0.0, seed=seed) for seed in seeds]
    found = {}
    for name in USUAL:
        sheds, places = pair(Field(name))
        ours = Balancer(
            None if sheds == NOBODY else sheds, places, asked.balancer.release, asked.balancer.conf
        )
        runs = [numbers(simulated(world, ours, asked.scenario.parameters)) for world in worlds]
        found[name] = _medians_of(runs)
    return found


def _medians_of(runs: Sequence[Mapping[str, float]]) -> dict[str, float | None]:
    return {each: _plain(float(np.median([run[each] for run in runs]))) for each in MATRIX_MEASURES}


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


def correlations(one: _Outcomes, other: _Outcomes) -> dict[str, float]:
    """Correlate the ranks of the strategies, measure by measure; NaN where all are alike."""
    found = {}
    for name in _RANKED:
        both = [(one[each][name], other[each][name]) for each in one]
        known = [(a, b) for a, b in both if a is not None and b is not None]
        first, second = (np.round([each[i] for each in known], 6) for i in (0, 1))
        is_flat = len(known) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0
        found[name] = math.nan if is_flat else _correlation(_ranks(first), _ranks(second))
    return found


def _ranks(values: Floats) -> Floats:
    """Return the place of each value in their order; equal ones share the middle of theirs."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    middles: Floats = np.cumsum(counts) - (counts - 1) / 2
    return middles[which]


def _correlation(one: Floats, other: Floats) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def summary(made: Sequence[Night]) -> str:
    """Lay out the nights, and what they come to."""
    heads = ("scenario", "who steered", "replay", *_RANKED.values())
    every = [("all", made), ("reproduced", [each for each in made if each.is_trusted])]
    compared: tuple[tuple[str, str, str], ...] = (
        ("replay, and laboratory with the night's luck", "replayed", "truth"),
        ("replay, and laboratory with other luck", "replayed", "elsewhere"),
        ("laboratory with the night's luck, and with other luck", "truth", "elsewhere"),
    )
    rows = [
        (words, f"{name} ({len(of)})", *_medians(of, first, second))
        for words, first, second in compared
        for name, of in every
    ]
    return (
        f"\n{table(heads, [_row(each) for each in made])}\n"
        f"{table(('median rank correlation of', 'nights', *_RANKED.values()), rows)}\n"
    )


def _row(night: Night) -> tuple[str, ...]:
    failed = [check["name"] for check in night.checks if check["is_met"] is False]
    said = "reproduced" if night.is_trusted else f"not reproduced: {', '.join(failed)}"
    found = correlations(night.replayed, night.truth)
    return (code(night.scenario), night.steered, said, *map(_told, found.values()))


def _medians(made: Iterable[Night], first: str, second: str) -> list[str]:
    found = [correlations(getattr(each, first), getattr(each, second)) for each in made]
    told = []
    for name in _RANKED:
        known = [each[name] for each in found if not math.isnan(each[name])]
        told.append(f"{np.median(known):.2f} ({len(known)})" if known else "–")
    return told


def _told(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


def rewritten(text: str, found: Mapping[str, Sequence[str]], made: Sequence[Night]) -> str:
    """Put into a page what its commands say now, and what the nights come to."""

    def block(match: re.Match[str]) -> str:
        return "\n".join([f"$ trimtab compare {match.group(1)}", *found[match.group(1)], ""])

    return _NIGHTS.sub(lambda _: summary(made), _BLOCK.sub(block, text))


def main(arguments: list[str]) -> int:
    """Write the page."""
    if arguments:
        print("usage: python -m tools.what_if")
        return 2
    text = PAGE.read_text(encoding="utf-8")
    with opened_spark(cores=2, master=None) as spark:
        new = rewritten(text, answers(spark, text), nights(spark))
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
