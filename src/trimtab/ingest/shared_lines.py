"""Lines that stand in two logs of a recording, such as an export and a plain log: they count once.

A line counts for the first of the logs that have it: plain ones before collectors' files.  Two
logs are of one broker if what they share is most of what either has between the first and the
last shared line; by a single line or two alone, nothing is said of brokers of other names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from trimtab.ingest.outcome import Origin, SharedLines
from trimtab.ingest.recording import RecordedFile, Recording
from trimtab.ingest.splits import DamagedError, cut, lines_of, read_blocks
from trimtab.ingest.wrapped.lines_by_broker import SOURCE as WRAPPED
from trimtab.ingest.wrapped.lines_by_broker import unwrapped
from trimtab.ingest.wrapped.pieces import is_dated

Keys: TypeAlias = npt.NDArray[np.uint64]

#: Shared lines between the first and the last one, as a share of all there.
_OF_ONE_BROKER = 0.5
#: From this share of its own on, a log bears the name of the one that it shares them with.
_OF_ONE_NAME = 0.9
#: So many shared lines say nothing of logs of other names.
_CHANCE = 2
#: Tells the times apart that a log has one and the same line; odd, so that it tells all apart.
_AGAIN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many lines of a file count as another's."""

    file: str
    broker: str
    count: int
    lines: int
    other: str

    @property
    def sentence(self) -> str:
        """Return what is said of it."""
        return (
            f"{self.file}: {self.count:,} of {self.broker}'s {self.lines:,} lines with a time "
            f"stand in {self.other}, too: they count once, there"
        )


@dataclass(frozen=True, slots=True)
class _Log:
    """A broker's lines in one file."""

    file: RecordedFile
    label: str
    is_wrapped: bool
    keys: Keys

    @property
    def broker(self) -> str:
        return self.label or self.file.log_broker


def with_shared_lines(recording: Recording) -> tuple[Recording, list[Overlap]]:
    """Return a recording whose collectors' files know which of their lines count elsewhere.

    Only where there are both a collector's file and another log is any of them looked at.
    """
    wrapped, plain = recording.files.get(WRAPPED, ()), recording.files.get("log", ())
    if not wrapped or len(wrapped) + len(plain) < 2:
        return recording, []
    logs = [_plain(file) for file in plain]
    logs += [log for file in wrapped for log in _wrapped(file, recording)]
    shared, overlaps = _compared(logs)
    files = tuple(
        replace(file, shared=tuple(shared[file.name])) if file.name in shared else file
        for file in wrapped
    )
    return replace(recording, files=recording.files | {WRAPPED: files}), overlaps


def kept_lines(
    lines: Sequence[str], numbers: Sequence[int], shared: SharedLines
) -> tuple[list[str], list[int]]:
    """Return lines, and their numbers, without those that count elsewhere and what follows them."""
    places, keys = _keys(lines)
    is_dropped = np.isin(keys, np.frombuffer(shared.keys, np.uint64))
    # What stands before the first dated line belongs to none that is dropped.
    starts = np.searchsorted(places, np.arange(len(lines)), side="right") - 1
    kept = [i for i, head in enumerate(starts) if head < 0 or not is_dropped[head]]
    return [lines[i] for i in kept], [numbers[i] for i in kept]


def _keys(lines: Sequence[str]) -> tuple[npt.NDArray[np.int64], Keys]:
    """Return where the dated lines stand, and a key of each: the n-th of a line has its own."""
    places = np.array([i for i, line in enumerate(lines) if is_dated(line)], np.int64)
    digests = b"".join(
        blake2b(lines[i].rstrip().encode("utf-8", "replace"), digest_size=8).digest()
        for i in places
    )
    keys = np.frombuffer(digests, np.uint64)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    begins = np.searchsorted(ordered, ordered, side="left")
    ranks = np.empty(len(keys), np.uint64)
    ranks[order] = (np.arange(len(keys)) - begins).astype(np.uint64)
    return places, keys + ranks * _AGAIN


def _plain(file: RecordedFile) -> _Log:
    return _Log(file, file.log_broker, False, _keys(_lines(file, "log"))[1])


def _wrapped(file: RecordedFile, recording: Recording) -> Iterator[_Log]:
    for log in unwrapped(_lines(file, WRAPPED), recording.zone).brokers:
        yield _Log(file, log.broker, True, _keys(log.lines)[1])


def _lines(file: RecordedFile, source: str) -> list[str]:
    """Return the lines of a file as far as it can be read: whoever parses it names the damage."""
    content: list[bytes] = []
    try:
        for split in cut(file.path, Origin(file.name, file.log_broker, UTC, None), source):
            content += read_blocks(split)
    except (DamagedError, OSError):
        pass
    return lines_of(b"".join(content))


def _compared(logs: Sequence[_Log]) -> tuple[Mapping[str, list[SharedLines]], list[Overlap]]:
    """Return what of each collector's file counts elsewhere, by the file's name, and in words."""
    owners = _first_owners(logs)
    names: dict[str, str] = {}
    drops: dict[int, list[Keys]] = {}
    overlaps = []
    for i, log in enumerate(logs):
        for j in np.unique(owners[i]) if log.is_wrapped else ():
            other, mine = logs[j], owners[i] == j
            if j == i or other.file.name == log.file.name or not _is_same(log, other, mine):
                continue
            drops.setdefault(i, []).append(log.keys[mine])
            count = int(mine.sum())
            overlaps.append(Overlap(log.file.name, log.broker, count, len(mine), other.file.name))
            if _share(mine) >= _OF_ONE_NAME and count > _CHANCE:
                names.setdefault(log.label, names.get(other.label, other.broker))
    shared: dict[str, list[SharedLines]] = {}
    for i, log in enumerate(logs):
        name = names.get(log.label, log.label) if log.is_wrapped else log.label
        if i in drops or name != log.label:
            keys = np.concatenate(drops[i]).tobytes() if i in drops else b""
            shared.setdefault(log.file.name, []).append(SharedLines(log.label, name, keys))
    return shared, overlaps


def _first_owners(logs: Sequence[_Log]) -> list[npt.NDArray[np.int64]]:
    """Return of each line of each log the first log that has it, by its place in the list."""
    sizes = [len(log.keys) for log in logs]
    keys = np.concatenate([log.keys for log in logs])
    of = np.repeat(np.arange(len(logs)), sizes)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    owners = np.empty(len(keys), np.int64)
    owners[order] = of[order][np.searchsorted(ordered, ordered, side="left")]
    return np.split(owners, np.cumsum(sizes)[:-1])


def _is_same(log: _Log, other: _Log, mine: npt.NDArray[np.bool_]) -> bool:
    """Return whether what two logs share is no chance."""
    if log.broker == other.broker:
        return True
    theirs = np.isin(other.keys, log.keys[mine])
    share = max(_share(mine), _share(theirs))
    return int(mine.sum()) > _CHANCE and share >= _OF_ONE_BROKER


def _share(is_shared: npt.NDArray[np.bool_]) -> float:
    """Return the shared lines' share of all between the first and the last of them."""
    places = np.flatnonzero(is_shared)
    return float(len(places) / (places[-1] - places[0] + 1)) if len(places) else 0.0
