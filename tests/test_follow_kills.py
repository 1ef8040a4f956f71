"""Followers are killed at random moments, and each line is stored once all the same.

TRIMTAB_KILLS says how many of them are killed; three, one of each kind, if it is not set.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.follow_kills import Run, differences

KILLS = int(os.environ.get("TRIMTAB_KILLS", "3"))


@pytest.mark.spark
def test_each_line_is_stored_once_whoever_is_killed(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", seed=KILLS)
    written = run.kill_often(KILLS)
    run.finish()

    assert [] == differences(run.tables, written)
    assert KILLS == run.killed.total()
    assert min(written.values()) > 0
    assert [] == run.outlived()
    said = (run.folder / "follower.log").read_text()
    assert "trimtab: Java has ended; started again, it goes on from here\n" in said
