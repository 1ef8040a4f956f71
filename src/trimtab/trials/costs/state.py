"""What is known of a cluster's costs ↔ the file in which it survives."""

from __future__ import annotations

from pathlib import Path

from trimtab.files.array_files import ArrayFileError, read_arrays, write_arrays
from trimtab.lab.costs import Knowledge
from trimtab.lab.costs.arrays import VERSION, arrays, knowledge

_KIND = "costs learned by trimtab"


def write_state(path: Path, known: Knowledge) -> None:
    """Write what is known into a file.

    Raises:
        OSError: it cannot be written; what was there before still is.
    """
    write_arrays(path, _KIND, VERSION, arrays(known))


def read_state(path: Path) -> Knowledge | None:
    """Return what a file says is known; None if there is no file.

    Raises:
        ArrayFileError: it is damaged, or of another version.
    """
    if not path.exists():
        return None
    try:
        return knowledge(read_arrays(path, _KIND, VERSION))
    except ArrayFileError:
        raise
    except ValueError as error:
        raise ArrayFileError(f"{path}: {error}") from error
