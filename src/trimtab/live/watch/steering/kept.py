"""What a strategy of trimtab's own remembers of a cluster ↔ the file in which it survives."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.files.array_files import ArrayFileError, read_arrays, write_arrays
from trimtab.lab.steering.keeping import arrays, remembered
from trimtab.lab.steering.registry import named
from trimtab.live.control.trust import Outcome
from trimtab.live.watch.steering.sighting import Names

_KIND = "what a strategy of trimtab's own remembers"
#: Raised whenever what is kept means something else.
_VERSION = 1
_MEMORY = "memory."


@dataclass(frozen=True, slots=True)
class Kept:
    """What a strategy remembers, of whom, and how right it was."""

    #: As it is spelt, with its sight and settings.
    strategy: str
    names: Names
    memory: Any
    record: tuple[Outcome, ...]
    #: s since 1970 at which it was so.
    time_s: float


def write_kept(path: Path, kept: Kept) -> None:
    """Write what is remembered into a file.

    Raises:
        OSError: it cannot be written; what was there before still is.
    """
    named_arrays = {f"{_MEMORY}{key}": value for key, value in arrays(kept.memory).items()}
    named_arrays |= {
        "strategy": np.array(kept.strategy),
        "brokers": np.array(kept.names.brokers, np.str_),
        "bundles": np.array(kept.names.bundles, np.str_),
        "outcomes": np.array([(each.time_s, each.off) for each in kept.record]).reshape(-1, 2),
        "time_s": np.array(kept.time_s),
    }
    write_arrays(path, _KIND, _VERSION, named_arrays)


def read_kept(path: Path, strategy: str) -> Kept | None:
    """Return what a file says that a strategy remembers; None if there is no file.

    Raises:
        ArrayFileError: it is damaged, of another version, or of another strategy.
    """
    if not path.exists():
        return None
    found = read_arrays(path, _KIND, _VERSION)
    try:
        spelt = str(found["strategy"])
        if spelt != strategy:
            raise ArrayFileError(
                f"{path}: found what {spelt} remembers, expected {strategy}; name another file"
            )
        memory = {
            key.removeprefix(_MEMORY): value
            for key, value in found.items()
            if key.startswith(_MEMORY)
        }
        return Kept(
            strategy,
            Names(tuple(found["brokers"].tolist()), tuple(found["bundles"].tolist())),
            remembered(named(strategy).entry.memory, memory),
            tuple(Outcome(*each) for each in found["outcomes"].tolist()),
            float(found["time_s"]),
        )
    except ArrayFileError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise ArrayFileError(
            f"{path}: expected what {strategy} of this release remembers: {error}; delete it to "
            "begin anew"
        ) from error
