"""Broker confs, Helm values, a broker's own answer, or a recording: files → findings."""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trimtab.explanation.lint import RULES, Conf, Finding, Written, lint, lint_upgrade
from trimtab.files.errors import TrimtabError
from trimtab.ingest.archives import ARCHIVES
from trimtab.ingest.recording import RecordedFile, RecordingError, open_recording
from trimtab.pulsar.confs import (
    PREFIX,
    ConfError,
    conf_entry,
    dumped_entries,
    helm_entries,
    is_dump,
    runtime_entries,
)
from trimtab.pulsar.keys import KEYS
from trimtab.pulsar.releases import release_line

#: What the standard input is called in findings.
STANDARD_INPUT = "stdin"
#: What a text that lies in no file is called there.
TEXT = "text"

_GZIP = b"\x1f\x8b"
#: A conf is some 100 kB; what is larger by far is something else.
_BYTES_MAX = 2 * 1024 * 1024
#: Confs of other programs, which lie beside a broker.conf in Pulsar's own folder.
_OF_OTHERS = {
    "bookkeeper",
    "client",
    "discovery",
    "global_zookeeper",
    "proxy",
    "standalone",
    "websocket",
    "zookeeper",
}
#: Helm values have settings of several programs.
_HELM = re.compile(r"^ *(?:configData|data):\s*(?:#.*)?$", re.MULTILINE)
#: As brokers tell optional values, and lists: Optional[0.01], [a, b].
_OPTIONAL = re.compile(r"Optional\[(.*)\]", re.DOTALL)
_LIST = re.compile(r"\[(.*)\]", re.DOTALL)


class LintError(TrimtabError):
    """What was given cannot be looked at; the message says which, and what was expected."""


@dataclass(frozen=True, slots=True)
class Releases:
    """What release is looked at: one, or a change from one to another."""

    #: Empty if a recording is to tell it.
    release: str = ""
    before: str = ""
    after: str = ""

    def check(self) -> None:
        """Refuse what is no release, or half a change.

        Raises:
            LintError: a release is not one, or --from and --to do not go together.
        """
        if bool(self.before) != bool(self.after):
            raise LintError("--from and --to go together: the release before and the one after")
        if self.release and self.before:
            raise LintError("--release does not go with --from and --to")
        for name in filter(None, (self.release, self.before, self.after)):
            try:
                release_line(name)
            except ValueError as error:
                raise LintError(str(error)) from None


@dataclass(frozen=True, slots=True)
class LintResult:
    """What came of looking at some files."""

    findings: tuple[Finding, ...]
    #: Names of the files that were looked at.
    files: tuple[str, ...]
    #: Of what was looked at, or of what it is to become; the first, if there are several.
    release: str


def look(paths: Sequence[str], releases: Releases) -> LintResult:
    """Return what lint finds in files, in recordings, or in the standard input (`-`).

    Raises:
        LintError: something cannot be read, or no release is told.
    """
    releases.check()
    release = releases.before or releases.release
    return _looked((_confs(path, release) for path in paths), releases)


def look_at_text(text: str, releases: Releases) -> LintResult:
    """Return what lint finds in the text of a broker.conf, of Helm values or of a broker's answer.

    Raises:
        LintError: it holds no setting, or no release is told.
    """
    releases.check()
    conf = read_conf(TEXT, text.encode("utf-8", "replace"))
    return _looked([([conf], releases.before or releases.release)], releases)


def refuse_unknown(codes: Iterable[str]) -> None:
    """Refuse to ignore what is no rule.

    Raises:
        LintError: a code is of none.
    """
    for code in codes:
        if code not in RULES:
            raise LintError(f"--ignore: found {code!r}, expected a rule of docs/lint.md")


def _looked(confs_of_paths: Iterable[tuple[list[Conf], str]], releases: Releases) -> LintResult:
    """Return what lint finds in the confs of each path, with the release that they are of."""
    findings: list[Finding] = []
    files: list[str] = []
    target_release = ""
    for confs, release in confs_of_paths:
        if not release:
            raise LintError(
                f"{confs[0].source}: which release of Pulsar is it for? Expected --release with "
                "one such as 4.0.8, or a recording whose recording.toml says pulsar"
            )
        target_release = target_release or releases.after or release
        files += [conf.source for conf in confs]
        if releases.before:
            findings += lint_upgrade(confs, releases.before, releases.after)
        else:
            findings += lint([replace(conf, release=release) for conf in confs])
    return LintResult(tuple(findings), tuple(dict.fromkeys(files)), target_release)


def _confs(path: str, release: str) -> tuple[list[Conf], str]:
    """Return the conf of a path, or those of a recording, and the release that they are of."""
    if path == "-":
        return [read_conf(STANDARD_INPUT, sys.stdin.buffer.read(_BYTES_MAX + 1))], release
    if os.path.isdir(path) or path.endswith(ARCHIVES):
        return _recorded(Path(path), release)
    return [_read_file(path, Path(path))], release


def _recorded(path: Path, release: str) -> tuple[list[Conf], str]:
    """Return the confs of a recording, one for each broker, and its release."""
    try:
        with open_recording(path) as recording:
            release = release or recording.meta.get("pulsar", "")
            written = _by_broker(path, recording.files.get("conf", ()))
            shared = _by_broker(path, recording.files.get("helm-values", ()))
            runtime = _by_broker(path, recording.files.get("runtime-config", ()))
    except RecordingError as error:
        raise LintError(str(error)) from None
    except OSError as error:
        raise LintError(f"{path}: {error.strerror or error}") from None
    # Helm values are every broker's; without any broker they stand for themselves.
    brokers = {*written, *runtime} or set(shared)
    everyones = next(iter(shared.values()), None)
    if everyones is not None:
        written = {broker: written.get(broker, everyones) for broker in brokers}
    if not written and not runtime:
        raise LintError(f"{path}: found no settings, expected conf/*.conf or runtime-config/*.json")
    if release:
        Releases(release).check()
    confs = [
        merged(written.get(broker), runtime.get(broker), release)
        for broker in sorted({*written, *runtime})
    ]
    return confs, release


