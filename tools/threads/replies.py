"""A thread's material → what trimtab says of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import trimtab
from tools.threads.cases import Door, Thread

#: What of a recording holds settings.
_SETTINGS = ("conf", "runtime-config")


@dataclass(frozen=True, slots=True)
class Statement:
    """One finding, of a night or of settings."""

    door: Door
    code: str
    severity: str
    #: Everything that is said of it, but for the advice.
    text: str
    advice: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What trimtab says of a recording."""

    #: Empty where nothing could be explained.
    headline: str
    statements: tuple[Statement, ...]
    #: What was not read, and why.
    refusals: tuple[str, ...]


def reply(material: Path, output: Path) -> Reply:
    """Return what trimtab says of a recording.

    Args:
        material: a recording, or a folder that holds nothing but a log.
        output: folder for the page and the tables.
    """
    refusals: list[str] = []
    statements: list[Statement] = []
    headline = ""
    try:
        night = trimtab.explain(_subject(material), output=output)
    except trimtab.TrimtabError as error:
        refusals.append(f"explain: {_reason(error, material)}")
    else:
        headline = night.headline
        statements += map(_of_night, night.findings)
        refusals += _rejects(night)
    if any((material / name).exists() for name in _SETTINGS):
        try:
            statements += map(_of_settings, trimtab.lint(material))
        except trimtab.TrimtabError as error:
            refusals.append(f"lint: {_reason(error, material)}")
    return Reply(headline, tuple(statements), tuple(refusals))


def with_answers(thread: Thread, folder: Path) -> Path:
    """Copy the material with the answers in its recording.toml, and return where it is.

    Args:
        thread: one with answers.
        folder: where the copy goes.
    """
    copy = folder / thread.folder.name
    shutil.copytree(thread.folder, copy)
    log = copy / "broker.log"
    if log.exists():
        (copy / "logs" / "broker").mkdir(parents=True)
        log.rename(copy / "logs" / "broker" / log.name)
    meta = copy / "recording.toml"
    before = meta.read_text(encoding="utf-8") if meta.exists() else ""
    answers = "".join(f'{key} = "{value}"\n' for key, value in thread.answers.items())
    meta.write_text(answers + before, encoding="utf-8")
    return copy


def _subject(material: Path) -> Path:
    """Return the log where the material is nothing else, and the folder otherwise."""
    log = material / "broker.log"
    return log if log.exists() else material


def _reason(error: trimtab.TrimtabError, material: Path) -> str:
    return str(error).replace(f"{material}/", "").removeprefix(f"{material.name}: ")


def _rejects(night: trimtab.Explained) -> Iterator[str]:
    """Yield a sentence where some lines, not all, were rejected."""
    accounting = night.document["accounting"]
    if accounting["rejects"]:
        counts = f"{accounting['rejected']} of {accounting['lines']} lines rejected"
        yield f"explain: {counts}: {accounting['rejects'][0]['reason']}"


def _of_night(finding: trimtab.Finding) -> Statement:
    text = (finding.title, finding.text, *finding.brokers, *finding.bundles)
    advice = (finding.advice or "", finding.better or "")
    return Statement("explain", finding.code, finding.severity, "\n".join(text), "\n".join(advice))


def _of_settings(finding: trimtab.LintFinding) -> Statement:
    text = (finding.key, finding.message, finding.why)
    return Statement("lint", finding.code, finding.severity, "\n".join(text), finding.instead)
