"""ZooKeeper's files: every write to the metadata store, and what each says of the load.

What the bytes mean stands in `trimtab.ingest.zookeeper_files`; here its writes become rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from trimtab.ingest.averages import averages_at
from trimtab.ingest.bundle_states import STATES, removed, state_of
from trimtab.ingest.entries import Entry, MalformedError, Row, decode
from trimtab.ingest.json_fields import fields_of
from trimtab.ingest.load_reports import gone_row, report_rows
from trimtab.ingest.sieve import Columns
from trimtab.ingest.splits import DamagedError, Split, read_chunks
from trimtab.ingest.store import BROKER, BUNDLE, leader_id, owner_id
from trimtab.ingest.store_columns import TimedWrite, Waiting
from trimtab.ingest.zookeeper_files.bytestream import BrokenFileError, ByteStream
from trimtab.ingest.zookeeper_files.snapshot import Snapshot
from trimtab.ingest.zookeeper_files.transactions import Operation, TransactionLog
from trimtab.ingest.zookeeper_files.writes import Share, Survey, Write, opened, survey, writes

SOURCE = "store-zookeeper"
#: Says how far the move to another store is; since 5.0.
MIGRATION = "/pulsar/migration-coordinator/migration"
#: Below these a cluster keeps its load, who owns what, and whether it has moved elsewhere.
_WANTED = ("/loadbalance", "/namespace", STATES.rstrip("/"), MIGRATION)
#: Of the modular manager, and of the extensible one.
_LEADERS = ("/loadbalance/leader", "/loadbalance/extension/leader")
_OWNER = "/namespace/"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOVE = fields_of("store_moves", ("time",))
#: Bytes of a value that are shown where it cannot be read.
_SHOWN = 400


class StoreFile:
    """One file of ZooKeeper's, read forward once.

    Iterating gives the number of a transaction or node, rows of it, and why some of its
    values could not be read (None if they could).  Further rows wait in columns:
    `waiting_columns` gives those of all that has been read.

    Raises:
        BrokenFileError: while iterating: the file cannot be read on; what came before has
            been given.
    """

    def __init__(self, split: Split) -> None:
        """Open the file, of which the split's share counts; without one all of it."""
        self._split = split
        #: Bytes read, unpacked.
        self.bytes = 0
        self._stream = ByteStream(self._chunks())
        self._file: TransactionLog | Snapshot | None = None
        self._waiting = Waiting()

    @property
    def count(self) -> int:
        """Return how many transactions or nodes have been read, whatever they concern."""
        return self._file.count if self._file else 0

    @property
    def waiting_rows(self) -> int:
        """Return how many rows wait in columns."""
        return self._waiting.rows

    def waiting_columns(self) -> dict[str, Columns]:
        """Return the rows that wait, once."""
        waiting, self._waiting = self._waiting, Waiting()
        return waiting.columns()

    def survey(self) -> Survey:
        """Return its survey, read without values, instead of iterating."""
        return survey(self._stream, _prefixes(self._split))

    def __iter__(self) -> Iterator[tuple[int, list[Row], str | None]]:
        """Yield what counts, in its order."""
        self._file = opened(self._stream, _prefixes(self._split))
        for number, node_writes in writes(self._file, self._split.share or Share()):
            rows: list[Row] = []
            reasons = []
            for write in node_writes:
                try:
                    path = write.path.removeprefix(self._split.origin.store_root)
                    timed = TimedWrite(number, _time(write), path, write)
                    self._waiting.add(timed)
                    # Rows of one transaction come to stand behind those of it that wait, so
                    # what follows a row is not to wait: a table's rows stay in their order.
                    if rows or not self._waiting.add_load(timed):
                        rows += tuple(_derived(write, path, timed.time))
                except MalformedError as error:
                    reasons.append(f"{write.path}: {error}")
                except Exception as error:
                    # As with lines: it costs this write, and not the whole recording.
                    reasons.append(f"{write.path}: the parser failed: {error!r}")
            yield number, rows, "; ".join(reasons) or None

    def _chunks(self) -> Iterator[bytes]:
        size = 0
        try:
            for chunk in read_chunks(self._split):
                size += len(chunk)
                self.bytes = size
                yield chunk
        except DamagedError as damage:
            fault = f"no more bytes ({damage.reason})"
            raise BrokenFileError(size, fault, "the rest of the file") from None


def _prefixes(split: Split) -> tuple[str, ...]:
    return tuple(split.origin.store_root + path for path in _WANTED)


def _time(write: Write) -> datetime:
    try:
        return _EPOCH + timedelta(milliseconds=write.time_ms)
    except OverflowError:
        raise MalformedError(f"found {write.time_ms}, expected a time in ms") from None


def _derived(write: Write, path: str, time: datetime) -> Iterator[Row]:
    """Yield what a write says of load, leader or owner, as the polled files would."""
    is_gone = write.operation is Operation.DELETE
    at_time: dict[str, Any] = {"time": time}
    versioned = at_time | {"version": write.version, "written": None if is_gone else time}
    if path.startswith(BROKER):
        report = versioned | {"broker": path.removeprefix(BROKER), "origin": "store"}
        if is_gone:
            yield gone_row(report)
        else:
            yield from report_rows(_value(write), report)
    elif path in _LEADERS:
        yield "leaders", versioned | {"broker": None if is_gone else leader_id(_value(write))}
    elif path.startswith(_OWNER) and BUNDLE.fullmatch(bundle := path.removeprefix(_OWNER)):
        broker = None if is_gone else owner_id(_value(write))
        yield "ownership", at_time | {"is_full": False, "bundle": bundle, "broker": broker}
    elif path.startswith(STATES) and BUNDLE.fullmatch(bundle := path.removeprefix(STATES)):
        record = at_time | {"origin": "store", "version": write.version, "bundle": bundle}
        yield removed(record) if is_gone else state_of(_value(write), record)
    elif path == MIGRATION:
        yield "store_moves", at_time | (_MOVE.nothing if is_gone else _MOVE.read(_value(write)))
    elif not is_gone and (kind := averages_at(path)):
        yield kind.row(path, _value(write), at_time | {"written": time})


def _value(write: Write) -> Entry:
    """Return a node's value, which is a JSON object."""
    value = decode((write.value or b"").decode("utf-8", "replace"))
    if not isinstance(value, dict):
        raise MalformedError(f"found {json.dumps(value)[:_SHOWN]}, expected an object")
    return Entry(value)
