"""A transaction log → its transactions, checksums verified."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from struct import Struct
from zlib import adler32

from trimtab.ingest.zookeeper_files.bytestream import BrokenFileError, ByteStream
from trimtab.ingest.zookeeper_files.jute import MAX_SIZE, Jute

MAGIC = b"ZKLG"
_FILE_HEADER = 16
#: Checksum and length of what follows.
_FRAME = Struct(">qi")
#: Session, number within the session, transaction id, time in ms, type.
_HEADER = Struct(">qiqqi")
_STAMP = Struct(">qq")
_STAMP_AT = 12
_KIND_AT = 28
_PATH_AT = _HEADER.size + 4
_END_OF_RECORD = 0x42
#: A digest of the whole tree, behind the records of some releases.
_DIGEST_SIZE = 12

_CREATES = frozenset({1, 15, 19, 21})
_DELETES = frozenset({2, 20})
_SET, _ERROR, _MULTI, _CLOSE_SESSION = 5, -1, 14, -11
_MULTI_KIND, _CLOSE_SESSION_KIND = (kind.to_bytes(4, signed=True) for kind in (14, -11))
#: Creations whose record says whether the node ends with its session.
_MAY_BE_EPHEMERAL = frozenset({1, 15})


class Operation(StrEnum):
    """What a write does to one node."""

    CREATE = "create"
    SET = "set"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Change:
    """What a transaction does to one node."""

    operation: Operation
    path: str
    value: bytes | None = None
    #: Version of the node's value after it; a created node has 0, a deleted one none.
    version: int | None = None
    #: The node ends with its session; None where the transaction does not say.
    is_ephemeral: bool | None = None


@dataclass(frozen=True, slots=True)
class Transaction:
    """One transaction, with what it does to the nodes that are wanted."""

    #: Which of the file's transactions or nodes it is, from 1.
    number: int
    zxid: int
    session: int
    #: ms since the epoch, by the clock of the server that led the ensemble.
    time_ms: int
    changes: tuple[Change, ...]
    #: The session's ephemeral nodes end with it, and the record does not list them.
    ends_session: bool = False


class TransactionLog:
    """A transaction log, read forward once.

    Iterating gives the transactions that concern some paths.  Those that change nothing
    there are passed over without being decoded, but for their checksum; the end of a
    session that does not list its nodes is always given.

    Raises:
        BrokenFileError: while iterating: the file is not a log, or breaks off, or a checksum
            is wrong; everything before that byte has been given.

    Properties:
        How the bytes are cut into chunks changes nothing.
        Memory is bounded by a chunk and the largest record.

    Quirks:
        A log is allocated ahead in blocks of zeros: a record without length is its end, and
        anything but zeros behind it is an error.
        The last record of a server that died may be torn, which is an error at its byte.
        A multi-transaction with one error in it changed nothing, whatever else it lists.
        What a server logged and the ensemble never agreed on looks like any other write.

    Source:
        apache/zookeeper 3.9, persistence/FileTxnLog.java, server/DataTree.java processTxn,
        util/SerializeUtils.java and zookeeper.jute; read on logs of 3.9.
    """

    def __init__(self, stream: ByteStream, prefixes: Collection[str]) -> None:
        """Keep the file; nothing is read yet.

        Args:
            stream: the file's bytes, unpacked, from the first on.
            prefixes: paths, such as `/loadbalance`; what is below each is given, too.
        """
        self._stream = stream
        self._wanted = tuple(prefix.encode() for prefix in prefixes)
        #: Transactions read, given or not.
        self.count = 0
        self._first = self._last = b""

    @property
    def first(self) -> tuple[int, int] | None:
        """Return id and time in ms of the first transaction read; None before there was one."""
        return _stamp(self._first)

    @property
    def last(self) -> tuple[int, int] | None:
        """Return id and time in ms of the last transaction read; None before there was one."""
        return _stamp(self._last)

    def __iter__(self) -> Iterator[Transaction]:
        """Yield the transactions below the prefixes."""
        stream, prefixes = self._stream, self._wanted
        if stream.peek(4) != MAGIC:
            raise BrokenFileError(0, stream.shown(), "a transaction log, which begins with ZKLG")
        if not stream.has(_FILE_HEADER):
            raise BrokenFileError(0, "less than a header", f"{_FILE_HEADER} bytes")
        stream.position += _FILE_HEADER
        while record := _next_record(stream):
            self.count += 1
            self._first = self._first or record
            self._last = record
            # A path stands right behind the header and its own length; only a multi and
            # the end of a session hide several.
            kind = record[_KIND_AT : _KIND_AT + 4]
            if not record.startswith(prefixes, _PATH_AT) and (
                kind not in (_MULTI_KIND, _CLOSE_SESSION_KIND)
                or (kind == _MULTI_KIND and not any(prefix in record for prefix in prefixes))
            ):
                continue
            transaction = self._decoded(record)
            if transaction.changes or transaction.ends_session:
                yield transaction

    def _decoded(self, record: bytes) -> Transaction:
        session, _, zxid, time_ms, kind = _HEADER.unpack_from(record)
        fields = Jute(record, _HEADER.size, self._stream.offset - len(record) - 1)
        made = _ended(fields) if kind == _CLOSE_SESSION else tuple(_changes(kind, fields))
        changes = tuple(it for it in made or () if is_below(it.path, self._wanted))
        return Transaction(self.count, zxid, session, time_ms, changes, ends_session=made is None)


def is_below(path: str, prefixes: Iterable[bytes]) -> bool:
    """Return whether a path is one of some paths, or below one."""
    encoded = path.encode("utf-8", "replace")
    return any(encoded == prefix or encoded.startswith(prefix + b"/") for prefix in prefixes)


def _stamp(record: bytes) -> tuple[int, int] | None:
    if not record:
        return None
    zxid, time_ms = _STAMP.unpack_from(record, _STAMP_AT)
    return zxid, time_ms


def _next_record(stream: ByteStream) -> bytes | None:
    """Return the next record; None at the end of the log."""
    if not stream.has(_FRAME.size):
        _end(stream)
        return None
    checksum, size = _FRAME.unpack_from(stream.buffer, stream.position)
    if size == 0:
        _end(stream)
        return None
    if not _HEADER.size <= size <= MAX_SIZE:
        expected = f"one of {_HEADER.size} to {MAX_SIZE}"
        raise BrokenFileError(stream.offset, f"a record of {size} bytes", expected)
    if not stream.has(_FRAME.size + size + 1):
        left = len(stream.buffer) - stream.position
        expected = f"{_FRAME.size + size + 1} bytes"
        raise BrokenFileError(stream.offset, f"a record torn after {left} bytes", expected)
    start = stream.position + _FRAME.size
    record = stream.buffer[start : start + size]
    if adler32(record) != checksum:
        raise BrokenFileError(stream.offset, "a record that is not its checksum", "one that is")
    if stream.buffer[start + size] != _END_OF_RECORD:
        raise BrokenFileError(stream.offset + _FRAME.size + size, "no end of a record", "a B")
    stream.position = start + size + 1
    return record


def _end(stream: ByteStream) -> None:
    """Pass the zeros behind the last record."""
    if not stream.pass_zeros():
        content = f"{stream.shown()} behind the log's end"
        raise BrokenFileError(stream.offset, content, "zeros or a record")


def _changes(kind: int, fields: Jute) -> Iterator[Change]:
    """Yield what a transaction of a type does; types that change no value give nothing."""
    if kind in _CREATES:
        path, value = fields.text(), fields.buffer()
        for _ in range(fields.int32()):  # its access rights
            fields.int32(), fields.text(), fields.text()
        is_ephemeral = kind in _MAY_BE_EPHEMERAL and fields.flag()
        yield Change(Operation.CREATE, path, value, 0, is_ephemeral)
    elif kind in _DELETES:
        yield Change(Operation.DELETE, fields.text())
    elif kind == _SET:
        yield Change(Operation.SET, fields.text(), fields.buffer(), fields.int32())
    elif kind == _MULTI:
        yield from _of_multi(fields)


def _of_multi(fields: Jute) -> list[Change]:
    """Return what a multi-transaction does: all of it or, with an error in it, nothing."""
    changes: list[Change] = []
    for _ in range(fields.int32()):
        kind, body = fields.int32(), fields.buffer() or b""
        if kind == _ERROR:
            return []
        if kind == _MULTI:
            raise BrokenFileError(fields.offset, "a multi in a multi", "plain operations")
        changes += _changes(kind, Jute(body, base=fields.offset - len(body)))
    return changes


def _ended(fields: Jute) -> tuple[Change, ...] | None:
    """Return the nodes that end with a session; None where the release does not list them.

    What stands there may be the tree's digest and nothing else, which is no list of paths.
    """
    try:
        paths = [fields.text() for _ in range(fields.int32())] if fields.left else None
    except BrokenFileError:
        return None
    if paths is None or fields.left not in (0, _DIGEST_SIZE):
        return None
    if not all(path.startswith("/") for path in paths):
        return None
    return tuple(Change(Operation.DELETE, path, is_ephemeral=True) for path in paths)
