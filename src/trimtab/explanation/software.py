"""Logs, load reports, Helm values → the release that brokers ran, and the classes that ran."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from trimtab.explanation.conf_text import read_conf
from trimtab.explanation.lint import Conf, Written
from trimtab.explanation.lint.conf import EXTENSIONS, IMPL, MANAGER_KEY, SHEDDER_KEY
from trimtab.files.errors import TrimtabError
from trimtab.files.places import readable
from trimtab.ingest.recording import RecordedFile
from trimtab.pulsar.confs import scalars
from trimtab.pulsar.releases import release_order

_GZIP = b"\x1f\x8b"
#: Brokers name their release when they start, and classes log each minute.
_BYTES_MAX = 32 * 1024 * 1024
_LOGGED = re.compile(rb"Starting Pulsar Broker service; version: '([^'\r\n]+)'")
_REPORTED = re.compile(rb'"brokerVersionString"\s*:\s*"([^"\r\n]+)"')
_NETWORK = re.compile(
    rb'\\?"bandwidthIn\\?"\s*:\s*\{[^}]*\\?"limit\\?"\s*:\s*(-?[\d.]+(?:E\d+)?)', re.ASCII
)
_NUMBER = r"(\d+\.\d+\.\d+(?:\.\d+)?(?:-M\d+)?)"
_TAG = re.compile(_NUMBER)
_IMAGE = re.compile(rf".*pulsar(?:-all)?:{_NUMBER}")
#: Logger, also where it is shortened, up to what it says.
_LOGGER = re.compile(
    rb"(?:loadbalance|o\.a\.p\.b\.l)\.(extensions|impl)\.(?:\w+\.)*(\w+) +- ", re.ASCII
)
_DUMP = re.compile(rb"ServiceConfiguration\([^\r\n]*")
#: Class that logs → key, and the class that it is set to.
_SHEDDERS = ("ThresholdShedder", "OverloadShedder", "UniformLoadShedder", "AvgShedder")
_RUNNING: Mapping[tuple[str, str], tuple[str, str]] = {
    ("impl", "ModularLoadManagerImpl"): (MANAGER_KEY, f"{IMPL}ModularLoadManagerImpl"),
    ("extensions", "TransferShedder"): (SHEDDER_KEY, f"{EXTENSIONS}scheduler.TransferShedder"),
    **{("impl", name): (SHEDDER_KEY, f"{IMPL}{name}") for name in _SHEDDERS},
}
_EXTENSIBLE = (MANAGER_KEY, f"{EXTENSIONS}ExtensibleLoadManagerImpl")


@dataclass(frozen=True, slots=True)
class Software:
    """What ran, by the evidence of a recording."""

    #: Empty if nothing says it.
    release: str = ""
    #: Where it says so: file:line.
    place: str = ""
    #: Keys that choose a class, as the lines show that it runs.
    classes: tuple[Written, ...] = ()
    #: Broker → its settings, as its log has them.
    dumps: Mapping[str, Conf] = field(default_factory=dict)
    #: Limits of the network in kbit/s that load reports have.
    network_limits: frozenset[float] = frozenset()


def software(name: str, files: Mapping[str, Iterable[RecordedFile]]) -> Software:
    """Return what the logs and load reports of a recording say of the software.

    Args:
        name: what the recording is called in findings.
        files: the recording's, by what they are read as.
    """
    releases: list[tuple[str, str]] = []
    classes: dict[str, dict[str, Written]] = {}
    dumps: dict[str, Conf] = {}
    limits: set[float] = set()
    for file in files.get("log", ()):
        content, place = _content(file), f"{name}/{file.name}"
        releases += _last_release(place, content, _LOGGED)
        for written in _running(place, content):
            classes.setdefault(written.key, {}).setdefault(written.value, written)
        if (dump := _dump(place, content)) is not None:
            dumps[file.log_broker] = dump
    for file in (*files.get("load-reports", ()), *files.get("store-brokers", ())):
        content = _content(file)
        releases += _last_release(f"{name}/{file.name}", content, _REPORTED)
        limits.update(float(it[1]) for it in _NETWORK.finditer(content))
    commonest = Counter(release for release, _ in releases).most_common(1)
    release = commonest[0][0] if commonest else ""
    return Software(
        release,
        next((place for it, place in releases if it == release), ""),
        # Who changed classes while the recording ran goes by both.
        tuple(it for those in classes.values() if len(those) == 1 for it in those.values()),
        dumps,
        # A card that is not known counts 0, and other systems than Linux say -1.
        frozenset(limit for limit in limits if limit > 0),
    )


def image_release(source: str, text: str) -> Software:
    """Return the release of the image that Helm values or a compose file name.

    The broker's own image wins over the one that all components share.
    """
    releases: dict[int, dict[str, int]] = {}
    for rank, release, line in _images(text):
        releases.setdefault(rank, {}).setdefault(release, line)
    for rank in sorted(releases):
        if len(releases[rank]) == 1:
            [(release, line)] = releases[rank].items()
            return Software(release, f"{source}:{line}")
    return Software()


def _images(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield the releases of images in a YAML text: how particular, which, and the line."""
    for above, key, value, line in scalars(text):
        if key == "tag" and above[-1:] == ("broker",) and (match := _TAG.match(value)):
            yield 0, match[1], line
        elif key == "image" and (match := _IMAGE.match(value)):
            yield 1, match[1], line
        elif key == "defaultPulsarImageTag" and (match := _TAG.match(value)):
            yield 2, match[1], line


def _content(file: RecordedFile) -> bytes:
    """Return the beginning of a file; nothing of one that cannot be read, as ingest says."""
    try:
        with file.path.open("rb") as opened:
            content = opened.read(_BYTES_MAX)
        if content.startswith(_GZIP):
            with gzip.open(readable(file.path), "rb") as unpacked:
                content = unpacked.read(_BYTES_MAX)
    except (OSError, EOFError, zlib.error):
        return b""
    return content


def _last_release(
    place: str, content: bytes, pattern: re.Pattern[bytes]
) -> Iterator[tuple[str, str]]:
    """Yield the last release that a file names, and where."""
    last = _last(pattern, content)
    if last is None:
        return
    release = last[1].decode("utf-8", "replace")
    try:
        release_order(release)
    except ValueError:
        return
    yield release, f"{place}:{_line(content, last.start())}"


def _running(place: str, content: bytes) -> Iterator[Written]:
    """Yield the keys that choose the classes which log in a file, where each does so first."""
    lines: dict[tuple[str, str], int] = {}
    for match in _LOGGER.finditer(content):
        package, logger = match[1].decode(), match[2].decode()
        if package == "extensions":
            lines.setdefault(_EXTENSIBLE, match.start())
        if (package, logger) in _RUNNING:
            lines.setdefault(_RUNNING[package, logger], match.start())
    for (key, value), start in lines.items():
        yield Written(key, value, place, _line(content, start))


def _dump(place: str, content: bytes) -> Conf | None:
    """Return the settings with which a broker became ready, as its log has them last."""
    last = _last(_DUMP, content)
    if last is None:
        return None
    line = _line(content, last.start())
    try:
        conf = read_conf(place, last[0])
    except TrimtabError:
        return None
    return replace(conf, written={key: replace(it, line=line) for key, it in conf.written.items()})


def _last(pattern: re.Pattern[bytes], content: bytes) -> re.Match[bytes] | None:
    """Return the last match of a pattern."""
    matches = deque(pattern.finditer(content), maxlen=1)
    return matches[0] if matches else None


def _line(content: bytes, start: int) -> int:
    return content.count(b"\n", 0, start) + 1
