"""A recording: a folder, an archive or a bare log, and what each file in it is read as.

Which line means what is not decided here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tarfile
import tempfile
import tomllib
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from pathlib import Path, PurePosixPath
from typing import IO, Any
from zoneinfo import ZoneInfo

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
_ARCHIVES = (".tar.gz", ".tgz", ".tar", ".zip")
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
        (r".*\.(?:zip|bz2|xz|zst|7z)", "of the packed files only gzip is read"),
        (r"(?:.*/)?(?:[^/]*[_.\-])?gc(?:[_.\-][^/]*)?\.log.*", "log of Java's garbage collector"),
        (r"(?:.*/)?README[^/]*", "notes for people"),
    )
)
_NOT_IN_LAYOUT = "not part of a recording's layout"
#: Names that a recording's own folder has in it.
_KNOWN = {META, "conf", "runtime-config", "logs", "load-reports.jsonl", "store", "metrics"}


class RecordingError(Exception):
    """What was given is not a recording; the message names file, key, found and expected."""


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """One file of a recording that is read."""

    #: Path within the recording, with forward slashes.
    name: str
    path: Path
    #: Name under logs/, conf/, runtime-config/ or metrics/; empty for the other files.
    log_broker: str


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
    #: Day of times that are printed without a date; None if not said.
    day: date | None
    #: Source → its files by name; every source that has files, in the order of `SOURCES`.
    files: dict[str, tuple[RecordedFile, ...]]
    unused: tuple[UnusedFile, ...]

    @property
    def cluster(self) -> str:
        """Return the cluster's name; where recording.toml has none, the recording's."""
        return self.meta.get("cluster") or self.name


@contextmanager
def open_recording(path: Path) -> Iterator[Recording]:
    """Open a recording: a folder, a .tar.gz, .tgz, .tar or .zip of it, or a single log.

    An archive is unpacked into a temporary folder that is removed when the block ends.

    Raises:
        RecordingError: there is nothing to read, or recording.toml is wrong.
    """
    if not path.exists():
        raise RecordingError(f"{path}: no such file or folder")
    if path.is_dir():
        yield _recording(_inner(path), path.resolve().name)
    elif path.name.endswith(_ARCHIVES):
        with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
            left_out = _unpack(path, Path(folder))
            stem = next(path.name.removesuffix(it) for it in _ARCHIVES if path.name.endswith(it))
            recording = _recording(_inner(Path(folder)), stem)
            yield replace(recording, unused=recording.unused + left_out)
    else:
        read_as = _source(path.name)
        file = RecordedFile(_shown(path.name), path.resolve(), read_as[1] if read_as else path.stem)
        source = read_as[0] if read_as else "log"
        yield Recording(path.parent, path.name, {}, UTC, None, {source: (file,)}, ())


def open_growing(path: Path) -> Recording:
    """Look through a recording's folder that may have nothing in it yet.

    Raises:
        RecordingError: it is not a folder, or recording.toml is wrong.
    """
    if not path.is_dir():
        raise RecordingError(f"{path}: found {_kind(path)}, expected the folder of a recording")
    return _looked_through(_inner(path), path.resolve().name)


def log_stem(name: str) -> str:
    """Return what rotation leaves of a log's name: `broker` of broker-2026-11-21-1.log."""
    return _ROTATION.sub("", name)


def _kind(path: Path) -> str:
    return "a file" if path.exists() else "nothing"


def _recording(root: Path, name: str) -> Recording:
    """Look through a recording's folder, which must have something in it."""
    found = _looked_through(root, name)
    if not set(found.files) - {"recording"}:
        shown = ", ".join(f"{it.name} ({it.reason})" for it in found.unused[:3]) or "nothing"
        raise RecordingError(
            f"{root if root.exists() else name}: nothing to read: found {shown}; "
            "expected logs/, load-reports.jsonl, store/, metrics/, conf/ or *.log files"
        )
    return found


def _looked_through(root: Path, name: str) -> Recording:
    """Say what each file of a recording's folder is read as."""
    files: dict[str, list[RecordedFile]] = {source: [] for source in SOURCES}
    unused = []
    for path in _walk(root):
        file = _shown(path.relative_to(root).as_posix())
        reason = _reason_not_to_read(file, path)
        read_as = _source(file)
        if reason is None and read_as is not None:
            files[read_as[0]].append(RecordedFile(file, path.absolute(), read_as[1]))
        else:
            unused.append(UnusedFile(file, reason or _NOT_IN_LAYOUT))
    found = {source: tuple(those) for source, those in files.items() if those}
    meta = _read_meta(root / META)
    zone = _zone(meta.get("time_zone"))
    return Recording(
        root, meta.get("name", name), _flat(meta), zone, _day(meta, zone), found, tuple(unused)
    )


