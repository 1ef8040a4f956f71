"""What becomes of one line: rows, other, a continuation, or a reject.

Every parser is a function `(text, origin) -> Outcome` without state, so that a file can
be cut anywhere between two lines and parsed in pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, tzinfo
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class SharedLines:
    """What of a collector's file counts elsewhere, for one of its brokers."""

    #: The broker as the file's labels have it; empty where none says it.
    label: str
    #: What the broker is called where its lines count; as the label where it is the same.
    name: str
    #: Keys of the lines that do not count here, eight bytes each; see `shared_lines`.
    keys: bytes = b""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a line stands, as far as it decides what the line means."""

    #: File's path within the recording, with forward slashes.
    file: str
    #: Name under logs/, conf/, runtime-config/ or metrics/; empty for the other files.
    log_broker: str
    #: Zone of times that are printed without one (recording.toml, time_zone).
    zone: tzinfo
    #: Day of times that are printed without a date; None if nothing says it.
    day: date | None
    #: ZooKeeper's path above the cluster's nodes (recording.toml, store_root); empty for none.
    store_root: str = ""
    #: Byte of the unpacked text from which on such times are of a later day → days later.
    turns: tuple[tuple[int, int], ...] = ()
    #: Of a collector's file: which of its lines count as those of another log.
    shared: tuple[SharedLines, ...] = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """The line gave rows: (table, column → value), without `file` and `line`."""

    rows: tuple[tuple[str, dict[str, Any]], ...]


@dataclass(frozen=True, slots=True)
class Other:
    """The line was understood and is not needed."""

    #: Who printed it is known: nothing of a line without a logger says that it is not needed.
    has_logger: bool = True


@dataclass(frozen=True, slots=True)
class Continuation:
    """The line belongs to the one before: a stack trace."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The line could not be read."""

    #: What was found, and what was expected.
    reason: str


Outcome: TypeAlias = Rows | Other | Continuation | Rejected

OTHER = Other()
NAMELESS = Other(has_logger=False)
CONTINUATION = Continuation()
