"""Files of a recording that grow, a piece at a time: logs, with lines of no interest in them."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import numpy as np

from trimtab.pulsar.model import Ints
from trimtab.trials.record.lines import LINES

# A recording is packed once and read once or twice: three times as fast for a quarter more bytes.
_LEVEL = 1
# Characters that are held at most before they are written.
_PIECES_MAX = 1 << 22
# Different lines that are made; each is logged again and again, as lines are.
_KINDS = 4096


@dataclass(slots=True)
class Files:
    """The folder that a recording is written into.

    Properties:
        The same pieces give the same bytes, packed or not.
    """

    root: Path
    #: Files are packed, each piece by itself: gzip's format takes one behind the other.
    is_packed: bool
    _folders: set[Path] = field(default_factory=set)
    _pieces: dict[str, list[str]] = field(default_factory=dict)
    _pieces_size: int = 0

    def hold(self, name: str, text: str) -> None:
        """Add a small text to a file some time soon."""
        self._pieces.setdefault(name, []).append(text)
        self._pieces_size += len(text)
        if self._pieces_size > _PIECES_MAX:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        pieces, self._pieces, self._pieces_size = self._pieces, {}, 0
        for name, texts in pieces.items():
            self.append(name, "".join(texts))

    def append(self, name: str, text: str) -> None:
        """Add text to a file, and make it if need be."""
        if not text:
            return
        path = self.root / (f"{name}.gz" if self.is_packed else name)
        if path.parent not in self._folders:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._folders.add(path.parent)
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
    _lines: dict[int, list[tuple[int, str]]] = field(default_factory=dict)

    def say(self, broker: int, time_ms: int, lines: Iterable[str]) -> None:
        """Have a broker log lines: of each, all that stands behind the time."""
        self._lines.setdefault(broker, []).extend((time_ms, line) for line in lines)

    def flush(self, until_ms: int, others: Iterable[tuple[int, Ints, list[str]]]) -> None:
        """Write all lines before a time, in order of time.

        Args:
            until_ms: epoch milliseconds.
            others: broker, times and texts of lines of no interest before that time, in order
                of time.
        """
        lines_by_broker, self._lines = self._lines, {}
        noise = {broker: (times, texts) for broker, times, texts in others}
        for broker in sorted({*lines_by_broker, *noise}):
            times, texts = noise.get(broker, (np.zeros(0, np.int64), []))
            lines = lines_by_broker.get(broker, [])
            later = [line for line in lines if line[0] >= until_ms]
            if later:
                self._lines[broker] = later
                lines = [line for line in lines if line[0] < until_ms]
            if lines:
                times = np.concatenate([[time_ms for time_ms, _ in lines], times])
                order = np.argsort(times, kind="stable")
                texts = [text for _, text in lines] + texts
                times, texts = times[order], [texts[i] for i in order.tolist()]
            name = f"logs/{self.folders[broker]}/pulsar-broker.log"
            self.files.append(name, printed(times, texts))


def printed(times: Ints, texts: Sequence[str]) -> str:
    """Return lines of a log as text; a large night has hundreds of millions."""
    seconds, milliseconds = np.divmod(times, 1000)
    parts = [" "] * (5 * len(texts))
    parts[0::5] = map(_second, seconds.tolist())
    parts[1::5] = map(_MILLISECONDS.__getitem__, milliseconds.tolist())
    parts[3::5] = texts
    parts[4::5] = ["\n"] * len(texts)
    return "".join(parts)


# The lines of a few minutes are printed at a time, broker by broker.
@lru_cache(maxsize=4096)
def _second(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}"


_MILLISECONDS = tuple(f",{millisecond:03d}+0000" for millisecond in range(1000))


def iso(time_ms: int) -> str:
    """Return a time as recorders print it."""
    moment = datetime.fromtimestamp(time_ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time_ms % 1000:03d}Z"


@dataclass(slots=True)
class Noise:
    """Draws lines of no interest."""

    random: np.random.Generator
    per_hour: float
    _texts: list[str] = field(init=False)

    def __post_init__(self) -> None:
        """Make the lines."""
        templates = LINES["noise"]
        numbers = self.random.integers(0, 1 << 30, (_KINDS, 4)).tolist()
        self._texts = [
            templates[i % len(templates)].format(**_values(*row)) for i, row in enumerate(numbers)
        ]

    def between(
        self, start_ms: int, end_ms: int, brokers: Ints
    ) -> Iterator[tuple[int, Ints, list[str]]]:
        """Yield times and texts of each broker's lines of a stretch, in order of time."""
        mean = self.per_hour * (end_ms - start_ms) / 3_600_000.0
        counts = self.random.poisson(mean, brokers.size)
        times = self.random.integers(start_ms, end_ms, int(counts.sum()))
        kinds = self.random.integers(0, _KINDS, times.size).tolist()
        ends = np.cumsum(counts)
        texts = self._texts
        for broker, end, count in zip(
            brokers.tolist(), ends.tolist(), counts.tolist(), strict=True
        ):
            if count:
                mine = slice(end - count, end)
                yield broker, np.sort(times[mine]), list(map(texts.__getitem__, kinds[mine]))


def _values(a: int, b: int, c: int, d: int) -> dict[str, object]:
    """Return what the templates name, made of four random numbers."""
    return {
        "client": f"10.{a % 250}.{b % 250}.{c % 250}",
        "port": 1024 + d % 60000,
        "io": 1 + a % 8,
        "namespace": a % 300,
        "partition": b % 64,
        "subscription": c % 9,
        "id": d % 500,
        "ledger": c % 100000 + d % 7,
        "ledgers": 1 + c % 9,
        "size": d,
        "bytes": d % 90000,
        "took_ms": c % 90,
    }
