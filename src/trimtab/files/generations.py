"""Folders that change at once in a store, which cannot move them: generations, and which counts.

`CURRENT.json` is written last, as one object, and names the folder beside it that counts.
Whoever reads it before and after sees one generation or the other, each of them whole.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from trimtab.files.errors import TrimtabError
from trimtab.files.places import is_store, remove_tree
from trimtab.files.version import __version__

#: Says which generation counts.
POINTER = "CURRENT.json"
_PREFIX = "run-"
#: It always has so many: who has asked for its size before another took its place reads all of it.
_POINTER_BYTES = 512


class GenerationError(TrimtabError):
    """A folder of a store holds something else, or has been changed by somebody else."""


@dataclass(frozen=True, slots=True)
class Generation:
    """What counts in a folder of a store."""

    #: Names of folders in it: the one that counts, and that which counted before; or nothing.
    name: str = ""
    before: str = ""


def generation(folder: Path) -> Generation:
    """Return what counts in a folder.

    Raises:
        GenerationError: it holds something else.
    """
    try:
        document = json.loads((folder / POINTER).read_text())
        return Generation(str(document["folder"]), str(document["before"]))
    except FileNotFoundError:
        others = [it for it in folder.iterdir() if not it.name.startswith(_PREFIX)]
        if POINTER in (it.name for it in others):
            # It has come meanwhile.
            return generation(folder)
    except (ValueError, KeyError, TypeError):
        others = [folder / POINTER]
    if others:
        raise GenerationError(
            f"{others[0]}: found something that no run has written; "
            "name a folder that does not exist, or one that an earlier run wrote"
        )
    return Generation()


def current(folder: Path) -> Path:
    """Return the folder that counts: the same on a disk, in a store one within it if it has such.

    Raises:
        GenerationError: somebody else has written there.
    """
    if not is_store(folder) or not (folder / POINTER).is_file():
        return folder
    return folder / generation(folder).name


def begun(folder: Path) -> Path:
    """Return a new generation's folder, which nobody else writes to."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return folder / f"{_PREFIX}{moment}-{uuid.uuid4().hex[:8]}"


def commit(folder: Path, earlier: Generation, new: Path) -> None:
    """Let a new generation count, and remove the one before the last.

    Whoever began to read the last one ends with it.

    Raises:
        GenerationError: somebody else has committed meanwhile.
    """
    if generation(folder) != earlier:
        raise GenerationError(f"{folder}: another run has written there meanwhile; run again")
    document = {"trimtab": __version__, "folder": new.name, "before": earlier.name}
    text = json.dumps(document, indent=1)
    (folder / POINTER).write_text(f"{text:<{_POINTER_BYTES - 1}}\n")
    if earlier.before:
        remove_tree(folder / earlier.before)
