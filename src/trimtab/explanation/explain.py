"""The main job from end to end: a recording → tables → findings → one page."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from trimtab.diagnose.diagnosis import diagnose
from trimtab.diagnose.verdicts import VERDICT_WORDS
from trimtab.explanation.findings import Explained, explained
from trimtab.explanation.replayed_changes import with_replayed
from trimtab.explanation.words import finding_pages
from trimtab.files.datasets import Tables
from trimtab.files.errors import TrimtabError
from trimtab.files.visible import visible
from trimtab.files.whole_files import write_whole
from trimtab.ingest.accounting import Accounting
from trimtab.ingest.pipeline import ingested
from trimtab.ingest.recording import FOREIGN, META, NOT_IN_LAYOUT, OVERSIGHTS, SAME_LOG, Recording
from trimtab.ingest.wrapped.kinds import first_line, look_at
from trimtab.ingest.wrapped.lines_by_broker import SOURCE as WRAPPED
from trimtab.report.render import make_ready, render
from trimtab.spark.runner import Runner, plain_faults, progress

_LOG = logging.getLogger("trimtab")

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
    spark: Runner, recording: Recording, output: Path, more: Sequence[More] = ()
) -> Explained:
    """Return the explanation of a recording, which is written to a folder as well.

    Writes `report.html`, `findings.json` and `tables/` into the output folder; each
    appears whole or not at all.

    Args:
        spark: runs the tasks, of `trimtab.spark.choice`.
        recording: an open recording.
        output: folder to write into; made if need be.
        more: each adds to the findings before they are written.

    Raises:
        NothingReadableError: no line of any file could be read.
        IngestError: the tables cannot be written.
        SparkError: Spark failed.
    """
    with ThreadPoolExecutor(1) as pool:
        # What draws takes half a second to start, on a core that nothing else needs.
        pool.submit(make_ready)
        return _explain(spark, recording, output, more)


def _explain(spark: Runner, recording: Recording, output: Path, more: Sequence[More]) -> Explained:
    output.mkdir(parents=True, exist_ok=True)
    with ingested(spark, recording, output / "tables") as (tables, accounting):
        strangers = _checked(recording, accounting)
        with progress(spark, f"explaining {recording.name}"), plain_faults():
            # Where Spark ran before, its workers may stand in another folder than this program.
            diagnosis = diagnose(spark, tables.absolute(), recording.cluster)
        document = diagnosis.findings | {"accounting": _accounting(accounting)}
        document["warnings"] = [*strangers, *_unread(accounting), *document["warnings"]]
        for each in more:
            document |= each(tables, document)
    if "what_if" in document:
        document["changes"] = with_replayed(document)
    _LOG.info("%d findings, %d unloads", len(document["findings"]), len(document["unloads"]))
    page = render(document, diagnosis.picture, VERDICT_WORDS, finding_pages())
    report = write_whole(output / "report.html", page)
    # Indented by itself, as what json indents it writes ten times as slowly.
    text = msgspec.json.format(json.dumps(document, allow_nan=False), indent=1)
    write_whole(output / FINDINGS, f"{text}\n")
    return explained(document, report, Tables(tables, accounting.totals, tuple(accounting.faults)))


def _checked(recording: Recording, accounting: Accounting) -> list[str]:
    """Return a sentence for each log in which nothing is Pulsar's.

    Raises:
        NothingReadableError: there is nothing else, or no line could be read.
    """
    # What recording.toml says of a recording is nothing that the cluster left.
    left = [file for file in accounting.files if file.file != META]
    if not any(file.rows + file.other for file in left):
        first = accounting.rejects[0]["reason"] if accounting.rejects else "every file is empty"
        lines = f"{sum(file.lines for file in left)} lines in {len(left)} files"
        raise NothingReadableError(f"{recording.name}: none of {lines} could be read: {first}")
    strangers = _not_pulsar(recording, accounting)
    if strangers and sum(file.rows > 0 for file in left) == 0:
        raise NothingReadableError(strangers[0])
    _LOG.info("%d lines of %d files read", sum(it.lines for it in left), len(left))
    return strangers


def _not_pulsar(recording: Recording, accounting: Accounting) -> list[str]:
    """Return a sentence for each log that was read, and in which nothing is Pulsar's."""
    lines = {it.file: it.lines for it in accounting.files if it.other and not it.rows}
    logs = (file for name in ("log", WRAPPED) for file in recording.files.get(name, ()))
    return [
        f"{file.name}: none of its {lines[file.name]:,} lines is Pulsar's, nor does it look like "
        f"anything known: it begins with “{visible(first_line(file.path)[:100])}”"
        for file in logs
        if lines.get(file.name) and not look_at(file.path).is_pulsar
    ]


def _unread(accounting: Accounting) -> list[str]:
    """Return warnings of files that were not read and may have been meant to be."""
    unused = [
        f"{file.name}: not read: {file.reason}"
        for file in accounting.unused
        if file.reason in OVERSIGHTS
        or file.reason.startswith((FOREIGN, SAME_LOG))
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
