"""Several files of ZooKeeper's → each write once, and the ends of nodes with their sessions.

Files repeat each other: every server of an ensemble logs every write, and a snapshot holds
what logs tell as well.  So each file is first surveyed without its values; the surveys
together say what of each file counts; then each is read by itself.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from trimtab.ingest.zookeeper_files.bytestream import BrokenFileError, ByteStream
from trimtab.ingest.zookeeper_files.snapshot import MAGIC as SNAPSHOT_MAGIC
from trimtab.ingest.zookeeper_files.snapshot import Snapshot
from trimtab.ingest.zookeeper_files.transactions import (
    Change,
    Operation,
    Transaction,
    TransactionLog,
)

_KEY = np.dtype([("zxid", np.int64), ("path", np.int64)])


@dataclass(frozen=True, slots=True)
class Write:
    """One write to one node."""

    #: Transaction that wrote, and its time in ms since the epoch.
    zxid: int
    time_ms: int
    #: Who wrote; of a node in a snapshot, the session that it ends with, 0 for none.
    session: int
    operation: Operation
    path: str
    value: bytes | None
    #: Version of the node's value after it; None where the node is gone.
    version: int | None
    #: The node ends with its session; None where the write does not say.
    is_ephemeral: bool | None
    #: It was read from a snapshot, as the last write of its node.
    is_snapshot: bool = False


@dataclass(frozen=True, slots=True)
class Life:
    """What a file tells of one node that may end with a session."""

    zxid: int
    #: Which of the file's transactions or nodes tells it.
    number: int
    session: int
    #: Its path; None where the session ended with all its nodes.
    path: str | None
    #: It began with that session; otherwise it ended.
    begins: bool


@dataclass(frozen=True, slots=True)
class Survey:
    """What a file holds, without the values."""

    is_snapshot: bool
    #: Transactions or nodes, wanted or not.
    count: int
    #: Id and time in ms of a log's first and last transaction.
    first: tuple[int, int] | None
    last: tuple[int, int] | None
    #: (n,) of each transaction or node that is wanted: zxid, and a hash of a node's path.
    keys: npt.NDArray[np.void]
    lives: tuple[Life, ...]
    #: Why the file could not be read to its end; None if it was.
    fault: str | None

    @property
    def counts(self) -> bool:
        """Return whether what was read can be trusted: a snapshot is whole or it is nothing."""
        return not (self.is_snapshot and self.fault)


@dataclass(frozen=True, slots=True)
class Share:
    """What of a file counts, beside the other files."""

    #: Bits, one for each transaction or node that is wanted: no other file has given it.
    #: None: all of it counts.
    kept: bytes | None = None
    #: Transaction that ends a session without listing its nodes → their paths.
    ended: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


def opened(stream: ByteStream, prefixes: Collection[str]) -> TransactionLog | Snapshot:
    """Return a file opened as what its first bytes say; what is neither fails as a log."""
    kind = Snapshot if stream.peek(4) == SNAPSHOT_MAGIC else TransactionLog
    return kind(stream, prefixes)


def survey(stream: ByteStream, prefixes: Collection[str]) -> Survey:
    """Return the survey of a file, read without its values.

    Args:
        stream: the file's bytes, unpacked, from the first on.
        prefixes: paths, such as `/loadbalance`; what is below each is wanted, too.
    """
    file: TransactionLog | Snapshot | None = None
    zxids, paths = array("q"), array("q")
    lives: list[Life] = []
    fault, is_snapshot = None, False
    try:
        file = opened(stream, prefixes)
        is_snapshot = isinstance(file, Snapshot)
        for item in file:
            zxids.append(item.zxid)
            paths.append(_hash(item.changes[0].path) if is_snapshot else 0)
            lives += _lives(item)
    except BrokenFileError as error:
        fault = str(error)
    keys = np.empty(len(zxids), _KEY)
    keys["zxid"], keys["path"] = zxids, paths
    return Survey(
        is_snapshot=is_snapshot,
        count=file.count if file else 0,
        first=file.first if isinstance(file, TransactionLog) else None,
        last=file.last if isinstance(file, TransactionLog) else None,
        keys=keys,
        lives=tuple(lives),
        fault=fault,
    )


def shares(surveys: Sequence[Survey]) -> tuple[Share, ...]:
    """Return what of each file counts.

    A transaction counts in the first log that has it.  A node of a snapshot counts if no
    log has the transaction that wrote it, in the first snapshot that has it.  Nodes end with
    their session in whichever file the session ends.

    Args:
        surveys: of all files of one ensemble; the first that has something gives it.
    """
    masks = [np.zeros(len(each.keys), np.bool_) for each in surveys]
    logs = [i for i, each in enumerate(surveys) if not each.is_snapshot]
    snapshots = [i for i, each in enumerate(surveys) if each.is_snapshot and each.counts]
    logged = _keep_first([surveys[i].keys for i in logs], [masks[i] for i in logs])
    _keep_first([surveys[i].keys for i in snapshots], [masks[i] for i in snapshots])
    for i in snapshots:
        masks[i] &= ~np.isin(surveys[i].keys["zxid"], logged["zxid"])
    ended = _ended(surveys)
    return tuple(
        Share(np.packbits(bits).tobytes(), ends) for bits, ends in zip(masks, ended, strict=True)
    )


def writes(
    file: TransactionLog | Snapshot, share: Share
) -> Iterator[tuple[int, tuple[Write, ...]]]:
    """Yield what counts of a file, in its order: in a log, in order of zxid.

    Args:
        file: what `opened` gave.
        share: what of it counts, from `shares`.

    Yields:
        Number of a transaction or node, and its writes.

    Raises:
        BrokenFileError: the file cannot be read on; what it held before has been given.
    """
    items: Iterable[Transaction] = file
    if share.kept is not None:
        items = itertools.compress(items, np.unpackbits(np.frombuffer(share.kept, np.uint8)))
    for item in items:
        gone = (
            Change(Operation.DELETE, path, is_ephemeral=True)
            for path in share.ended.get(item.number, ())
        )
        yield item.number, tuple(_write(item, each, file) for each in (*item.changes, *gone))


def _write(transaction: Transaction, change: Change, file: TransactionLog | Snapshot) -> Write:
    return Write(
        transaction.zxid,
        transaction.time_ms,
        transaction.session,
        change.operation,
        change.path,
        change.value,
        change.version,
        change.is_ephemeral,
        is_snapshot=isinstance(file, Snapshot),
    )


def _lives(item: Transaction) -> Iterator[Life]:
    """Yield what matters for the nodes that end with a session."""
    for change in item.changes:
        if change.operation is Operation.DELETE or change.is_ephemeral:
            begins = change.operation is not Operation.DELETE
            yield Life(item.zxid, item.number, item.session, change.path, begins)
    if item.ends_session:
        yield Life(item.zxid, item.number, item.session, None, begins=False)


def _ended(surveys: Sequence[Survey]) -> list[dict[int, tuple[str, ...]]]:
    """Return the nodes that end with sessions whose end does not list them."""
    ended: list[dict[int, tuple[str, ...]]] = [{} for _ in surveys]
    owners: dict[str, int] = {}
    owned: dict[int, set[str]] = {}
    lives = ((life, i) for i, each in enumerate(surveys) if each.counts for life in each.lives)
    for life, i in sorted(lives, key=lambda it: (it[0].zxid, it[1], it[0].number)):
        if life.path is None:
            if paths := owned.pop(life.session, None):
                ended[i][life.number] = tuple(sorted(paths))
            continue
        owned.get(owners.pop(life.path, 0), set()).discard(life.path)
        if life.begins:
            owners[life.path] = life.session
            owned.setdefault(life.session, set()).add(life.path)
    return ended


def _keep_first(
    keys: Sequence[npt.NDArray[np.void]], masks: Sequence[npt.NDArray[np.bool_]]
) -> npt.NDArray[np.void]:
    """Mark each key in the first file that has it, and return all keys once."""
    together = np.concatenate([np.empty(0, _KEY), *keys])
    order = np.lexsort((together["path"], together["zxid"]))
    in_order = together[order]
    is_first = np.ones(len(together), np.bool_)
    is_first[1:] = in_order[1:] != in_order[:-1]
    marks = np.zeros(len(together), np.bool_)
    marks[order[is_first]] = True
    ends = np.cumsum([0, *map(len, keys)])
    for mine, start, end in zip(masks, ends, ends[1:], strict=False):
        mine[:] = marks[start:end]
    return in_order[is_first]


def _hash(path: str) -> int:
    """Return 64 bits of a path: among the nodes that one transaction wrote, as good as it."""
    digest = blake2b(path.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)