def _walk(root: Path) -> list[Path]:
    """List all files below a folder by name, following links but never in a circle."""
    found: list[Path] = []
    seen = set()
    for folder, folders, files in os.walk(root, followlinks=True):
        here = os.path.realpath(folder)
        if here in seen:
            folders.clear()
            continue
        seen.add(here)
        found.extend(Path(folder, name) for name in files)
    return sorted(found, key=lambda path: path.relative_to(root).as_posix())


def _inner(folder: Path) -> Path:
    """Return the folder of the recording itself: archives often have one more around it."""
    inside = [it for it in folder.iterdir() if not it.name.startswith((".", "__MACOSX"))]
    is_around = len(inside) == 1 and inside[0].is_dir() and inside[0].name not in _KNOWN
    if is_around and any(it.name in _KNOWN for it in inside[0].iterdir()):
        return inside[0]
    return folder


def _source(file: str) -> tuple[str, str] | None:
    """Return what a file is read as, and whose log or conf it is; None if it is not read."""
    plain = file.removesuffix(".gz")
    for pattern, source in _READ:
        if found := pattern.fullmatch(plain):
            broker = found.groupdict().get("broker")
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
    """Read recording.toml, where every key may be absent but none may be of a wrong kind."""
    if not path.exists():
        return {}
    try:
        meta = tomllib.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise RecordingError(f"{META}: {error}") from None
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


def _zone(name: str | None) -> tzinfo:
    """Return the zone of a name such as `+08:00`, `UTC` or `Asia/Shanghai`."""
    if name is None or name in {"Z", "UTC"}:
        return UTC
    if offset := re.fullmatch(r"([+-])(\d\d):?([0-5]\d)", name):
        minutes = int(offset[2]) * 60 + int(offset[3])
        if minutes < 24 * 60:
            return timezone(timedelta(minutes=minutes if offset[1] == "+" else -minutes))
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise _wrong("time_zone", name, "such as '+08:00', 'UTC' or 'Asia/Shanghai'") from None


def _day(meta: dict[str, Any], zone: tzinfo) -> date | None:
    """Return the day on which the recording began, in its own zone."""
    days = {key: _moment(key, meta[key], zone) for key in ("from", "to") if key in meta}
    return days["from"].date() if "from" in days else None


def _moment(key: str, found: Any, zone: tzinfo) -> datetime:
    try:
        if isinstance(found, int | float) and not isinstance(found, bool):
            return datetime.fromtimestamp(found / 1000, zone)
        moment = datetime.fromisoformat(found if isinstance(found, str) else found.isoformat())
    except (AttributeError, ValueError, OverflowError, OSError):
        raise _wrong(key, found, "a time in ISO 8601, or epoch milliseconds") from None
    return moment.astimezone(zone) if moment.tzinfo else moment.replace(tzinfo=zone)


def _wrong(key: str, found: Any, expected: str) -> RecordingError:
    return RecordingError(f"{META}: key {key}: found {found!r}, expected {expected}")


def _flat(table: dict[str, Any], head: str = "") -> dict[str, str]:
    """Return every value of a table within tables as text, its keys joined by dots."""
    flat: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{head}{key}.")
        else:
            flat[head + key] = value if isinstance(value, str) else json.dumps(value, default=str)
    return flat


# ------------------------------------------------------------------ archives


def _unpack(path: Path, folder: Path) -> tuple[UnusedFile, ...]:
    """Unpack the regular files of an archive, and return what else is in it.

    An archive with a file that would lie outside of the folder is refused whole.
    """
    left_out = []
    try:
        for name, member in _members(path):
            inside = PurePosixPath(name)
            if inside.is_absolute() or ".." in inside.parts or "\\" in name:
                raise RecordingError(f"{path}: refused: {name!r} would lie outside of it")
            if member is None:
                left_out.append(UnusedFile(_shown(name), "not a regular file"))
                continue
            target = folder.joinpath(*inside.parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            with member, target.open("wb") as file:
                shutil.copyfileobj(member, file)
    except (OSError, EOFError, RuntimeError, tarfile.TarError, zipfile.BadZipFile, zlib.error) as e:
        raise RecordingError(f"{path}: the archive cannot be unpacked: {e}") from None
    return tuple(left_out)


def _members(path: Path) -> Iterator[tuple[str, IO[bytes] | None]]:
    """Give the names and contents of what is in an archive; None for links and the like."""
    if path.name.endswith(".zip"):
        with zipfile.ZipFile(path) as zipped:
            for entry in zipped.infolist():
                if not entry.is_dir():
                    yield entry.filename, zipped.open(entry)
    else:
        with tarfile.open(path) as tarred:
            for member in tarred:
                if not member.isdir():
                    yield member.name, tarred.extractfile(member) if member.isreg() else None
