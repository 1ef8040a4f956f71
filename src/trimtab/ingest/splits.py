"""Byte ranges of files, and the lines in them: each line belongs to exactly one range.

What a line means is not decided here.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from errno import EIO
from functools import partial
from io import FileIO
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from isal import igzip_lib

from trimtab.files.batches import batches
from trimtab.files.errors import TrimtabError
from trimtab.ingest.outcome import Origin

if TYPE_CHECKING:
    from trimtab.ingest.zookeeper_files.writes import Share

#: Bytes of a plain file in one split.  Smaller ones cost more round trips than they save.
SPLIT_SIZE = 64 << 20
#: What is not made of lines, and so is not cut.
WHOLE = frozenset({"store-zookeeper", "wrapped-log"})
#: Bytes read at a time: what fits into a core's cache is parsed at twice the speed.
_CHUNK_SIZE = 1 << 20
#: Bytes read at a time to find the end of a line.
_LINE_CHUNK_SIZE = 64 << 10
_NEWLINE = ord("\n")
#: Packed bytes read at a time.
_PACKED_SIZE = 128 << 10
#: The first chunk of a packed file has at most so many bytes for each packed one: to get room for
#: a whole chunk takes three times as long as to unpack a small file.
_FIRST_RATIO = 64
#: A packed byte weighs as much as these plain ones; what logs compress by, about.
_GZIP_WEIGHT = 12
_GZIP_MAGIC = b"\x1f\x8b"
#: A task is a 32nd of the work, within these bounds.  The work alone decides, never the
#: number of cores, so that the same recording gives the same files everywhere.
_TASKS = 32
_TASK_WEIGHT_MIN = 4 << 20
_TASK_WEIGHT_MAX = 64 << 20
#: About so many tasks at most, however large they get: each writes files of its own, and to open
#: thousands of small ones again takes seconds.
_TASKS_MAX = 256
#: Opening a file weighs this much, so that thousands of tiny ones are not one task.
_FILE_WEIGHT = 32 << 10


@dataclass(frozen=True, slots=True)
class Split:
    """The lines of a file whose first byte lies in a range."""

    #: Where the file is; on a cluster every worker sees it there.
    path: Path
    origin: Origin
    #: What kind of file it is read as.
    source: str
    #: Bytes; the whole file where it is packed.
    start: int
    end: int
    is_gzip: bool
    #: What of it counts, where files repeat each other; None for all of it.
    share: Share | None = None

    @property
    def weight(self) -> int:
        """Return what it takes to read it, in bytes of plain text."""
        size = self.end - self.start
        return _FILE_WEIGHT + size * (_GZIP_WEIGHT if self.is_gzip else 1)


class DamagedError(TrimtabError):
    """A file cannot be read on from here; the lines before were given."""

    def __init__(self, rest: str, reason: str) -> None:
        """Keep what was read of the broken line, and what broke."""
        super().__init__(reason)
        self.rest = rest
        self.reason = reason


def cut(path: Path, origin: Origin, source: str, *, size: int = SPLIT_SIZE) -> list[Split]:
    """Return a file's splits; a packed one, known by its first bytes, cannot be cut.

    Nor can one that is not made of lines, or one whose lines depend on where it passes midnight.
    A file that cannot be opened is one split too: whoever reads it accounts for it.
    """
    try:
        end = path.stat().st_size
        with path.open("rb") as file:
            is_gzip = file.read(2) == _GZIP_MAGIC
    except OSError:
        end, is_gzip = 0, False
    step = max(end, 1) if is_gzip or source in WHOLE or origin.turns else size
    return [
        Split(path, origin, source, start, min(start + step, end), is_gzip)
        for start in range(0, max(end, 1), step)
    ]


def pack(splits: Iterable[Split]) -> list[tuple[Split, ...]]:
    """Return splits packed into tasks of about the same weight, in their order."""
    splits = list(splits)
    total = sum(split.weight for split in splits)
    # A power of two, so that a recording that grows is seldom packed anew.
    usual, least = (1 << (total // count).bit_length() for count in (_TASKS, _TASKS_MAX))
    limit = max(min(max(usual, _TASK_WEIGHT_MIN), _TASK_WEIGHT_MAX), least)
    return batches(splits, attrgetter("weight"), limit)


def lines_of(block: bytes) -> list[str]:
    """Return the lines of a block of whole lines."""
    # Only LF ends a line: str.splitlines would also cut at form feeds within messages.
    lines = block.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        del lines[-1]
    return lines


def count_lines(block: bytes) -> int:
    r"""Return the number of a block's lines by their ends; a last one needs none.

    >>> count_lines(b"one\ntwo")
    2
    """
    # Not for who only looks at the beginning of a log.
    import numpy as np  # noqa: PLC0415  # for that reason

    # Four times as fast as bytes.count for ends that stand close.
    ends = np.count_nonzero(np.frombuffer(block, np.uint8) == _NEWLINE)
    return int(ends) + (not block.endswith(b"\n"))


def read_blocks(split: Split) -> Iterator[bytes]:
    """Yield a split's bytes in blocks that hold whole lines.

    Raises:
        DamagedError: the file cannot be read on.
    """
    chunks = _unpacked(split.path) if split.is_gzip else _range(split)
    pieces: list[bytes] = []
    try:
        for chunk in chunks:
            end = chunk.rfind(b"\n") + 1
            if not end:
                pieces.append(chunk)
                continue
            # A view, since a slice would be another copy of nearly all of it.
            yield b"".join((*pieces, memoryview(chunk)[:end]))
            pieces = [chunk[end:]]
    except OSError as fault:
        text = b"".join(pieces).decode("utf-8", "replace")
        raise DamagedError(text, f"the file breaks off: {fault.strerror}") from None
    if rest := b"".join(pieces):
        yield rest


def read_chunks(split: Split) -> Iterator[bytes]:
    """Yield a whole file's bytes, unpacked and cut anywhere.

    Raises:
        DamagedError: the file cannot be read on.
    """
    return _checked(_unpacked(split.path) if split.is_gzip else _plain(split.path))


def read_packed(path: Path) -> Iterator[bytes]:
    """Yield what is packed in a gzip file, cut anywhere.

    Raises:
        DamagedError: the file cannot be read on.
    """
    return _checked(_unpacked(path))


def _checked(chunks: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from chunks
    except OSError as fault:
        raise DamagedError("", str(fault.strerror)) from None


def _plain(path: Path) -> Iterator[bytes]:
    with path.open("rb", buffering=0) as file:
        yield from iter(partial(file.read, _CHUNK_SIZE), b"")


def _range(split: Split) -> Iterator[bytes]:
    """Yield the bytes from the split's first line start to the end of its last line."""
    with split.path.open("rb", buffering=0) as file:
        place = split.start
        if place:
            # A line that begins right at the start is ours; the byte before it tells.
            place = line_end(file, place)
            file.seek(place)
        chunk = b"\n"
        while place < split.end:
            chunk = file.read(min(_CHUNK_SIZE, split.end - place))
            if not chunk:
                return
            place += len(chunk)
            yield chunk
        if not chunk.endswith(b"\n"):
            yield from _line_rest(file)


