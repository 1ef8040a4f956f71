"""ZooKeeper's files: every write to the metadata store, and what each says of the load.

What the bytes mean stands in `trimtab.zookeeper`; here its writes become rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from trimtab.ingest.entries import Entry, MalformedError, Row, decode
from trimtab.ingest.load_reports import report_rows
from trimtab.ingest.splits import DamagedError, Split, read_chunks
from trimtab.ingest.store import BUNDLE, broker_averages, bundle_averages, leader_id, owner_id
from trimtab.zookeeper.bytestream import BrokenFileError, ByteStream
from trimtab.zookeeper.snapshot import Snapshot
from trimtab.zookeeper.transactions import Operation, TransactionLog
from trimtab.zookeeper.writes import Share, Survey, Write, opened, survey, writes

SOURCE = "store-zookeeper"
#: Below these a cluster keeps its load and who owns what.
_WANTED = ("/loadbalance", "/namespace")
_BROKER = "/loadbalance/brokers/"
_LEADER = "/loadbalance/leader"
_BUNDLE_DATA = "/loadbalance/bundle-data/"
_BROKER_AVERAGE = "/loadbalance/broker-time-average/"
_OWNER = "/namespace/"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SESSION_MASK = (1 << 64) - 1
#: Bytes of a value that are shown where it cannot be read.
_SHOWN = 400


class StoreFile:
    """One file of ZooKeeper's, read forward once.

    Iterating gives the number of a transaction or node, its rows, and why some of its
    values could not be read (None if they could).

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

    @property
    def count(self) -> int:
        """How many transactions or nodes have been read, whatever they concern."""
        return self._file.count if self._file else 0

    def survey(self) -> Survey:
        """Read it without values, instead of iterating."""
        return survey(self._stream, _prefixes(self._split))

    def __iter__(self) -> Iterator[tuple[int, list[Row], str | None]]:
        """Read on to the next that counts."""
        self._file = opened(self._stream, _prefixes(self._split))
        for number, made in writes(self._file, self._split.share or Share()):
            rows: list[Row] = []
            reasons = []
            for write in made:
                try:
                    path = write.path.removeprefix(self._split.origin.store_root)
                    time = _time(write)
                    rows.append(_itself(write, path, time))
                    rows += tuple(_derived(write, path, time))
                except MalformedError as error:
                    reasons.append(f"{write.path}: {error}")
                except Exception as error:
                    # As with lines: it costs this write, and not the whole recording.
                    reasons.append(f"{write.path}: the parser failed: {error!r}")
            yield number, rows, "; ".join(reasons) or None

    def _chunks(self) -> Iterator[bytes]:
        given = 0
        try:
            for chunk in read_chunks(self._split):
                given += len(chunk)
                self.bytes = given
                yield chunk
        except DamagedError as damage:
            found = f"no more bytes ({damage.reason})"
            raise BrokenFileError(given, found, "the rest of the file") from None


def _prefixes(split: Split) -> tuple[str, ...]:
    return tuple(split.origin.store_root + path for path in _WANTED)


def _time(write: Write) -> datetime:
    try:
        return _EPOCH + timedelta(milliseconds=write.time_ms)
    except OverflowError:
        raise MalformedError(f"found {write.time_ms}, expected a time in ms") from None


def _itself(write: Write, path: str, time: datetime) -> Row:
    """Give the row that tells of the write, whatever it wrote."""
    return "store_writes", {
        "time": time,
        "zxid": write.zxid,
        "session": f"0x{write.session & _SESSION_MASK:x}" if write.session else None,
        "path": path,
        "operation": str(write.operation),
        "version": write.version,
        "is_ephemeral": write.is_ephemeral,
        "is_snapshot": write.is_snapshot,
        "bytes": None if write.value is None else len(write.value),
    }


def _derived(write: Write, path: str, time: datetime) -> Iterator[Row]:
    """Give what a write says of load, leader or owner, as the polled files would."""
    is_gone = write.operation is Operation.DELETE
    seen: dict[str, Any] = {"time": time}
    told = seen | {"version": write.version, "written": None if is_gone else time}
    if path.startswith(_BROKER):
        report = told | {"broker": path.removeprefix(_BROKER), "origin": "store"}
        if is_gone:
            yield "load_reports", report | {"is_gone": True}
        else:
            yield from report_rows(_value(write), report)
    elif path == _LEADER:
        yield "leaders", told | {"broker": None if is_gone else leader_id(_value(write))}
    elif path.startswith(_OWNER) and BUNDLE.fullmatch(bundle := path.removeprefix(_OWNER)):
        broker = None if is_gone else owner_id(_value(write))
        yield "ownership", seen | {"is_full": False, "bundle": bundle, "broker": broker}
    elif is_gone:
        return
    elif path.startswith(_BUNDLE_DATA) and BUNDLE.fullmatch(path):
        seen |= {"written": time, "bundle": path.removeprefix(_BUNDLE_DATA)}
        yield bundle_averages(_value(write), seen)
    elif path.startswith(_BROKER_AVERAGE):
        seen |= {"written": time, "broker": path.removeprefix(_BROKER_AVERAGE)}
        yield broker_averages(_value(write), seen)


def _value(write: Write) -> Entry:
    """Decode a node's value, which is a JSON object."""
    found = decode((write.value or b"").decode("utf-8", "replace"))
    if not isinstance(found, dict):
        raise MalformedError(f"found {json.dumps(found)[:_SHOWN]}, expected an object")
    return Entry(found)
