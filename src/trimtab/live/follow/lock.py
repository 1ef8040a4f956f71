"""Locks that end with their holder, however it ends."""

from __future__ import annotations

import fcntl
import time
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

_LOOK_EVERY_S = 0.2


class HeldError(Exception):
    """Another process holds a lock."""


@dataclass(slots=True)
class Lock:
    """A file that is locked as long as a process has it open, the holder's children included."""

    file: FileIO

    @property
    def descriptor(self) -> int:
        """Return what a child process inherits to hold the lock as well."""
        return self.file.fileno()

    def close(self) -> None:
        """Let it go."""
        self.file.close()


def locked(path: Path, *, wait_s: float = 0.0) -> Lock:
    """Return the lock of a file, which is made if need be.

    Raises:
        HeldError: it is still held by then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("ab", buffering=0)
    until_s = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until_s:
                file.close()
                raise HeldError(str(path)) from None
            time.sleep(_LOOK_EVERY_S)
        else:
            return Lock(file)
