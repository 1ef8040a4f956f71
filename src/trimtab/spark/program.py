"""The program itself: a digest by which rows of another one are told apart, and a copy of it.

Rows are kept between two starts of a sweep, and must not be mixed with those that other
code would give.  Workers of a cluster run the driver's code, whatever they have installed.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

#: Libraries whose releases may change a result's last digits.
_LIBRARIES = ("highspy", "numpy")
#: The oldest time that a zip file can hold: the copy is to have the same bytes each time.
_TIME = (1980, 1, 1, 0, 0, 0)


@cache
def digest() -> str:
    """Return a digest of the code and the scenarios of this package, and of what it counts with.

    It is taken once: what runs is the code as it was loaded, and a fleet has many nights.
    """
    hashed = hashlib.blake2b(digest_size=16)
    for library in _LIBRARIES:
        hashed.update(f"{library} {version(library)}\n".encode())
    for name, path in _sources():
        hashed.update(f"{name} {path.stat().st_size}\n".encode())
        hashed.update(path.read_bytes())
    return hashed.hexdigest()


def packed(folder: Path) -> Path:
    """Return a zip file of this package, which Python can import from."""
    path = folder / "trimtab.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, source in _sources():
            archive.writestr(zipfile.ZipInfo(name, _TIME), source.read_bytes())
    return path


def _sources() -> Iterator[tuple[str, Path]]:
    """Return the files of this package by name, without what is compiled and without the docs."""
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*")):
        if path.is_file() and {"__pycache__", "docs"}.isdisjoint(path.relative_to(root).parts):
            yield path.relative_to(root.parent).as_posix(), path
