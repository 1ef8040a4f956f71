"""A digest of the bytes of a split: without parsing, and whatever the clock says.

A digest covers the lines of a split whole, and the byte before them, so that equal digests
mean equal lines.  It is made of CRC-32s, which cost a tenth of a cryptographic hash and a
hundredth of parsing; they show files that changed, not files that somebody forged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from isal import isal_zlib

from trimtab.ingest.splits import Split, line_end
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
    """Return what distinguishes a split's bytes, up to `end` or that of its last line."""
    try:
        with split.path.open("rb", buffering=0) as file:
            start = max(split.start - 1, 0)
            if end is None:
                is_cut = is_made_of_lines(split) and split.end > split.start
                end = line_end(file, split.end) if is_cut else split.end
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
