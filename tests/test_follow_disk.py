"""A recording's files are found and read while they are renamed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from trimtab.ingest.growing import disk as looked_at
from trimtab.ingest.growing.disk import Disk
from trimtab.ingest.growing.incarnations import FollowedFile, MovedError
from trimtab.ingest.recording import Recording, open_growing

LINES = b"06:00:00,001 the first line of this log\n06:00:00,002 the second\n"


def folder(root: Path, *names: str) -> Path:
    """Make the logs of one broker, each with a line of its own in front."""
    logs = root / "logs" / "b1"
    logs.mkdir(parents=True)
    for name in names:
        (logs / name).write_bytes(f"{name}\n".encode() + LINES)
    return logs


def first_line(file: FollowedFile) -> str:
    return b"".join(file.content.chunks(0, file.content.size)).split(b"\n")[0].decode()


def test_a_log_that_is_rotated_after_it_was_listed_is_read_under_its_new_name(
    tmp_path: Path,
) -> None:
    logs = folder(tmp_path, "broker.log")
    packed = logs / "broker.log.7.gz"
    packed.write_bytes(gzip.compress(b"packed\n" + LINES))
    one, two = Disk(1.0).look(tmp_path, 2e9)
    (logs / "broker.log").rename(logs / "broker.log.1")
    (logs / "broker.log").write_bytes(b"another\n")
    packed.rename(logs / "broker.log.8.gz")

    assert [first_line(one), first_line(two)] == ["broker.log", "packed"]
    assert one.content.line_end(0, 30) == len("broker.log\n")


def test_a_log_that_is_gone_says_which_one_it_was(tmp_path: Path) -> None:
    logs = folder(tmp_path, "broker.log")
    (one,) = Disk(1.0).look(tmp_path, 2e9)
    (logs / "broker.log").unlink()

    with pytest.raises(MovedError, match=r"broker\.log: another file") as raised:
        first_line(one)
    assert raised.value.inode == one.stamp.inode


def test_no_log_is_passed_over_that_is_renamed_while_files_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = folder(tmp_path, "broker.log", "broker.log.1")
    disk = Disk(1.0)
    disk.look(tmp_path, 2e9)
    waiting = [("broker.log.1", "broker.log.2"), ("broker.log", "broker.log.1")]

    def listed_too_early(path: Path) -> Recording:
        found = open_growing(path)
        while waiting:
            before, after = waiting.pop(0)
            (logs / before).rename(logs / after)
        return found

    monkeypatch.setattr(looked_at, "open_growing", listed_too_early)
    assert sorted(map(first_line, disk.look(tmp_path, 2e9))) == ["broker.log", "broker.log.1"]
