"""A journal in a file: a line an entry, on the disk for good before anything is done."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from trimtab.files.errors import TrimtabError
from trimtab.files.fields import FieldError
from trimtab.live.apply.files import ONLY_OURS, keep_names
from trimtab.live.control.entries import Begun, Entry, entry_line, read_entry

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: What a journal holds.
E = TypeVar("E", bound="DataclassInstance")


class JournalError(TrimtabError):
    """A journal cannot be used."""


@dataclass(frozen=True, slots=True)
class FileJournal(Generic[E]):
    """An open journal; nobody else can open it meanwhile."""

    path: Path
    #: What it held when it was opened, in order.
    entries: tuple[E, ...]
    descriptor: int

    def write(self, entry: E) -> None:
        """Keep an entry: it is on the disk when this returns.

        Raises:
            JournalError: it cannot be written; what it speaks of must not be done then.
        """
        line = (entry_line(entry) + "\n").encode()
        try:
            written = os.write(self.descriptor, line)
            os.fsync(self.descriptor)
        except OSError as error:
            raise JournalError(f"{self.path}: cannot be written: {error.strerror}") from None
        if written != len(line):
            raise JournalError(f"{self.path}: cannot be written: the disk is full")


def opened_journal(path: Path, plan: str) -> AbstractContextManager[FileJournal[Entry]]:
    """Open the journal of a plan of moves, or begin one, as `opened` does."""
    return opened(path, plan, read_entry)


@contextmanager
def opened(path: Path, plan: str, read: Callable[[str], E]) -> Iterator[FileJournal[E]]:
    """Open the journal of whatever has a digest, or begin one.

    A last line without its end was being written when a run was killed: what it speaks of
    was not done, and it is cut off.

    Raises:
        JournalError: somebody else has it open; it is another plan's; or a line is no entry.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, ONLY_OURS)
    except OSError as error:
        raise JournalError(f"{path}: cannot be opened: {error.strerror}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(
                f"{path}: another run is carrying this plan out: wait for it to end"
            ) from None
        keep_names(path.parent)
        yield FileJournal(path, _kept(path, plan, read, descriptor), descriptor)
    finally:
        os.close(descriptor)


def journal_entries(path: Path, plan: str) -> tuple[Entry, ...]:
    """Return the journal of a plan of moves, as `entries_of` does."""
    return entries_of(path, plan, read_entry)


def entries_of(path: Path, plan: str, read: Callable[[str], E]) -> tuple[E, ...]:
    """Return what a journal holds, not opened for writing; nothing if it is not there.

    Raises:
        JournalError: as `opened`, but that somebody else has it open does not matter.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {error.strerror}") from None
    return _entries(path, plan, read, _whole_lines(content))


def _whole_lines(content: bytes) -> bytes:
    return content[: content.rfind(b"\n") + 1]


def _kept(path: Path, plan: str, read: Callable[[str], E], descriptor: int) -> tuple[E, ...]:
    """Return the entries that are whole, and cut off what is not."""
    content = path.read_bytes()
    whole = _whole_lines(content)
    entries = _entries(path, plan, read, whole)
    if len(whole) != len(content):
        os.ftruncate(descriptor, len(whole))
        os.fsync(descriptor)
    return entries


def _entries(path: Path, plan: str, read: Callable[[str], E], whole: bytes) -> tuple[E, ...]:
    entries: list[E] = []
    for number, line in enumerate(whole.decode(errors="replace").splitlines(), start=1):
        try:
            entries.append(read(line))
        except FieldError as fault:
            raise JournalError(f"{path} line {number}: {fault}") from None
    others = [each.plan for each in entries if isinstance(each, Begun) and each.plan != plan]
    if others:
        raise JournalError(
            f"{path}: the journal of plan {others[0]}, not of {plan}: name another by --journal"
        )
    return tuple(entries)
