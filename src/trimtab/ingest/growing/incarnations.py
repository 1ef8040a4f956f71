"""What is known of followed files: one incarnation each, from its first byte to its last.

An incarnation is told by what it holds, not by its name: rotation gives it another name,
compression another inode, and a truncated file is a new incarnation in an old place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

#: Lengths of the beginnings by which incarnations are told apart.  The shortest reaches
#: behind the time of a log line; the longer ones part logs that begin with the same lines.
HEADS = (32, 256, *(4**k for k in range(5, 21)))
#: A shorter file that begins like a longer one may be another that begins alike.
SURE_SIZE = 1024
#: Bytes that are looked at at the end of each beginning.
HEAD_WINDOW = 1024
#: Bytes before an offset by which it is recognized.
TAIL = 256


class MovedError(Exception):
    """A file changed its place, or lost bytes, while it was looked at: look again."""

    def __init__(self, message: str, inode: str) -> None:
        """Take what happened, and the inode of the file as it was listed."""
        super().__init__(message)
        self.inode = inode


class Content(Protocol):
    """Bytes of a file, unpacked; they are read when they are asked for.

    Every method raises MovedError where another file has come into its place.
    """

    @property
    def size(self) -> int:
        """Return the count of bytes that can be read."""

    @property
    def fault(self) -> str | None:
        """Return why it cannot be read on behind its size; None if nothing is wrong."""

    def digest(self, start: int, stop: int) -> str:
        """Return the digest of a range of bytes."""

    def chunks(self, start: int, stop: int) -> Iterator[bytes]:
        """Return the bytes of a range, cut anywhere."""

    def line_end(self, start: int, stop: int) -> int | None:
        """Return where the last line ends that ends at `stop` or before.

        If no line ends in the range, the end of the first one behind it; None for none.
        """


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a listing of the disk says of a file; as long as it is the same, so is the file."""

    inode: str
    disk_size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class FollowedFile:
    """A file as it stands on the disk."""

    #: Path within the recording.
    name: str
    source: str
    #: Name under logs/, conf/ or metrics/; empty for the other files.
    log_broker: str
    #: What rotation and compression leave as it is: files of one family may hold the same.
    family: str
    stamp: Stamp
    #: Nothing was written to it for a while.
    is_at_rest: bool
    #: It will not grow: a younger file of its family has taken its place, or it is packed.
    is_final: bool
    #: One document, which is read whole, once it is at rest.
    is_document: bool
    content: Content = field(compare=False)


@dataclass(frozen=True, slots=True)
class Mark:
    """A digest of the bytes of a range, by which an incarnation is recognized."""

    start: int
    stop: int
    digest: str

    def fits(self, content: Content) -> bool:
        """Return whether a content has the same bytes there."""
        return content.size >= self.stop and content.digest(self.start, self.stop) == self.digest


@dataclass(frozen=True, slots=True)
class Incarnation:
    """What is known of a file from its first byte on, wherever it stands."""

    number: int
    #: Under which its rows stand: the name that it had when it was first seen.
    name: str
    source: str
    log_broker: str
    family: str
    #: Where it stood at the last look.
    place: str
    stamp: Stamp
    #: Bytes of it that have been read.
    offset: int = 0
    #: Bytes of it that were there at the last look.
    seen: int = 0
    #: At the end of each of the `HEADS` that it is long enough for.
    heads: tuple[Mark, ...] = ()
    #: In front of the offset; None as long as nothing was read.
    tail: Mark | None = None
    #: Seconds since 1970 at which it was found to be nowhere any more.
    gone_at_s: float | None = None
    #: Its unread bytes were given up, and accounted for.
    is_given_up: bool = False

    @property
    def unread(self) -> int:
        """Return the count of bytes that were there and have not been read."""
        return self.seen - self.offset


@dataclass(frozen=True, slots=True)
class Copy:
    """A second file with the bytes of an incarnation, such as a packed one beside the plain."""

    of: int
    stamp: Stamp
    #: Long enough to be no other file that begins alike.
    is_sure: bool


@dataclass(frozen=True, slots=True)
class Register:
    """All that is known of the files of a recording."""

    incarnations: Mapping[int, Incarnation] = field(default_factory=dict)
    copies: tuple[Copy, ...] = ()
    #: Lines read under each name, over all incarnations that had it.
    lines: Mapping[str, int] = field(default_factory=dict)
    #: The next incarnation's number.
    next_number: int = 0
