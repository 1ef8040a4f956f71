"""Which recordings are meant by patterns and folders, where each is written, and its digest."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from isal import isal_zlib

from trimtab.files.errors import TrimtabError
from trimtab.files.places import files_below, is_store, matching, place_of
from trimtab.files.visible import visible_name
from trimtab.ingest.archives import ARCHIVES
from trimtab.ingest.recording import META

#: Bytes of which a CRC is taken; a digest is made of CRCs, as those of `ingest.fingerprint`.
_CHUNK_SIZE = 1 << 20


class NightsError(TrimtabError):
    """What was named are no nights."""


@dataclass(frozen=True, slots=True)
class Night:
    """One recording of several."""

    path: Path
    #: Its cluster, where recording.toml names none: the folder around it.
    cluster: str
    #: Where it is written, below the folder of all.
    folder: str


@dataclass(frozen=True, slots=True)
class Content:
    """What is known of a recording before it is read."""

    #: Of the names and the bytes of all its files.
    digest: str
    n_bytes: int


def are_several(words: Sequence[str]) -> bool:
    """Return whether words name several recordings rather than one: by number, pattern or folder.

    A folder is one of recordings where several of those below it have a recording.toml.
    """
    if len(words) != 1:
        return True
    (word,) = words
    if is_store(place := place_of(word)):
        return glob.has_magic(word) or len(_below(place)) > 1
    if not os.path.lexists(word):
        return glob.has_magic(word)
    return len(_below(Path(word))) > 1


def nights_of(words: Sequence[str]) -> list[Night]:
    """Return the recordings that patterns, folders of recordings and paths name, by their folders.

    Raises:
        NightsError: a word names nothing, or two recordings would be written to one folder.
    """
    nights: dict[str, Night] = {}
    for path in (path for word in words for path in _paths(word)):
        night = _night(path)
        other = nights.setdefault(night.folder, night)
        if other.path != night.path:
            raise NightsError(
                f"{night.path} and {other.path} would both be written to {night.folder}; "
                "explain them into folders of their own with -o"
            )
    return [nights[folder] for folder in sorted(nights)]


def _paths(word: str) -> list[Path]:
    """Return the recordings that a word names."""
    matches: Sequence[str | Path]
    if is_store(place := place_of(word)):
        matches = matching(place)
    elif os.path.lexists(word):
        matches = [word]
    else:
        matches = sorted(glob.glob(word)) if glob.has_magic(word) else []
    if not matches:
        what = "matches nothing" if glob.has_magic(word) else "no such file or folder"
        raise NightsError(f"{word}: {what}; expected recordings, or folders of recordings")
    return [path for match in map(place_of, matches) for path in (_below(match) or [match])]


def _below(path: Path) -> list[Path]:
    """Return the folders of recordings below one, where there are several; else nothing."""
    recordings: list[Path] = []
    if is_store(path):
        for file in path.rglob(META):
            if not any(file.is_relative_to(it) for it in recordings):
                recordings.append(file.parent)
        return recordings if len(recordings) > 1 else []
    for folder, folders, files in os.walk(path):
        if META in files:
            recordings.append(Path(folder))
            folders.clear()
        folders.sort()
    return recordings if len(recordings) > 1 else []


def _night(path: Path) -> Night:
    whole = path if is_store(path) else Path(os.path.abspath(path))
    stem = next((whole.name.removesuffix(it) for it in ARCHIVES if whole.name.endswith(it)), None)
    around, name = (visible_name(it) or "_" for it in (whole.parent.name, stem or whole.name))
    return Night(whole, around, f"{around}/{name}")


def content(path: Path) -> Content:
    """Return the digest and the size of a recording: of each of its files, whether read or not.

    It costs a hundredth of what to parse it costs.  A file that cannot be read counts by its
    name alone, and so does what is no file.
    """
    whole = hashlib.sha256()
    n_bytes = 0
    for name, file in _files(path):
        whole.update(os.fsencode(name) + b"\0")
        try:
            with file.open("rb", buffering=0) as opened:
                while chunk := opened.read(_CHUNK_SIZE):
                    whole.update(len(chunk).to_bytes(4, "big"))
                    whole.update(isal_zlib.crc32(chunk).to_bytes(4, "big"))
                    n_bytes += len(chunk)
        except OSError:
            continue
        whole.update(b"\0")
    return Content(whole.hexdigest()[:32], n_bytes)


def _files(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a recording with their names in it, links followed, but in no circle."""
    if not path.is_dir():
        yield path.name, path
        return
    if is_store(path):
        yield from ((it.relative_to(path).as_posix(), it) for it in files_below(path))
        return
    names: dict[str, Path] = {}
    visited = set()
    for folder, folders, files in os.walk(path, followlinks=True):
        here = os.path.realpath(folder)
        if here in visited:
            folders.clear()
            continue
        visited.add(here)
        own = ((os.path.relpath(file, path), file) for file in map(Path(folder).joinpath, files))
        names |= {name: file for name, file in own if file.is_file()}
    yield from sorted(names.items())
