"""A file is there whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from trimtab.files.whole_files import write_whole


@pytest.mark.parametrize("content", ["ü\n", b"\x89PNG\r\n"])
def test_it_is_what_was_given(tmp_path: Path, content: str | bytes) -> None:
    path = write_whole(tmp_path / "a", content)

    assert path == tmp_path / "a"
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_is_full_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_whole(tmp_path / "a", "before")
    write = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        write(self, data[:3])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*/a'"):
        write_whole(path, "after")

    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
