"""What becomes of files that grow, rotate, vanish and come back, as text files."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests.datadriven import run
from tests.follow_disk import Folder

TESTDATA = Path(__file__).parent / "testdata" / "follow"
NAMES = sorted(path.stem for path in TESTDATA.glob("*.txt"))


def test_there_are_fixtures() -> None:
    assert {"files", "truncated", "packed", "appear_and_vanish", "limits"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_files(name: str, tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    path = TESTDATA / f"{name}.txt"
    file_regression.check(
        run(path, Folder()), encoding="utf-8", fullpath=path, obtained_filename=tmp_path / path.name
    )
