"""Archives of recordings: their regular files, unpacked into a folder.

What a file in one is read as is not decided here.
"""

from __future__ import annotations

import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from trimtab.files.errors import TrimtabError

#: What the name of an archive ends with.
ARCHIVES = (".tar.gz", ".tgz", ".tar", ".zip")


class ArchiveError(TrimtabError):
    """An archive cannot be unpacked; the message names it and says why."""


def unpack(path: Path, folder: Path) -> tuple[str, ...]:
    """Return the names of what in an archive is no regular file; the rest is unpacked.

    An archive with a file that would lie outside of the folder is refused whole.

    Raises:
        ArchiveError: it is refused, or damaged, or there is no room for it.
    """
    left_out = []
    try:
        for name, member in _members(path):
            inside = PurePosixPath(name)
            if inside.is_absolute() or ".." in inside.parts or "\\" in name:
                raise ArchiveError(f"{path}: refused: {name!r} would lie outside of it")
            if member is None:
                left_out.append(name)
                continue
            target = folder.joinpath(*inside.parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            with member, target.open("wb") as file:
                shutil.copyfileobj(member, file)
    except (OSError, EOFError, RuntimeError, tarfile.TarError, zipfile.BadZipFile, zlib.error) as e:
        # Of a file that is no archive, tarfile goes on to list all that it is not.
        why = str(e).partition(":\n")[0]
        raise ArchiveError(f"{path}: the archive cannot be unpacked: {why}") from None
    return tuple(left_out)


def _members(path: Path) -> Iterator[tuple[str, IO[bytes] | None]]:
    """Yield the names and contents of what is in an archive; None for links and the like."""
    if path.name.endswith(".zip"):
        with path.open("rb") as file, zipfile.ZipFile(file) as zipped:
            for entry in zipped.infolist():
                if not entry.is_dir():
                    yield entry.filename, zipped.open(entry)
    else:
        with path.open("rb") as file, tarfile.open(fileobj=file) as tarred:
            for member in tarred:
                if not member.isdir():
                    yield member.name, tarred.extractfile(member) if member.isreg() else None
