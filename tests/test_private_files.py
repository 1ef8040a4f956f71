"""Whatever a command writes can be read by its owner alone: it names tenants and brokers."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from trimtab.cli import main
from trimtab.cli.surroundings import quiet_libraries


@pytest.fixture
def open_to_all() -> Iterator[None]:
    """Let whoever asks for a file give everybody access to it."""
    before = os.umask(0o000)
    yield
    assert os.umask(before) == 0o000


@pytest.mark.usefixtures("open_to_all")
def test_files_and_folders_are_for_their_owner(tmp_path: Path) -> None:
    words = ("record", "S05", "--strategy", "AvgShedder", "--minutes", "46")
    done = CliRunner().invoke(main, [*words, "-o", str(tmp_path / "night")])

    assert done.exit_code == 0, done.output
    written = [tmp_path / "night", *sorted((tmp_path / "night").rglob("*"))]
    assert len(written) > 5
    assert {path.stat().st_mode & 0o777 for path in written if path.is_file()} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in written if path.is_dir()} == {0o700}


def test_libraries_do_not_chatter(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # As in a process of its own, where nobody has set anything up.
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    with quiet_libraries():
        logging.getLogger("kazoo.client").warning("Connection dropped: socket connection broken")
    assert capsys.readouterr().err == ""
    logging.getLogger("kazoo.client").warning("heard again")
    assert "heard again" in capsys.readouterr().err
