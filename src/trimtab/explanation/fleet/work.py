"""One night of a fleet, explained in this process or by a worker: whatever happens is a row."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from trimtab.explanation.explain import FINDINGS, explain
from trimtab.explanation.fleet.nights import Night
from trimtab.explanation.fleet.row import Row, failed_row, night_row
from trimtab.files.errors import TrimtabError, system_fault
from trimtab.files.whole_files import write_whole
from trimtab.ingest.recording import open_recording
from trimtab.spark.runner import Runner

#: The row of a night, beside its page.
ROW = "night.json"
PAGE = "report.html"
_PACKAGE = str(Path(__file__).parents[2])

#: Cluster, tables and findings → what else is to stand in the findings.
More: TypeAlias = Callable[[str, Path, Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Task:
    """A night that is to be explained."""

    night: Night
    #: Folder of all nights.
    output: Path
    #: What the row rests on: digests of the recording and of the program.
    basis: Mapping[str, str]
    more: tuple[More, ...]

    @property
    def folder(self) -> Path:
        """Return where the night is written."""
        return self.output / self.night.folder


def explain_night(runner: Runner, task: Task) -> Row:
    """Return the row of a night, which is explained into its folder, its row last.

    One that fails leaves no page of an earlier content behind, and a row that says why.

    Raises:
        OSError: not even the row can be written.
    """
    cluster, name = task.night.cluster, task.night.path.name
    try:
        with open_recording(task.night.path) as opened:
            # A night that does not name its cluster has the name of the folder around it.
            recording = replace(opened, meta={"cluster": cluster} | opened.meta)
            cluster, name = recording.cluster, recording.name
            more = [partial(each, recording.cluster) for each in task.more]
            result = explain(runner, recording, task.folder, more)
            row = night_row(result.document, cluster)
    except Exception as error:  # whatever it is, the other nights go on
        row = failed_row(cluster, name, _why(error))
        for stale in (PAGE, FINDINGS):
            (task.folder / stale).unlink(missing_ok=True)
    return keep(task, row)


def keep(task: Task, row: Row) -> Row:
    """Return a row with where it is from, which is written beside its page."""
    whole = {
        **row,
        "folder": task.night.folder,
        "recording": str(task.night.path),
        **task.basis,
    }
    task.folder.mkdir(parents=True, exist_ok=True)
    write_whole(task.folder / ROW, json.dumps(whole, indent=1, sort_keys=True) + "\n")
    return whole


def kept(path: Path) -> Row | None:
    """Return the row that stands in a file; None where there is none that can be read."""
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return row if isinstance(row, dict) and "status" in row and "folder" in row else None


def _why(error: Exception) -> str:
    """Return in one line why a night failed; of a slip of this program where it happened, too."""
    message = str(error) if isinstance(error, TrimtabError) else system_fault(error)
    if message is not None:
        return message
    text = traceback.format_exception_only(error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    ours = [each for each in frames if each.filename.startswith(_PACKAGE)]
    where = os.path.relpath(ours[-1].filename, _PACKAGE)
    return f"{text} ({where}, line {ours[-1].lineno})"
