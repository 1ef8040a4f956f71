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
from trimtab.live.apply.files import ONLY_OURS, keep_names
from trimtab.live.apply.post import (
    NO_PAUSE,
    LockError,
    LockState,
    Pause,
    Unloaded,
    noted,
    pause_in,
    recent,
    unloads_in,
)
from trimtab.live.control.entries import Asked
from trimtab.live.control.view import TAKEN


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
    def loss(self) -> str:
        """Return why it is not held any more; empty while it is."""
        return "" if self.is_ours else TAKEN

    @property
    def is_stopped(self) -> bool:
        """Return whether the file lies there that stops every run."""
        return self.path.with_suffix(".stop").exists()

    @property
    def unloads(self) -> tuple[Unloaded, ...]:
        """Return what was unloaded in the last day, by whichever run."""
        return unloads_in(_read(self._beside("unloads")))

    @property
    def draining(self) -> frozenset[str]:
        """Return the brokers that are being emptied."""
        return frozenset(map(str, _read(self._beside("draining"))))

    @property
    def pause(self) -> Pause | None:
        """Return what a run has switched off and not put back; None if nothing."""
        path = self._beside("paused")
        try:
            return pause_in(_read(path))
        except (TypeError, ValueError):
            raise LockError(f"{path}: {NO_PAUSE}") from None

    def note_pause(self, pause: Pause | None) -> None:
        """Note that shedding is about to be switched off, or with None that it is put back.

        Raises:
            LockError: the lock is lost, or nothing can be written.
        """
        if not self.is_ours:
            raise LockError(f"{self.path}: {TAKEN}")
        _write(self._beside("paused"), pause or [])

    def note(self, asked: Asked) -> None:
        """Note an unload, on the disk for good when this returns.

        Raises:
            LockError: the lock is lost, or nothing can be written.
        """
        if not self.is_ours:
            raise LockError(f"{self.path}: {TAKEN}")
        kept = recent((*self.unloads, noted(asked)), asked.time_s)
        _write(self._beside("unloads"), kept)

    def drain(self, broker: str) -> None:
        """Mark a broker as being emptied."""
        _write(self._beside("draining"), sorted(self.draining | {broker}))

    def take_back(self, broker: str) -> None:
        """Remove that mark."""
        _write(self._beside("draining"), sorted(self.draining - {broker}))

    def _beside(self, suffix: str) -> Path:
        return self.path.with_suffix(f".{suffix}")


@contextmanager
def file_lock(folder: Path, cluster: str) -> Iterator[FileLock]:
    """Hold the lock of a cluster.

    Raises:
        LockError: it is held, or cannot be taken; says by whom or why.
    """
    path = _path(folder, cluster)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, ONLY_OURS)
    except OSError as error:
        raise LockError(
            f"{path}: cannot be opened, so the cluster's lock is not held and nothing is moved: "
            f"{error.strerror}"
        ) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LockError(
                f"{path}: another run holds the lock of {cluster}: wait for it to end"
            ) from None
        token = _token(path) + 1
        # One write of a few bytes, so that no reader sees half a number.
        os.pwrite(descriptor, f"{token:020d}\n".encode(), 0)
        os.fsync(descriptor)
        yield FileLock(path, token, descriptor)
    finally:
        os.close(descriptor)


def lock_state_in(folder: Path, cluster: str) -> LockState:
    """Return what is kept of a cluster, without holding its lock."""
    lock = FileLock(_path(folder, cluster), token=0, descriptor=-1)
    return LockState(lock.is_stopped, lock.unloads, lock.draining, pause=lock.pause)


def stop_file(folder: Path, cluster: str) -> Path:
    """Return the file that stops every run on a cluster while it lies there."""
    return _path(folder, cluster).with_suffix(".stop")


def _path(folder: Path, cluster: str) -> Path:
    name = re.sub(r"[^\w.-]", "_", cluster) or "_"
    return folder / f"{name}.lock"


def _token(path: Path) -> int:
    content = path.read_text(encoding="ascii", errors="replace").strip()
    return int(content) if content.isdecimal() else 0


def _read(path: Path) -> list[Any]:
    """Return the list of a file; one that is not there is empty.

    Raises:
        LockError: it is damaged, so that what was moved last is not known.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise LockError(f"{path}: cannot be read: {error}") from None
    if not isinstance(values, list):
        raise LockError(
            f"{path}: found no list, expected one as a run writes it: what was moved or is being "
            "emptied is not known, so nothing is moved; delete the file once no run acts"
        )
    return values


def _write(path: Path, value: object) -> None:
    try:
        write_whole(path, json.dumps(value) + "\n").chmod(ONLY_OURS)
        keep_names(path.parent)
    except OSError as error:
        raise LockError(f"{path}: cannot be written: {error.strerror}") from None
