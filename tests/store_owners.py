"""Who owned which bundle, write for write, by the transaction logs of a cluster's ZooKeeper.

Looks at owners miss what goes there and back between two of them; here nothing is missed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trimtab.ingest.entries import Entry
from trimtab.ingest.store import owner_id
from trimtab.ingest.zookeeper_files.bytestream import BrokenFileError, ByteStream
from trimtab.ingest.zookeeper_files.transactions import Operation
from trimtab.ingest.zookeeper_files.writes import Write, opened, shares, survey, writes

_OWNERS = "/namespace"


@dataclass(frozen=True, slots=True)
class OwnerChange:
    """A bundle got another owner than the one that it had last."""

    time_s: float
    bundle: str
    before: str
    after: str


def store_writes(folder: Path) -> list[Write]:
    """Return the writes to nodes of owners that a ZooKeeper's folder tells of, in their order."""
    paths = sorted(path for path in folder.rglob("*") if path.name.startswith(("log.", "snapshot")))
    # They are written to meanwhile, and all are to be of one moment.
    contents = [path.read_bytes() for path in paths]
    counts = shares([survey(ByteStream([each]), (_OWNERS,)) for each in contents])
    every: list[Write] = []
    for each, share in zip(contents, counts, strict=True):
        # The last record of a log may not be there as a whole yet.
        with suppress(BrokenFileError):
            for _, of_one in writes(opened(ByteStream([each]), (_OWNERS,)), share):
                every += of_one
    return sorted(every, key=lambda write: write.zxid)


def owner_changes(every: Sequence[Write], bundles: Iterable[str]) -> list[OwnerChange]:
    """Return the changes of some bundles' owners: once each, however long nobody had it between."""
    wanted, last, changes = set(bundles), dict[str, str](), list[OwnerChange]()
    for write in every:
        bundle = write.path.removeprefix(f"{_OWNERS}/")
        if bundle not in wanted or write.operation is Operation.DELETE or not write.value:
            continue
        owner = owner_id(Entry(json.loads(write.value)))
        if last.get(bundle, owner) != owner:
            changes.append(OwnerChange(write.time_ms / 1000, bundle, last[bundle], owner))
        last[bundle] = owner
    return changes
