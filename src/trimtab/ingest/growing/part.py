"""What a task of a stream parses: pieces of files, wherever these stand by then."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC
from hashlib import blake2b

import pyarrow as pa
import pyarrow.dataset as ds

from trimtab.ingest.accounting import FileAccount, check_lines
from trimtab.ingest.columns import table_of
from trimtab.ingest.growing.disk import PackedContent, anew, stands
from trimtab.ingest.growing.incarnations import Content, Incarnation, MovedError, Register
from trimtab.ingest.growing.items import Item, whole_lines
from trimtab.ingest.growing.looks import Looks
from trimtab.ingest.growing.positions import Begun
from trimtab.ingest.outcome import Origin
from trimtab.ingest.pieces import moved
from trimtab.ingest.recording_toml import RecordingError, zone_of
from trimtab.ingest.split_result import SplitAccount
from trimtab.ingest.splits import DamagedError
from trimtab.ingest.table_parts import with_folders
from trimtab.ingest.worker import parse_blocks

#: Beginnings by which a file is looked at before and after it is read.
_HEADS = 3
#: Looks for a file that moves whenever it is to be opened.
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a file that are parsed: whole lines, but for a torn last one."""

    item: Item
    #: What is known of the file once they are read.
    incarnation: Incarnation
    #: Where it stood when they were planned; None if they are lost.
    content: Content | None
    #: Bytes of the file.
    start: int
    stop: int

    @property
    def size(self) -> int:
        """Return the count of bytes; what is lost weighs something, too."""
        return max(1, self.stop - self.start)


@dataclass(frozen=True, slots=True)
class GrowingPart:
    """Pieces of files that grow, parsed for one table."""

    looks: Looks
    begun: Begun
    table: str
    #: What cannot be read any more counts as a rejected line, and stops nothing.
    is_loss_fine: bool
    pieces: tuple[Piece, ...] = field(default=())

    def datasets(self) -> Iterator[ds.Dataset]:
        """Return the rows, parsed as they are asked for."""
        for piece in self.pieces:
            for rows in self._parsed(piece):
                yield ds.InMemoryDataset(with_folders(rows, self.begun.cluster))

    def _parsed(self, piece: Piece) -> Iterator[pa.Table]:
        item, begun = piece.item, self.begun
        zone = zone_of(begun.time_zone) or UTC
        root = begun.meta.get("store_root", "")
        origin = Origin(item.name, item.log_broker, zone, begun.day, root)
        for part in parse_blocks(origin, item.source, self._blocks(piece)):
            if isinstance(part, SplitAccount):
                if self.table == "files":
                    yield _account(item, part)
            elif part.table == self.table:
                yield moved(part.rows, item.before)

    def _blocks(self, piece: Piece) -> Iterator[bytes]:
        """Return a piece in blocks of whole lines.

        Raises:
            DamagedError: it is lost, and that is to be counted.
            RecordingError: it is not there any more.
        """
        if piece.item.lost is not None:
            raise DamagedError("", piece.item.lost)
        try:
            yield from whole_lines(self._chunks(piece))
        except MovedError:
            raise RecordingError(
                f"{piece.item.name}: found it moved or cut while it was read, expected it to stay "
                "for as long; started again, the query goes on with this batch"
            ) from None

    def _chunks(self, piece: Piece) -> Iterator[bytes]:
        """Return the bytes of a piece, read from wherever they are by now.

        Raises:
            MovedError: others came in between.
        """
        hashed = blake2b(digest_size=8)
        it, content, chunks = self._opened(piece)
        for chunk in chunks:
            hashed.update(chunk)
            yield chunk
        if _is_in(it, anew(content)):
            return
        # It was packed and removed meanwhile, or truncated and written to again.
        _, content = self._standing(piece)
        if content.digest(piece.start, piece.stop) != hashed.hexdigest():
            raise MovedError(piece.item.name, it.stamp.inode)

    def _opened(self, piece: Piece) -> tuple[Incarnation, Content, Iterator[bytes]]:
        """Return where the bytes stand, and the bytes; once open, a file may be removed.

        Raises:
            MovedError: it moved whenever it was to be opened.
        """
        for attempt in range(1, _TRIES + 1):
            try:
                it, content = self._standing(piece)
                chunks = content.chunks(piece.start, piece.stop)
                first = next(chunks, b"")
            except MovedError:
                if attempt == _TRIES:
                    raise
            else:
                break
        return it, content, itertools.chain((first,), chunks)

    def _standing(self, piece: Piece) -> tuple[Incarnation, Content]:
        """Return where the bytes stand now, whatever the file is called by now.

        Raises:
            DamagedError: nowhere, and that is to be counted.
            RecordingError: nowhere.
        """
        it = piece.incarnation
        if piece.content is not None and _is_in(it, anew(piece.content)):
            return it, piece.content
        look = self.looks.recognized(Register({it.number: it}, next_number=it.number + 1))
        if file := look.standing.get(it.number):
            return replace(it, stamp=file.stamp), file.content
        if self.is_loss_fine:
            raise DamagedError("", lost_reason(piece.stop - piece.start))
        raise lost_error(piece.item.name, piece.start, piece.stop)


def lost_reason(n_bytes: int) -> str:
    """Return why a line stands for bytes that were planned and are not there any more."""
    return f"the file vanished or was replaced with {n_bytes} bytes of it unread"


def lost_error(name: str, start: int, stop: int) -> RecordingError:
    """Return the error that bytes are not there that a batch is to be made of."""
    return RecordingError(
        f"{name}: found no file that has its bytes {start} to {stop}, expected them for a batch "
        "that was begun; with failOnDataLoss=false they count as one rejected line"
    )


def _is_in(it: Incarnation, content: Content) -> bool:
    """Return whether a file still has what was read of an incarnation."""
    if stands(content, it.stamp):
        return True
    # Of a packed file nothing is added: it is another.
    if isinstance(content, PackedContent):
        return False
    marks = [*it.heads[:_HEADS], *([it.tail] if it.tail else [])]
    try:
        return all(mark.fits(content) for mark in marks)
    except MovedError:
        return False


def _account(item: Item, account: SplitAccount) -> pa.Table:
    """Return the row of `files` for a piece; those of a file add up to its account."""
    it = FileAccount(
        item.name,
        item.source,
        account.lines,
        account.rows,
        account.other,
        account.continuation,
        account.rejected,
    )
    check_lines([it])
    return table_of("files", [it.row])
