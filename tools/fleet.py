"""Make a fleet with planted changes of settings, explain it, and hold `trimtab trends` against it.

What is planted is written down first, in build/fleet/truth.json.  What a change really did is
known, too: each night after it is recorded a second time, as it would have been without it, with
the same load and the same luck.  Writes what came of it into docs/trends.md.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from tools.catalogue import table
from trimtab.explanation.fleet.command import all_rows
from trimtab.explanation.trends.nights import MEASURES, measured
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.scenario import scenario
from trimtab.trials.record import Options, record

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "trends.md"
ROWS = ROOT / "tests" / "testdata" / "fleet" / "nights.jsonl"
FLEET = ROOT / "build" / "fleet"
CLUSTERS, NIGHTS, CORES = 12, 6, 2
_FIRST = datetime(2026, 9, 7, 22, 0, tzinfo=UTC)
_APART = timedelta(days=5)
_MINUTES = 90
_BEFORE = {
    "loadBalancerBrokerThresholdShedderPercentage": "3",
    "loadBalancerBundleUnloadMinThroughputThreshold": "0.5",
    "loadBalancerDistributeBundlesEvenlyEnabled": "false",
}
#: Cluster → from which night on, and what is set from then on.
_PLANTED: Mapping[int, tuple[int, Mapping[str, str]]] = {
    **{at: (3, {"loadBalancerBrokerThresholdShedderPercentage": "5"}) for at in (2, 4, 7, 10)},
    # That one does nothing in such a cluster.
    8: (3, {"loadBalancerReportUpdateMaxIntervalMinutes": "10"}),
}
_QUIET = Options(noise_per_hour=120.0, metrics_s=0.0, rest_s=0.0)
_BEGIN, _END = "<!-- fleet -->\n", "<!-- end -->"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One night that is to be recorded."""

    cluster: int
    night: int
    settings: Mapping[str, str]
    root: Path

    @property
    def name(self) -> str:
        """Return the cluster's name."""
        return f"c{self.cluster:02}"

    @property
    def begin(self) -> datetime:
        """Return when the night begins."""
        return _FIRST + self.night * _APART

    @property
    def folder(self) -> Path:
        """Return where the recording lies."""
        return self.root / self.name / f"{self.begin:%Y-%m-%d}"


def settings_of(cluster: int, night: int) -> dict[str, str]:
    """Return what a cluster has set on a night."""
    begin, planted = _PLANTED.get(cluster, (NIGHTS, {}))
    return {**_BEFORE, **(planted if night >= begin else {})}


def nights() -> Iterator[Recorded]:
    """Yield the nights of the fleet."""
    for cluster in range(CLUSTERS):
        for night in range(NIGHTS):
            yield Recorded(cluster, night, settings_of(cluster, night), FLEET / "nights")


def otherwise() -> Iterator[Recorded]:
    """Yield the nights after each change, as they would have been without it."""
    for cluster, (begin, _) in _PLANTED.items():
        for night in range(begin, NIGHTS):
            yield Recorded(cluster, night, _BEFORE, FLEET / "otherwise")


def write(night: Recorded) -> float:
    """Record one night; return how many seconds that took."""
    began = time.monotonic()
    random = np.random.default_rng([24, night.cluster])
    seed = 100 * night.cluster + night.night
    peak = np.random.default_rng([25, seed])
    text = {
        "run": {"minutes": _MINUTES, "release": "4.0.8"},
        "machines": [{"count": 6}],
        "bundles": [
            {
                "count": int(random.integers(70, 90)),
                "sigma": float(random.uniform(0.5, 0.8)),
                "cost_sigma": float(random.uniform(0.1, 0.3)),
                "jitter": 0.4,
            }
        ],
        "traffic": {"cpu_percent": float(random.uniform(45.0, 55.0))},
        "events": [
            {
                "what": "traffic",
                "at_min": float(peak.uniform(15, 30)),
                "until_min": float(peak.uniform(40, 60)),
                "factor": float(peak.uniform(1.1, 1.5)),
                "ramp_min": 3,
            }
        ],
    }
    drawn_from = scenario(text, f"{night.name}, night {night.night}")
    pair = ("ThresholdShedder", "LeastResourceUsageWithWeight")
    balancer = Balancer(*pair, "4.0.8", night.settings)
    options = replace(_QUIET, cluster=night.name, begin=night.begin)
    record(drawn(drawn_from, seed), balancer, drawn_from.parameters, night.folder, options)
    return time.monotonic() - began


