"""What was read of the recording, and what could not be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trimtab.report.input import Given, entries, part, text, whole
from trimtab.report.moves import Line
from trimtab.report.words import clock

#: Parts into which every line falls, in the order of the sentence.
PARTS = ("rows", "other", "continuation", "rejected")

#: Files and rejects listed on the page; `findings.json` has all of them.
LISTED_MAX = 1000


@dataclass(frozen=True, slots=True)
class Lines:
    """How many lines there were, and what became of them."""

    name: str
    lines: int
    rows: int
    other: int
    continuation: int
    rejected: int

    @property
    def adds_up(self) -> bool:
        """Return whether every line is accounted for."""
        return self.lines == self.rows + self.other + self.continuation + self.rejected


@dataclass(frozen=True, slots=True)
class Reject:
    """A line that could not be read."""

    line: Line
    reason: str


@dataclass(frozen=True, slots=True)
class Unused:
    """A file that was not read."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Accounting:
    """The books of one recording."""

    total: Lines
    files: int
    by_source: tuple[Lines, ...]
    by_file: tuple[Lines, ...]
    files_left_out: int
    rejects: tuple[Reject, ...]
    rejects_left_out: int
    unused: tuple[Unused, ...]


@dataclass(frozen=True, slots=True)
class Clock:
    """How a broker's clock stood to the reference, in words."""

    broker: str
    ahead: str
    pairs: int
    is_corrected: bool


@dataclass(frozen=True, slots=True)
class Clocks:
    """Brokers' clocks against one."""

    reference: str
    clocks: tuple[Clock, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A question that the recording cannot answer."""

    what: str
    when: str
    round: int | None
    why: str
    missing: str


def accounting_of(findings: Given) -> Accounting | None:
    """Read the books; None if the input has none."""
    books = part(findings, "accounting")
    if not books:
        return None
    by_file = [_lines(each, text(each, "file")) for each in entries(books, "by_file")]
    rejects = [
        Reject(
            Line(text(each, "file"), whole(each, "line"), text(each, "text")), text(each, "reason")
        )
        for each in entries(books, "rejects")
    ]
    unused = [Unused(text(each, "file"), text(each, "reason")) for each in entries(books, "unused")]
    return Accounting(
        total=_lines(books, ""),
        files=whole(books, "files") or len(by_file),
        by_source=_by_source(entries(books, "by_file")),
        by_file=tuple(by_file[:LISTED_MAX]),
        files_left_out=max(0, len(by_file) - LISTED_MAX),
        rejects=tuple(rejects[:LISTED_MAX]),
        # The books carry the first of them.
        rejects_left_out=max(0, (whole(books, "rejected") or 0) - len(rejects[:LISTED_MAX])),
        unused=tuple(unused),
    )


def _lines(given: Given, name: str) -> Lines:
    return Lines(name, *(whole(given, key) or 0 for key in ("lines", *PARTS)))


def _by_source(files: Iterable[Given]) -> tuple[Lines, ...]:
    sources: dict[str, list[Lines]] = {}
    for each in files:
        sources.setdefault(text(each, "source"), []).append(_lines(each, ""))
    return tuple(_sum(name, lines) for name, lines in sources.items())


def _sum(name: str, lines: Sequence[Lines]) -> Lines:
    keys = ("lines", *PARTS)
    return Lines(name, *(sum(getattr(each, key) for each in lines) for key in keys))


def clocks_of(findings: Given) -> Clocks | None:
    """Read how clocks stood to one another; None if nothing tells."""
    given = part(findings, "clocks")
    clocks = [
        Clock(
            text(each, "broker"),
            _ahead(each),
            whole(each, "pairs") or 0,
            bool(each["is_corrected"]),
        )
        for each in entries(given, "brokers")
    ]
    # Whoever is off comes first.
    clocks.sort(key=lambda it: not it.is_corrected)
    left_out = max(0, len(clocks) - LISTED_MAX)
    return (
        Clocks(text(given, "reference"), tuple(clocks[:LISTED_MAX]), left_out) if clocks else None
    )


def _ahead(given: Given) -> str:
    ahead_s, bound_s = given.get("ahead_s"), given.get("bound_s")
    if ahead_s is None or bound_s is None:
        return "not bounded on both sides"
    way = "ahead" if ahead_s >= 0 else "behind"
    return f"{abs(ahead_s):.3f} s {way}, ± {bound_s:.3f} s"


def unanswered_of(findings: Given, *, with_day: bool) -> tuple[Unanswered, ...]:
    """Read what could not be answered, and what would have been needed."""
    return tuple(
        Unanswered(
            what=text(each, "what"),
            when=clock(each.get("time"), with_day=with_day),
            round=whole(each, "round"),
            why=text(each, "why"),
            missing=text(each, "missing"),
        )
        for each in entries(findings, "undecidable")
    )
