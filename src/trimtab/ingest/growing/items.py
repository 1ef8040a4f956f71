"""What is parsed of a plan: ranges of files cut into items, their lines counted through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from trimtab.ingest.growing.disk import digest
from trimtab.ingest.growing.incarnations import TAIL, Mark, Register
from trimtab.ingest.growing.plan import Copied, Plan, Range

#: Bytes after which a range is cut, at the end of a line, for several tasks to parse it.
_PIECE_SIZE = 16 << 20


@dataclass(frozen=True, slots=True)
class Item:
    """What is to be parsed of one file, or accounted for as lost."""

    #: Name under which its rows stand.
    name: str
    source: str
    log_broker: str
    #: Lines under that name before it.
    before: int
    #: Its bytes, within the plan's copy.
    start: int
    stop: int
    #: Why a line is missing; None if nothing is lost.
    lost: str | None = None


def whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Return bytes that are cut anywhere in blocks of whole lines, but for a torn last one."""
    rest: list[bytes] = []
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join((*rest, chunk[:end]))
            rest.clear()
        rest.append(chunk[end:])
    if last := b"".join(rest):
        yield last


def items_of(plan: Plan, copied: Mapping[int, Copied], register: Register) -> list[Item]:
    """Return what is to be parsed of a plan, its bytes and its lines counted through."""
    lines = dict(register.lines)
    items: list[Item] = []
    place = 0

    def add(number: int, size: int, n_lines: int, lost: str | None = None) -> None:
        nonlocal place
        it = register.incarnations[number]
        before = lines.get(it.name, 0)
        items.append(Item(it.name, it.source, it.log_broker, before, place, place + size, lost))
        lines[it.name] = before + n_lines
        place += size

    for each in plan.ranges:
        for size, n_lines in copied[each.number].pieces:
            add(each.number, size, n_lines)
    for loss in plan.losses:
        add(loss.number, 0, 1, loss.reason)
    return items


def copied_range(
    it: Range, write: Callable[[bytes], object], piece_size: int = _PIECE_SIZE
) -> Copied:
    """Return what copying a range showed: it is looked at on the way.

    Args:
        it: bytes of a file.
        write: takes them, a chunk after the other.
        piece_size: bytes after which lines make a piece of their own; a document is one piece.
    """
    pieces: list[tuple[int, int]] = []
    size = lines = 0
    last = tail = b""
    for chunk in it.file.content.chunks(it.start, it.stop):
        write(chunk)
        end = chunk.rfind(b"\n") + 1
        if end and size + end >= piece_size and not it.file.is_document:
            pieces.append((size + end, lines + chunk.count(b"\n")))
            size, lines = len(chunk) - end, 0
        else:
            size += len(chunk)
            lines += chunk.count(b"\n")
        last = chunk[-1:]
        tail = (tail + chunk[-TAIL:])[-TAIL:]
    if size:
        pieces.append((size, lines + (last != b"\n")))
    return Copied(tuple(pieces), _tail(it, tail))


def _tail(it: Range, tail: bytes) -> Mark:
    if it.file.is_document:
        return Mark(0, it.stop, it.file.content.digest(0, it.stop))
    return Mark(it.stop - len(tail), it.stop, digest(iter((tail,))))
