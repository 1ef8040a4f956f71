"""Broker confs, Helm values, a broker's own answer, or a recording: files → findings."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trimtab.explanation.conf_text import BYTES_MAX, LintError, merged, read_conf
from trimtab.explanation.lint import (
    OLDEST,
    RELEASES,
    RULES,
    Candidates,
    Conf,
    Finding,
    Written,
    candidates,
    findings_of_releases,
    lint,
    lint_upgrade,
)
from trimtab.explanation.software import Software, image_release, software
from trimtab.ingest.archives import ARCHIVES
from trimtab.ingest.recording import RecordedFile, open_recording
from trimtab.ingest.recording_toml import RecordingError
from trimtab.pulsar.releases import release_order

#: What the standard input is called in findings.
STANDARD_INPUT = "stdin"
#: What a text that lies in no file is called there.
TEXT = "text"

_GZIP = b"\x1f\x8b"
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


@dataclass(frozen=True, slots=True)
class Releases:
    """What release is looked at: one, or a change from one to another."""

    #: Empty if it is to be looked for.
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
                release_order(name)
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
    #: From what the release is known, in words; empty if it was given.
    basis: str
    #: The releases that it may be, in words; empty if it is known.
    others: str = ""
    #: Classes that the settings leave open, and that logs show to run.
    running: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Settings:
    """The settings of one path."""

    #: What each broker's file says and what it tells itself, whichever there is.
    pairs: tuple[tuple[Conf | None, Conf | None], ...]
    #: Empty if it is not known.
    release: str = ""
    #: From what it is known; empty if it was given.
    basis: str = ""
    #: What is in the files by the evidence of logs.
    classes: tuple[Written, ...] = ()

    def confs(self, release: str) -> list[Conf]:
        """Return what each broker goes by in a release."""
        return [merged(written, runtime, release) for written, runtime in self.pairs]

    def parts(self) -> list[Conf]:
        """Return all that is written and told, by itself."""
        return [conf for pair in self.pairs for conf in pair if conf is not None]


def look(paths: Sequence[str], releases: Releases) -> LintResult:
    """Return what lint finds in files, in recordings, or in the standard input (`-`).

    Raises:
        LintError: something cannot be read.
    """
    releases.check()
    return _looked((_settings(path) for path in paths), releases)


def look_at_text(text: str, releases: Releases) -> LintResult:
    """Return what lint finds in the text of a broker.conf, of Helm values or of a broker's answer.

    Raises:
        LintError: it holds no setting.
    """
    releases.check()
    return _looked([_of_text(TEXT, text.encode("utf-8", "replace"))], releases)


def refuse_unknown(codes: Iterable[str]) -> None:
    """Refuse to ignore what is no rule.

    Raises:
        LintError: a code is of none.
    """
    for code in codes:
        if code not in RULES:
            raise LintError(f"--ignore: found {code!r}, expected a rule of docs/lint.md")


def _looked(settings_of_paths: Iterable[_Settings], releases: Releases) -> LintResult:
    """Return what lint finds in the settings of each path, with the release that they are of."""
    results = [
        replace(_looked_at(settings, releases), running=_running(settings))
        for settings in settings_of_paths
    ]
    return replace(
        results[0],
        running=tuple(dict.fromkeys(it for result in results for it in result.running)),
        findings=tuple(it for result in results for it in result.findings),
        files=tuple(dict.fromkeys(it for result in results for it in result.files)),
    )


def _looked_at(settings: _Settings, releases: Releases) -> LintResult:
    release = releases.release or settings.release
    if releases.before:
        confs = settings.confs(releases.before)
        upgraded = lint_upgrade(confs, releases.before, releases.after)
        return LintResult(upgraded, _sources(confs), releases.after, "")
    if release:
        confs = settings.confs(release)
        basis = "" if releases.release else settings.basis
        return LintResult(lint(confs), _sources(confs), release, basis + _age(release, basis))
    which = candidates(settings.parts(), RELEASES)
    by_release = {each: lint(settings.confs(each)) for each in which.releases}
    sources = _sources(settings.confs(which.newest))
    return LintResult(
        findings_of_releases(by_release), sources, which.newest, which.basis, others=_range(which)
    )


def _running(settings: _Settings) -> tuple[str, ...]:
    """Return the classes that only logs show, as sentences."""
    return tuple(
        f"{it.value.rpartition('.')[2]} runs, as {it.source}:{it.line} shows; {it.key} is not set"
        for it in settings.classes
        if any(it in conf.written.values() for conf in settings.parts())
    )


def _range(which: Candidates) -> str:
    """Return the releases that it may be as words."""
    first, last = which.releases[0], RELEASES.index(which.newest)
    if which.newest == RELEASES[-1]:
        return f"{first} on"
    return f"{first} to before {RELEASES[last + 1]}"


def _age(release: str, basis: str) -> str:
    """Return what there is to say of releases that are older than those that were read."""
    if release_order(release) >= release_order(OLDEST):
        return ""
    return (
        f"{'; ' if basis else ''}it is older than {OLDEST}, the first whose settings were read, "
        "and is looked at as that, but for the shedder that is not set"
    )


def _sources(confs: Iterable[Conf]) -> tuple[str, ...]:
    return tuple(conf.source for conf in confs)


# ------------------------------------------------------------- where they stand


def _settings(path: str) -> _Settings:
    """Return the settings of a path: one conf, or those of a recording's brokers."""
    if path == "-":
        return _of_text(STANDARD_INPUT, sys.stdin.buffer.read(BYTES_MAX + 1))
    if os.path.isdir(path) or path.endswith(ARCHIVES):
        return _recorded(Path(path))
    return _of_text(path, _content(path, Path(path)))


