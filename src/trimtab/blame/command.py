"""From a recording, or what `explain` made of one, to the story that was asked for."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.blame.naming import BlameError, named
from trimtab.explain import explain
from trimtab.ingest import open_recording
from trimtab.report.brokers import brokers_of
from trimtab.report.given import Given, entries, shown_name, text
from trimtab.report.journeys import Journey, Kind, journeys_of
from trimtab.report.moves import moves_of
from trimtab.report.words import interval, spans_days
from trimtab.spark import opened_session

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
        """Say what is looked for."""
        return "broker" if self.bundle is None else "bundle"

    @property
    def name(self) -> str:
        """Give the name as it was asked for."""
        return (self.broker if self.bundle is None else self.bundle) or ""


def blame(given: Path, question: Question) -> tuple[Journey, str]:
    """Tell the story of one bundle or one broker.

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
    findings = _explained(given)
    if findings is None:
        with (
            open_recording(given) as opened,
            tempfile.TemporaryDirectory(prefix="trimtab-blame-") as folder,
            opened_session("trimtab", cores=question.cores, master=question.master) as spark,
        ):
            findings = explain(spark, opened, Path(folder) / "explained").document
    where = (text(findings, "recording"), interval(findings.get("from"), findings.get("to")))
    return story(findings, question), " · ".join(each for each in where if each)


def story(findings: Given, question: Question) -> Journey:
    """Find who is meant, and tell what happened to it.

    Raises:
        BlameError: nobody is meant, or several are.
    """
    meant = shown_name(named(question.name, sorted(_known(findings, question.kind)), question.kind))
    brokers = brokers_of(findings, {})
    with_day = spans_days(findings.get("from"), findings.get("to"))
    moves = moves_of(entries(findings, "unloads"), brokers, with_day=with_day)
    every = journeys_of(findings, moves, brokers, with_day=with_day)
    among = every.bundles if question.kind == "bundle" else every.brokers
    return next(each for each in among if each.name == meant)


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


def _explained(given: Path) -> Mapping[str, Any] | None:
    """Read findings.json; None if a recording was given."""
    path = given / _FINDINGS if given.is_dir() else given
    if path.name != _FINDINGS or not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BlameError(f"{path}: found no JSON ({error}), expected what explain wrote") from error
    if not isinstance(found, dict):
        raise BlameError(f"{path}: found no object, expected what explain wrote")
    return found
