"""By what the bytes of a split are told from others: without parsing, and whatever the clock says.

A digest covers the lines of a split whole, and the byte before them, so that equal digests
mean equal lines.  It is made of CRC-32s, which cost a tenth of a cryptographic hash and a
hundredth of parsing; they tell files that changed, not files that somebody forged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO

from isal import isal_zlib

from trimtab.ingest.splits import Split
from trimtab.ingest.worker import LINE_PARSERS

#: Bytes of which a CRC is taken.
_CHUNK_SIZE = 1 << 20
#: Bytes of a digest that are kept.
_DIGEST_SIZE = 16
#: Bytes read at a time to find the end of a line.
_LINE_CHUNK_SIZE = 64 << 10


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What is known of a split's bytes without parsing them."""

    #: Where the split's last line ends.
    end: int
    #: Empty where the file cannot be read.
    digest: str


def is_made_of_lines(split: Split) -> bool:
    """Return whether what is added to the file leaves what was read of it as it is."""
    return split.source in LINE_PARSERS and not split.is_gzip


def fingerprint(split: Split, end: int | None = None) -> Fingerprint:
    """Return what distinguishes the bytes of a split from others.

    Args:
        split: what to look at.
        end: where to stop; by default where the split's last line ends.
    """
    try:
        with split.path.open("rb", buffering=0) as file:
            start = max(split.start - 1, 0)
            if end is None:
                end = _line_end(file, split) if is_made_of_lines(split) else split.end
            file.seek(start)
            digest = hashlib.sha256()
            for size in _sizes(end - start):
                chunk = file.read(size)
                digest.update(isal_zlib.crc32(chunk).to_bytes(4, "big"))
                if len(chunk) < size:
                    return Fingerprint(end, "")
    except OSError:
        return Fingerprint(split.end, "")
    return Fingerprint(end, digest.hexdigest()[: 2 * _DIGEST_SIZE])


def ends_with_a_line(split: Split, end: int) -> bool:
    """Return whether a line ends at a place, so that what follows is another."""
    with split.path.open("rb", buffering=0) as file:
        file.seek(end - 1)
        return file.read(1) == b"\n"


def last_line_start(split: Split) -> int:
    """Return where the last line of a split begins, if its end is missing; else its end."""
    end = split.end
    try:
        with split.path.open("rb", buffering=0) as file:
            for place in range(end, split.start, -_LINE_CHUNK_SIZE):
                start = max(place - _LINE_CHUNK_SIZE, split.start)
                file.seek(start)
                newline = file.read(place - start).rfind(b"\n")
                if newline >= 0:
                    return start + newline + 1
    except OSError:
        return end
    return split.start


def _sizes(total: int) -> Iterator[int]:
    for start in range(0, total, _CHUNK_SIZE):
        yield min(_CHUNK_SIZE, total - start)


def _line_end(file: FileIO, split: Split) -> int:
    """Return where the last line that begins within the split ends."""
    place = split.end
    if place == split.start:
        return place
    file.seek(place - 1)
    while chunk := file.read(_LINE_CHUNK_SIZE):
        end = chunk.find(b"\n") + 1
        place = file.tell() - len(chunk) + (end or len(chunk))
        if end:
            break
    return place
