"""Followers are killed at random moments, and each line is stored once all the same.

One of each kind is killed; `--exhaustive` kills fifty.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.follow_kills import Run, differences

#: Followers that are killed, and with `--exhaustive`.
FEW, MANY = 3, 50


@pytest.mark.spark
def test_each_line_is_stored_once_whoever_is_killed(tmp_path: Path, is_exhaustive: bool) -> None:
    kills = MANY if is_exhaustive else FEW
    run = Run(tmp_path / "run", seed=kills)
    written = run.kill_often(kills)
    run.finish()

    assert [] == differences(run.tables, written)
    assert kills == run.killed.total()
    assert min(written.values()) > 0
    assert [] == run.outlived()
    said = (run.folder / "follower.log").read_text()
    assert "trimtab: Java has ended; started again, it goes on from here\n" in said
