"""One run at a time acts on a cluster: a lock with a number that only grows."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_ONLY_OURS = 0o600


class LockError(Exception):
    """Somebody else holds the lock."""


@dataclass(frozen=True, slots=True)
class FileLock:
    """A lock that holds among the processes that see one folder."""

    path: Path
    #: Larger than that of whoever held it before.
    token: int
    descriptor: int

    @property
    def is_ours(self) -> bool:
        """Say whether it is still held: the file is the one that was locked, with our number."""
        try:
            is_same = self.path.stat().st_ino == os.fstat(self.descriptor).st_ino
            return is_same and _token(self.path) == self.token
        except OSError:
            return False


@contextmanager
def file_lock(folder: Path, cluster: str) -> Iterator[FileLock]:
    """Hold the lock of a cluster.

    Args:
        folder: where locks are; made if need be.
        cluster: its name.

    Raises:
        LockError: it is held, or cannot be taken; says by whom or why.
    """
    name = re.sub(r"[^\w.-]", "_", cluster) or "_"
    path = folder / f"{name}.lock"
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


def _token(path: Path) -> int:
    held = path.read_text(encoding="ascii", errors="replace").strip()
    return int(held) if held.isdecimal() else 0
