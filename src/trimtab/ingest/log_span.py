"""The logs of a recording → from when to when they go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from trimtab.files.assumed_day import ASSUMED
from trimtab.ingest.days import of_days, with_days
from trimtab.ingest.layouts import UnreadableTimeError, inner_line, log_line, utc
from trimtab.ingest.outcome import Origin
from trimtab.ingest.recording import RecordedFile, Recording
from trimtab.ingest.splits import DamagedError, cut, lines_of, read_blocks
from trimtab.ingest.wrapped.lines_by_broker import SOURCE as WRAPPED
from trimtab.ingest.wrapped.lines_by_broker import unwrapped

#: Bytes at either end of a plain log that are looked at.
_END_SIZE = 256 << 10


def log_span(recording: Recording) -> tuple[datetime, datetime] | None:
    """Return the first and the last moment of a recording's logs; None where no line says a day.

    The last one is a millisecond later than what is printed, so that it lies before the end.
    """
    recording = with_days(recording)
    if ASSUMED in recording.meta:
        return None
    moments = [
        moment
        for source, ends in (("log", _ends), (WRAPPED, _wrapped_ends))
        for file in recording.files.get(source, ())
        for lines in ends(recording, file)
        for moment in _outermost(lines)
    ]
    return (min(moments), max(moments) + timedelta(milliseconds=1)) if moments else None


def _origin(recording: Recording, file: RecordedFile) -> Origin:
    day = file.day or recording.day
    return Origin(file.name, file.log_broker, recording.zone, day, turns=file.turns)


def _ends(recording: Recording, file: RecordedFile) -> Iterator[Iterable[tuple[Origin, str]]]:
    """Yield the lines at either end of a log; of one that is packed or has no dates, all."""
    origin = _origin(recording, file)
    splits = cut(file.path, origin, "log", size=_END_SIZE)
    # The very end may be a stack trace, so the one before it counts, too.
    for split in {split.start: split for split in (splits[0], *splits[-2:])}.values():
        blocks: list[tuple[Origin, bytes]] = []
        try:
            for of_day, block in of_days(origin, read_blocks(split), split.start):
                # The first one and the last two are enough, however many there are.
                blocks[1:] = [*blocks[1:][-1:], (of_day, block)]
        except DamagedError:
            pass
        for of_day, block in blocks:
            yield [(of_day, text) for text in lines_of(block)]


def _wrapped_ends(
    recording: Recording, file: RecordedFile
) -> Iterator[Iterable[tuple[Origin, str]]]:
    """Yield the lines of each broker in a collector's file."""
    origin = _origin(recording, file)
    content: list[bytes] = []
    try:
        for split in cut(file.path, origin, WRAPPED):
            content += read_blocks(split)
    except DamagedError:
        pass
    for log in unwrapped(lines_of(b"".join(content)), recording.zone).brokers:
        yield [(origin, text) for text in log.lines]


def _outermost(lines: Iterable[tuple[Origin, str]]) -> Iterator[datetime]:
    """Yield the time of the first line that has one, and of the last."""
    lines = list(lines)
    for those in (lines, reversed(lines)):
        moment = next((it for origin, text in those if (it := _moment(origin, text))), None)
        if moment is not None:
            yield moment


def _moment(origin: Origin, text: str) -> datetime | None:
    line = log_line(inner_line(text))
    try:
        return None if line is None else utc(line, origin)
    except UnreadableTimeError:
        return None
