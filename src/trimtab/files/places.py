"""A place by path or URI: `s3://bucket/night` is used as a path is, wherever a store may be.

`place_of` is how a word becomes one.  What appears there appears whole: on a disk it is written
beside its place and moved, to a store it is sent as one object.
"""

from __future__ import annotations

import errno
import fnmatch
import glob
import io
import os
import re
import shutil
import stat
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PosixPath
from typing import IO, TYPE_CHECKING, Any, NoReturn
from urllib.parse import unquote, urlsplit

from trimtab.files import stores
from trimtab.files.stores import SCHEMES, PlaceError

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://")
_EXPECTED = f"a path, or an address of {', '.join(SCHEMES[:-1])}, {SCHEMES[-1]} or file"


class StorePath(PosixPath):
    """A place in a store of objects, with what paths do that a store can.

    Whatever else would use it as a path of this machine, and so read or write something
    else, fails.
    """

    __slots__ = ("_known",)
    _known: FileInfo | None

    @property
    def key(self) -> str:
        """Return what the store's file system calls it, such as BUCKET/night/broker.log."""
        return "/".join([self._store[1], *self.parts[2:]]) or "/"

    @property
    def system(self) -> FileSystem:
        """Return the store's file system."""
        return self._store[0]

    @property
    def _store(self) -> tuple[FileSystem, str]:
        with stores.plain_faults(str(self)):
            return stores.file_system(self.parts[0][:-1], self.parts[1])

    def __str__(self) -> str:
        """Return the address."""
        return re.sub(r"^([a-z0-9]+):/(?!/)", r"\1://", super().__str__())

    def __fspath__(self) -> NoReturn:
        """Refuse to be taken for a path of this machine."""
        raise TypeError(f"{self}: is in a store, and not on this machine")

    def __reduce__(self) -> tuple[type[StorePath], tuple[str, ...]]:
        """Return what makes it again."""
        return StorePath, self.parts

    # ------------------------------------------------------------ what is there

    def _info(self) -> FileInfo:
        known: FileInfo | None = getattr(self, "_known", None)
        if known is not None:
            return known
        with stores.plain_faults(str(self)):
            return stores.look(self.system, self.key)

    def called(self, key: str) -> StorePath:
        """Return what the store's file system calls by a key."""
        below = key[len(self._store[1]) :].split("/")
        return StorePath(*self.parts[:2], *filter(None, below))

    def _of(self, info: FileInfo) -> StorePath:
        path = self.called(info.path)
        path._known = info
        return path

    def exists(self, **_: bool) -> bool:
        """Return whether anything is there."""
        return bool(self._info().type.value)

    def is_file(self, **_: bool) -> bool:
        """Return whether it is an object."""
        return bool(self._info().is_file)

    def is_dir(self, **_: bool) -> bool:
        """Return whether something is below it."""
        return bool(self._info().type.name == "Directory")

    def stat(self, **_: bool) -> os.stat_result:
        """Return its size; nothing else is known."""
        info = self._info()
        if not info.type.value:
            raise FileNotFoundError(errno.ENOENT, "no such file or folder", str(self))
        mode = stat.S_IFREG if info.is_file else stat.S_IFDIR
        return os.stat_result((mode | 0o444, 0, 0, 1, 0, 0, info.size or 0, 0, 0, 0))

    def _listed(self, *, is_deep: bool) -> list[StorePath]:
        with stores.plain_faults(str(self)):
            infos = stores.listed(self.system, self.key, is_deep=is_deep)
        return sorted(map(self._of, infos), key=lambda path: path.key)

    def iterdir(self) -> Iterator[StorePath]:  # type: ignore[override]  # a generator elsewhere
        """Return what is in it."""
        return iter(self._listed(is_deep=False))

    def files(self) -> list[StorePath]:
        """Return all objects below it, by name."""
        return [path for path in self._listed(is_deep=True) if path.is_file()]

    def glob(  # type: ignore[override]  # a generator elsewhere
        self, pattern: str, **_: bool
    ) -> Iterator[StorePath]:
        """Return what below it is named by a pattern, of which `**` stands for any folders."""
        shape = re.compile(_pattern(pattern))
        paths = self._listed(is_deep="/" in pattern)
        return (it for it in paths if shape.fullmatch(it.key[len(self.key) + 1 :]))

    def rglob(  # type: ignore[override]  # a generator elsewhere
        self, pattern: str, **_: bool
    ) -> Iterator[StorePath]:
        """Return what anywhere below it is named by a pattern."""
        return self.glob(f"**/{pattern}")

    # ------------------------------------------------------------ reading, writing

    def open(  # type: ignore[override]  # for reading alone
        self, mode: str = "r", buffering: int = -1, encoding: str | None = None, *_: str | None
    ) -> IO[Any]:
        """Return the object, open for reading."""
        if "w" in mode or "a" in mode or "+" in mode:
            raise io.UnsupportedOperation(f"{self}: objects are written whole")
        raw: Any = stores.ObjectFile(self.system, self.key, str(self))
        if "b" not in mode:
            return io.TextIOWrapper(io.BufferedReader(raw), encoding)
        binary: IO[bytes] = raw if buffering == 0 else io.BufferedReader(raw)
        return binary

    def read_bytes(self) -> bytes:
        """Return what the object holds."""
        with self.open("rb", 0) as file:
            content: bytes = file.read()
            return content

    def read_text(self, encoding: str | None = None, *_: str | None) -> str:
        """Return what the object holds, as text."""
        return self.read_bytes().decode(encoding or "utf-8")

    def write_bytes(self, content: bytes) -> int:  # type: ignore[override]  # any buffer
        """Return the size of the object, which appears whole."""
        with stores.plain_faults(str(self)):
            stores.put(self.system, self.key, io.BytesIO(content))
        return len(content)

    def write_text(self, content: str, encoding: str | None = None, *_: str | None) -> int:
        """Return the size of the object, which appears whole."""
        return self.write_bytes(content.encode(encoding or "utf-8"))

    def mkdir(self, *_: object, **__: object) -> None:
        """Do nothing: an object brings its folders along."""

    def unlink(self, missing_ok: bool = False) -> None:  # as paths have it
        """Remove the object."""
        with stores.plain_faults(str(self)):
            try:
                self.system.delete_file(self.key)
            except FileNotFoundError:
                if not missing_ok:
                    raise

    def copy_of(self, other: StorePath) -> None:
        """Become a copy of another object, which the store makes by itself."""
        with stores.plain_faults(str(self)):
            stores.tried(lambda: self.system.copy_file(other.key, self.key))

    # ------------------------------------------------------------ what it is

    def absolute(self) -> StorePath:
        """Return itself."""
        return self

    def resolve(self, strict: bool = False) -> StorePath:
        """Return itself."""
        return self

    def is_absolute(self) -> bool:
        """Return that it is."""
        return True

    def is_symlink(self) -> bool:
        """Return that it is none."""
        return False


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(self: StorePath, *_: object, **__: object) -> NoReturn:
        raise io.UnsupportedOperation(f"{self}: {name} is nothing that a store can do")

    return refuse