def trimtab(*words: str) -> tuple[str, float]:
    """Return what a command prints, and the seconds that it took."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "trimtab", *words],
        cwd=FLEET,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout, time.monotonic() - began


def made() -> list[str]:
    """Make the fleet, in as many processes as there are cores; return how long it took."""
    shutil.rmtree(FLEET, ignore_errors=True)
    FLEET.mkdir(parents=True)
    planted = {
        f"c{cluster:02}": {
            "from": f"{_FIRST + begin * _APART:%Y-%m-%d}",
            "settings": {key: [_BEFORE.get(key), value] for key, value in settings.items()},
        }
        for cluster, (begin, settings) in _PLANTED.items()
    }
    truth = {"clusters": CLUSTERS, "nights": NIGHTS, "planted": planted}
    (FLEET / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    began = time.monotonic()
    with ProcessPoolExecutor(CORES) as pool:
        spent = list(pool.map(write, [*nights(), *otherwise()]))
    took = time.monotonic() - began
    return [
        f"{len(spent)} nights of {_MINUTES} minutes and 6 brokers were recorded in {took:.0f} s "
        f"on {CORES} cores, {60 * len(spent) / took:.0f} a minute."
    ]


def explained() -> tuple[str, list[str]]:
    """Explain the fleet thrice: anew, with nothing changed, with one night changed."""
    words = ("explain", "nights/*/*/", "-o", "explained", "--cores", str(CORES))
    shutil.rmtree(FLEET / "explained", ignore_errors=True)
    first, took = trimtab(*words)
    unchanged, took_unchanged = trimtab(*words)
    (conf, *_) = sorted((FLEET / "nights" / "c05").glob("*/conf/*.conf"))
    conf.write_text(conf.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    again, took_again = trimtab(*words)
    trimtab("explain", "otherwise/*/*/", "-o", "explained-otherwise", "--cores", str(CORES))
    count = CLUSTERS * NIGHTS
    said = [
        f"Explained for the first time in {took:.0f} s on {CORES} cores: {60 * count / took:.0f} "
        "nights a minute, the start of Spark included.",
        f"Again with nothing changed: {took_unchanged:.1f} s ({unchanged.splitlines()[0]})",
        f"Again with one night of {count} changed: {took_again:.1f} s ({again.splitlines()[0]})",
    ]
    return first, said


def true_effects(cluster: str) -> dict[str, float]:
    """Return what a change really did to a cluster: with it less without it."""
    rows, without = (
        {row["folder"]: measured(row) for row in all_rows(FLEET / folder)}
        for folder in ("explained", "explained-otherwise")
    )
    differences = {
        each.name: [
            rows[folder][each.name] - values[each.name]
            for folder, values in without.items()
            if folder.startswith(f"{cluster}/") and each.name in rows[folder].keys() & values
        ]
        for each in MEASURES
    }
    return {name: statistics.fmean(values) for name, values in differences.items() if values}


def beside_the_truth(document: Mapping[str, Any]) -> str:
    """Lay out what was told of each planted change beside what it really did."""
    truth = json.loads((FLEET / "truth.json").read_text(encoding="utf-8"))["planted"]
    named = {each["cluster"] for change in document["changes"] for each in change["clusters"]}
    rows = list(_rows(document, truth))
    dated = sum(
        each["begin"].startswith(truth[each["cluster"]]["from"])
        for change in document["changes"]
        for each in change["clusters"]
        if each["cluster"] in truth
    )
    head = (
        f"Of {len(truth)} clusters with a planted change {len(named & truth.keys())} are named, "
        f"{dated} with the right night; of {CLUSTERS - len(truth)} without one "
        f"{len(named - truth.keys())} are.\n\n"
    )
    return head + table(("change", "measure", "what it really did", "what is told"), rows)


def _rows(document: Mapping[str, Any], truth: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    for change in document["changes"]:
        clusters = [each["cluster"] for each in change["clusters"]]
        effects = change["effects"] if len(clusters) > 1 else change["clusters"][0]["effects"]
        really = [true_effects(cluster) for cluster in clusters if cluster in truth]
        for effect, measure in zip(effects, MEASURES, strict=True):
            true = statistics.fmean(each[measure.name] for each in really if measure.name in each)
            if effect["effect"] is None:
                said = f"not decidable: {effect['why_not']}"
            else:
                is_held = effect["low"] <= true <= effect["high"]
                ends = f"{effect['effect']:+.2f} ({effect['low']:+.2f} to {effect['high']:+.2f})"
                said = f"{ends}: {effect['verdict']}; {'holds' if is_held else 'misses'} the truth"
            name = f"{change['what']} ({', '.join(clusters)})"
            yield name, f"{measure.title}, {measure.unit}", f"{true:+.2f}", said


def keep_rows() -> None:
    """Keep the rows of the nights, by which a test sees that the page's output is real."""
    rows = [
        {name: value for name, value in row.items() if name not in ("digest", "program")}
        | {"recording": f"nights/{row['folder']}"}
        for row in all_rows(FLEET / "explained")
    ]
    ROWS.parent.mkdir(exist_ok=True)
    ROWS.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Make the fleet, unless it is to be kept, and write what came of it into the page."""
    if arguments not in ([], ["--keep"]):
        print("usage: python -m tools.fleet [--keep]")
        return 2
    said = [] if arguments else made()
    of_explain, of_runs = explained()
    of_trends, took = trimtab("trends", "explained", "-o", "trends")
    said += [*of_runs, f"The page of {CLUSTERS * NIGHTS} nights took {took:.1f} s."]
    print("\n".join(said), flush=True)
    keep_rows()
    document = json.loads((FLEET / "trends" / "trends.json").read_text(encoding="utf-8"))
    text = PAGE.read_text(encoding="utf-8")
    for command, output in (
        ("$ trimtab explain 'nights/*/*/' -o explained\n", of_explain),
        ("$ trimtab trends explained -o trends\n", of_trends),
    ):
        before, _, rest = text.partition(command)
        text = before + command + output + rest[rest.index("```") :]
    before, _, rest = text.partition(_BEGIN)
    lines = "".join(f"- {each}\n" for each in said)
    measures = f"\n{lines}\n{beside_the_truth(document)}\n"
    PAGE.write_text(before + _BEGIN + measures + _END + rest.partition(_END)[2], "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
