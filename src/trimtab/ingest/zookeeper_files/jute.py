"""Jute, the encoding of ZooKeeper's records: big-endian numbers, lengths before contents."""

from __future__ import annotations

from struct import Struct

from trimtab.ingest.zookeeper_files.bytestream import BrokenFileError

_INT = Struct(">i")
#: A record is never larger; ZooKeeper's own limit (jute.maxbuffer) is 1 MiB by default.
MAX_SIZE = 1 << 26


class Jute:
    """The fields of one record, read one after the other.

    Raises:
        BrokenFileError: from each method, where the record ends too early.
    """

    __slots__ = ("_base", "_record", "at")

    def __init__(self, record: bytes, at: int = 0, base: int = 0) -> None:
        """Keep a record, to be read from `at`; `base` is the file's offset of its byte 0."""
        self._record, self.at, self._base = record, at, base

    @property
    def offset(self) -> int:
        """Return where in the file the next field stands."""
        return self._base + self.at

    @property
    def left(self) -> int:
        """Return how many bytes are left."""
        return len(self._record) - self.at

    def int32(self) -> int:
        """Return the next 32 bits."""
        value: int = _INT.unpack(self._take(4))[0]
        return value

    def flag(self) -> bool:
        """Return the next byte as true or false."""
        return self._take(1) != b"\0"

    def buffer(self) -> bytes | None:
        """Return the bytes behind their length; a length of -1 stands for none."""
        size = self.int32()
        return None if size < 0 else self._take(size)

    def text(self) -> str:
        """Return text; bytes that are no UTF-8 come out as replacement marks."""
        return (self.buffer() or b"").decode("utf-8", "replace")

    def _take(self, size: int) -> bytes:
        if size > self.left:
            content = f"a record that ends {self.left} bytes on"
            raise BrokenFileError(self.offset, content, f"{size} bytes more of it")
        self.at += size
        return self._record[self.at - size : self.at]
