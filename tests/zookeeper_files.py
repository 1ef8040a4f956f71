"""ZooKeeper's files for tests, byte by byte: what a server appends, and what it snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import pack
from zlib import adler32

from trimtab.ingest.zookeeper_files.bytestream import ByteStream
from trimtab.ingest.zookeeper_files.writes import Write, opened, shares, survey, writes

WANTED = ("/loadbalance", "/namespace")
LOG_HEADER = b"ZKLG" + pack(">iq", 2, 0)
CREATE, DELETE, SET, CREATE_2, MULTI, CONTAINER, CLOSE, ERROR = 1, 2, 5, 15, 14, 19, -11, -1
_RIGHTS = pack(">ii", 1, 31) + pack(">i", 5) + b"world" + pack(">i", 6) + b"anyone"
#: One session, and another that is negative in Java.
ONE, TWO = 0x100005B8FCC0007, -0x0F00000000000001
START_MS = 1_795_245_033_000


def text(value: str) -> bytes:
    return buffer(value.encode())


def buffer(value: bytes | None) -> bytes:
    return pack(">i", -1) if value is None else pack(">i", len(value)) + value


def create(path: str, value: bytes | None = b"", *, ephemeral: bool = False) -> tuple[int, bytes]:
    body = text(path) + buffer(value) + _RIGHTS + bytes([ephemeral]) + pack(">i", 1)
    return CREATE, body


def container(path: str) -> tuple[int, bytes]:
    return CONTAINER, text(path) + buffer(b"") + _RIGHTS + pack(">i", 1)


def put(path: str, value: bytes | None, version: int) -> tuple[int, bytes]:
    return SET, text(path) + buffer(value) + pack(">i", version)


def delete(path: str) -> tuple[int, bytes]:
    return DELETE, text(path)


def error() -> tuple[int, bytes]:
    return ERROR, pack(">i", -101)


def multi(*operations: tuple[int, bytes]) -> tuple[int, bytes]:
    inner = b"".join(pack(">i", kind) + buffer(body) for kind, body in operations)
    return MULTI, pack(">i", len(operations)) + inner


def close(*paths: str, is_listed: bool = True) -> tuple[int, bytes]:
    return CLOSE, pack(">i", len(paths)) + b"".join(map(text, paths)) if is_listed else b""


def digest() -> bytes:
    """What 3.6 and later put behind a record."""
    return pack(">iq", 2, 0x7766554433221100)


def record(
    zxid: int,
    operation: tuple[int, bytes],
    *,
    session: int = ONE,
    tail: bytes = b"",
    time_ms: int | None = None,
) -> bytes:
    kind, body = operation
    time_ms = START_MS + 1000 * zxid if time_ms is None else time_ms
    head = pack(">qiqqi", session, zxid & 0xFFFF, zxid, time_ms, kind)
    contents = head + body + tail
    return pack(">qi", adler32(contents), len(contents)) + contents + b"B"


def log(*records: bytes, zeros: int = 0) -> bytes:
    return LOG_HEADER + b"".join(records) + bytes(zeros)


def node(path: str, value: bytes | None, zxid: int, version: int, owner: int = 0) -> bytes:
    stat = pack(">qqqqqiiiqq", 1, 1, zxid, 0, START_MS + 1000 * zxid, version, 0, 0, owner, 0)
    return text(path) + buffer(value) + stat


def snapshot(*nodes: bytes, tail: bytes = b"") -> bytes:
    contents = b"ZKSN" + pack(">iq", 2, -1)
    contents += pack(">i", 1) + pack(">qi", ONE, 30_000)
    contents += pack(">i", 1) + pack(">q", 1) + _RIGHTS
    contents += node("", b"", 0, 0) + b"".join(nodes) + text("/")
    return contents + pack(">q", adler32(contents)) + text("/") + tail


def chunked(content: bytes, size: int = 1 << 16) -> ByteStream:
    return ByteStream(content[i : i + size] for i in range(0, len(content), size))


def read(content: bytes) -> list[Write]:
    """Return what a file says alone."""
    return read_together([content])[0]


def read_together(contents: Sequence[bytes]) -> list[list[Write]]:
    """Return what counts of each file, of those that can be read to their end."""
    known = shares([survey(chunked(content), WANTED) for content in contents])
    return [
        [write for _, made in writes(opened(chunked(content), WANTED), share) for write in made]
        for content, share in zip(contents, known, strict=True)
    ]


def in_short(found: Iterable[Write]) -> list[tuple[int, str, str, bytes | None]]:
    return [(it.zxid, str(it.operation), it.path, it.value) for it in found]
