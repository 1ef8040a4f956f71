"""A snapshot → the nodes that a store had when it was taken."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from struct import Struct
from zlib import adler32

from trimtab.ingest.zookeeper_files.bytestream import BrokenFileError, ByteStream
from trimtab.ingest.zookeeper_files.jute import MAX_SIZE
from trimtab.ingest.zookeeper_files.transactions import (
    Change,
    Operation,
    Transaction,
    is_below,
)

MAGIC = b"ZKSN"
_FILE_HEADER = 16
_INT = Struct(">i")
_LONG = Struct(">q")
#: Access rights; czxid, mzxid, ctime, mtime; version, cversion, aversion; owner; pzxid.
_STAT = Struct(">qqqqqiiiqq")
_LAST_PATH = b"/"
#: A checksum, and `/` behind its length.
_SEAL_SIZE = 13
#: Owners that are no sessions: what marks a container, and the highest byte of a node that
#: lives for a time.
_CONTAINER = -(1 << 63)
_TIMED = -1


class Snapshot:
    """A snapshot, read forward once.

    Iterating gives the nodes below some paths, each as the transaction that wrote its value;
    its session is the one that the node ends with, 0 for none.

    Raises:
        BrokenFileError: while iterating: the file is not a snapshot, breaks off, or its
            checksum is wrong: then what has been given must not be trusted.

    Quirks:
        A snapshot is taken while writes go on, so it may hold a few that its name does not
        cover yet; each node says which transaction wrote it.
        What some releases put behind the checksum of the nodes is not looked at.

    Source:
        apache/zookeeper 3.9, persistence/FileSnap.java, SnapStream.java,
        DataTree.serialize, EphemeralType and zookeeper.jute; read on snapshots of 3.9.
    """

    def __init__(self, stream: ByteStream, prefixes: Collection[str]) -> None:
        """Keep the file; nothing is read yet.

        Args:
            stream: the file's bytes, unpacked, from the first on.
            prefixes: paths, such as `/loadbalance`; what is below each is given, too.
        """
        self._stream = stream
        self._sum = 1
        self._wanted = tuple(prefix.encode() for prefix in prefixes)
        #: Nodes read, given or not.
        self.count = 0

    def __iter__(self) -> Iterator[Transaction]:
        """Yield the nodes below the prefixes."""
        if self._stream.peek(4) != MAGIC:
            raise BrokenFileError(0, self._stream.shown(), "a snapshot, which begins with ZKSN")
        self._take(_FILE_HEADER)
        self._pass_sessions_and_rights()
        while (path := self._text()) != _LAST_PATH:
            value = self._buffer()
            _, _, zxid, _, time_ms, version, _, _, owner, _ = _STAT.unpack(self._take(_STAT.size))
            self.count += 1
            if path.startswith(self._wanted):
                name = path.decode("utf-8", "replace")
                if is_below(name, self._wanted):
                    is_session = owner != _CONTAINER and owner >> 56 != _TIMED
                    session = owner if is_session else 0
                    operation = Operation.SET if version else Operation.CREATE
                    change = Change(operation, name, value, version, is_ephemeral=session != 0)
                    yield Transaction(self.count, zxid, session, time_ms, (change,))
        self._check()

    def _pass_sessions_and_rights(self) -> None:
        for _ in range(self._int32()):
            self._take(12)
        for _ in range(self._int32()):
            self._take(8)
            for _ in range(self._int32()):
                self._take(4), self._text(), self._text()

    def _take(self, size: int) -> bytes:
        """Return the next bytes, and add them to the checksum."""
        stream = self._stream
        if not 0 <= size <= MAX_SIZE:
            raise BrokenFileError(stream.offset, f"a length of {size}", f"up to {MAX_SIZE}")
        content = stream.peek(size)
        if len(content) < size:
            raise BrokenFileError(stream.offset, "the end of the file", f"{size} bytes more")
        stream.position += size
        self._sum = adler32(content, self._sum)
        return content

    def _int32(self) -> int:
        value: int = _INT.unpack(self._take(4))[0]
        return value

    def _buffer(self) -> bytes | None:
        size = self._int32()
        return None if size == -1 else self._take(size)

    def _text(self) -> bytes:
        return self._buffer() or b""

    def _check(self) -> None:
        """Compare the checksum behind the nodes."""
        seal = self._stream.peek(_SEAL_SIZE)
        if len(seal) < _SEAL_SIZE:
            raise BrokenFileError(self._stream.offset, "the end of the file", "a checksum")
        if _LONG.unpack(seal[:8])[0] != self._sum:
            content = "contents that are not their checksum"
            raise BrokenFileError(self._stream.offset, content, "their own")
        self._stream.pass_all()
