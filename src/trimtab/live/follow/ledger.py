"""The follower's own books on disk: what is known after each plan, and what the plan reads.

A plan's bytes are copied before anything is made of them, so that it can be repeated
whatever has become of the files meanwhile: that is what makes a batch exact.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from trimtab.files.whole_files import write_whole
from trimtab.live.follow.disk import digest
from trimtab.live.follow.incarnations import TAIL, Mark, Register
from trimtab.live.follow.plan import Copied, Plan, Range

#: Bytes of the copy that are given at a time: what fits into a core's cache.
_BLOCK_SIZE = 1 << 20
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


@dataclass(frozen=True, slots=True)
class Ledger:
    """A folder with the books; plans are numbered from 1, before the first nothing is known."""

    folder: Path

    def register(self, number: int) -> Register:
        """Return the register as it stood after a plan."""
        return register_of(self._read(number)["known"]) if number else Register()

    def items(self, number: int) -> list[Item]:
        """Return what a plan reads."""
        return [Item(**item) for item in self._read(number)["items"]]

    def blocks(self, number: int, item: Item) -> Iterator[bytes]:
        """Return the bytes of an item in blocks of whole lines, but for a torn last one."""
        with self._copy(number).open("rb") as file:
            file.seek(item.start)
            remaining, rest = item.stop - item.start, b""
            while remaining:
                chunk = file.read(min(_BLOCK_SIZE, remaining))
                if not chunk:
                    raise EOFError(f"{self._copy(number)}: {remaining} bytes are missing")
                remaining -= len(chunk)
                chunk = rest + chunk
                end = chunk.rfind(b"\n") + 1 if remaining else len(chunk)
                rest = chunk[end:]
                if end:
                    yield chunk[:end]

    def take(self, number: int, plan: Plan) -> dict[int, Copied]:
        """Return the outcome of copying each range of a plan.

        Returns:
            Number of the incarnation → what its range held.

        Raises:
            MovedError: some are not there any more; nothing of the plan is to be kept.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._copy(number).open("wb") as copy:
            return {it.number: copied_range(it, copy.write) for it in plan.ranges}

    def keep(self, number: int, items: Sequence[Item], register: Register) -> None:
        """Write a plan down, after which it can be repeated."""
        document = {"items": [asdict(item) for item in items], "known": asdict(register)}
        write_whole(self._plan(number), json.dumps(document, separators=(",", ":")))

    def forget(self, number: int) -> None:
        """Remove the copies of all plans up to this one, and all plans before it."""
        for path in self.folder.glob("plan-*"):
            if (_number(path) <= number and path.suffix == ".bytes") or _number(path) < number:
                path.unlink(missing_ok=True)

    def _plan(self, number: int) -> Path:
        return self.folder / f"plan-{number:08}.json"

    def _copy(self, number: int) -> Path:
        return self.folder / f"plan-{number:08}.bytes"

    def _read(self, number: int) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self._plan(number).read_text(encoding="utf-8"))
        return document


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


def copied_range(it: Range, write: Callable[[bytes], object]) -> Copied:
    """Return what copying a range showed: it is looked at on the way."""
    pieces: list[tuple[int, int]] = []
    size = lines = 0
    last = tail = b""
    for chunk in it.file.content.chunks(it.start, it.stop):
        write(chunk)
        end = chunk.rfind(b"\n") + 1
        if end and size + end >= _PIECE_SIZE and not it.file.is_document:
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


def _number(path: Path) -> int:
    return int(path.stem.removeprefix("plan-"))


def register_of(document: dict[str, Any]) -> Register:
    """Return what was known, out of JSON."""
    return msgspec.convert(document, Register, str_keys=True)
