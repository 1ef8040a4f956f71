"""What the disk shows of a recording that grows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from io import FileIO
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from trimtab.ingest.growing.incarnations import (
    Content,
    FollowedFile,
    Incarnation,
    MovedError,
    Stamp,
)
from trimtab.ingest.recording import (
    RecordedFile,
    UnusedFile,
    log_stem,
    open_growing,
)
from trimtab.ingest.splits import DamagedError, read_packed
from trimtab.ingest.worker import DOCUMENT_PARSERS, LINE_PARSERS

#: What is rewritten as a whole, and never appended to.
DOCUMENTS = frozenset({*DOCUMENT_PARSERS, "conf"})
#: What is written at once and then left alone.
_AT_ONCE = frozenset({"metrics"})
_FOLLOWED = frozenset({*LINE_PARSERS, *DOCUMENT_PARSERS})
_CHUNK_SIZE = 1 << 20
#: A folder in which files are renamed all the time is taken as it was listed last.
_LISTINGS = 5
#: Tries to open a file that is renamed again and again.
_OPENINGS = 5
_GZIP_MAGIC = b"\x1f\x8b"

Digests: TypeAlias = dict[tuple[int, int], str]
#: Source, file, and what the disk says of it.
_Listing: TypeAlias = list[tuple[str, RecordedFile, os.stat_result]]


@dataclass(frozen=True, slots=True)
class PlainContent:
    """A file that is not packed."""

    path: Path
    inode: str
    size: int
    fault: str | None = None
    #: Ranges → their digests, as far as they have been asked for.
    digests: Digests = field(default_factory=dict, compare=False, repr=False)

    def digest(self, start: int, stop: int) -> str:
        """Return the digest of a range of bytes."""
        return _digested(self, start, stop)

    def line_end(self, start: int, stop: int) -> int | None:
        """Return where the last line ends that ends at `stop` or before."""
        with _opened(self.path, self.inode) as file:
            place = stop
            while place > start:
                begin = max(start, place - _CHUNK_SIZE)
                file.seek(begin)
                at = (file.read(place - begin) or b"").rfind(b"\n")
                if at >= 0:
                    return begin + at + 1
                place = begin
            file.seek(stop)
            while chunk := file.read(_CHUNK_SIZE):
                at = chunk.find(b"\n")
                if at >= 0:
                    return file.tell() - len(chunk) + at + 1
        return None

    def chunks(self, start: int, stop: int) -> Iterator[bytes]:
        """Return the bytes of a range.

        Raises:
            MovedError: they are not there any more.
        """
        with _opened(self.path, self.inode) as file:
            file.seek(start)
            while start < stop:
                chunk = file.read(min(_CHUNK_SIZE, stop - start))
                if not chunk:
                    fewer = f"{self.path}: {stop - start} bytes fewer than before"
                    raise MovedError(fewer, self.inode)
                start += len(chunk)
                yield chunk


@dataclass(frozen=True, slots=True)
class PackedContent:
    """A gzip file, as the bytes that are packed in it."""

    path: Path
    inode: str
    size: int
    fault: str | None
    #: Ranges → their digests, as far as they have been asked for.
    digests: Digests = field(default_factory=dict, compare=False, repr=False)

    def digest(self, start: int, stop: int) -> str:
        """Return the digest of a range of bytes."""
        return _digested(self, start, stop)

    def line_end(self, start: int, stop: int) -> int | None:
        """Return where the last line ends that ends at `stop` or before."""
        place, last = start, None
        for chunk in self.chunks(start, self.size):
            if place < stop:
                at = chunk.rfind(b"\n", 0, stop - place)
                last = place + at + 1 if at >= 0 else last
            if last is None and (at := chunk.find(b"\n", max(stop - place, 0))) >= 0:
                return place + at + 1
            place += len(chunk)
            if place >= stop and last is not None:
                break
        return last

    def chunks(self, start: int, stop: int) -> Iterator[bytes]:
        """Return the bytes of a range.

        Raises:
            MovedError: they are not there any more.
        """
        place = 0
        for chunk in _unpacked(self.path, self.inode):
            piece = chunk[max(start - place, 0) : max(stop - place, 0)]
            place += len(chunk)
            if piece:
                yield piece
            if place >= stop:
                return
        if place < stop:
            raise MovedError(f"{self.path}: {stop - place} bytes fewer than before", self.inode)


@dataclass(slots=True)
class Disk:
    """Looks at the files of a recording, and remembers what packed ones hold."""

    #: Seconds without a write after which a file is at rest.
    rest_s: float
    #: Stamp → size of what is packed in the file, and why it cannot be read on; None for a
    #: file that is not packed.
    packed: dict[Stamp, tuple[int, str | None] | None] = field(default_factory=dict)
    #: Folders that had followed files at the last look.
    folders: frozenset[Path] = frozenset()

    def look(
        self, root: Path, now_s: float, known: Iterable[Incarnation] | None = None
    ) -> list[FollowedFile]:
        """Return what is to be followed, in the order of sources and names.

        Files that vanish meanwhile are left out, and so are packed ones that are still
        being written.

        Args:
            root: the recording's folder.
            now_s: seconds since 1970.
            known: only files in which one of these may stand; None for all files.

        Raises:
            RecordingError: it is not a folder, or recording.toml is wrong.
        """
        files = self._listed(root)
        youngest: dict[str, int] = {}
        for source, file, stat in files:
            # Packing an old log makes no younger one.
            if file.name.endswith(".gz"):
                continue
            family = _family(source, file)
            youngest[family] = max(youngest.get(family, 0), stat.st_mtime_ns)
        standing = []
        for source, file, stat in files if known is None else _kin(files, known):
            age_s = now_s - stat.st_mtime_ns / 1e9
            is_last = stat.st_mtime_ns >= youngest.get(_family(source, file), 0)
            is_final = source in _AT_ONCE or (source == "log" and not is_last)
            try:
                it = self._standing(source, file, stat, (age_s >= self.rest_s, is_final))
            except MovedError:
                continue
            if it.content.fault is None or it.is_at_rest:
                standing.append(it)
        stamps = {it.stamp for it in standing}
        self.packed = {stamp: size for stamp, size in self.packed.items() if stamp in stamps}
        return standing

    def _listed(self, root: Path) -> _Listing:
        """Return the files, listed again if some were renamed meanwhile: one might be missing."""
        listing: _Listing = []
        for _ in range(_LISTINGS):
            before = _names(self.folders)
            listing = [
                (source, file, stat)
                for source, files in open_growing(root).files.items()
                if source in _FOLLOWED
                for file in files
                if (stat := _stat(file.path)) is not None
            ]
            self.folders = frozenset(file.path.parent for _, file, _ in listing)
            if _names(self.folders) == before:
                break
        return listing

    def _standing(
        self, source: str, file: RecordedFile, stat: os.stat_result, state: tuple[bool, bool]
    ) -> FollowedFile:
        stamp = Stamp(_inode(stat), stat.st_size, stat.st_mtime_ns)
        if stamp not in self.packed:
            self.packed[stamp] = _measured(file.path, stamp.inode)
        packed = self.packed[stamp]
        content: PlainContent | PackedContent
        if packed is None:
            content = PlainContent(file.path, stamp.inode, stat.st_size)
        else:
            content = PackedContent(file.path, stamp.inode, *packed)
        return FollowedFile(
            name=file.name,
            source=source,
            log_broker=file.log_broker,
            family=_family(source, file),
            stamp=stamp,
            is_at_rest=state[0],
            is_final=state[1] or packed is not None,
            is_document=source in DOCUMENTS,
            content=content,
        )


def unfollowed(path: Path) -> Sequence[UnusedFile]:
    """Return the files of a recording that cannot be followed, with why.

    Raises:
        RecordingError: it is not a folder, or recording.toml is wrong.
    """
    recording = open_growing(path)
    reason = "not followed, since it is not made of lines; a plain `trimtab ingest` reads it"
    return [
        *recording.unused,
        *(
            UnusedFile(file.name, reason)
            for source, files in recording.files.items()
            if source not in {*_FOLLOWED, "recording"}
            for file in files
        ),
    ]


def stands(content: Content, stamp: Stamp) -> bool:
    """Return whether a file is still as it was when it was listed, under whatever name."""
    if not isinstance(content, PlainContent | PackedContent):
        return False
    try:
        with _opened(content.path, content.inode) as file:
            stat = os.fstat(file.fileno())
    except MovedError:
        return False
    return Stamp(_inode(stat), stat.st_size, stat.st_mtime_ns) == stamp


def anew(content: Content) -> Content:
    """Return a content that knows nothing from earlier looks."""
    if not isinstance(content, PlainContent | PackedContent):
        return content
    return replace(content, digests={})


def digest(chunks: Iterator[bytes]) -> str:
    """Return the digest of bytes that come in pieces."""
    hashed = blake2b(digest_size=8)
    for chunk in chunks:
        hashed.update(chunk)
    return hashed.hexdigest()


def _kin(files: _Listing, known: Iterable[Incarnation]) -> _Listing:
    """Return the files that are of the family of what is known, or have its inode."""
    marks = {mark for each in known for mark in (each.family, each.stamp.inode)}
    return [
        (source, file, stat)
        for source, file, stat in files
        if _family(source, file) in marks or _inode(stat) in marks
    ]


def _family(source: str, file: RecordedFile) -> str:
    plain = PurePosixPath(file.name.removesuffix(".gz"))
    return str(plain.with_name(log_stem(plain.name))) if source == "log" else str(plain)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _inode(stat: os.stat_result) -> str:
    return f"{stat.st_dev}:{stat.st_ino}"


def _names(folders: Iterable[Path]) -> dict[str, int]:
    """Return the inode under each path of some folders."""
    names: dict[str, int] = {}
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:
            names |= {entry.path: entry.inode() for entry in entries}
    return names


def _digested(content: PlainContent | PackedContent, start: int, stop: int) -> str:
    if (start, stop) not in content.digests:
        content.digests[start, stop] = digest(content.chunks(start, stop))
    return content.digests[start, stop]


@contextmanager
def _opened(path: Path, inode: str) -> Iterator[FileIO]:
    """Open a file, under its new name if it was renamed in its folder.

    Raises:
        MovedError: it is not there any more, or cannot be read.
    """
    try:
        with _file_of(path, inode) as file:
            yield file
    except OSError as fault:
        raise MovedError(f"{path}: {fault.strerror}", inode) from None


def _file_of(path: Path, inode: str) -> FileIO:
    place = path
    for _ in range(_OPENINGS):
        with suppress(FileNotFoundError):
            file = place.open("rb", buffering=0)
            if _inode(os.fstat(file.fileno())) == inode:
                return file
            file.close()
        number = int(inode.rpartition(":")[2])
        named = [name for name, it in _names([path.parent]).items() if it == number]
        if not named:
            break
        place = Path(named[0])
    raise MovedError(f"{path}: another file", inode)


def _unpacked(path: Path, inode: str) -> Iterator[bytes]:
    """Return what can be unpacked of a file; it ends where it is damaged."""
    with _opened(path, inode) as file:
        try:
            yield from read_packed(Path(os.fsdecode(file.name)))
        except DamagedError:
            return


def _measured(path: Path, inode: str) -> tuple[int, str | None] | None:
    """Return how many bytes are packed in a file, and why there are no more; None for none."""
    size = 0
    with _opened(path, inode) as file:
        if file.read(2) != _GZIP_MAGIC:
            return None
        try:
            for chunk in read_packed(Path(os.fsdecode(file.name))):
                size += len(chunk)
        except DamagedError as damage:
            return size, damage.reason
    return size, None
