"""How fast a transaction log of ZooKeeper's is read."""

from __future__ import annotations

import gzip
import json
import resource
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from random import Random
from struct import pack
from zlib import adler32

from bench.table import Table
from trimtab.ingest.outcome import Origin
from trimtab.ingest.split_result import SplitAccount
from trimtab.ingest.splits import cut
from trimtab.ingest.worker import parse_split
from trimtab.ingest.zookeeper import SOURCE, StoreFile

_SEED = 4
_BROKERS = 1000
_BUNDLES_EACH = 20
_SIZE = 256 << 20
#: Of the bytes, what brokers write of their load.
_SHARES = (0.01, 0.5)

_TEXT = f"""\
A log of {_SIZE >> 20} MiB, in which {_BROKERS:,} brokers with {_BUNDLES_EACH} bundles each write \
their load reports and everything else is writes of 100 to 800 bytes to other nodes.
To survey is to read it without the values, every checksum verified; rows are what the tables \
get, laid out as Arrow has them; a log is read in both ways.
The figures are of processor time of one core and of unpacked bytes; the peak of memory is that \
of the process so far.
"""
_HEADINGS = ("of it reports", "file", "survey, MB/s", "rows, MB/s", "rows", "peak of memory, MiB")


def zookeeper() -> Table:
    """Measure logs with few and with many reports, packed and not."""
    return Table(_TEXT, (), _HEADINGS, tuple(_rows()))


def transaction_log(size: int, share: float) -> Iterator[bytes]:
    """Make a log in pieces.

    Args:
        size: bytes, about.
        share: of the bytes that are load reports.
    """
    random = Random(_SEED)
    reports = [_report(random) for _ in range(_BROKERS)]
    yield b"ZKLG" + pack(">iq", 2, 0)
    written = reported = zxid = 0
    while written < size:
        zxid += 1
        if reported < share * written:
            broker = random.randrange(_BROKERS)
            path = f"/loadbalance/brokers/10.0.{broker >> 8}.{broker & 255}:8080"
            piece = _record(zxid, path, reports[broker])
            reported += len(piece)
        else:
            path = f"/managed-ledgers/shop/orders/persistent/topic-{zxid % 100_000}"
            piece = _record(zxid, path, random.randbytes(random.randrange(50, 700)))
        written += len(piece)
        yield piece


def _report(random: Random) -> bytes:
    traffic = {"msgRateIn": 0.0, "msgRateOut": 0.0, "msgThroughputIn": 0.0, "msgThroughputOut": 0.0}
    counts = {"topics": 4, "producerCount": 4, "consumerCount": 4, "cacheSize": 0}
    names = [f"shop/n{random.randrange(99)}/0x{i:08x}_0x{i + 1:08x}" for i in range(_BUNDLES_EACH)]
    resources = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
    found = {name: {"usage": random.random() * 90, "limit": 100.0} for name in resources}
    stats = {name: {key: random.random() * 1e6 for key in traffic} | counts for name in names}
    rest = {"numTopics": 80, "bundles": names, "lastStats": stats, "lastUpdate": 1_795_245_033_000}
    return json.dumps(found | traffic | rest).encode()


def _record(zxid: int, path: str, value: bytes) -> bytes:
    head = pack(">qiqqi", 7, zxid & 0xFFFF, zxid, 1_795_245_033_000 + zxid, 5)
    body = pack(">i", len(path)) + path.encode() + pack(">i", len(value)) + value
    contents = head + body + pack(">i", zxid & 0xFFFF)
    return pack(">qi", adler32(contents), len(contents)) + contents + b"B"


def _rows() -> Iterator[tuple[str, ...]]:
    with tempfile.TemporaryDirectory(prefix="trimtab-bench-") as folder:
        for share in _SHARES:
            for name in ("log.1", "log.1.gz"):
                path = Path(folder, name)
                # The fastest level, as for a copy in a hurry.
                with gzip.open(path, "wb", 1) if path.suffix == ".gz" else path.open("wb") as file:
                    file.writelines(transaction_log(_SIZE, share))
                yield f"{share:.0%}", name, *_measured(path)


def _measured(path: Path) -> tuple[str, ...]:
    [split] = cut(path, Origin(f"store/zookeeper/{path.name}", "", UTC, None), SOURCE)
    began = time.process_time()
    StoreFile(split).survey()
    surveyed = time.process_time()
    [account] = deque(parse_split(split), maxlen=1)
    took_s = time.process_time() - surveyed
    assert isinstance(account, SplitAccount)
    rows = sum(account.table_rows.values())
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    speeds = (account.bytes / 1e6 / seconds for seconds in (surveyed - began, took_s))
    return *(f"{speed:,.0f}" for speed in speeds), f"{rows:,}", f"{peak_mib:,.0f}"
