"""Reads brokers' logs as they grow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from pathlib import Path
from typing import IO

from trimtab.diagnose.unexplained import TELLING
from trimtab.ingest.broker_log import broker_log
from trimtab.ingest.outcome import Origin, Rejected, Rows
from trimtab.live.gather.copies import Source
from trimtab.live.watch.nouns import Row

#: A log that is older than that is not read from its beginning.
_BACK_SIZE = 8 << 20


@dataclass(slots=True)
class _File:
    """One log, and how far it is read."""

    file: IO[bytes]
    inode: int
    line: int = 0
    #: The beginning of a line whose end is not written yet.
    rest: bytes = b""


class Tails:
    """Logs of brokers that are read to their end, again and again.

    A log that is rotated away is read to its end, and the new one from its beginning.
    """

    def __init__(self, sources: Sequence[Source], zone: tzinfo = UTC) -> None:
        """Prepare to read; files are opened when they are there."""
        self._sources = sources
        self._zone = zone
        self._files: dict[Path, _File] = {}
        self._understood: set[str] = set()
        self._misread: dict[str, int] = {}

    def rows(self) -> list[Row]:
        """Return what was logged since the last call, a row of `log_events` each."""
        rows: list[Row] = []
        for source in self._sources:
            for path in sorted(source.path.glob("*.log")):
                rows += self._grown(source.name, path)
        return rows

    def misread(self) -> dict[str, int]:
        """Return by log the lines since the last call that would tell of moves, and do not.

        Of a log of which nothing was ever understood each line may.
        """
        misread, self._misread = self._misread, {}
        return misread

    def close(self) -> None:
        """Close the files."""
        for each in self._files.values():
            each.file.close()
        self._files.clear()

    def _grown(self, log: str, path: Path) -> Iterator[Row]:
        """Return what has been added to a log."""
        before = self._files.get(path)
        if before is not None:
            yield from self._rest(log, path, before)
        try:
            inode, size = path.stat().st_ino, path.stat().st_size
            if before is not None and before.inode == inode and before.file.tell() <= size:
                return
            file = path.open("rb")
        except OSError:
            return
        if before is not None:
            before.file.close()
        now = self._files[path] = _File(file, os.fstat(file.fileno()).st_ino)
        if before is None and size > _BACK_SIZE:
            file.seek(size - _BACK_SIZE)
            file.readline()
        yield from self._rest(log, path, now)

    def _rest(self, log: str, path: Path, tail: _File) -> Iterator[Row]:
        *lines, tail.rest = (tail.rest + tail.file.read()).split(b"\n")
        origin = Origin(f"logs/{log}/{path.name}", log, self._zone, None)
        for raw in lines:
            tail.line += 1
            outcome = broker_log(raw.decode("utf-8", "replace"), origin)
            if not isinstance(outcome, Rejected):
                self._understood.add(log)
            elif log not in self._understood or outcome.reason.partition(":")[0] in TELLING:
                self._misread[log] = self._misread.get(log, 0) + 1
            if isinstance(outcome, Rows):
                for table, row in outcome.rows:
                    yield table, {**row, "file": origin.file, "line": tail.line}
