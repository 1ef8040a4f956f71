"""The folder of tables: one writer at a time, and readers see it as it was or as it is."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import shutil
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trimtab.files.generations import begun, commit, generation
from trimtab.files.places import copied, is_store, remove_tree
from trimtab.ingest.accounting import IngestError

#: Tells a folder of tables of ours from any other; holds the accounting for programs.
MARKER = "accounting.json"
#: Folder within tables that are followed, with the follower's books; hidden from readers.
BOOKS = ".follow"
#: Arguments of Linux' renameat2: paths as they are, and both change places.
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A folder of tables as it is, and the one that is to take its place."""

    now: Path
    new: Path

    def link(self, path: Path, name: str = "") -> Path:
        """Take a file of the folder as it is into the new one, by another name if one is given."""
        target = self.new / path.relative_to(self.now)
        return copied(path, target.with_name(name) if name else target)


@contextmanager
def rewritten(tables: Path) -> Iterator[Rewriting]:
    """Yield a folder to write in, which takes the place of `tables` if the block ends well.

    In a store it becomes the generation that counts.

    Raises:
        IngestError: `tables` holds something else, another run writes there, or the disk
            is full.
        GenerationError: the same of a store.
    """
    tables = tables.absolute()
    if is_store(tables):
        with _next_generation(tables) as rewriting:
            yield rewriting
        return
    try:
        tables.parent.mkdir(parents=True, exist_ok=True)
        with locked(tables):
            _recover(tables)
            _check_ours(tables)
            new = tables.with_name(f".{tables.name}.partial-{uuid.uuid4().hex[:8]}")
            new.mkdir()
            try:
                yield Rewriting(tables, new)
                _exchange(new, tables)
            finally:
                shutil.rmtree(new, ignore_errors=True)
    except OSError as fault:
        why = fault.strerror or str(fault)
        raise IngestError(f"{tables}: cannot be written: {why}") from None


@contextmanager
def _next_generation(tables: Path) -> Iterator[Rewriting]:
    """Yield a new generation beside the one that counts; what is written of one that fails goes."""
    earlier = generation(tables)
    new = begun(tables)
    try:
        yield Rewriting(tables / (earlier.name or "nothing"), new)
        commit(tables, earlier, new)
    except BaseException:
        remove_tree(new)
        raise


def _check_ours(tables: Path) -> None:
    is_there = tables.is_dir() and any(tables.iterdir())
    if (is_there and not (tables / MARKER).is_file()) or (tables.exists() and not tables.is_dir()):
        raise IngestError(
            f"{tables}: not written: it holds something that is not a folder of tables; "
            "name a folder that does not exist, or one that an earlier run wrote"
        )
    if (tables / BOOKS).exists():
        raise IngestError(
            f"{tables}: not written: it follows a recording, of which lines may be gone by now; "
            "name another folder, or remove it yourself"
        )


def _recover(tables: Path) -> None:
    """Clear away what a run that was killed has left; the caller has the lock."""
    earlier = _earlier(tables)
    if earlier.exists() and not tables.exists():
        # It was killed between the two renames of a system that cannot exchange.
        earlier.rename(tables)
    for left in (earlier, *tables.parent.glob(f".{tables.name}.partial-*")):
        shutil.rmtree(left, ignore_errors=True)


def _earlier(tables: Path) -> Path:
    return tables.with_name(f".{tables.name}.earlier")


def _exchange(new: Path, tables: Path) -> None:
    """Let the new folder take the place of `tables`, which takes its."""
    if not tables.exists():
        new.rename(tables)
        return
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    names = os.fsencode(new), os.fsencode(tables)
    if renameat2 is not None and not renameat2(
        _AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE
    ):
        return
    # Where the system cannot do it at once, a reader may find nothing for a moment.
    earlier = _earlier(tables)
    tables.rename(earlier)
    new.rename(tables)
    shutil.rmtree(earlier, ignore_errors=True)


# ----------------------------------------------------------------------- lock


@contextmanager
def locked(tables: Path) -> Iterator[None]:
    """Keep other runs out, on this machine and on others that see the disk.

    The system lets go of the lock when the process ends, however that ends; the file says
    who has it.  A disk may not tell machines of each other's locks: there the file alone
    counts, and one of another machine is never taken for stale.

    Whoever adds parts to a folder that is in use does so under it, since `rewritten` takes
    over what is there while it has it.

    Raises:
        IngestError: somebody else has it; says who.
    """
    path = tables.with_name(f".{tables.name}.lock")
    here = socket.gethostname()
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_free = True
            except BlockingIOError:
                is_free = False
            holder = _holder(file)
            if not is_free or holder.get("host", here) != here:
                raise IngestError(
                    f"{tables}: another run writes there: process {holder.get('pid', '?')} on "
                    f"{holder.get('host', here)}; wait for it, or remove {path} if it has ended"
                )
            if not _is_still(file, path):
                # Whoever had it has removed it meanwhile, and somebody else made another.
                continue
            os.ftruncate(file, 0)
            os.pwrite(file, json.dumps({"pid": os.getpid(), "host": here}).encode(), 0)
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return
        finally:
            os.close(file)


def _holder(file: int) -> dict[str, object]:
    try:
        holder = json.loads(os.pread(file, 4096, 0) or b"{}")
    except ValueError:
        return {}
    return holder if isinstance(holder, dict) else {}


def _is_still(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False
