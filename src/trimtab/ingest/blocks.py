"""Blocks of a broker's log: what most of its lines are, for all of them at once.

Most lines of a log are in the distribution's layout and hold no message that we know, or
are frames of a stack trace.  Those are known here with numpy and counted, and lines in that
layout that may be messages are kept for `events`.  All other lines, and whatever does not
fit, are left to `broker_log`, the authority: what is said of a line here, it would say too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trimtab.ingest.events import Form, Hits, Source, forms_of
from trimtab.ingest.layouts import simple_class_name, thread_name
from trimtab.ingest.sieve import BlockContent
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
_NEWLINE, _BLANK = b"\n "
#: A blank and a dash, as one number of this machine.
_DASH = np.frombuffer(b" -", np.uint16)[0]
_SEPARATOR = len(" - ")


def log_lines(block: bytes, before: int) -> BlockContent:
    """Return a block of a broker's log: lines without a message, frames, and possible messages.

    Properties:
        Whatever the bytes, `broker_log` says of each line what is said of it here.
    """
    ends = _seldom(np.frombuffer(block, np.uint8) == _NEWLINE)
    starts = np.concatenate(([0], ends + 1))
    if block.endswith(b"\n"):
        starts = starts[:-1]
    content = BlockContent(starts.size)
    is_left = np.ones(starts.size, np.bool_)
    # A head must not reach beyond the block; beyond its line it may, for then it does not fit.
    # A last line without an end is left, so that every line that is looked at has one.
    looked = min(ends.size, int(np.searchsorted(starts, len(block) - _HEAD, "right")))
    heads = _heads(block, starts[:looked])
    frames = np.flatnonzero(heads.view(np.uint32)[:, 0] == _FRAME)
    is_left[frames] = False
    content.continuation = frames.size
    standard = np.flatnonzero(_is_standard(heads))
    lines, sources = _parted(block, standard, starts[standard], ends[standard])
    is_left[_classify(lines, sources, before, content)] = False
    left = np.flatnonzero(is_left)
    if left.size:
        bounds = np.append(starts, len(block))
        spans = zip(bounds[left].tolist(), bounds[left + 1].tolist(), strict=True)
        texts = lines_of(b"".join([block[start:end] for start, end in spans]))
        content.left = zip((left + before + 1).tolist(), texts, strict=True)
    return content


def _seldom(mask: _Mask) -> _Places:
    """Return where a mask is true that seldom is: eight places are looked at together."""
    whole = mask.size // 8 * 8
    eights = mask[:whole].view(np.uint64)
    places = np.flatnonzero(eights != 0)
    within = np.flatnonzero(eights[places].view(np.bool_))
    rest = whole + np.flatnonzero(mask[whole:])
    return np.concatenate((8 * places[within // 8] + within % 8, rest))


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
    fits: _Mask = (outside[:, 0] | outside[:, 1] | outside[:, 2] | outside[:, 3]) == 0
    for place, (one, another) in _EITHER:
        fits &= (heads[:, place] == one) | (heads[:, place] == another)
    return fits


def _parted(
    block: bytes, numbers: _Places, starts: _Places, ends: _Places
) -> tuple[_Lines, list[Source | None]]:
    """Return lines parted into who printed them and the message.

    Returns:
        Those lines that can be parted, and what their codes stand for: None for a source
        that is not as the distribution prints it.
    """
    places = _dashes(block, starts + _SOURCE)
    lines = _Lines(block, numbers, starts, places + _SEPARATOR, ends, numbers)
    # A dash that ends its line, and where there is none the end of the block, are no separator.
    fits = places + _SEPARATOR <= ends
    fits[fits] = np.frombuffer(block, np.uint8)[places[fits] + 2] == _BLANK
    lines = lines.take(fits)
    if not lines.numbers.size:
        return lines, []
    every = np.arange(lines.numbers.size)
    slices = _slices(block, lines.starts + _SOURCE, lines.begins - _SEPARATOR, every)
    printed = slices.dictionary_encode()
    sources = [_source(text) for text in printed.dictionary.to_pylist()]
    return lines._replace(codes=printed.indices.to_numpy()), sources


def _dashes(block: bytes, starts: _Places) -> _Places:
    """Return where the first ` -` at or behind each of some places stands, or the block's end."""
    # Two bytes at a time, those that begin at even places and those at odd ones: no dash is in
    # both, for two of them cannot overlap.  One that ends the block has no message behind it.
    pairs = (len(block) - 1) // 2
    even, odd = (np.frombuffer(block, np.uint16, pairs, first) for first in (0, 1))
    pairs_with_dash = _seldom((even == _DASH) | (odd == _DASH))
    places = np.append(2 * pairs_with_dash + (even[pairs_with_dash] != _DASH), len(block))
    nearest: _Places = places[np.searchsorted(places, starts)]
    return nearest