def _by_broker(path: Path, files: Iterable[RecordedFile]) -> dict[str, Conf]:
    return {
        file.log_broker: _read_file(f"{path}/{file.name}", file.path)
        for file in files
        if file.log_broker not in _OF_OTHERS
    }


def _read_file(source: str, path: Path) -> Conf:
    try:
        with path.open("rb") as opened:
            content = opened.read(_BYTES_MAX + 1)
        if content.startswith(_GZIP):
            with gzip.open(path, "rb") as unpacked:
                content = unpacked.read(_BYTES_MAX + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise LintError(f"{source}: {getattr(error, 'strerror', None) or error}") from None
    return read_conf(source, content)


def read_conf(source: str, content: bytes) -> Conf:
    """Return the conf in a broker.conf, in Helm values, or in a broker's answer about its settings.

    Args:
        source: what the file is called in findings.
        content: the whole file.

    Returns:
        What is written where, of no release yet.

    Raises:
        LintError: it is too large, it is not JSON although it begins so, or not a line of it
            is a setting.
    """
    if len(content) > _BYTES_MAX:
        raise LintError(f"{source}: found more than {_BYTES_MAX:,} bytes, expected a broker.conf")
    text = content.decode("utf-8-sig", "replace")
    if (whole := _document(source, text)) is not None:
        return whole
    written: dict[str, Written] = {}
    repeated: list[tuple[Written, Written]] = []
    unreadable: list[tuple[int, str]] = []
    equals: set[str] = set()
    is_yaml = False
    for number, line in _logical_lines(text):
        try:
            entry = conf_entry(line)
        except ConfError as error:
            unreadable.append((number, str(error)))
            continue
        if entry is None:
            continue
        key = entry.key.removeprefix(PREFIX)
        is_yaml = is_yaml or entry.is_yaml
        here = Written(key, entry.value, source, number)
        if key in equals and not entry.is_yaml:
            repeated.append((written[key], here))
        if not entry.is_yaml:
            equals.add(key)
        written[key] = here
    if unreadable and not written:
        raise LintError(
            f"{source}: found no setting in {number:,} lines, expected key=value, one to a line"
        )
    # Helm values hold lists, templates and whole texts as well, which are nobody's slips.
    slips = () if is_yaml else tuple(unreadable)
    return Conf(source, "", written, tuple(repeated), unreadable=slips)


def _document(source: str, text: str) -> Conf | None:
    """Return the conf of a text that is one document; None if it is a setting a line."""
    if text.lstrip().startswith("{"):
        return _runtime_conf(source, text)
    if is_dump(text):
        return _conf_of(source, dumped_entries(text), is_runtime=True)
    if _HELM.search(text):
        return _conf_of(source, helm_entries(text), is_runtime=False)
    return None


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text as Java cuts them, where one that ends in a backslash goes on.

    Yields:
        The number of the first line, from 1, and the line as a whole.
    """
    whole, first = "", 0
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    for number, line in enumerate(lines, start=1):
        is_comment = not whole and line.lstrip().startswith(("#", "!"))
        whole, first = (whole + line.lstrip(), first) if whole else (line, number)
        if not is_comment and (len(line) - len(line.rstrip("\\"))) % 2:
            whole = whole[:-1]
            continue
        yield first, whole
        whole = ""
    if whole:
        yield first, whole


def _runtime_conf(source: str, text: str) -> Conf:
    """Return the conf in a broker's answer about its settings."""
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LintError(f"{source}: not JSON: {error}") from None
    if not isinstance(settings, dict) or not settings:
        raise LintError(f"{source}: found an empty object, expected one of settings")
    return _conf_of(source, runtime_entries(settings, text), is_runtime=True)


def _conf_of(source: str, entries: Iterable[tuple[str, str, int]], *, is_runtime: bool) -> Conf:
    """Return the conf of the entries of a whole document."""
    written = {
        key: Written(key, _plain(value) if is_runtime else value, source, line)
        for key, value, line in entries
    }
    return Conf(source, "", written, is_runtime=is_runtime)


def _plain(value: str) -> str:
    """Return a value as a file has it: without what Java puts around it."""
    if value in ("Optional.empty", "null"):
        return ""
    if optional := _OPTIONAL.fullmatch(value):
        return optional[1]
    if items := _LIST.fullmatch(value):
        return ",".join(it.strip().strip('"') for it in items[1].split(","))
    return value


def merged(written: Conf | None, runtime: Conf | None, release: str) -> Conf:
    """Return a conf of what a broker says that holds, with the places where its file has it.

    Args:
        written: what its file says, if there is one.
        runtime: what it tells itself, if it was asked.
        release: of both; empty if it is not known, and then the file is all that counts.
    """
    if written is None or runtime is None:
        (conf,) = [it for it in (written, runtime) if it is not None]
        return replace(conf, release=release)
    if not release:
        return written
    file, truth = replace(written, release=release), replace(runtime, release=release)
    holds = dict(file.written)
    overruled = []
    for key in _common(truth):
        if file.value(key) != truth.value(key):
            holds[key] = truth.written[key]
            if file.is_written(key):
                overruled.append((file.written[key], truth.written[key]))
    return replace(file, written=holds, overruled=tuple(overruled))


def _common(runtime: Conf) -> Iterator[str]:
    """Return the keys that the broker names and we know, in the order of the settings page."""
    return (key for key in KEYS if key in runtime.written)