# Whatever is left would ask this machine.
for _name in set(vars(Path)) - set(vars(StorePath)):
    if not _name.startswith("_") and callable(getattr(Path, _name)):
        setattr(StorePath, _name, _refusal(_name))


def place_of(word: str | os.PathLike[str]) -> Path:
    """Return the place that a word names: a path, or one in a store.

    Raises:
        PlaceError: it is the address of nothing that is known, or has credentials in it.
    """
    text = str(word)
    if isinstance(word, StorePath) or not (match := _URI.match(text)):
        return word if isinstance(word, Path) else Path(word)
    scheme = match[1].lower()
    authority, _, below = text[match.end() :].partition("/")
    if scheme == "file":
        return Path(unquote(urlsplit(text).path))
    if scheme not in SCHEMES:
        raise PlaceError(f"{scheme}://…: found an unknown scheme, expected {_EXPECTED}")
    if "@" in authority and not scheme.startswith("abfs"):
        raise PlaceError(
            f"{scheme}://…@{authority.rpartition('@')[2]}: found credentials in an address; "
            "expected them in the environment"
        )
    if not authority:
        raise PlaceError(f"{text}: found no bucket, expected {scheme}://BUCKET/…")
    return StorePath(f"{scheme}:", authority, *filter(None, below.split("/")))


