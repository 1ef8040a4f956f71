"""Locks that end with their holder, however it ends."""

from __future__ import annotations

import fcntl
import time
from io import FileIO
from pathlib import Path

_LOOK_EVERY_S = 0.2


class HeldError(Exception):
    """Another process holds a lock."""


def locked(path: Path, *, wait_s: float = 0.0) -> FileIO:
    """Return a file, made if need be, that is locked while a process has it open, or a child of it.

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
            return file
