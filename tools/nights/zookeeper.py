"""ZooKeeper's own transaction log of a night: every write of the store, as it lies on its disk."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from tools.nights.night import Night
from tools.nights.report import document

_CREATE_SESSION, _CREATE, _DELETE, _SET_DATA = -10, 1, 2, 5
_SESSION_S = 30
_OWNER = "/namespace/"
_BROKERS = "/loadbalance/brokers/"
_LEADER = "/loadbalance/leader"

#: Time, type and body of a transaction.
_Txn = tuple[int, int, bytes]


def transaction_log(night: Night) -> bytes:
    """Return the log of all that was written from the start of the brokers on."""
    head = b"ZKLG" + struct.pack(">iq", 2, 0)
    start = (night.cluster.zero_ms, _CREATE_SESSION, struct.pack(">i", _SESSION_S * 1000))
    written = sorted([*_reports(night), *_owners(night), *_leaders(night)], key=lambda txn: txn[0])
    ended = [txn for txn in [start, *written] if txn[0] <= night.to_ms]
    return head + b"".join(_record(zxid, txn) for zxid, txn in enumerate(ended, start=1))


def _record(zxid: int, txn: _Txn) -> bytes:
    time_ms, kind, body = txn
    entry = struct.pack(">qiqqi", 0x100000001, zxid, zxid, time_ms, kind) + body
    return struct.pack(">qi", zlib.adler32(entry), len(entry)) + entry + b"B"


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">i", len(data)) + data


def _create(path: str, content: dict[str, Any], is_ephemeral: bool) -> bytes:
    acl = struct.pack(">ii", 1, 31) + _text("world") + _text("anyone")
    return (
        _text(path)
        + _text(json.dumps(content, separators=(",", ":")))
        + acl
        + struct.pack(">?i", is_ephemeral, 1)
    )


def _set(path: str, content: dict[str, Any], version: int) -> bytes:
    data = _text(json.dumps(content, separators=(",", ":")))
    return _text(path) + data + struct.pack(">i", version)


def _reports(night: Night) -> Iterator[_Txn]:
    for write in night.cluster.writes:
        path = _BROKERS + write.broker
        if write.report is None:
            yield write.time_ms, _DELETE, _text(path)
            continue
        content = document(write.report, write.gains, write.losses)
        if write.version == 0:
            yield write.time_ms, _CREATE, _create(path, content, True)
        else:
            yield write.time_ms, _SET_DATA, _set(path, content, write.version)


def _owners(night: Night) -> Iterator[_Txn]:
    for it in night.cluster.owners:
        path = _OWNER + it.bundle
        if it.broker is None:
            yield it.time_ms, _DELETE, _text(path)
            continue
        host = it.broker.rpartition(":")[0]
        content = {
            "nativeUrl": f"pulsar://{host}:6650",
            "httpUrl": f"http://{it.broker}",
            "disabled": False,
            "advertisedListeners": {},
        }
        yield it.time_ms, _CREATE, _create(path, content, True)


def _leaders(night: Night) -> Iterator[_Txn]:
    there = False
    for time_ms, broker in night.cluster.led:
        if there:
            yield time_ms - (1 if broker else 0), _DELETE, _text(_LEADER)
        there = broker is not None
        if broker is not None:
            content = {"serviceUrl": f"http://{broker}", "brokerId": broker}
            yield time_ms, _CREATE, _create(_LEADER, content, True)
