"""A recording: a folder, an archive or a bare log, and what each file in it is read as.

Which line means what is not decided here.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from pathlib import Path, PurePosixPath
from typing import Any
from zoneinfo import ZoneInfo

from trimtab.files.errors import TrimtabError
from trimtab.ingest.archives import ARCHIVES, ArchiveError, unpack
from trimtab.ingest.packed_copies import is_packed_copy

#: What files are read as, in the order in which their rows are written.
SOURCES = (
    "recording",
    "conf",
    "helm-values",
    "runtime-config",
    "log",
    "load-reports",
    "store-brokers",
    "store-leader",
    "store-bundles",
    "store-ownership",
    "store-zookeeper",
    "metrics",
    "metrics-export",
    "actions",
)

META = "recording.toml"
#: pulsar-broker.log, broker.log.1, broker.log.2026-11-21, broker-2026-11-21-1.log
_LOG = r"[^/]*\.log(?:[.\-][\w.\-]+)?"
#: What rotation adds to a log's own name: broker-2026-11-21-1 is a part of broker.
_ROTATION = re.compile(r"\.log.*|-\d{4}-\d\d-\d\d(?:-\d+)?(?=\.log)")

#: Path within the recording, without .gz → what it is read as.
_READ = tuple(
    (re.compile(pattern), source)
    for pattern, source in (
        (r"recording\.toml", "recording"),
        (r"conf/(?P<broker>[^/]+)\.conf", "conf"),
        (r"(?:.+/)?(?P<broker>[^/]*values[^/]*)\.ya?ml", "helm-values"),
        (r"runtime-config/(?P<broker>[^/]+)\.(?:json|txt)", "runtime-config"),
        (rf"logs/(?P<broker>[^/]+)/(?:.+/)?{_LOG}", "log"),
        (r"load-reports\.jsonl", "load-reports"),
        (r"store/brokers\.jsonl", "store-brokers"),
        (r"store/leader\.jsonl", "store-leader"),
        (r"store/bundles\.jsonl", "store-bundles"),
        (r"store/ownership\.jsonl", "store-ownership"),
        # ZooKeeper names them by a transaction, in hexadecimal: log.100000001
        (r"store/zookeeper/(?:.+/)?(?:log|snapshot)\.[0-9a-f]+", "store-zookeeper"),
        (r"metrics/(?P<broker>[^/]+)/[^/]+\.prom", "metrics"),
        (r"metrics/(?:.+/)?[^/]+\.json", "metrics-export"),
        (r"actions\.jsonl", "actions"),
        # What somebody has on the first day: bare files, in no layout at all.
        (rf"(?:logs/)?{_LOG}", "log"),
        (rf"(?:.+/)?(?P<broker>[^/]+)/{_LOG}", "log"),
        (r"(?:.+/)?(?P<broker>[^/]+)\.conf", "conf"),
    )
)
_PACKED = re.compile(r".*\.(?:zip|bz2|xz|zst|7z)")
_GZIP_ONLY = "of the packed files only gzip is read"
_SHUT = "a folder that may not be looked into"
#: Path within the recording → why it is not read; looked at before `_READ`.
_UNUSED = tuple(
    (re.compile(pattern), reason)
    for pattern, reason in (
        (r"(?:.*/)?(?:\.|__MACOSX/).*", "hidden"),
        (r"gather\.jsonl", "what went wrong while it was recorded, for people"),
        (r"lab/.*", "what a test cluster really did, which no operator knows"),
        (
            r"store/zookeeper/.*\.snappy",
            "a snapshot packed with snappy is not read; expected a plain one, or gzip",
        ),
        (
            r"store/zookeeper/(?!(?:.+/)?(?:log|snapshot)\.[0-9a-f]+(?:\.gz)?$).*",
            "of ZooKeeper's files only log.* and snapshot.* are read",
        ),
        (r"store/(?:etcd|oxia|rocksdb)/.*", "of the stores' own files only ZooKeeper's are read"),
        (_PACKED.pattern, _GZIP_ONLY),
        (r"(?:.*/)?(?:[^/]*[_.\-])?gc(?:[_.\-][^/]*)?\.log.*", "log of Java's garbage collector"),
        (r"(?:.*/)?README[^/]*", "notes for people"),
    )
)
NOT_IN_LAYOUT = "not part of a recording's layout"
#: Reasons not to read a file that whoever made the recording may not have meant.
OVERSIGHTS = (_GZIP_ONLY, _SHUT)
#: What a time zone may be called.
ZONES = "such as '+08:00', 'UTC' or 'Asia/Shanghai'"
#: Names that a recording's own folder has in it.
_KNOWN = {META, "conf", "runtime-config", "logs", "load-reports.jsonl", "store", "metrics"}


class RecordingError(TrimtabError):
    """What was given is not a recording; the message names file, key, found and expected."""


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """One file of a recording that is read."""

    #: Path within the recording, with forward slashes.
    name: str
    path: Path
    #: Name under logs/, conf/, runtime-config/ or metrics/; empty for the other files.
    log_broker: str
    #: Day of the first of its lines that have no date; None: the recording's, if it has one.
    day: date | None = None
    #: Byte of the unpacked text → how many days later its lines are from there on.
    turns: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class UnusedFile:
    """One file of a recording that nobody reads, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording that is open: its files are where it says until it is closed."""

    root: Path
    name: str
    #: What recording.toml says, tables within it joined by dots.
    meta: dict[str, str]
    #: Zone of times that are printed without one; UTC if not said.
    zone: tzinfo
    #: When it begins, in its own zone; None if not said.
    begin: datetime | None
    #: Source → its files by name; every source that has files, in the order of `SOURCES`.
    files: dict[str, tuple[RecordedFile, ...]]
    unused: tuple[UnusedFile, ...]

    @property
    def day(self) -> date | None:
        """Return the day on which it begins; None if not said."""
        return None if self.begin is None else self.begin.date()

    @property
    def cluster(self) -> str:
        """Return the cluster's name; where recording.toml has none, the recording's."""
        return self.meta.get("cluster") or self.name


@contextmanager
def open_recording(path: Path) -> Iterator[Recording]:
    """Yield the recording in a folder, in a .tar.gz, .tgz, .tar or .zip of it, or in a single log.

    An archive is unpacked into a temporary folder that is removed when the block ends.

    Raises:
        RecordingError: there is nothing to read, or recording.toml is wrong.
    """
    if not path.exists():
        raise RecordingError(f"{path}: no such file or folder")
    if path.is_dir():
        yield _recording(_inner(path), _shown(path.resolve().name), path)
    elif path.name.endswith(ARCHIVES):
        with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
            left_out = _unpack(path, Path(folder))
            stem = next(path.name.removesuffix(it) for it in ARCHIVES if path.name.endswith(it))
            recording = _recording(_inner(Path(folder)), _shown(stem), path)
            yield replace(recording, unused=recording.unused + left_out)
    else:
        if _PACKED.fullmatch(path.name):
            raise RecordingError(
                f"{path}: {_GZIP_ONLY}; expected a folder, {', '.join(ARCHIVES)} or a log"
            )
        read_as = _source(_shown(path.name))
        file = RecordedFile(
            _shown(path.name), path.resolve(), read_as[1] if read_as else _shown(path.stem)
        )
        source = read_as[0] if read_as else "log"
        yield Recording(path.parent, file.name, {}, UTC, None, {source: (file,)}, ())


def _unpack(path: Path, folder: Path) -> tuple[UnusedFile, ...]:
    """Return what in an archive is no file; the rest is unpacked."""
    try:
        left_out = unpack(path, folder)
    except ArchiveError as error:
        raise RecordingError(str(error)) from None
    return tuple(UnusedFile(_shown(name), "not a regular file") for name in left_out)


def open_growing(path: Path) -> Recording:
    """Return the recording in a folder that may have nothing in it yet.

    Raises:
        RecordingError: it is not a folder, or recording.toml is wrong.
    """
    if not path.is_dir():
        kind = "a file" if path.exists() else "nothing"
        raise RecordingError(f"{path}: found {kind}, expected the folder of a recording")
    return _looked_through(_inner(path), _shown(path.resolve().name), path)


def log_stem(name: str) -> str:
    """Return what rotation leaves of a log's name: `broker` of broker-2026-11-21-1.log."""
    return _ROTATION.sub("", name)


