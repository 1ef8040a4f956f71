"""The lines of a collector's file → each broker's, as a log of its own would have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo

from trimtab.ingest.wrapped.entries import entries_of
from trimtab.ingest.wrapped.order import in_order

#: What files that are wrapped are read as.
SOURCE = "wrapped-log"
#: Characters of a block.
_BLOCK_SIZE = 1 << 20


@dataclass(frozen=True, slots=True)
class BrokerLines:
    """The lines of one broker."""

    #: Empty where no label says whose they are.
    broker: str
    lines: Sequence[str]
    #: Of each line, the number of its entry.
    numbers: Sequence[int]

    def blocks(self) -> Iterator[bytes]:
        """Yield the lines in blocks of whole lines."""
        block: list[str] = []
        size = 0
        for line in self.lines:
            block.append(line)
            size += len(line) + 1
            if size >= _BLOCK_SIZE:
                yield _block(block)
                block, size = [], 0
        if block:
            yield _block(block)


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """What a file holds."""

    brokers: Sequence[BrokerLines]
    #: Lines of the file that are a part of a line that stands elsewhere in it.
    joined: int


def unwrapped(lines: Sequence[str], zone: tzinfo = UTC) -> Unwrapped:
    """Return the lines of each broker in the lines of a file, in the order of their time."""
    found = entries_of(lines, zone)
    texts: dict[str, tuple[list[str], list[int]]] = {}
    for entry in in_order(found.entries):
        mine, numbers = texts.setdefault(entry.broker, ([], []))
        parts = entry.text.split("\n")
        mine += parts
        numbers += [entry.number] * len(parts)
    brokers = [BrokerLines(broker, *both) for broker, both in sorted(texts.items())]
    return Unwrapped(brokers, found.joined)


def _block(lines: Iterable[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")
