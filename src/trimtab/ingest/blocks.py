"""Blocks of a broker's log: what most of its lines are, told for all of them at once.

Most lines of a log are in the distribution's layout and hold no message that we know, or
are frames of a stack trace.  Those are told here with numpy and counted, and the messages
in that layout are read a class at a time.  All other lines, and whatever does not fit, are
left to `broker_log`, the authority: what is said of a line here, it would say too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trimtab.ingest.events import Event, Form, Source, forms_of
from trimtab.ingest.layouts import second_us, simple_class_name, thread_name
from trimtab.ingest.splits import lines_of

_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Mask: TypeAlias = npt.NDArray[np.bool_]
_Places: TypeAlias = npt.NDArray[np.int64]

#: Bytes of a line that are looked at: its time in the distribution's layout, and two more.
_HEAD = 32
#: Lowest and highest byte at each place of a head.
_LOWEST = np.frombuffer(b"0000-00-00 00:00:00,000+0000 [\0\0", np.uint8)
_HIGHEST = np.frombuffer(b"9999-99-99T99:99:99.999-9999 [\xff\xff", np.uint8)
#: Places at which not every byte between the two will do, and those that do.
_EITHER = ((10, b"T "), (19, b",."), (23, b"+-"))
#: Where thread, level and logger begin.
_SOURCE = 29
_SOURCE_SHAPE = re.compile(rb"\[([^\]]*)\] ([A-Z]+) +(\S+)")
#: What the first four bytes of a stack trace's frame are, as one number of this machine.
_FRAME = np.frombuffer(b"\tat ", np.uint32)[0]
_NEWLINE, _DASH, _BLANK = b"\n- "
_SEPARATOR = len(" - ")


@dataclass(slots=True)
class Sifted:
    """What is known of a block's lines; what is none of it stands in `left`."""

    lines: int
    other: int = 0
    continuation: int = 0
    events: list[Event] = field(default_factory=list)
    #: Number of a line, from 1, and its text.
    left: Iterable[tuple[int, str]] = ()


#: Tells what it can of the lines of a block, before which stand so many others.
Sieve: TypeAlias = Callable[[bytes, int], Sifted]


def every_line(block: bytes, before: int) -> Sifted:
    """Leave all lines to the parser of lines."""
    lines = lines_of(block)
    return Sifted(len(lines), left=enumerate(lines, before + 1))


def log_lines(block: bytes, before: int) -> Sifted:
    """Tell the lines of a broker's log that hold no message, frames, and the usual messages.

    Properties:
        Whatever the bytes, `broker_log` says of each line what is said of it here.
    """
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == _NEWLINE)
    if not block.endswith(b"\n"):
        ends = np.append(ends, len(block))
    starts = np.concatenate(([0], ends[:-1] + 1))
    sifted = Sifted(starts.size)
    is_left = np.ones(starts.size, np.bool_)
    # A head must not reach beyond the block; beyond its line it may, for then it does not fit.
    heads = _heads(block, starts[: np.searchsorted(starts, len(block) - _HEAD, "right")])
    frames = np.flatnonzero(heads.view(np.uint32)[:, 0] == _FRAME)
    is_left[frames] = False
    sifted.continuation = frames.size
    standard = np.flatnonzero(_is_standard(heads))
    lines, sources = _parted(block, standard, starts[standard], ends[standard])
    for told in _told(lines, sources, before, sifted):
        is_left[told] = False
    left = np.flatnonzero(is_left)
    spans = zip(starts[left].tolist(), (ends[left] + 1).tolist(), strict=True)
    texts = lines_of(b"".join([block[start:end] for start, end in spans]))
    sifted.left = zip((left + before + 1).tolist(), texts, strict=True)
    return sifted


class _Lines(NamedTuple):
    """Lines of a block in the distribution's layout."""

    block: bytes
    #: Their numbers within the block, from 0.
    numbers: _Places
    #: Where they begin, where their messages begin, where they end.
    starts: _Places
    begins: _Places
    ends: _Places
    #: Which of the block's sources printed them.
    codes: _Places

    def take(self, places: _Places | _Mask) -> _Lines:
        """Return some of them."""
        return _Lines(self.block, *(column[places] for column in self[1:]))


def _heads(block: bytes, starts: _Places) -> _Bytes:
    """Return the first bytes of the lines that begin at `starts`, a row a line."""
    # Where the block is shorter than a head there are no lines to look at.
    size = max(len(block) - _HEAD + 1, 0)
    everywhere: npt.NDArray[np.void] = np.ndarray((size,), f"V{_HEAD}", block, strides=(1,))
    return everywhere[starts].view(np.uint8).reshape(-1, _HEAD)


def _is_standard(heads: _Bytes) -> _Mask:
    """Return whether lines begin as the distribution's do, up to the thread."""
    outside = (heads - _LOWEST > _HIGHEST - _LOWEST).view(np.uint64)
    fits: _Mask = np.bitwise_or.reduce(outside, axis=1) == 0
    for place, (one, another) in _EITHER:
        fits &= (heads[:, place] == one) | (heads[:, place] == another)
    return fits


