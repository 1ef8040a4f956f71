"""Changes of owners are counted once each, whatever stands between them in the store."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from store_owners import OwnerChange, owner_changes, store_writes
from trimtab.ingest.zookeeper_files.transactions import Operation
from trimtab.ingest.zookeeper_files.writes import Write

RECORDED = Path(__file__).parents[1] / "recordings" / "uniform" / "store" / "zookeeper" / "log.1.gz"
BUNDLE, OTHER = "a/b/0x00000000_0x80000000", "a/b/0x80000000_0xffffffff"


def write(number: int, bundle: str, owner: str | None) -> Write:
    value = None if owner is None else json.dumps({"httpUrl": f"http://{owner}"}).encode()
    operation = Operation.DELETE if owner is None else Operation.CREATE
    return Write(number, number * 1000, 1, operation, f"/namespace/{bundle}", value, 0, True)


def test_there_and_back_is_two_changes_and_back_to_the_same_owner_is_none() -> None:
    owners = ("one:80", None, "two:80", None, "one:80", "one:80", None, "one:80")
    every = [write(number, BUNDLE, owner) for number, owner in enumerate(owners)]

    assert owner_changes(every, [BUNDLE]) == [
        OwnerChange(2.0, BUNDLE, "one:80", "two:80"),
        OwnerChange(4.0, BUNDLE, "two:80", "one:80"),
    ]


def test_bundles_are_counted_apart_and_others_not_at_all() -> None:
    every = [write(0, BUNDLE, "one:80"), write(1, OTHER, "two:80"), write(2, OTHER, "one:80")]

    assert owner_changes(every, [BUNDLE]) == []
    assert [each.bundle for each in owner_changes(every, [BUNDLE, OTHER])] == [OTHER]


def test_a_recorded_store_is_read(tmp_path: Path) -> None:
    assert store_writes(tmp_path) == []
    (tmp_path / "log.1").write_bytes(gzip.decompress(RECORDED.read_bytes()))
    every = store_writes(tmp_path)
    bundles = {each.path.removeprefix("/namespace/") for each in every}
    assert owner_changes(every, bundles)
    assert [each.zxid for each in every] == sorted(each.zxid for each in every)
