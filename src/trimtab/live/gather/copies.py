"""Copies what a cluster has written to disk: its brokers' logs, and ZooKeeper's own files."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from trimtab.live.gather.access import GatherError
from trimtab.live.gather.folder import Folder, folder_name

# pulsar-broker.log, broker.log.1, broker-2026-11-21.log.gz
_LOG = re.compile(r"[^/]*\.log(?:[.\-][\w.\-]+)?")
_ZOOKEEPER = re.compile(r"(?:log|snapshot)\.[0-9a-f]+(?:\.gz)?")
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """A folder to be copied, and the name that its files are to stand under."""

    path: Path
    name: str


def log_folders(given: tuple[str, ...]) -> list[Source]:
    """Return the folders of logs that were named, as `DIR` or `BROKER=DIR`.

    A folder that has no logs itself, but folders with logs, stands for those.

    Raises:
        GatherError: a folder is not there, has no logs, or two have one name.
    """
    sources: list[Source] = []
    for each in given:
        broker, equals, named = each.rpartition("=")
        path = Path(named)
        if not path.is_dir():
            raise GatherError(f"--logs: found {named}, expected a folder")
        inside = [path] if _logs(path) else [it for it in sorted(path.iterdir()) if _logs(it)]
        if not inside or (equals and len(inside) > 1):
            expected = "a folder with *.log files" + (" of one broker" if equals else "")
            raise GatherError(f"--logs: found {named}, expected {expected}")
        sources += [Source(it, folder_name(broker or it.resolve().name)) for it in inside]
    names = [source.name for source in sources]
    if twice := {name for name in names if names.count(name) > 1}:
        raise GatherError(
            f"--logs: found two folders called {min(twice)}, expected BROKER=DIR to tell them apart"
        )
    return sources


def zookeeper_folders(given: tuple[Path, ...]) -> list[Source]:
    """Return ZooKeeper's data folders: each a version-2, or the folder that has one.

    Raises:
        GatherError: a folder is not there or holds nothing of ZooKeeper's.
    """
    sources = []
    for i, path in enumerate(given, start=1):
        inner = path / "version-2" if (path / "version-2").is_dir() else path
        if not inner.is_dir() or not any(map(_is_zookeeper, _files(inner))):
            expected = "a data folder with log.* or snapshot.* files"
            raise GatherError(f"--zookeeper-data: found {path}, expected {expected}")
        # One server's files stand alone; those of several must not overwrite each other.
        sources.append(Source(inner, f"zk{i}" if len(given) > 1 else "version-2"))
    return sources


def copy_logs(source: Source, folder: Folder) -> int:
    """Return how many of a broker's logs were copied, packed.

    The line that is being written is left out: half a line would count as a whole one.
    """
    files = _logs(source.path)
    for path in files:
        _copy(path, folder, f"logs/{source.name}", _whole_lines)
    return len(files)


def copy_zookeeper(source: Source, folder: Folder) -> int:
    """Return how many of ZooKeeper's transaction logs and snapshots were copied.

    Quirks:
        A log is made large at once and filled later, so what is packed is much smaller.
    """
    files = [path for path in _files(source.path) if _is_zookeeper(path)]
    for path in files:
        _copy(path, folder, f"store/zookeeper/{source.name}", _all)
    return len(files)


def _copy(
    path: Path, folder: Folder, place: str, pieces: Callable[[IO[bytes]], Iterator[bytes]]
) -> None:
    """Write the pieces of a file packed; one that is packed already is copied as it is."""
    name = f"{place}/{path.name.removesuffix('.gz')}.gz"
    with path.open("rb") as file, folder.create(name) as copy:
        if path.suffix == ".gz":
            shutil.copyfileobj(file, copy, _CHUNK)
            return
        with gzip.open(copy, "wb", 6) as packed:
            packed.writelines(pieces(file))


def _all(file: IO[bytes]) -> Iterator[bytes]:
    return iter(partial(file.read, _CHUNK), b"")


def _whole_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Return what a file has now, up to its last end of a line."""
    rest = b""
    while piece := file.read(_CHUNK):
        head, end, tail = (rest + piece).rpartition(b"\n")
        rest = tail
        yield head + end


def _logs(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [path for path in _files(folder) if _LOG.fullmatch(path.name)]


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.is_file()]


def _is_zookeeper(path: Path) -> bool:
    return _ZOOKEEPER.fullmatch(path.name) is not None