def _parted(
    block: bytes, numbers: _Places, starts: _Places, ends: _Places
) -> tuple[_Lines, list[Source | None]]:
    """Part lines into who printed them and the message.

    Returns:
        Those lines that can be parted, and what their codes stand for: None for a source
        that is not as the distribution prints it.
    """
    # Where there is no separator any more, the end of the block is behind every line.
    separators = np.append(_separators(block), len(block))
    places = separators[np.searchsorted(separators, starts + _SOURCE)]
    lines = _Lines(block, numbers, starts, places + _SEPARATOR, ends, numbers)
    lines = lines.take(places < ends)
    if not lines.numbers.size:
        return lines, []
    slices = _slices(block, lines.starts + _SOURCE, lines.begins - _SEPARATOR)
    printed = slices.dictionary_encode()
    sources = [_source(text) for text in printed.dictionary.to_pylist()]
    return lines._replace(codes=printed.indices.to_numpy()), sources


def _separators(block: bytes) -> _Places:
    """Return where ` - ` stands in a block."""
    data = np.frombuffer(block, np.uint8)
    # Without the ends, where a blank could not stand on both sides.
    before = np.flatnonzero(data[1:-1] == _DASH)
    between: _Places = before[(data[before] == _BLANK) & (data[before + 2] == _BLANK)]
    return between


def _slices(block: bytes, starts: _Places, ends: _Places) -> pa.Array:
    """Return stretches of a block, which do not overlap and stand in their order."""
    bounds = np.column_stack((starts, ends)).astype(np.int32).ravel()
    # Every other one is the gap between two.
    count = bounds.size - 1
    stretches = pa.Array.from_buffers(
        pa.binary(), count, [None, pa.py_buffer(bounds), pa.py_buffer(block)]
    )
    return stretches.take(pa.array(np.arange(0, count, 2)))


@lru_cache(maxsize=1 << 14)
def _source(text: bytes) -> Source | None:
    """Read thread, level and logger; None where they are not as the distribution prints them."""
    found = _SOURCE_SHAPE.fullmatch(text)
    if found is None:
        return None
    thread, level, logger = (part.decode("utf-8", "replace") for part in found.groups())
    logger = simple_class_name(logger)
    return Source(thread_name(thread), level, logger, forms_of(logger))


def _told(
    lines: _Lines, sources: list[Source | None], before: int, sifted: Sifted
) -> Iterator[_Places | list[int]]:
    """Tell what lines are, class by class, and give the numbers of those that can be told."""
    # 0 stands for what cannot be told, 1 for classes that print nothing we know.
    ranks: dict[str, int] = {}
    rank_of_source = [
        0
        if source is None
        else ranks.setdefault(source.logger, len(ranks) + 2)
        if source.forms
        else 1
        for source in sources
    ]
    rank_of_line = np.array(rank_of_source, np.int16)[lines.codes]
    silent = lines.numbers[rank_of_line == 1]
    sifted.other += silent.size
    yield silent
    for rank in ranks.values():
        yield _read(lines.take(rank_of_line == rank), sources, before, sifted)


def _read(
    lines: _Lines, sources: list[Source | None], before: int, sifted: Sifted
) -> _Places | list[int]:
    """Read lines of one class, and give the numbers of those that could be told."""
    of_class = sources[lines.codes[0]]
    spans = zip(lines.begins.tolist(), lines.ends.tolist(), strict=True)
    joined = b"\n".join([lines.block[begin:end] for begin, end in spans])
    forms = [form for form in of_class.forms if form.needle in joined] if of_class else []
    if not forms:
        sifted.other += lines.numbers.size
        return lines.numbers
    told = []
    texts = joined.decode("utf-8", "replace").split("\n")
    columns = (of.tolist() for of in (lines.numbers, lines.starts, lines.codes))
    for number, start, code, text in zip(*columns, texts, strict=True):
        message = text.lstrip(" ").rstrip()
        tried = [form for form in forms if form.text in message]
        if not tried:
            sifted.other += 1
            told.append(number)
            continue
        source, fitting = sources[code], _fitting(tried, message)
        time_us = _time_us(lines.block[start : start + _SOURCE])
        if source is not None and fitting is not None and time_us is not None:
            sifted.events.append(Event(number + before + 1, time_us, source, message, *fitting))
            told.append(number)
    return told


def _fitting(forms: list[Form], text: str) -> tuple[Form, list[Any]] | None:
    """Find the first form that a message has; None if the line is to be read singly."""
    for form in forms:
        if form.converters is None:
            return None
        try:
            values = form.values(text)
        except ValueError:
            return None
        if values is not None:
            return form, values
    return None


def _time_us(head: bytes) -> int | None:
    """Read the time that a line begins with, in microseconds; None if there is no such time."""
    second = _second_us(head[:19], head[23:28])
    return None if second is None else second + 1000 * int(head[20:23])


@lru_cache(maxsize=4096)
def _second_us(second: bytes, zone: bytes) -> int | None:
    """Read a whole second, which neighbouring lines share."""
    text = second.decode("ascii")
    return second_us(f"{text[:10]}T{text[11:]}", zone.decode("ascii"))