def _recording(root: Path, name: str, named_path: Path) -> Recording:
    """Return the recording in a folder, which must have something in it."""
    recording = _looked_through(root, name, named_path)
    if not set(recording.files) - {"recording"}:
        shown = ", ".join(f"{it.name} ({it.reason})" for it in recording.unused[:3]) or "nothing"
        raise RecordingError(
            f"{named_path}: nothing to read: found {shown}; "
            "expected logs/, load-reports.jsonl, store/, metrics/, conf/ or *.log files"
        )
    return _without_copies(recording)


def _without_copies(recording: Recording) -> Recording:
    """Return it without what lies packed beside itself: each of its lines would count twice."""
    plain = {file.name: file for files in recording.files.values() for file in files}
    copies = {
        file.name: UnusedFile(file.name, f"a packed copy of {beside.name}")
        for file in plain.values()
        if (beside := plain.get(file.name.removesuffix(".gz"))) not in (None, file)
        and is_packed_copy(file.path, beside.path)
    }
    files = {
        source: tuple(file for file in those if file.name not in copies)
        for source, those in recording.files.items()
    }
    return replace(recording, files=files, unused=(*recording.unused, *copies.values()))


def _looked_through(root: Path, name: str, named_path: Path) -> Recording:
    """Return a recording's folder with what each of its files is read as.

    Its name stands for one in recording.toml; what the user named is for what is said of it.
    """
    files: dict[str, list[RecordedFile]] = {source: [] for source in SOURCES}
    paths, shut = _walk(root)
    unused = [UnusedFile(_shown(it.relative_to(root).as_posix()), _SHUT) for it in shut]
    for path in paths:
        file = _shown(path.relative_to(root).as_posix())
        reason = _reason_not_to_read(file, path)
        read_as = _source(file)
        if reason is None and read_as is not None:
            files[read_as[0]].append(RecordedFile(file, path.absolute(), read_as[1]))
        else:
            unused.append(UnusedFile(file, reason or NOT_IN_LAYOUT))
    sources = {source: tuple(those) for source, those in files.items() if those}
    try:
        meta = _read_meta(root / META)
        zone = zone_of(meta.get("time_zone", "UTC"))
        if zone is None:
            raise _wrong("time_zone", meta["time_zone"], ZONES)
        times = {key: _moment(key, meta[key], zone) for key in ("from", "to") if key in meta}
    except RecordingError as error:
        raise RecordingError(f"{named_path / META}: {error}") from None
    return Recording(
        root, meta.get("name", name), _flat(meta), zone, times.get("from"), sources, tuple(unused)
    )


