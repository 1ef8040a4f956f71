"""What was found in a recording, as objects: the same as findings.json, with times as times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from trimtab.explanation.notebook import show_page, summary
from trimtab.files.datasets import Tables

Severity: TypeAlias = Literal["high", "medium", "low"]
_GRAVEST_FIRST: tuple[Severity, ...] = ("high", "medium", "low")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line of the recording that shows something."""

    file: str
    #: From 1.
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that went wrong; docs/findings has a page on each code."""

    #: By which an unload names its findings.
    id: str
    code: str
    severity: Severity
    #: When it was so first, and last.
    time: datetime
    until: datetime
    #: The last round that had begun by then; None before the first.
    round: int | None
    #: Each time that it was so, as findings.json has it; empty if it was so once.
    rounds: tuple[Mapping[str, Any], ...]
    #: In one line.
    title: str
    #: In a few sentences, with the numbers.
    text: str
    brokers: tuple[str, ...]
    bundles: tuple[str, ...]
    #: Ids of the unloads that it is about.
    unloads: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    #: Recomputed, by name; fractions, seconds and bytes/s.
    numbers: Mapping[str, Any]
    #: What would have been better; None where that cannot be said.
    better: str | None
    #: What to change; None where nothing is to be changed.
    advice: str | None


@dataclass(frozen=True, slots=True)
class Unload:
    """One bundle that was moved, with the verdict on it."""

    id: str
    time: datetime
    round: int
    bundle: str
    source: str
    #: None where no destination is known.
    target: str | None
    #: The class that chose it.
    strategy: str
    #: Bytes/s in the leader's short-term average; None where not known.
    throughput: float | None
    #: `sound`, `not-decidable`, or the code of what was wrong.
    verdict: str
    #: None where that could not be decided.
    is_useless: bool | None
    #: Whether Pulsar's own class, decided again, does the same; None where not decidable.
    is_reproduced: bool | None
    #: Where the bundle had better gone, and why; None where nothing better is known.
    better: tuple[str, str] | None
    #: Ids of findings.
    findings: tuple[str, ...]
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What is worth changing; the first is against the gravest cause."""

    title: str
    why: str
    effect: str
    evidence: str
    confidence: str
    #: Codes of the findings that it is against.
    against: tuple[str, ...]
    #: Keys of broker.conf that it is about.
    settings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Undecidable:
    """A question that the recording cannot answer."""

    what: str
    why: str
    #: What would have to be recorded for it.
    missing: str
    round: int | None
    time: datetime | None


_Entry = TypeVar("_Entry", Finding, Unload, Undecidable)


@dataclass(frozen=True, slots=True, repr=False)
class Explained:
    """A recording that has been explained, as `trimtab explain` does."""

    #: The recording's name.
    recording: str
    #: The gravest fault if there is one; what was moved, and what each move was worth.
    headline: str
    #: Pulsar's.
    release: str
    #: In order of time.
    findings: tuple[Finding, ...]
    #: In order of time.
    unloads: tuple[Unload, ...]
    #: What to change first.
    changes: tuple[Change, ...]
    undecidable: tuple[Undecidable, ...]
    warnings: tuple[str, ...]
    tables: Tables
    #: The page, one HTML file that needs no network.
    report: Path
    #: findings.json as it was written; docs/findings.schema.json says what is in it.
    document: Mapping[str, Any]

    @property
    def gravest(self) -> Finding | None:
        """Return the first of the gravest findings; None if nothing was found."""
        return next(iter(self.by_gravity()), None)

    def by_gravity(self) -> list[Finding]:
        """Return the findings from the gravest on: the headline's, then by severity and time."""
        first = self.document["headline"]["code"]
        return sorted(
            self.findings,
            key=lambda each: (each.code != first, _GRAVEST_FIRST.index(each.severity)),
        )

    def show(self, height: int = 800) -> None:
        """Show the whole report: in a notebook below the cell, elsewhere in the browser.

        Args:
            height: of the frame in a notebook, in pixels.
        """
        show_page(self.report, height)

    def _repr_html_(self) -> str:
        """Return the headline and the gravest findings, as a notebook shows them."""
        rows = [(each.severity, each.time, each.title) for each in self.by_gravity()]
        return summary(self.headline, rows, self.report)

    def __repr__(self) -> str:
        """Return the headline."""
        return f"<Explained {self.recording}: {self.headline}>"


def explained(document: Mapping[str, Any], report: Path, tables: Tables) -> Explained:
    """Return what findings.json says, as objects, with the page and the tables beside it."""
    headline = document["headline"]
    return Explained(
        recording=document["recording"],
        headline=f"{headline['text']} {headline['sting']}".strip(),
        release=document["release"],
        findings=tuple(
            _entry(Finding, each, better=each["better"] or None, advice=each["advice"] or None)
            for each in document["findings"]
        ),
        unloads=tuple(map(_unload, document["unloads"])),
        changes=tuple(_change(each) for each in document["changes"]),
        undecidable=tuple(_entry(Undecidable, each) for each in document["undecidable"]),
        warnings=tuple(document["warnings"]),
        tables=tables,
        report=report,
        document=document,
    )


def _change(entry: Mapping[str, Any]) -> Change:
    lists = {name: tuple(entry[name]) for name in ("against", "settings")}
    return Change(**{**entry, **lists})


def _unload(entry: Mapping[str, Any]) -> Unload:
    better = entry["better"]
    return _entry(
        Unload,
        entry,
        is_useless=entry["useless"],
        is_reproduced=entry["recomputed"]["equal"],
        better=None if better is None else (better["target"], better["why"]),
    )


def _entry(kind: type[_Entry], entry: Mapping[str, Any], **others: object) -> _Entry:
    """Return an entry as an object, its lists as tuples, but for what is read in another way."""
    time = entry["time"]
    values: dict[str, Any] = {
        field.name: tuple(value) if isinstance(value := entry.get(field.name), list) else value
        for field in fields(kind)
    }
    values["time"] = None if time is None else datetime.fromisoformat(time)
    if "until" in values:
        values["until"] = datetime.fromisoformat(entry["until"])
    if "evidence" in values:
        values["evidence"] = tuple(Evidence(**each) for each in entry["evidence"])
    return kind(**{**values, **others})
