"""The content of a block as far as it is known at once, and the lines left to their parser."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy.typing as npt
import pyarrow as pa

from trimtab.ingest.events import Hits
from trimtab.ingest.splits import count_lines, lines_of

#: Column → its values.  Columns that are not there are null; `file` is never there.
Columns: TypeAlias = Mapping[str, Sequence[Any] | npt.NDArray[Any] | pa.Array]


@dataclass(slots=True)
class BlockContent:
    """What is known of a block's lines; what is none of it stands in `left`."""

    #: Counted by their ends.
    lines: int
    other: int = 0
    continuation: int = 0
    #: Lines that gave rows, and the rows: table → columns.
    rows: int = 0
    columns: dict[str, Columns] = field(default_factory=dict)
    #: Lines that may be messages, not counted yet.
    hits: Hits = field(default_factory=Hits)
    #: Number of a line, from 1, and its text.
    left: Iterable[tuple[int, str]] = ()


#: Returns what can be known of the lines of a block, before which stand so many others.
Sieve: TypeAlias = Callable[[bytes, int], BlockContent]


def every_line(block: bytes, before: int) -> BlockContent:
    """Return a block with all lines left to the parser of lines."""
    return BlockContent(count_lines(block), left=enumerate(lines_of(block), before + 1))