def _of_text(source: str, content: bytes) -> _Settings:
    conf = read_conf(source, content)
    image = image_release(source, content.decode("utf-8-sig", "replace"))
    return _Settings(((conf, None),), image.release, _release_sentence(image))


def _recorded(path: Path) -> _Settings:
    """Return the settings of a recording's brokers, and its release."""
    try:
        with open_recording(path) as recording:
            release = recording.meta.get("pulsar", "")
            ran = software(str(path), recording.files)
            written = _by_broker(path, recording.files.get("conf", ()))
            values = list(_each(path, recording.files.get("helm-values", ())))
            runtime = {**ran.dumps, **_by_broker(path, recording.files.get("runtime-config", ()))}
    except RecordingError as error:
        raise LintError(str(error)) from None
    except OSError as error:
        raise LintError(f"{path}: {error.strerror or error}") from None
    if release:
        Releases(release).check()
    image, helm = _helm(values)
    pairs = [
        (_completed(file, ran), _completed(told, Software(network_limits=ran.network_limits)))
        for file, told in _pairs(written, helm, runtime)
    ]
    if not pairs:
        raise LintError(f"{path}: found no settings, expected conf/*.conf or runtime-config/*.json")
    software_told = ran if ran.release else image
    return _Settings(
        tuple(pairs),
        release or software_told.release,
        "" if release else _release_sentence(software_told),
        ran.classes,
    )


def _release_sentence(ran: Software) -> str:
    return f"{ran.place} says {ran.release}" if ran.release else ""


def _helm(values: Sequence[tuple[Conf, bytes]]) -> tuple[Software, Conf | None]:
    """Return the image that Helm values name, and their settings; later files win, as for Helm."""
    image, together = Software(), None
    for conf, content in values:
        named = image_release(conf.source, content.decode("utf-8", "replace"))
        image = named if named.release else image
        together = conf if together is None else _overlaid(together, conf)
    return image, together


def _pairs(
    written: dict[str, Conf], helm: Conf | None, runtime: dict[str, Conf]
) -> Iterator[tuple[Conf | None, Conf | None]]:
    """Yield what each broker's file says and what it tells itself.

    Quirks:
        A single file that is of no broker which tells anything is every broker's.
    """
    everyones = helm
    if len(written) == 1 and runtime and written.keys().isdisjoint(runtime):
        [everyones] = (_overlaid(file, helm) for file in written.values())
        written = {}
    for broker in sorted({*written, *runtime}):
        own = _overlaid(written[broker], helm) if broker in written else everyones
        yield own, runtime.get(broker)
    if not written and not runtime and everyones is not None:
        yield everyones, None


def _overlaid(file: Conf, values: Conf | None) -> Conf:
    """Return a file into which values are written when the broker starts, if there are any."""
    if values is None:
        return file
    return replace(file, written={**file.written, **values.written})


def _completed(file: Conf | None, ran: Software) -> Conf | None:
    """Return what a file says, and where it leaves a class open, the one that logged."""
    if file is None:
        return None
    running = {it.key: it for it in ran.classes if not file.is_written(it.key)}
    return replace(file, written={**file.written, **running}, network_limits=ran.network_limits)


def _by_broker(path: Path, files: Iterable[RecordedFile]) -> dict[str, Conf]:
    own = [file for file in files if file.log_broker not in _OF_OTHERS]
    return {file.log_broker: conf for file, (conf, _) in zip(own, _each(path, own), strict=True)}


def _each(path: Path, files: Iterable[RecordedFile]) -> Iterator[tuple[Conf, bytes]]:
    for file in files:
        content = _content(f"{path}/{file.name}", file.path)
        yield read_conf(f"{path}/{file.name}", content), content


def _content(source: str, path: Path) -> bytes:
    """Return a file, unpacked; no more of it than shows that it is no conf."""
    try:
        with path.open("rb") as opened:
            content = opened.read(BYTES_MAX + 1)
        if content.startswith(_GZIP):
            with gzip.open(path, "rb") as unpacked:
                content = unpacked.read(BYTES_MAX + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise LintError(f"{source}: {getattr(error, 'strerror', None) or error}") from None
    return content
