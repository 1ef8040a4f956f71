"""Files of a recording that grow, a piece at a time."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path

_LEVEL = 6
# Characters that are held at most before they are written.
_HELD_MAX = 1 << 22


@dataclass(slots=True)
class Files:
    """The folder that a recording is written into.

    Properties:
        The same pieces give the same bytes, packed or not.
    """

    root: Path
    #: Files are packed, each piece by itself: gzip's format takes one behind the other.
    is_packed: bool
    _made: set[Path] = field(default_factory=set)
    _held: dict[str, list[str]] = field(default_factory=dict)
    _held_size: int = 0

    def hold(self, name: str, text: str) -> None:
        """Add a small text to a file some time soon."""
        self._held.setdefault(name, []).append(text)
        self._held_size += len(text)
        if self._held_size > _HELD_MAX:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        held, self._held, self._held_size = self._held, {}, 0
        for name, texts in held.items():
            self.append(name, "".join(texts))

    def append(self, name: str, text: str) -> None:
        """Add text to a file, and make it if need be."""
        if not text:
            return
        path = self.root / (f"{name}.gz" if self.is_packed else name)
        if path.parent not in self._made:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._made.add(path.parent)
        data = text.encode()
        with path.open("ab") as file:
            file.write(gzip.compress(data, _LEVEL, mtime=0) if self.is_packed else data)

    def write(self, name: str, text: str) -> None:
        """Write a file that is never packed."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@dataclass(slots=True)
class Logs:
    """The brokers' logs: lines that are known, held back until their time has come."""

    files: Files
    #: Names of the folders, broker by broker.
    folders: tuple[str, ...]
    _held: dict[int, list[tuple[int, str]]] = field(default_factory=dict)

    def say(self, broker: int, time_ms: int, said: str) -> None:
        """Have a broker log a line: all that stands behind the time."""
        self._held.setdefault(broker, []).append((time_ms, said))

    def flush(self, until_ms: int, others: Iterable[tuple[int, list[tuple[int, str]]]]) -> None:
        """Write all lines before a time, in order of time.

        Args:
            until_ms: epoch milliseconds.
            others: broker → lines of no interest before that time, in order of time.
        """
        held, self._held = self._held, {}
        noise = dict(others)
        for broker in sorted({*held, *noise}):
            lines = held.get(broker, [])
            later = [line for line in lines if line[0] >= until_ms]
            if later:
                self._held[broker] = later
                lines = [line for line in lines if line[0] < until_ms]
            lines = sorted(lines + noise.get(broker, []), key=itemgetter(0))
            text = "".join([f"{log_time(time_ms)} {said}\n" for time_ms, said in lines])
            self.files.append(f"logs/{self.folders[broker]}/pulsar-broker.log", text)


_MINUTES: dict[int, str] = {}


def log_time(time_ms: int) -> str:
    """Print a time as log4j2 does in Pulsar's layout, in UTC."""
    minute, rest_ms = divmod(time_ms, 60_000)
    head = _MINUTES.get(minute)
    if head is None:
        _MINUTES.clear()
        head = datetime.fromtimestamp(minute * 60, UTC).strftime("%Y-%m-%dT%H:%M:")
        _MINUTES[minute] = head
    return f"{head}{rest_ms // 1000:02d},{rest_ms % 1000:03d}+0000"


def iso(time_ms: int) -> str:
    """Print a time as recorders do."""
    moment = datetime.fromtimestamp(time_ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time_ms % 1000:03d}Z"
