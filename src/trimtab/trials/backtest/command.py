"""Recordings → a walk through each, scored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from trimtab.diagnose.diagnosis import diagnose
from trimtab.ingest.pipeline import ingest
from trimtab.ingest.recording import Recording
from trimtab.lab.costs import Windows
from trimtab.lab.reconstruct.evidence import Evidence
from trimtab.lab.reconstruct.looks import looks
from trimtab.spark.runner import Runner, plain_faults, progress
from trimtab.trials.backtest.summary import summaries
from trimtab.trials.backtest.walk import USUAL, Backtest, Horizons, Scored, backtest
from trimtab.trials.recorded_cluster import evidence, refuse_unrecorded


def read_evidence(spark: Runner, recording: Recording) -> tuple[Evidence, Windows]:
    """Return what a recording tells of its cluster, and over how long its brokers take means.

    Raises:
        NothingToSimulateError: it tells of no bundle.
        IngestError: tables cannot be written.
        SparkError: Spark failed.
    """
    with TemporaryDirectory(prefix="trimtab-") as folder:
        tables = Path(folder) / "tables"
        ingest(spark, recording, tables)
        refuse_unrecorded(tables)
        with progress(spark, f"reading {recording.name}"), plain_faults():
            findings = diagnose(spark, tables, recording.cluster).findings
        known, measured = evidence(tables, findings)
    return known, Windows(measured.host_s, measured.stats_s)


def documents(
    read: Iterable[tuple[str, Evidence, Windows]], ahead: Horizons = USUAL
) -> dict[str, Any]:
    """Return how good predictions were in each recording, and in all together.

    Properties:
        The same recordings give the same document.
    """
    parts, scored = [], list[Scored]()
    for name, known, windows in read:
        run = backtest(known, windows, ahead)
        parts.append(_part(name, known, windows, run))
        scored += run.scored
    return {"recordings": parts, "all": _together(parts, scored)}


def _part(name: str, known: Evidence, windows: Windows, run: Backtest) -> dict[str, Any]:
    all_looks = list(looks(known, windows.host_s))
    return {
        "recording": name,
        "looks": len(all_looks),
        "moves": sum(int((look.moved_from >= 0).sum()) for look in all_looks),
        "skipped": dict(run.skipped),
        "scores": list(summaries(run.scored)),
        "predictions": [_prediction(each, known.brokers) for each in run.scored],
    }


def _prediction(scored: Scored, brokers: Sequence[str]) -> dict[str, Any]:
    row = asdict(scored)
    time = datetime.fromtimestamp(row.pop("time_s"), UTC).isoformat(timespec="seconds")
    return {"time": time} | row | {"broker": brokers[scored.broker]}


def _together(parts: Sequence[dict[str, Any]], scored: Sequence[Scored]) -> dict[str, Any]:
    skipped: dict[str, int] = {}
    for part in parts:
        for words, count in part["skipped"].items():
            skipped[words] = skipped.get(words, 0) + count
    return {
        "recording": "all together",
        "looks": sum(part["looks"] for part in parts),
        "moves": sum(part["moves"] for part in parts),
        "skipped": skipped,
        "scores": list(summaries(scored)),
    }
