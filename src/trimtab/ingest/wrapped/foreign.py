"""What a file is called that is no log of Pulsar's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files

from msgspec import Struct, toml

EMPTY = "an empty file"
#: How files begin that are not text.
_MAGIC = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"%PDF": "a PDF",
    b"PK\x03\x04": "a ZIP archive",
    b"\x7fELF": "a program",
    b"PAR1": "a Parquet file",
    b"SQLite format 3": "an SQLite database",
    b"ZKLG": "a transaction log of ZooKeeper's, which belongs under store/zookeeper/",
    b"ZKSN": "a snapshot of ZooKeeper's, which belongs under store/zookeeper/",
    b"JAVA PROFILE": "a heap dump of Java's",
}
#: Of the lines of a file at least this share look like what it is called.
_SHARE_MIN = 0.5


class _Kind(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    pattern: str


class _Table(Struct, forbid_unknown_fields=True):
    kind: tuple[_Kind, ...]


_KINDS = tuple(
    (kind.name, re.compile(kind.pattern, re.ASCII))
    for kind in toml.decode(
        files("trimtab.ingest.wrapped").joinpath("foreign.toml").read_bytes(), type=_Table
    ).kind
)


def foreign_kind(head: bytes, lines: Sequence[str]) -> str:
    """Return what a file is called that begins so; empty where it looks like nothing known."""
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            return name
    if not head.strip():
        return EMPTY
    written = [line for line in lines if line.strip()]
    for name, pattern in _KINDS:
        if sum(1 for line in written if pattern.match(line)) >= _SHARE_MIN * len(written):
            return name
    # Text in 16 bits a character has as many zeros, and is spoken of elsewhere.
    is_wide = head[:200].count(b"\0") >= 80
    return "a file that is not text" if b"\0" in head and not is_wide else ""


def kinds() -> tuple[str, ...]:
    """Return all that a file can be called."""
    return (*(name for name, _ in _KINDS), *_MAGIC.values(), EMPTY)
