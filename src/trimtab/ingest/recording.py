"""A recording: a folder, an archive or a bare log, and what each file in it is read as.

Which line means what is not decided here.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, tzinfo
from pathlib import Path, PurePosixPath

from trimtab.files.places import files_below, is_store
from trimtab.ingest.archives import ARCHIVES, ArchiveError, unpack
from trimtab.ingest.outcome import SharedLines
from trimtab.ingest.packed_copies import is_packed_copy, same_logs
from trimtab.ingest.recording_toml import (
    ZONES,
    RecordingError,
    flat_keys,
    moment_of,
    read_meta,
    wrong_key,
    zone_of,
)
from trimtab.ingest.wrapped.foreign import EMPTY
from trimtab.ingest.wrapped.kinds import Look, look_at
from trimtab.ingest.wrapped.lines_by_broker import SOURCE as WRAPPED

#: What files are read as, in the order in which their rows are written.
SOURCES = (
    "recording",
    "conf",
    "helm-values",
    "runtime-config",
    "log",
    "wrapped-log",
    "load-reports",
    "store-brokers",
    "store-leader",
    "store-bundles",
    "store-ownership",
    "store-states",
    *("store-loads", "store-top-bundles"),
    "store-zookeeper",
    *("metrics", "metrics-export"),
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
        (r"store/service-unit-state\.jsonl", "store-states"),
        (r"store/broker-load-data\.jsonl", "store-loads"),
        (r"store/top-bundles-load-data\.jsonl", "store-top-bundles"),
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
#: Files that may be logs although their names do not say so, at the top or below logs/.
_PERHAPS_LOG = re.compile(
    r"(?:logs/(?:(?P<broker>[^/]+)/(?:.+/)?)?)?[^/]+?(?:\.(?:jsonl?|ndjson|csv|txt|out))?"
)
#: Why a log is not read: what follows says what it looks like.
FOREIGN = "none of its lines is Pulsar's: it looks like "
#: Why a log is not read: the name of the other follows.
SAME_LOG = "the same log by another name: its lines count once, as those of "
_A_LOG = "a broker's log, or what a collector has of it: a folder, an archive or a file"
NOT_IN_LAYOUT = "not part of a recording's layout"
#: Reasons not to read a file that whoever made the recording may not have meant.
OVERSIGHTS = (_GZIP_ONLY, _SHUT)
#: Names that a recording's own folder has in it.
_KNOWN = {META, "conf", "runtime-config", "logs", "load-reports.jsonl", "store", "metrics"}


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
    #: Of a collector's file: which of its lines count as those of another log.
    shared: tuple[SharedLines, ...] = ()


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

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return where each of its files lies."""
        return tuple(file.path for files in self.files.values() for file in files)


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
        if source == "log":
            look = look_at(path)
            source = WRAPPED if look.is_wrapped else source
            if look.foreign:
                why = "it is empty" if look.foreign == EMPTY else FOREIGN + look.foreign
                raise RecordingError(f"{path}: {why}; expected {_A_LOG}")
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
    recording = _recognized(_looked_through(root, name, named_path))
    if not set(recording.files) - {"recording"}:
        shown = ", ".join(f"{it.name} ({it.reason})" for it in recording.unused[:3]) or "nothing"
        raise RecordingError(
            f"{named_path}: nothing to read: found {shown}; "
            "expected logs/, load-reports.jsonl, store/, metrics/, conf/ or *.log files"
        )
    return _without_copies(recording)


def _recognized(recording: Recording) -> Recording:
    """Return it with logs read as what they hold: a collector's files, or nothing of Pulsar's.

    A file whose name says nothing is a log if it holds lines of one.
    """
    logs: dict[str, list[RecordedFile]] = {"log": [], WRAPPED: []}
    unused = []
    for file in recording.files.get("log", ()):
        look = look_at(file.path)
        if look.foreign and look.foreign != EMPTY:
            unused.append(UnusedFile(file.name, FOREIGN + look.foreign))
        else:
            logs[WRAPPED if look.is_wrapped else "log"].append(file)
    for each in recording.unused:
        match = _PERHAPS_LOG.fullmatch(each.name.removesuffix(".gz"))
        look = look_at(recording.root / each.name) if match else Look()
        if match is None or each.reason != NOT_IN_LAYOUT or not (look.is_pulsar and look.is_log):
            unused.append(each)
            continue
        broker = match["broker"] or PurePosixPath(each.name).name.partition(".")[0]
        path = (recording.root / each.name).absolute()
        logs[WRAPPED if look.is_wrapped else "log"].append(RecordedFile(each.name, path, broker))
    files = recording.files | {
        source: tuple(sorted(those, key=lambda file: file.name)) for source, those in logs.items()
    }
    files = {source: files[source] for source in SOURCES if files.get(source)}
    return replace(recording, files=files, unused=tuple(unused))


def _without_copies(recording: Recording) -> Recording:
    """Return it without what lies there twice, packed or by another name: lines count once."""
    plain = {file.name: file for files in recording.files.values() for file in files}
    copies = {
        file.name: f"a packed copy of {beside.name}"
        for file in plain.values()
        if (beside := plain.get(file.name.removesuffix(".gz"))) not in (None, file)
        and is_packed_copy(file.path, beside.path)
    }
    logs = {
        file.name: file.path
        for source in ("log", WRAPPED)
        for file in recording.files.get(source, ())
        if file.name not in copies
    }
    copies |= {name: SAME_LOG + other for name, other in same_logs(logs).items()}
    files = {
        source: tuple(file for file in those if file.name not in copies)
        for source, those in recording.files.items()
    }
    unused = [UnusedFile(name, reason) for name, reason in copies.items()]
    return replace(recording, files=files, unused=(*recording.unused, *unused))


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
        meta = read_meta(root / META)
        zone = zone_of(meta.get("time_zone", "UTC"))
        if zone is None:
            raise wrong_key("time_zone", meta["time_zone"], ZONES)
        times = {key: moment_of(key, meta[key], zone) for key in ("from", "to") if key in meta}
    except RecordingError as error:
        raise RecordingError(f"{named_path / META}: {error}") from None
    begin, shown = times.get("from"), meta.get("name", name)
    return Recording(root, shown, flat_keys(meta), zone, begin, sources, tuple(unused))


def _walk(root: Path) -> tuple[list[Path], list[Path]]:
    """Return all files below a folder by name, following links but never in a circle.

    Returns:
        The files, and the folders that cannot be looked into.
    """
    if is_store(root):
        return files_below(root), []
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
