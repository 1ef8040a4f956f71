"""The journal and the lock on a disk: what a kill leaves, and who is kept out."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from trimtab.live.apply.journal import JournalError, opened_journal
from trimtab.live.apply.lock import file_lock
from trimtab.live.apply.post import LockError
from trimtab.live.control.entries import Begun, Done, Verified, entry_line

_BEGUN, _VERIFIED, _DONE = Begun(1.0, "p1", 1), Verified(2.0, 0), Done(3.0)


def test_what_was_written_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "plan.journal"
    with opened_journal(path, "p1") as journal:
        assert () == journal.entries
        journal.write(_BEGUN)
        journal.write(_VERIFIED)
    with opened_journal(path, "p1") as journal:
        assert (_BEGUN, _VERIFIED) == journal.entries
        journal.write(_DONE)

    lines = [entry_line(each) for each in (_BEGUN, _VERIFIED, _DONE)]
    assert "\n".join([*lines, ""]) == path.read_text()
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("left", [1, 10, len(entry_line(_VERIFIED))])
def test_a_torn_last_line_is_cut_off(tmp_path: Path, left: int) -> None:
    path = tmp_path / "plan.journal"
    path.write_text(entry_line(_BEGUN) + "\n" + entry_line(_VERIFIED)[:left])

    with opened_journal(path, "p1") as journal:
        assert (_BEGUN,) == journal.entries
        journal.write(_DONE)

    assert f"{entry_line(_BEGUN)}\n{entry_line(_DONE)}\n" == path.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (entry_line(_BEGUN) + "\nx\n", " line 2: the line: found no JSON, expected an entry"),
        (
            entry_line(Begun(1.0, "p2", 1)) + "\n",
            ": the journal of plan p2, not of p1: name another by --journal",
        ),
        ("\xff\n", " line 1: the line: found no JSON"),
    ],
)
def test_a_journal_that_cannot_be_used_is_left_as_it_is(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "plan.journal"
    path.write_text(text, encoding="latin-1")
    before = path.read_bytes()

    with pytest.raises(JournalError) as wrong, opened_journal(path, "p1"):
        pass

    assert f"{path}{message}" in str(wrong.value)
    assert before == path.read_bytes()


def test_a_journal_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "plan.journal"
    with (
        opened_journal(path, "p1"),
        pytest.raises(JournalError, match="another run is carrying this plan out"),
        opened_journal(path, "p1"),
    ):
        pass


def test_a_journal_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    path = tmp_path / "plan.journal"
    with opened_journal(path, "p1") as journal:
        os.close(journal.descriptor)
        with pytest.raises(JournalError, match="cannot be written: Bad file descriptor"):
            journal.write(_DONE)
        # The block closes it again.
        spare = os.open(path, os.O_RDONLY)
        os.dup2(spare, journal.descriptor)
        if spare != journal.descriptor:
            os.close(spare)


def _hold(folder: Path, told: Connection) -> None:
    with file_lock(folder, "demo") as lock:
        told.send(lock.token)
        signal.pause()


def test_a_lock_has_one_holder_and_dies_with_it(tmp_path: Path) -> None:
    ours, theirs = multiprocessing.Pipe()
    holder = multiprocessing.get_context("fork").Process(target=_hold, args=(tmp_path, theirs))
    holder.start()
    try:
        first = ours.recv()
        with (
            pytest.raises(LockError, match="another run holds the lock of demo"),
            file_lock(tmp_path, "demo"),
        ):
            pass
        with file_lock(tmp_path, "another one/../x"):
            pass
        os.kill(holder.pid or 0, signal.SIGKILL)
    finally:
        holder.kill()
        holder.join()
    with file_lock(tmp_path, "demo") as lock:
        assert first < lock.token
        assert lock.is_ours
        # Whoever takes it by force has a higher number, or another file.
        lock.path.write_text("99\n")
        assert not lock.is_ours
        lock.path.unlink()
        assert not lock.is_ours
