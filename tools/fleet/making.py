"""A plan → recordings, made by tasks of Spark; those that are there already stay."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from tools.fleet.plan import EMPTY, GARBLED, SILENT, Plan, Recorded
from trimtab.ingest.recording import META
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.scenario import scenario
from trimtab.spark.runner import results
from trimtab.spark.session import opened_spark
from trimtab.trials.record import Options, record

ROOT = Path(__file__).resolve().parents[2]
#: Where what really happened is kept, beside the recordings.
TRUTHS = "truths"
_QUIET = Options(noise_per_hour=120.0, metrics_s=0.0, rest_s=0.0)
_PAIR = ("ThresholdShedder", "LeastResourceUsageWithWeight")


def made(plan: Plan, cores: int) -> int:
    """Return how many nights were made now, in as many processes as there are cores."""
    plan.folder.mkdir(parents=True, exist_ok=True)
    truth = json.dumps(plan.truth(), indent=1) + "\n"
    (plan.folder / "truth.json").write_text(truth, encoding="utf-8")
    due = [each for each in (*plan.each(), *plan.otherwise()) if not truth_of(each).exists()]
    if due:
        # Workers import this very module.
        os.environ["PYTHONPATH"] = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
        with opened_spark(cores=cores, master=None) as spark:
            results(spark, partial(write, plan.brokers, plan.minutes), due)
    return len(due)


def truth_of(night: Recorded) -> Path:
    """Return the file that has what the simulation of a night did."""
    return night.root.parent / TRUTHS / night.root.name / f"{night.key}.json"


def write(brokers: int, minutes: int, night: Recorded) -> None:
    """Record one night, spoil it if that is planned, and write down what happened in it."""
    shutil.rmtree(night.folder, ignore_errors=True)
    seed = 100 * night.cluster + night.night
    drawn_from = scenario(_text(brokers, minutes, night), f"{night.name}, night {night.night}")
    balancer = Balancer(*_PAIR, night.release, night.settings)
    options = replace(_QUIET, cluster=night.name, begin=night.begin)
    run = record(drawn(drawn_from, seed), balancer, drawn_from.parameters, night.folder, options)
    spoil(night.folder, night.spoilt)
    orders = run.counts.get("unloads", 0)
    # Here no unload fails: one whose bundle nobody had taken when the night ended is a move, too.
    truth = {"moves": orders, "orders": orders}
    file = truth_of(night)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(truth) + "\n", encoding="utf-8")


def _text(brokers: int, minutes: int, night: Recorded) -> dict[str, object]:
    """Return the scenario of a night: a cluster of its own, and a peak of this night's."""
    random = np.random.default_rng([24, night.cluster])
    peak = np.random.default_rng([25, 100 * night.cluster + night.night])
    per_six = int(random.integers(70, 90))
    bundles = {
        "count": per_six * brokers // 6,
        "sigma": float(random.uniform(0.5, 0.8)),
        "cost_sigma": float(random.uniform(0.1, 0.3)),
        "jitter": 0.4,
    }
    return {
        "run": {"minutes": minutes, "release": night.release},
        "machines": [{"count": brokers}],
        "bundles": [bundles],
        "traffic": {"cpu_percent": float(random.uniform(45.0, 55.0))},
        "events": [
            {
                "what": "traffic",
                "at_min": minutes * float(peak.uniform(15, 30)) / 90,
                "until_min": minutes * float(peak.uniform(40, 60)) / 90,
                "factor": float(peak.uniform(1.1, 1.5)),
                "ramp_min": 3,
            }
        ],
    }


def spoil(folder: Path, what: str) -> None:
    """Take from a recording, or put into it, what is planned."""
    if what == EMPTY:
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != META:
                path.unlink()
    elif what == GARBLED:
        (folder / META).write_text("time_zone = 7\n", encoding="utf-8")
    elif what == SILENT:
        shutil.rmtree(folder / "conf")


def change_one(nights: Sequence[Recorded]) -> Recorded:
    """Return a night, of which one byte is added to a file."""
    night = next(each for each in nights if not each.spoilt)
    conf = min((night.folder / "conf").glob("*.conf"))
    conf.write_text(conf.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    return night
