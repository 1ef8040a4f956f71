"""Numbers and rows as a person reads them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np

from trimtab.pulsar.model import MEBIBYTE, Floats

# Numbers that are closer may look the same when rounded.
_HARD_TO_TELL = 1e-4

#: A heading and a cell for each row.
Column: TypeAlias = tuple[str, list[str]]


def told_rows(columns: Iterable[Column]) -> Iterator[str]:
    """Yield aligned columns: names to the left, numbers to the right, words behind."""
    lines = zip(*([heading, *cells] for heading, cells in columns), strict=True)
    rows = [list(line) for line in lines]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        first, *middle = zip(row, widths, strict=True)
        cells = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in middle[:-1])]
        yield "  " + "  ".join([*cells, middle[-1][0]]).rstrip()


def beside(score: float, bar: float) -> str:
    """Return a score rounded for reading, unless it would be hard to tell from the bar."""
    return repr(score) if abs(score - bar) < _HARD_TO_TELL else f"{score:.4f}"


def told_bar(average: float, bar: float, scores: Floats) -> str:
    """Return the bar, rounded unless a score would be hard to tell from it."""
    if bar == math.inf:
        return f"average {average:.4f}: nobody sheds"
    with np.errstate(all="ignore"):
        is_hard = bool((np.abs(scores - bar) < _HARD_TO_TELL).any())
    return f"average {average:.4f}, the bar is {repr(bar) if is_hard else f'{bar:.4f}'}"


def messages(rate: float) -> str:
    """Return messages/s in words."""
    return f"{rate:.0f} messages/s"


def mebibytes(throughput: float) -> str:
    """Return bytes/s as MiB/s in words."""
    return f"{throughput / MEBIBYTE:.2f} MiB/s"
