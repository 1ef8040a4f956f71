"""From a recording, or what `explain` made of one, to the story that was asked for."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trimtab.diagnose import VERDICT_WORDS
from trimtab.explanation.blame.events import seen, seen_bundles
from trimtab.explanation.blame.subject import BlameError, named
from trimtab.explanation.explain import explain
from trimtab.ingest import open_recording
from trimtab.report.brokers import brokers_of
from trimtab.report.input import Given, entries, shown_name, text
from trimtab.report.journeys import Journey, Kind, journeys_of
from trimtab.report.moves import moves_of
from trimtab.report.words import interval, spans_days
from trimtab.spark.session import opened_spark

#: What `explain` leaves in its folder.
_FINDINGS = "findings.json"


@dataclass(frozen=True, slots=True)
class Question:
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
        """Give the name as it was asked for."""
        return (self.broker if self.bundle is None else self.bundle) or ""


def blame(given: Path, question: Question) -> tuple[Journey, str]:
    """Return the story of one bundle or one broker.

    Args:
        given: a recording, which is explained first, or what `explain` wrote: its folder or
            its findings.json.
        question: whose story.

    Returns:
        The story, and a line that says of which night it is.

    Raises:
        BlameError: no bundle or broker is meant, or findings.json is none.
        RecordingError, IngestError, SparkError, NothingReadableError: as `explain`.
    """
    found = _explained(given)
    if found is not None:
        findings, folder = found
        told = story(findings, question, folder / "tables")
    else:
        with (
            open_recording(given) as opened,
            tempfile.TemporaryDirectory(prefix="trimtab-blame-") as made,
            opened_spark("trimtab", cores=question.cores, master=question.master) as spark,
        ):
            explained = explain(spark, opened, Path(made) / "explained")
            findings = explained.document
            told = story(findings, question, explained.tables.folder)
    where = (text(findings, "recording"), interval(findings.get("from"), findings.get("to")))
    return told, " · ".join(each for each in where if each)


def story(findings: Given, question: Question, tables: Path) -> Journey:
    """Find who is meant, and tell what happened to it.

    Args:
        findings: what was found.
        question: who is asked for.
        tables: what was read; what they say of owners is told if the folder is there.

    Raises:
        BlameError: nobody is meant, or several are.
    """
    known = _known(findings, question.kind)
    if question.kind == "bundle":
        known |= seen_bundles(tables)
    full = named(question.name, sorted(known), question.kind)
    meant = shown_name(full)
    brokers = brokers_of(findings, {})
    with_day = spans_days(findings.get("from"), findings.get("to"))
    moves = moves_of(entries(findings, "unloads"), brokers, VERDICT_WORDS, with_day=with_day)
    every = journeys_of(findings, moves, brokers, with_day=with_day)
    among = every.bundles if question.kind == "bundle" else every.brokers
    told = next((each for each in among if each.name == meant), _still(question.kind, meant))
    beside = seen(tables, question.kind, full, with_day=with_day)
    steps = sorted([*told.steps, *beside], key=lambda step: (step.time, step.move is None))
    return replace(told, steps=tuple(steps))


def _still(kind: Kind, name: str) -> Journey:
    """Begin the story of what no move and no finding names."""
    return Journey("", kind, name, "The leader did not move it.", (), 0, 0)


def _known(findings: Given, kind: Kind) -> set[str]:
    """Collect every name of the night, as it is written there."""
    unloads = entries(findings, "unloads")
    if kind == "bundle":
        every: Iterable[Any] = [each.get("bundle") for each in unloads]
        told = (one for each in entries(findings, "findings") for one in _listed(each, "bundles"))
    else:
        every = [each.get(end) for each in unloads for end in ("source", "target")]
        told = (one for one in _listed(findings, "brokers"))
    return {str(each) for each in (*every, *told) if each not in (None, "")}


def _listed(given: Given, key: str) -> list[Any]:
    found = given.get(key)
    return list(found) if isinstance(found, list) else []


def _explained(given: Path) -> tuple[Mapping[str, Any], Path] | None:
    """Read findings.json, and say in which folder it is; None if a recording was given."""
    path = given / _FINDINGS if given.is_dir() else given
    if path.name != _FINDINGS or not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BlameError(f"{path}: found no JSON ({error}), expected what explain wrote") from error
    if not isinstance(found, dict):
        raise BlameError(f"{path}: found no object, expected what explain wrote")
    return found, path.parent
