"""Which incarnation stands where, given what was known and what the disk shows now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trimtab.ingest.growing.incarnations import (
    HEAD_WINDOW,
    HEADS,
    SURE_SIZE,
    Content,
    Copy,
    FollowedFile,
    Incarnation,
    Mark,
    Register,
)

#: An incarnation that is gone is remembered so long, in case a packed copy of it appears.
REMEMBERED_S = 86_400.0
#: Beginnings that tell whether a file with the same inode is still the same.
_SURE = 3


@dataclass(frozen=True, slots=True)
class Recognized:
    """What is known after a look, and where each incarnation stands."""

    register: Register
    #: Number of the incarnation → the file in which it stands.
    standing: Mapping[int, FollowedFile]


@dataclass(slots=True)
class _Looking:
    """What has been made out so far."""

    incarnations: dict[int, Incarnation]
    next_number: int
    standing: dict[int, FollowedFile] = field(default_factory=dict)
    copies: list[Copy] = field(default_factory=list)

    def begin(self, file: FollowedFile) -> None:
        """Take a file for a new incarnation."""
        number = self.next_number
        self.next_number += 1
        self.incarnations[number] = Incarnation(
            number, file.name, file.source, file.log_broker, file.family, file.name, file.stamp
        )
        self.standing[number] = file


def recognized(register: Register, disk: Sequence[FollowedFile], now_s: float) -> Recognized:
    """Return which incarnation stands in which file.

    A file is, in this order: the incarnation that had its inode, if it still has what was
    read of it; a copy of one of its family, if it begins alike; a new incarnation.

    Returns:
        What is known now; its offsets are as before.

    Raises:
        MovedError: the disk changed meanwhile.

    Properties:
        Each incarnation stands in at most one file, each file holds at most one.
        With the same disk again nothing changes.

    Quirks:
        A file under 32 bytes is told by its inode alone, and waited for until it is at rest.
        A file with the very bytes with which a longer one of its family begins is taken for an
        unfinished copy, and waited for; one under 1024 bytes that stays so is a file of its own.
    """
    looking = _Looking(dict(register.incarnations), register.next_number)
    families = _by_family(looking.incarnations.values())
    strange = [
        file
        for file in _kept_places(register, disk, looking)
        if not _is_known(file, families.get(file.family, []), looking)
    ]
    originals: dict[str, list[FollowedFile]] = {}
    # The longest first, of which the others may be copies.
    for file in sorted(strange, key=lambda it: -it.content.size):
        family = originals.setdefault(file.family, [])
        if not any(_is_copy(file, original) for original in family):
            family.append(file)
    new = [file for family in originals.values() for file in family]
    for file in sorted(new, key=lambda it: (it.stamp.mtime_ns, it.name)):
        # What cannot be told from others yet is not read yet.
        if file.content.size >= HEADS[0] or file.is_at_rest:
            looking.begin(file)
    after = {
        number: _after(each, looking.standing.get(number), now_s)
        for number, each in looking.incarnations.items()
    }
    remembered = {number: it for number, it in after.items() if not _is_forgotten(it, now_s)}
    copies = tuple(copy for copy in looking.copies if copy.of in remembered)
    after_look = Register(remembered, copies, register.lines, looking.next_number)
    return Recognized(after_look, looking.standing)


def _kept_places(
    register: Register, disk: Sequence[FollowedFile], looking: _Looking
) -> list[FollowedFile]:
    """Return the files that do not hold what they held before; note where the others stand."""
    of_inode = {each.stamp.inode: each for each in register.incarnations.values()}
    unknown = []
    for file in disk:
        before = of_inode.get(file.stamp.inode)
        if before is not None and _is_continued(before, file):
            looking.standing[before.number] = file
        else:
            unknown.append(file)
    copies = {copy.stamp: copy for copy in register.copies}
    strange = []
    for file in unknown:
        copy = copies.get(file.stamp)
        # If the original has left its place, the copy may take it.
        if copy is not None and copy.is_sure and copy.of in looking.standing:
            looking.copies.append(copy)
        else:
            strange.append(file)
    return strange


def _is_continued(before: Incarnation, file: FollowedFile) -> bool:
    """Return whether a file with an incarnation's inode still holds it."""
    if file.stamp == before.stamp:
        return True
    if file.is_document and before.offset:
        return False
    # Of an empty file, or a short one, nothing but its inode is known, and any may get that.
    is_kin = file.family == before.family or before.heads or before.tail
    if file.source != before.source or not is_kin:
        return False
    return _has_what_was_read(before, file.content) and all(
        mark.fits(file.content) for mark in before.heads[:_SURE]
    )


