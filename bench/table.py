"""What a benchmark finds, and the noun for two sides that must agree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """What one benchmark found."""

    #: What was measured and how, in Markdown; one sentence a line.
    text: str
    #: What it was measured with besides Python and numpy: names and versions.
    versions: tuple[str, ...]
    #: With units.
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """Lay out the rows."""
        lines: list[Iterable[str]] = [self.headings, ["---"] * len(self.headings), *self.rows]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)


class DifferenceError(RuntimeError):
    """The two sides of a benchmark decided differently, so that their times mean nothing."""