def _slices(block: bytes, starts: _Places, ends: _Places, positions: _Places) -> pa.Array:
    """Return some of the stretches of a block, which do not overlap and stand in their order."""
    bounds = np.column_stack((starts, ends)).astype(np.int32).ravel()
    # Every other one is the gap between two.
    stretches = pa.Array.from_buffers(
        pa.binary(), bounds.size - 1, [None, pa.py_buffer(bounds), pa.py_buffer(block)]
    )
    return stretches.take(pa.array(2 * positions))


@lru_cache(maxsize=1 << 14)
def _source(text: bytes) -> Source | None:
    """Return thread, level and logger; None where they are not as the distribution prints them."""
    match = _SOURCE_SHAPE.fullmatch(text)
    if match is None:
        return None
    thread, level, logger = (part.decode("utf-8", "replace") for part in match.groups())
    logger = simple_class_name(logger)
    return Source(thread_name(thread), level, logger, forms_of(logger))


def _classify(
    lines: _Lines, sources: list[Source | None], before: int, content: BlockContent
) -> _Places:
    """Return the numbers of the lines whose kind is known, and add them to the content."""
    # 0 stands for what is not known, 1 for classes that print nothing we know.
    ranks: dict[tuple[Form, ...], int] = {}
    rank_of_source = [
        0
        if source is None
        else ranks.setdefault(source.forms, len(ranks) + 2)
        if source.forms
        else 1
        for source in sources
    ]
    rank_of_line = np.array(rank_of_source, np.int16)[lines.codes]
    candidates = np.flatnonzero(rank_of_line > 1)
    if candidates.size:
        # Lines of one class stand together from here on.
        candidates = candidates[np.argsort(rank_of_line[candidates], kind="stable")]
        counts = np.bincount(rank_of_line[candidates], minlength=len(ranks) + 2)[2:]
        forms = _forms(lines, candidates, zip(ranks, counts.tolist(), strict=True))
        content.hits = _hits(lines.take(candidates[list(forms)]), forms.values(), sources, before)
    numbers = lines.numbers[rank_of_line > 0]
    content.other += numbers.size - len(content.hits.lines)
    return numbers


def _forms(
    lines: _Lines, candidates: _Places, classes: Iterable[tuple[tuple[Form, ...], int]]
) -> dict[int, tuple[Form, ...]]:
    """Return the messages that some lines may be.

    Args:
        lines: in their order.
        candidates: which of them, those of one class together.
        classes: what each class may print, and how many of the lines are its.

    Returns:
        Place in `candidates` → whose needles stand in the line.
    """
    messages = _slices(lines.block, lines.begins, lines.ends + 1, candidates)
    _, offsets, joined = messages.buffers()
    text = joined.to_pybytes()
    bounds = np.frombuffer(offsets, np.int32)[: len(messages) + 1].tolist()
    forms_by_line: dict[int, tuple[Form, ...]] = {}
    last = 0
    for forms, count in classes:
        first, last = last, last + count
        for form in forms:
            place = text.find(form.needle, bounds[first], bounds[last])
            while place >= 0:
                line = bisect_right(bounds, place, first, last) - 1
                forms_by_line[line] = (*forms_by_line.get(line, ()), form)
                place = text.find(form.needle, bounds[line + 1], bounds[last])
    return forms_by_line


def _hits(
    lines: _Lines, forms: Iterable[tuple[Form, ...]], sources: list[Source | None], before: int
) -> Hits:
    """Return the lines that may be messages, with the forms of each."""
    spans = zip(lines.starts.tolist(), lines.ends.tolist(), strict=True)
    return Hits(
        (lines.numbers + before + 1).tolist(),
        [source for code in lines.codes.tolist() if (source := sources[code]) is not None],
        [lines.block[start:end] for start, end in spans],
        (lines.begins - lines.starts).tolist(),
        list(forms),
    )
