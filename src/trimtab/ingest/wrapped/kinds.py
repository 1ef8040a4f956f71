"""What a file looks like by some of its lines: a broker's log, a collector's file, or neither."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from trimtab.ingest.splits import lines_of
from trimtab.ingest.wrapped.entries import header_shape
from trimtab.ingest.wrapped.foreign import EMPTY, foreign_kind
from trimtab.ingest.wrapped.order import is_newest_first
from trimtab.ingest.wrapped.pieces import Unwrapping, decoded

#: Bytes that are looked at: at the head, and at two places further on.
_HEAD, _FURTHER = 64 << 10, 16 << 10
_GZIP_MAGIC = b"\x1f\x8b"
#: What stands in every log of Pulsar's, or of what belongs to it.
_PULSAR = re.compile(
    r"[Pp]ulsar|org\.apache\.(?:bookkeeper|zookeeper)|\bo\.a\.[pbz]\."
    r"|(?:Threshold|Overload|UniformLoad|Avg|Transfer)Shedder|LoadManager|namespace bundle"
)
#: How a broker's own line may begin, with a level in it.
_OWN = re.compile(r".{0,60}\d\d:\d\d:\d\d.{0,200}\b(?:TRACE|DEBUG|INFO|WARN|ERROR)\b", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Look:
    """What a file looks like."""

    #: It holds log lines that something else has wrapped, or has the newest first.
    is_wrapped: bool = False
    #: It begins with a log line, wrapped or not.
    is_log: bool = False
    #: Something in it is Pulsar's.
    is_pulsar: bool = False
    #: What else it looks like; empty where nothing is known that it looks like.
    foreign: str = ""


def look_at(path: Path) -> Look:
    """Return what a file looks like, of a few places in it."""
    try:
        samples = _samples(path)
    except (OSError, zlib.error):
        return Look()
    if not samples or not samples[0]:
        return Look(foreign=EMPTY)
    texts = [lines_of(sample) for sample in samples]
    is_pulsar = any(_PULSAR.search(line) for lines in texts for line in lines)
    is_wrapped = any(_is_wrapped(lines, i, is_pulsar) for i, lines in enumerate(texts))
    foreign = "" if is_pulsar else foreign_kind(samples[0], texts[0])
    is_wrapped = is_wrapped or is_newest_first(texts[0])
    first = next((line for line in texts[0] if line.strip()), "")
    return Look(is_wrapped, is_wrapped or bool(_OWN.match(first)), is_pulsar, foreign)


def first_line(path: Path) -> str:
    """Return the first line of a file that is not blank; an empty text where there is none."""
    try:
        samples = _samples(path)
    except (OSError, zlib.error):
        return ""
    lines = lines_of(samples[0]) if samples and samples[0] else []
    return next((line for line in lines if line.strip()), "")


def _is_wrapped(lines: list[str], place: int, is_pulsar: bool) -> bool:
    """Return whether lines of a file hold log lines that something has wrapped.

    Args:
        lines: of one place in it; the first and the last may be cut.
        place: 0 for the head of the file.
        is_pulsar: something in the file is Pulsar's.
    """
    if place == 0 and lines and header_shape(lines[0]) is not None:
        return True
    unwrapping = Unwrapping()
    for line in lines:
        pieces = unwrapping.pieces(line)
        if pieces is not None and any(
            piece.broker or (piece.text != line and _OWN.match(piece.text)) for piece in pieces
        ):
            return True
    head = next((line for line in lines if line.strip()), "") if place == 0 else ""
    # A document over several lines, or one that is longer than what is looked at.
    return (
        is_pulsar
        and head.startswith(("{", "[{", "[ ", "["))
        and decoded(head) is None
        and (head.strip() in ("{", "[") or head.startswith(('{"', "[{")))
    )


def _samples(path: Path) -> list[bytes]:
    """Return the head of a file and, where it is not packed, two places further on."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
        if head.startswith(_GZIP_MAGIC):
            return [zlib.decompressobj(wbits=31).decompress(head, _HEAD)]
        size = path.stat().st_size
        samples = [head]
        for place in (size // 2, size - _FURTHER):
            if place >= _HEAD:
                file.seek(place)
                samples.append(file.read(_FURTHER))
    return samples