def is_store(path: Path) -> bool:
    """Return whether a place is in a store."""
    return isinstance(path, StorePath)


def draft_of(path: Path) -> Path:
    """Return where to write what is then put into a place, on this machine."""
    if isinstance(path, StorePath):
        handle, name = tempfile.mkstemp(prefix="trimtab-", suffix=".draft")
        os.close(handle)
        return Path(name)
    # Two tries of one task may write at the same time.
    return path.with_name(f".{os.getpid()}-{uuid.uuid4().hex}.draft")


def put(draft: Path, path: Path) -> Path:
    """Return the place that a draft was put into, whole; the draft is gone."""
    if not isinstance(path, StorePath):
        return draft.replace(path)
    with draft.open("rb") as file, stores.plain_faults(str(path)):
        stores.put(path.system, path.key, file)
    draft.unlink()
    return path


def copied(path: Path, target: Path) -> Path:
    """Return the place of a copy, or of a link where the disk has such."""
    if isinstance(path, StorePath) and isinstance(target, StorePath):
        target.copy_of(path)
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        target.hardlink_to(path)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system has links.
        shutil.copy2(path, target)
    return target


def remove_tree(path: Path) -> None:
    """Remove a folder and all that is below it, if it is there."""
    if isinstance(path, StorePath):
        with stores.plain_faults(str(path)):
            stores.remove(path.system, path.key)
    else:
        shutil.rmtree(path, ignore_errors=True)


def files_below(folder: Path) -> list[Path]:
    """Return all files below a folder, by name."""
    if isinstance(folder, StorePath):
        return list(folder.files())
    return sorted(path for path in folder.rglob("*") if path.is_file())


def matching(place: Path) -> list[Path]:
    """Return what a place in a store names, whose parts may be patterns."""
    parts = place.parts
    first = next((i for i, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    if first == len(parts):
        return [place] if place.exists() else []
    if first < 2:
        raise PlaceError(f"{place}: found a pattern of buckets, expected a bucket")
    return list(StorePath(*parts[:first]).glob("/".join(parts[first:])))


def readable(path: Path) -> Any:  # noqa: ANN401  # whatever Arrow takes for a file
    """Return a file as Arrow's readers take it."""
    return path.open("rb") if isinstance(path, StorePath) else path


def located(place: Path | Sequence[Path | str]) -> dict[str, Any]:
    """Return a folder, or files of one place, as the arguments of `pyarrow.dataset.dataset`."""
    first = place if isinstance(place, Path) else next(iter(place), None)
    if not isinstance(first, StorePath):
        return {"source": place if isinstance(place, Path) else list(map(str, place))}
    keys = first.key if isinstance(place, Path) else [it.key for it in map(_store_path, place)]
    return {"source": keys, "filesystem": first.system}


def named_by_arrow(place: Path, name: str) -> Path:
    """Return the file that Arrow calls by a name, of where a place is."""
    if not isinstance(place, StorePath):
        return Path(name)
    return place.called(name)


def _store_path(path: Path | str) -> StorePath:
    assert isinstance(path, StorePath)
    return path


def _pattern(pattern: str) -> str:
    """Return a regular expression for names that a pattern names."""
    parts = []
    for part in pattern.split("/"):
        if part == "**":
            parts.append("(?:[^/]+/)*")
            continue
        shape = fnmatch.translate(part).removeprefix("(?s:").removesuffix(r")\Z")
        parts.append(shape.replace(".*", "[^/]*") + "/")
    return "".join(parts).removesuffix("/")
