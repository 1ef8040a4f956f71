"""One run at a time acts on a cluster: a lock in a folder, with a number that only grows."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.files.whole_files import write_whole
from trimtab.live.apply.post import LockError, Unheld, Unloaded, recent
from trimtab.live.control.entries import Asked

_ONLY_OURS = 0o600


@dataclass(frozen=True, slots=True)
class FileLock:
    """A lock that holds among the processes that see one folder."""

    path: Path
    #: Larger than that of whoever held it before.
    token: int
    descriptor: int

    @property
    def is_ours(self) -> bool:
        """Return whether it is still held: the file is the one that was locked, with our number."""
        try:
            is_same = self.path.stat().st_ino == os.fstat(self.descriptor).st_ino
            return is_same and _token(self.path) == self.token
        except OSError:
            return False

    @property
    def is_stopped(self) -> bool:
        """Return whether the file lies there that stops every run."""
        return _stop(self.path).exists()

    @property
    def unloads(self) -> tuple[Unloaded, ...]:
        """Return what was unloaded in the last day, by whichever run."""
        return _unloads(self.path)

    @property
    def draining(self) -> frozenset[str]:
        """Return the brokers that are being emptied."""
        return _draining(self.path)

    def note(self, asked: Asked) -> None:
        """Note an unload, on the disk for good when this returns.

        Raises:
            LockError: the lock is lost, or nothing can be written.
        """
        if not self.is_ours:
            raise LockError(f"{self.path}: somebody else has taken the lock")
        kept = recent((*self.unloads, (asked.time_s, asked.bundle)), asked.time_s)
        _write(_beside(self.path, "unloads"), [list(each) for each in kept])

    def drain(self, broker: str) -> None:
        """Mark a broker as being emptied."""
        _write(_beside(self.path, "draining"), sorted(self.draining | {broker}))

    def take_back(self, broker: str) -> None:
        """Remove that mark."""
        _write(_beside(self.path, "draining"), sorted(self.draining - {broker}))


@contextmanager
def file_lock(folder: Path, cluster: str) -> Iterator[FileLock]:
    """Hold the lock of a cluster.

    Raises:
        LockError: it is held, or cannot be taken; says by whom or why.
    """
    path = _path(folder, cluster)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, _ONLY_OURS)
    except OSError as error:
        raise LockError(f"{path}: cannot be opened: {error.strerror}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LockError(f"{path}: another run acts on cluster {cluster}") from None
        token = _token(path) + 1
        # One write of a few bytes, so that no reader sees half a number.
        os.pwrite(descriptor, f"{token:020d}\n".encode(), 0)
        os.fsync(descriptor)
        yield FileLock(path, token, descriptor)
    finally:
        os.close(descriptor)


def seen_in(folder: Path, cluster: str) -> Unheld:
    """Return what is kept of a cluster, without holding its lock."""
    path = _path(folder, cluster)
    return Unheld(_stop(path).exists(), _unloads(path), _draining(path))


def stop_file(folder: Path, cluster: str) -> Path:
    """Return the file that stops every run on a cluster while it lies there."""
    return _stop(_path(folder, cluster))


def _path(folder: Path, cluster: str) -> Path:
    name = re.sub(r"[^\w.-]", "_", cluster) or "_"
    return folder / f"{name}.lock"


def _beside(path: Path, suffix: str) -> Path:
    return path.with_suffix(f".{suffix}")


def _stop(path: Path) -> Path:
    return _beside(path, "stop")


def _token(path: Path) -> int:
    content = path.read_text(encoding="ascii", errors="replace").strip()
    return int(content) if content.isdecimal() else 0


def _unloads(path: Path) -> tuple[Unloaded, ...]:
    return tuple((float(time_s), str(bundle)) for time_s, bundle in _read(_beside(path, "unloads")))


def _draining(path: Path) -> frozenset[str]:
    return frozenset(map(str, _read(_beside(path, "draining"))))


def _read(path: Path) -> list[Any]:
    """Return the list of a file; one that is not there is empty.

    Raises:
        LockError: it is damaged, so that what was moved last is not known.
    """
    try:
        unloads = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise LockError(f"{path}: cannot be read: {error}") from None
    if not isinstance(unloads, list):
        raise LockError(f"{path}: found no list, expected one")
    return unloads


def _write(path: Path, value: object) -> None:
    try:
        write_whole(path, json.dumps(value) + "\n")
        path.chmod(_ONLY_OURS)
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise LockError(f"{path}: cannot be written: {error.strerror}") from None
