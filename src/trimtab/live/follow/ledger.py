"""The follower's own books on disk: what is known after each plan, and what the plan reads.

A plan's bytes are copied before anything is made of them, so that it can be repeated
whatever has become of the files meanwhile: that is what makes a batch exact.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from trimtab.files.whole_files import write_whole
from trimtab.ingest.growing.incarnations import Register
from trimtab.ingest.growing.items import Item, copied_range, whole_lines
from trimtab.ingest.growing.plan import Copied, Plan

#: Bytes of the copy that are given at a time: what fits into a core's cache.
_BLOCK_SIZE = 1 << 20


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
        return whole_lines(self._chunks(number, item))

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

    def _chunks(self, number: int, item: Item) -> Iterator[bytes]:
        with self._copy(number).open("rb") as file:
            file.seek(item.start)
            remaining = item.stop - item.start
            while remaining:
                chunk = file.read(min(_BLOCK_SIZE, remaining))
                if not chunk:
                    raise EOFError(f"{self._copy(number)}: {remaining} bytes are missing")
                remaining -= len(chunk)
                yield chunk

    def _plan(self, number: int) -> Path:
        return self.folder / f"plan-{number:08}.json"

    def _copy(self, number: int) -> Path:
        return self.folder / f"plan-{number:08}.bytes"

    def _read(self, number: int) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self._plan(number).read_text(encoding="utf-8"))
        return document


def _number(path: Path) -> int:
    return int(path.stem.removeprefix("plan-"))


def register_of(document: dict[str, Any]) -> Register:
    """Return what was known, out of JSON."""
    return msgspec.convert(document, Register, str_keys=True)
