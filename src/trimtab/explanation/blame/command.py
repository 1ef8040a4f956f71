"""From a recording, or what `explain` made of one, to the story that was asked for."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trimtab.diagnose.verdicts import VERDICT_WORDS
from trimtab.explanation.blame.events import owned_bundles, steps_beside_moves
from trimtab.explanation.blame.subject import BlameError, full_name
from trimtab.ingest.recording import open_recording
from trimtab.report.brokers import brokers_of
from trimtab.report.input import Fields, entries, shown_name, text
from trimtab.report.journeys import Journey, Kind, journeys_of
from trimtab.report.moves import moves_of
from trimtab.report.words import interval, spans_days
from trimtab.spark.choice import opened_runner

#: What `explain` leaves in its folder.
_FINDINGS = "findings.json"


@dataclass(frozen=True, slots=True)
class BlameOptions:
    """Whose story is asked for, of bundle and broker one, and where a recording is explained."""

    bundle: str | None
    broker: str | None
    cores: int = 2
    master: str | None = None

    @property
    def kind(self) -> Kind:
        """Return what is looked for."""
        return "broker" if self.bundle is None else "bundle"

    @property
    def name(self) -> str:
        """Return the name as the user wrote it."""
        return (self.broker if self.bundle is None else self.bundle) or ""


def blame(path: Path, options: BlameOptions) -> tuple[Journey, str]:
    """Return the story of one bundle or one broker.

    Args:
        path: a recording, which is explained first, or what `explain` wrote: its folder or
            its findings.json.
        options: whose story.

    Returns:
        The story, and a line that says of which night it is.

    Raises:
        BlameError: no bundle or broker is meant, or findings.json is none.
        RecordingError, IngestError, SparkError, NothingReadableError: as `explain`.
    """
    diagnosis = _explained(path)
    if diagnosis is not None:
        findings, folder = diagnosis
        journey = story(findings, options, folder / "tables")
    else:
        # Loads what lays out a page and draws, which the story of an explained night needs not.
        from trimtab.explanation.explain import explain  # noqa: PLC0415  # for that reason

        with (
            open_recording(path) as opened,
            tempfile.TemporaryDirectory(prefix="trimtab-blame-") as folder_name,
            opened_runner(opened.paths, cores=options.cores, master=options.master) as spark,
        ):
            explained = explain(spark, opened, Path(folder_name) / "explained")
            findings = explained.document
            journey = story(findings, options, explained.tables.folder)
    where = (text(findings, "recording"), interval(findings.get("from"), findings.get("to")))
    return journey, " · ".join(each for each in where if each)


def story(findings: Fields, options: BlameOptions, tables: Path) -> Journey:
    """Return what happened to the bundle or broker that is meant.

    Args:
        findings: what was found.
        options: who is asked for.
        tables: what was read; what they say of owners is told if the folder is there.

    Raises:
        BlameError: nobody is meant, or several are.
    """
    names = _names(findings, options.kind)
    if options.kind == "bundle":
        names |= owned_bundles(tables)
    full = full_name(options.name, sorted(names), options.kind)
    meant = shown_name(full)
    brokers = brokers_of(findings, {})
    with_day = spans_days(findings.get("from"), findings.get("to"))
    moves = moves_of(entries(findings, "unloads"), brokers, VERDICT_WORDS, with_day=with_day)
    every = journeys_of(findings, moves, brokers, with_day=with_day)
    among = every.bundles if options.kind == "bundle" else every.brokers
    journey = next((each for each in among if each.name == meant), _still(options.kind, meant))
    beside = steps_beside_moves(tables, options.kind, full, with_day=with_day)
    steps = sorted([*journey.steps, *beside], key=lambda step: (step.time, step.move is None))
    return replace(journey, steps=tuple(steps))


def _still(kind: Kind, name: str) -> Journey:
    """Return the story of what no move and no finding names."""
    return Journey("", kind, name, "The leader did not move it.", (), 0, 0)


def _names(findings: Fields, kind: Kind) -> set[str]:
    """Return every name of the night, as it is written there."""
    unloads = entries(findings, "unloads")
    if kind == "bundle":
        every: Iterable[Any] = [each.get("bundle") for each in unloads]
        others = (one for each in entries(findings, "findings") for one in _list(each, "bundles"))
    else:
        every = [each.get(end) for each in unloads for end in ("source", "target")]
        others = (one for one in _list(findings, "brokers"))
    return {str(each) for each in (*every, *others) if each not in (None, "")}


def _list(fields: Fields, key: str) -> list[Any]:
    values = fields.get(key)
    return list(values) if isinstance(values, list) else []


def _explained(recording: Path) -> tuple[Mapping[str, Any], Path] | None:
    """Return findings.json and its folder; None if the path is that of a recording."""
    path = recording / _FINDINGS if recording.is_dir() else recording
    if path.name != _FINDINGS or not path.is_file():
        return None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BlameError(f"{path}: found no JSON ({error}), expected what explain wrote") from error
    if not isinstance(document, dict):
        raise BlameError(f"{path}: found no object, expected what explain wrote")
    return document, path.parent
