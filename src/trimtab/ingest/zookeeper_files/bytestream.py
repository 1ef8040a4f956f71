"""Bytes that come in pieces, read by position: the files are larger than memory should be."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab.files.errors import TrimtabError


class BrokenFileError(TrimtabError, ValueError):
    """A file of ZooKeeper's cannot be read on; says where, what was found, what was expected."""

    def __init__(self, offset: int, content: str, expected: str) -> None:
        """Keep the place: everything before it has been given."""
        super().__init__(f"byte {offset}: found {content}, expected {expected}")
        self.offset = offset


class ByteStream:
    """A window onto a stream of bytes that moves forward only."""

    __slots__ = ("_chunks", "_offset", "buffer", "position")

    def __init__(self, chunks: Iterable[bytes]) -> None:
        """Keep the stream; nothing is read yet."""
        self._chunks = iter(chunks)
        #: Offset of the buffer's first byte.
        self._offset = 0
        #: What can be looked at without reading on; looked at from `position`.
        self.buffer = b""
        self.position = 0

    @property
    def offset(self) -> int:
        """Return how many bytes have been passed."""
        return self._offset + self.position

    def has(self, size: int) -> bool:
        """Return whether there are so many bytes to look at, reading on if need be."""
        if len(self.buffer) - self.position >= size:
            return True
        pieces = [self.buffer[self.position :]]
        available = len(pieces[0])
        self._offset, self.buffer, self.position = self.offset, pieces[0], 0
        while available < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            pieces.append(chunk)
            available += len(chunk)
        self.buffer = b"".join(pieces)
        return available >= size

    def peek(self, size: int) -> bytes:
        """Return the next bytes, fewer at the end, and stay where we are."""
        self.has(size)
        return self.buffer[self.position : self.position + size]

    def shown(self) -> str:
        """Return what stands here, for a message."""
        return repr(self.peek(4)) if self.has(1) else "the end of the file"

    def pass_zeros(self) -> bool:
        """Pass all zeros that follow; return whether nothing else did."""
        while self.has(1):
            rest = self.buffer[self.position :]
            # At once: a server allocates its log by 64 MiB, and most of them stay empty.
            if rest != bytes(len(rest)):
                self.position += len(rest) - len(rest.lstrip(b"\0"))
                return False
            self.position += len(rest)
        return True

    def pass_all(self) -> None:
        """Pass everything that is left."""
        while self.has(1):
            self.position = len(self.buffer)
