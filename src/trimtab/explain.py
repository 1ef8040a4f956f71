"""The main job from end to end: a recording → tables → findings → one page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pyspark import SparkContext

from trimtab.diagnose import diagnose
from trimtab.ingest import Accounting, Recording, ingest
from trimtab.report import render
from trimtab.spark import plain_faults, progress
from trimtab.whole_files import write_whole


class NothingReadableError(Exception):
    """Files are there, and not one line of them could be read."""


@dataclass(frozen=True, slots=True)
class Explained:
    """What was written, and the answer in two sentences."""

    report: Path
    findings: Path
    tables: Path
    document: Mapping[str, Any]


#: Tables and findings → what else is to stand in the findings.
More: TypeAlias = Callable[[Path, Mapping[str, Any]], Mapping[str, Any]]


def explain(
    spark: SparkContext, recording: Recording, output: Path, more: More | None = None
) -> Explained:
    """Explain a recording.

    Writes `report.html`, `findings.json` and `tables/` into the output folder; each
    appears whole or not at all.

    Args:
        spark: of `trimtab.spark.started`.
        recording: an open recording.
        output: folder to write into; made if need be.
        more: adds to the findings before they are written; None for nothing.

    Raises:
        NothingReadableError: no line of any file could be read.
        IngestError: the tables cannot be written.
        SparkError: Spark failed.
    """
    output.mkdir(parents=True, exist_ok=True)
    tables = output / "tables"
    accounting = ingest(spark, recording, tables)
    totals = accounting.totals
    if totals["rows"] + totals["other"] == 0:
        first = accounting.rejects[0]["reason"] if accounting.rejects else "every file is empty"
        lines = f"{totals['lines']} lines in {totals['files']} files"
        raise NothingReadableError(f"{recording.name}: none of {lines} could be read: {first}")
    with progress(spark, f"explaining {recording.name}"), plain_faults():
        diagnosis = diagnose(spark, tables, recording.cluster)
    document = diagnosis.findings | {"accounting": _accounting(accounting)}
    if more is not None:
        document |= more(tables, document)
    return Explained(
        report=write_whole(output / "report.html", render(document, diagnosis.picture)),
        findings=write_whole(output / "findings.json", json.dumps(document, indent=1) + "\n"),
        tables=tables,
        document=document,
    )


def _accounting(accounting: Accounting) -> dict[str, Any]:
    return {
        **accounting.totals,
        "by_file": [asdict(file) for file in accounting.files],
        "rejects": [
            {name: row[name] for name in ("file", "line", "reason", "text")}
            for row in accounting.rejects
        ],
        "unused": [{"file": file.name, "reason": file.reason} for file in accounting.unused],
    }
