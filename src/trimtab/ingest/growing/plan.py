"""Which bytes are to be read next, and what is given up for lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from trimtab.ingest.growing.incarnations import FollowedFile, Incarnation, Mark, Register
from trimtab.ingest.growing.recognize import Recognized
from trimtab.ingest.recording import SOURCES


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is read at once, and how long is waited."""

    #: Bytes of a batch; a line that is longer is read all the same.
    batch_size: int
    #: Seconds after which what is gone is taken to be gone for good.
    rest_s: float
    #: Files of a batch.
    n_files: int = 1 << 62


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes of an incarnation that are to be read: whole lines, but for a torn last one."""

    number: int
    file: FollowedFile
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Loss:
    """Bytes of an incarnation that cannot be read any more."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Copied:
    """What was found in a range when its bytes were taken."""

    #: Bytes and lines of the pieces in which it may be parsed: whole lines each.
    pieces: tuple[tuple[int, int], ...]
    tail: Mark

    @property
    def lines(self) -> int:
        """Return the count of lines in all of it."""
        return sum(lines for _, lines in self.pieces)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be read, in the order in which its rows are to stand, and what is lost."""

    ranges: tuple[Range, ...]
    losses: tuple[Loss, ...]


def planned(look: Recognized, limits: Limits, now_s: float) -> Plan:
    """Return what is to be read next.

    A line is read once its end is there.  A last line without an end is read as it is when
    nothing will be added to it.

    Raises:
        MovedError: the disk changed meanwhile.

    Properties:
        No byte is in two plans, if what is known is advanced by each.
        Of each incarnation bytes are read from the first to the last, without gaps.
        Older incarnations come before younger ones of the same family.
    """
    ranges: list[Range] = []
    room = limits.batch_size
    for each, file in _in_order(look):
        if room <= 0 or len(ranges) >= limits.n_files:
            break
        stop = _stop(each, file, room)
        if stop > each.offset:
            ranges.append(Range(each.number, file, each.offset, stop))
            # What is cut off here comes first in the next batch.
            is_cut = each.offset + room < each.seen
            room = 0 if is_cut else room - (stop - each.offset)
    return Plan(tuple(ranges), tuple(_losses(look, limits, now_s)))


def advanced(register: Register, plan: Plan, copied: Mapping[int, Copied]) -> Register:
    """Return what is known once a plan has been carried out."""
    after = dict(register.incarnations)
    lines = dict(register.lines)
    for it in plan.ranges:
        each, copy = after[it.number], copied[it.number]
        after[it.number] = replace(each, offset=it.stop, tail=copy.tail)
        lines[each.name] = lines.get(each.name, 0) + copy.lines
    for loss in plan.losses:
        each = after[loss.number]
        after[loss.number] = replace(each, is_given_up=True)
        lines[each.name] = lines.get(each.name, 0) + 1
    return replace(register, incarnations=after, lines=lines)


def reading_order(each: Incarnation) -> tuple[int, str, int]:
    """Return what incarnations are sorted by to be read in order."""
    return SOURCES.index(each.source), each.family, each.number


def _in_order(look: Recognized) -> Iterator[tuple[Incarnation, FollowedFile]]:
    """Return the incarnations that have something unread, in the order of reading."""
    standing = [
        (each, look.standing[each.number])
        for each in look.register.incarnations.values()
        if each.number in look.standing and each.unread > 0
    ]
    yield from sorted(standing, key=lambda it: reading_order(it[0]))


def _stop(each: Incarnation, file: FollowedFile, room: int) -> int:
    """Return up to which byte an incarnation is read now."""
    if file.is_document:
        return each.seen if file.is_at_rest else each.offset
    end = file.content.line_end(each.offset, min(each.seen, each.offset + room))
    if end is not None and end <= each.seen:
        return end
    # No line ends in what is left: it is torn, and taken if it stays so.
    is_torn_for_good = file.is_final and file.is_at_rest and file.content.fault is None
    return each.seen if is_torn_for_good else each.offset


def _losses(look: Recognized, limits: Limits, now_s: float) -> Iterator[Loss]:
    for each in look.register.incarnations.values():
        if each.is_given_up:
            continue
        file = look.standing.get(each.number)
        gone_at_s = each.gone_at_s
        if file is not None:
            # Everything before the damage has been read by then.
            it = file.content
            if file.is_at_rest and it.fault and it.line_end(each.offset, each.seen) is None:
                yield Loss(each.number, f"the file breaks off: {it.fault}")
        elif each.unread > 0 and gone_at_s is not None and now_s - gone_at_s >= limits.rest_s:
            yield Loss(each.number, f"the file vanished with {each.unread} bytes of it unread")
