"""Logs that are others by another name, as `packed_copies.py` tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.ingest import packed_copies
from trimtab.ingest.packed_copies import same_logs

#: What every broker of a cluster writes at first, longer than what a time must stand in.
BOOT = b"10:00:00 INFO the same first lines\n" * 20


def written(folder: Path, logs: dict[str, bytes]) -> dict[str, Path]:
    paths = {name: folder / name for name in logs}
    for name, path in paths.items():
        path.write_bytes(logs[name])
    return paths


def test_a_log_is_compared_with_all_that_begin_as_it_does(tmp_path: Path) -> None:
    # The head of the first two is that of each, and one that fits neither lies between them.
    long = BOOT + b"b" * 40_000
    logs = written(
        tmp_path,
        {"boot": BOOT, "a": BOOT + b"a" * 50_000, "b": long, "b-early": long[:30_000], "c": b"x"},
    )
    assert same_logs(logs) == {"b-early": "b", "boot": "a"}


def test_of_logs_that_are_the_same_the_first_by_name_stays(tmp_path: Path) -> None:
    logs = written(tmp_path, {name: BOOT for name in ("c", "a", "b")})
    assert same_logs(logs) == {"b": "a", "c": "a"}


def test_brokers_that_begin_alike_are_not_compared_one_with_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = written(tmp_path, {f"{i:03}": BOOT + b"%d" % i * 30_000 for i in range(100, 150)})
    monkeypatch.setattr(packed_copies, "_is_beginning", None)
    assert same_logs(logs) == {}