def _walk(root: Path) -> tuple[list[Path], list[Path]]:
    """Return all files below a folder by name, following links but never in a circle.

    Returns:
        The files, and the folders that cannot be looked into.
    """
    paths: list[Path] = []
    shut: list[Path] = []
    visited = set()

    def refused(error: OSError) -> None:
        shut.append(Path(error.filename))

    for folder, folders, files in os.walk(root, onerror=refused, followlinks=True):
        here = os.path.realpath(folder)
        if here in visited:
            folders.clear()
            continue
        visited.add(here)
        paths.extend(Path(folder, name) for name in files)
    return sorted(paths, key=lambda path: path.relative_to(root).as_posix()), sorted(shut)


def _inner(folder: Path) -> Path:
    """Return the folder of the recording itself: archives often have others around it."""
    here = folder
    while True:
        inside = [it for it in here.iterdir() if not it.name.startswith((".", "__MACOSX"))]
        if any(it.name in _KNOWN for it in inside):
            return here
        if len(inside) != 1 or not inside[0].is_dir():
            return folder
        here = inside[0]


def _source(file: str) -> tuple[str, str] | None:
    """Return what a file is read as, and whose log or conf it is; None if it is not read."""
    plain = file.removesuffix(".gz")
    for pattern, source in _READ:
        if match := pattern.fullmatch(plain):
            broker = match.groupdict().get("broker")
            if broker is None and source == "log":
                broker = log_stem(PurePosixPath(plain).name)
            return source, broker or ""
    return None


def _reason_not_to_read(file: str, path: Path) -> str | None:
    if not path.is_file():
        return "not a regular file"
    return next((reason for pattern, reason in _UNUSED if pattern.fullmatch(file)), None)


def _shown(name: str) -> str:
    """Return a file's name as text that can be written, whatever bytes the system has in it."""
    return os.fsencode(name).decode("utf-8", "replace")


# ------------------------------------------------------------ recording.toml


def _read_meta(path: Path) -> dict[str, Any]:
    """Return recording.toml, where every key may be absent but none may be of a wrong kind."""
    if not path.exists():
        return {}
    try:
        meta = tomllib.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise RecordingError(getattr(error, "strerror", None) or str(error)) from None
    for key in ("cluster", "pulsar", "time_zone", "name", "note", "store_root"):
        if not isinstance(meta.get(key, ""), str):
            raise _wrong(key, meta[key], "text")
    if not re.fullmatch(r"(?:/[^/]+)*", meta.get("store_root", "")):
        raise _wrong("store_root", meta["store_root"], "a path such as '/cluster1'")
    brokers = meta.get("brokers", {})
    if not isinstance(brokers, dict):
        raise _wrong("brokers", brokers, "a table for each broker")
    for name, broker in brokers.items():
        if not isinstance(broker, dict):
            raise _wrong(f"brokers.{name}", broker, "a table such as {id = 'host:port'}")
        if not isinstance(broker.get("id", ""), str):
            raise _wrong(f"brokers.{name}.id", broker["id"], "text such as 'host:port'")
    return meta


def zone_of(name: str) -> tzinfo | None:
    """Return the zone of a name such as `+08:00`, `UTC` or `Asia/Shanghai`; None if none has it."""
    if name in {"Z", "UTC"}:
        return UTC
    if offset := re.fullmatch(r"([+-])(\d\d):?([0-5]\d)", name):
        minutes = int(offset[2]) * 60 + int(offset[3])
        if minutes < 24 * 60:
            return timezone(timedelta(minutes=minutes if offset[1] == "+" else -minutes))
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return None


def _moment(key: str, value: Any, zone: tzinfo) -> datetime:
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000, zone)
        moment = datetime.fromisoformat(value if isinstance(value, str) else value.isoformat())
    except (AttributeError, ValueError, OverflowError, OSError):
        raise _wrong(key, value, "a time in ISO 8601, or epoch milliseconds") from None
    return moment.astimezone(zone) if moment.tzinfo else moment.replace(tzinfo=zone)


def _wrong(key: str, value: Any, expected: str) -> RecordingError:
    return RecordingError(f"key {key}: found {value!r}, expected {expected}")


def _flat(table: dict[str, Any], head: str = "") -> dict[str, str]:
    """Return every value of a table within tables as text, its keys joined by dots."""
    flat: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{head}{key}.")
        else:
            flat[head + key] = value if isinstance(value, str) else json.dumps(value, default=str)
    return flat