def _has_what_was_read(before: Incarnation, content: Content) -> bool:
    if before.tail is None:
        return content.size >= before.offset
    return before.tail.fits(content)


def _by_family(incarnations: Iterable[Incarnation]) -> dict[str, list[Incarnation]]:
    """Return incarnations by family, the latest first in each."""
    families: dict[str, list[Incarnation]] = {}
    for each in sorted(incarnations, key=lambda it: -it.number):
        families.setdefault(each.family, []).append(each)
    return families


def _is_known(file: FollowedFile, family: Sequence[Incarnation], looking: _Looking) -> bool:
    """Return whether a file holds an incarnation of its family, or is a copy of one."""
    for each in family:
        if not _begins_alike(each, file.content):
            continue
        place = looking.standing.get(each.number)
        if place is None and _may_be(each, file):
            looking.standing[each.number] = file
            return True
        if place is not None and _is_copy(file, place):
            size = file.content.size
            is_sure = size == place.content.size or size >= SURE_SIZE
            looking.copies.append(Copy(each.number, file.stamp, is_sure))
            return True
    return False


def _may_be(each: Incarnation, file: FollowedFile) -> bool:
    """Return whether a file can be an incarnation that has left its place."""
    if file.is_document:
        # Its tail is all of it.
        return file.content.size == each.offset and _has_what_was_read(each, file.content)
    if file.content.size >= each.offset:
        return _has_what_was_read(each, file.content)
    return file.content.size >= SURE_SIZE or not file.is_at_rest


def _is_copy(file: FollowedFile, original: FollowedFile) -> bool:
    """Return whether a file is a copy of another that still stands, or becomes one.

    A short one that only begins like the other is a file of its own, once it stays so.
    """
    size, whole = file.content.size, original.content.size
    if size > whole or not size:
        return False
    if size < whole and (file.is_document or (size < SURE_SIZE and file.is_at_rest)):
        return False
    # Whole files are compared only if they look alike.
    return all(
        file.content.digest(start, stop) == original.content.digest(start, stop)
        for start, stop in (*_windows(HEADS, size), (0, size))
    )


def _begins_alike(each: Incarnation, content: Content) -> bool:
    """Return whether the beginnings that both have are alike; without one they are not."""
    marks = [mark for mark in each.heads if mark.stop <= content.size]
    return bool(marks) and all(mark.fits(content) for mark in reversed(marks))


def _after(each: Incarnation, file: FollowedFile | None, now_s: float) -> Incarnation:
    """Return what is known of an incarnation after a look."""
    if file is None:
        return each if each.gone_at_s is not None else replace(each, gone_at_s=now_s)
    if file.stamp == each.stamp and file.name == each.place and each.seen:
        return each
    size = file.content.size
    return replace(
        each,
        place=file.name,
        stamp=file.stamp,
        seen=max(size, each.offset),
        heads=_heads(each, file.content, size),
        gone_at_s=None,
    )


def _heads(each: Incarnation, content: Content, size: int) -> tuple[Mark, ...]:
    """Return its beginnings, with those that it has grown long enough for."""
    longer = _windows(HEADS[len(each.heads) :], size)
    marks = (Mark(start, stop, content.digest(start, stop)) for start, stop in longer)
    return (*each.heads, *marks)


def _windows(lengths: Iterable[int], size: int) -> Iterator[tuple[int, int]]:
    """Return what is looked at of beginnings, as far as a file is long enough for them."""
    return ((max(0, length - HEAD_WINDOW), length) for length in lengths if length <= size)


def _is_forgotten(each: Incarnation, now_s: float) -> bool:
    gone = each.gone_at_s
    is_settled = each.is_given_up or each.unread == 0
    return gone is not None and is_settled and now_s - gone > REMEMBERED_S
