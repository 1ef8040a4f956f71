"""Files that lie in a folder twice, packed and plain, as `gzip -k` leaves them.

Which of them is read is not decided here.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

_CHUNK_SIZE = 1 << 20


def is_packed_copy(packed: Path, plain: Path) -> bool:
    """Return whether all that a packed file holds stands at the beginning of a plain one.

    The plain one may have grown since.  An empty file, or one that cannot be read to its
    end, is no copy.
    """
    size = 0
    try:
        with gzip.open(packed) as one, plain.open("rb") as other:
            while chunk := one.read(_CHUNK_SIZE):
                if chunk != other.read(len(chunk)):
                    return False
                size += len(chunk)
    except (OSError, EOFError, zlib.error):
        return False
    return size > 0
