"""The main job from end to end: a recording → tables → findings → one page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from pyspark import SparkContext

from trimtab.diagnose import VERDICT_WORDS, diagnose
from trimtab.explanation.findings import Explained, explained
from trimtab.explanation.replayed_changes import with_replayed
from trimtab.files.datasets import Tables
from trimtab.files.errors import TrimtabError
from trimtab.files.whole_files import write_whole
from trimtab.ingest import Accounting, Recording, ingest
from trimtab.ingest.recording import META, NOT_IN_LAYOUT, OVERSIGHTS
from trimtab.report import render
from trimtab.spark.session import plain_faults, progress

#: What is written into the output folder beside the page and the tables.
FINDINGS = "findings.json"
#: Folders in which every file is to be read; beside a broker.conf lie those of other programs.
_READ_WHOLE = ("logs/", "metrics/", "runtime-config/", "store/")
#: Warnings of files that were not read; a thousand brokers may have the same fault.
_UNREAD_MAX = 10


class NothingReadableError(TrimtabError):
    """Files are there, and not one line of them could be read."""


#: Tables and findings → what else is to stand in the findings.
More: TypeAlias = Callable[[Path, Mapping[str, Any]], Mapping[str, Any]]


def explain(
    spark: SparkContext, recording: Recording, output: Path, more: Sequence[More] = ()
) -> Explained:
    """Return the explanation of a recording, which is written to a folder as well.

    Writes `report.html`, `findings.json` and `tables/` into the output folder; each
    appears whole or not at all.

    Args:
        spark: of `trimtab.spark.session.started`.
        recording: an open recording.
        output: folder to write into; made if need be.
        more: each adds to the findings before they are written.

    Raises:
        NothingReadableError: no line of any file could be read.
        IngestError: the tables cannot be written.
        SparkError: Spark failed.
    """
    output.mkdir(parents=True, exist_ok=True)
    tables = output / "tables"
    accounting = ingest(spark, recording, tables)
    # What recording.toml says of a recording is nothing that the cluster left.
    left = [file for file in accounting.files if file.file != META]
    if not any(file.rows + file.other for file in left):
        first = accounting.rejects[0]["reason"] if accounting.rejects else "every file is empty"
        lines = f"{sum(file.lines for file in left)} lines in {len(left)} files"
        raise NothingReadableError(f"{recording.name}: none of {lines} could be read: {first}")
    with progress(spark, f"explaining {recording.name}"), plain_faults():
        # Where Spark ran before, its workers may stand in another folder than this program.
        diagnosis = diagnose(spark, tables.absolute(), recording.cluster)
    document = diagnosis.findings | {"accounting": _accounting(accounting)}
    document["warnings"] = [*_unread(accounting), *document["warnings"]]
    for each in more:
        document |= each(tables, document)
    if "what_if" in document:
        document["changes"] = with_replayed(document)
    report = write_whole(output / "report.html", render(document, diagnosis.picture, VERDICT_WORDS))
    write_whole(output / FINDINGS, json.dumps(document, indent=1) + "\n")
    return explained(document, report, Tables(tables, accounting.totals, tuple(accounting.faults)))


def _unread(accounting: Accounting) -> list[str]:
    """Return warnings of files that were not read and may have been meant to be."""
    unused = [
        f"{file.name}: not read: {file.reason}"
        for file in accounting.unused
        if file.reason in OVERSIGHTS
        or (file.reason == NOT_IN_LAYOUT and file.name.startswith(_READ_WHOLE))
    ]
    warnings = [*accounting.faults, *unused]
    more = len(warnings) - _UNREAD_MAX
    if more <= 0:
        return warnings
    noun = "file was" if more == 1 else "files were"
    return [*warnings[:_UNREAD_MAX], f"{more} more {noun} not read: see the end of the page"]


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
