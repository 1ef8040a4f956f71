"""Files that lie in a folder twice: packed and plain, as `gzip -k` leaves them, or by two names.

Which of them is read is not decided here.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from trimtab.files.places import readable

_CHUNK_SIZE = 1 << 20
#: Bytes at the head of logs that may be the same one, and of these those in which a time must
#: stand: brokers of a cluster write the same at first.
_HEAD = 1 << 14
_TIMED = 256
_TIME = re.compile(rb"\d\d:\d\d:\d\d|\d{13}")
_GZIP_MAGIC = b"\x1f\x8b"
_UNREADABLE = (OSError, EOFError, zlib.error)


def is_packed_copy(packed: Path, plain: Path) -> bool:
    """Return whether all that a packed file holds stands at the beginning of a plain one.

    The plain one may have grown since.  An empty file, or one that cannot be read to its
    end, is no copy.
    """
    size = 0
    try:
        with gzip.open(readable(packed)) as one, plain.open("rb") as other:
            while chunk := one.read(_CHUNK_SIZE):
                if chunk != other.read(len(chunk)):
                    return False
                size += len(chunk)
    except _UNREADABLE:
        return False
    return size > 0


def same_logs(logs: Mapping[str, Path]) -> dict[str, str]:
    """Return which logs are others by another name: name → the one that has all that it holds.

    One that was copied while it was written is the beginning of the other.
    """
    heads = {name: head for name, path in sorted(logs.items()) if (head := _head(path))}
    # In their order all that begin with a head come right behind it.
    alike: set[str] = set()
    first = next(iter(heads), "")
    for name in sorted(heads, key=heads.__getitem__):
        if name != first and heads[name].startswith(heads[first]):
            alike |= {first, name}
        else:
            first = name
    sizes = {name: _size(logs[name]) for name in alike}
    copies: dict[str, str] = {}
    # The longest first, and of two that are the same the first by name.
    kept: list[str] = []
    for name in sorted(sizes, key=lambda it: (-sizes[it], it)):
        longer = (it for it in kept if heads[it].startswith(heads[name]))
        longest = next((it for it in longer if _is_beginning(logs[name], logs[it])), None)
        if longest is None:
            kept.append(name)
        else:
            copies[name] = longest
    return copies


def _is_packed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == _GZIP_MAGIC


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(readable(path)) if _is_packed(path) else path.open("rb")  # type: ignore[return-value]  # both read bytes


def _head(path: Path) -> bytes:
    """Return the head of a log; nothing of one without a time in it."""
    try:
        with _opened(path) as file:
            head = file.read(_HEAD)
    except _UNREADABLE:
        return b""
    return head if len(head) >= _TIMED and _TIME.search(head[:_TIMED]) else b""


def _size(path: Path) -> int:
    """Return the bytes of a log, unpacked; 0 for one that cannot be read to its end."""
    try:
        with _opened(path) as file:
            if not _is_packed(path):
                return file.seek(0, os.SEEK_END)
            return sum(map(len, iter(lambda: file.read(_CHUNK_SIZE), b"")))
    except _UNREADABLE:
        return 0


def _is_beginning(path: Path, longer: Path) -> bool:
    """Return whether all of a log stands at the beginning of another."""
    try:
        with _opened(path) as one, _opened(longer) as other:
            while chunk := one.read(_CHUNK_SIZE):
                if chunk != other.read(len(chunk)):
                    return False
    except _UNREADABLE:
        return False
    return True
