"""Arrays by name ↔ one file that says of what kind and of which version it is."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.files.errors import TrimtabError
from trimtab.files.whole_files import write_whole

_KIND, _VERSION = "kind", "version"


class ArrayFileError(TrimtabError, ValueError):
    """A file of arrays is none, or of another kind or version; says what was found."""


def write_arrays(
    path: Path, kind: str, version: int, named: Mapping[str, np.ndarray[Any, Any]]
) -> None:
    """Write arrays into one file, whole or not at all.

    Raises:
        OSError: it cannot be written; what was there before still is.
    """
    content = io.BytesIO()
    marks = {_KIND: np.array(kind), _VERSION: np.array(version)}
    np.savez_compressed(content, allow_pickle=False, **marks, **named)
    write_whole(path, content.getvalue())


def read_arrays(path: Path, kind: str, version: int) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of a file.

    Raises:
        ArrayFileError: it cannot be read, or is of another kind or version.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            named = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or "it is no such file, or damaged"
        raise ArrayFileError(f"{path}: expected a file of {kind}: {reason}") from error
    found = str(named.pop(_KIND, "nothing")), named.pop(_VERSION, np.array(-1))
    if found[0] != kind:
        raise ArrayFileError(f"{path}: found a file of {found[0]}, expected one of {kind}")
    if found[1].shape != () or int(found[1]) != version:
        raise ArrayFileError(
            f"{path}: found version {found[1]} of {kind}, expected {version}; "
            "delete it to learn anew"
        )
    return named
