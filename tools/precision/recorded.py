"""A case → its recording with the truth beside it → what the diagnosis makes of it."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from tools.precision.case import Case
from tools.precision.draft import Draft
from tools.precision.explained import Explained, explained
from tools.precision.facts import facts
from tools.precision.ingested import ingested
from tools.precision.plants import PLANTS
from tools.precision.truth import Named, Planted
from tools.precision.witness import Witness
from trimtab.ingest.recording import open_recording
from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.draw import drawn
from trimtab.lab.simulate.scenario import scenario
from trimtab.trials.record import Options, record
from trimtab.trials.record.scribe import START

_MS = 1000.0


@dataclass(frozen=True, slots=True)
class Judged:
    """A recording, what is true of it, and what was found."""

    case: Case
    planted: tuple[Planted, ...]
    found: tuple[Named, ...]
    explained: Explained


def written(case: Case, root: Path) -> tuple[Planted, ...]:
    """Simulate a case and write its recording; return what is true of it."""
    if case.written is not None:
        return case.written(root)
    asked = scenario(case.scenario, case.name)
    world = drawn(asked, case.seed)
    balancer = Balancer(case.shedder, case.placer, case.release, asked.settings)
    witness = Witness(world.bundles.names, world.machines.names)
    options = Options(
        cluster="corpus",
        noise_per_hour=case.noise_per_hour,
        metrics_s=0.0,
        rest_s=case.rest_s,
        reported=case.reported,
        witnesses=(witness,),
    )
    run = record(world, balancer, asked.parameters, root, options)
    witness.bundles = run.world.bundles.names
    random = np.random.default_rng((case.seed, 77))
    draft = Draft(root, run, witness, round(START.timestamp() * _MS), random)
    for found in facts(case, draft):
        draft.plant(found)
    for name, parameters in case.plants.items():
        PLANTS[name](draft, **parameters)
    draft.write()
    return tuple(draft.planted)


def judged(case: Case, folder: Path) -> Judged:
    """Record a case and explain it; the folder is made and removed again."""
    recording, tables = folder / case.name, folder / "tables"
    try:
        planted = written(case, recording)
        with open_recording(recording) as opened:
            ingested(opened, tables)
            told = explained(tables, opened.cluster)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    moved = {unload["id"]: unload["bundle"] for unload in told.document["unloads"]}
    found = tuple(
        Named(
            finding["code"],
            finding["severity"],
            _ms(finding["time"]),
            frozenset(finding["brokers"]),
            frozenset(finding["bundles"]) | {moved[unload] for unload in finding["unloads"]},
            finding["title"],
            _ms(finding["until"]),
        )
        for finding in told.document["findings"]
    )
    return Judged(case, planted, found, told)


def truths(recording: Path) -> list[dict[str, object]]:
    """Read the causes that stand in a recording's truth."""
    lines = (recording / "lab" / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["what"] == "cause"]


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * _MS)