def line_end(file: FileIO, place: int) -> int:
    """Return where the line ends that the byte before a place belongs to."""
    file.seek(place - 1)
    return place - 1 + sum(map(len, _line_rest(file)))


def _line_rest(file: FileIO) -> Iterator[bytes]:
    """Yield what is left of the line that the file stands in, its end included."""
    while chunk := file.read(_LINE_CHUNK_SIZE):
        end = chunk.find(b"\n") + 1
        yield chunk[:end] if end else chunk
        if end:
            return


def _unpacked(path: Path) -> Iterator[bytes]:
    """Yield the unpacked bytes of a gzip file of one or more members."""
    size = 0
    try:
        for chunk in _inflated(path):
            size += len(chunk)
            yield chunk
    except igzip_lib.IsalError as fault:  # type: ignore[misc]  # its stub says instance, not class
        yield from _salvaged(path, size)
        raise OSError(EIO, f"damaged gzip data ({fault})") from None


def _inflated(path: Path) -> Iterator[bytes]:
    with path.open("rb", buffering=0) as file:
        packed = file.read(_PACKED_SIZE)
        # Rotation may append members; some writers pad with zeros behind the last.
        while packed.strip(b"\0"):
            member = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
            yield member.decompress(packed, min(_CHUNK_SIZE, _FIRST_RATIO * len(packed)))
            while not member.eof:
                packed = file.read(_PACKED_SIZE) if member.needs_input else b""
                if member.needs_input and not packed:
                    raise OSError(EIO, "the gzip data is cut off")
                yield member.decompress(packed, _CHUNK_SIZE)
            packed = member.unused_data or file.read(_PACKED_SIZE)


def _salvaged(path: Path, skip: int) -> Iterator[bytes]:
    """Yield what can be unpacked of damaged data behind the first `skip` bytes.

    The fast decoder drops up to a chunk with the damage in it; this one, fed byte by
    byte, gives all that stands before.
    """
    member = zlib.decompressobj(wbits=31)
    with path.open("rb") as file:
        while byte := file.read(1):
            if member.eof:
                member = zlib.decompressobj(wbits=31)
            try:
                unpacked = member.decompress(byte)
            except zlib.error:
                return
            new = unpacked[skip:]
            skip -= len(unpacked) - len(new)
            if new:
                yield new
