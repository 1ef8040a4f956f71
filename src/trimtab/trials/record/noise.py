"""Lines that brokers log of everything but balancing, drawn at random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from trimtab.pulsar.model import Ints
from trimtab.trials.record.lines import LINES

# Different lines that are made; each is logged again and again, as lines are.
_KINDS = 4096


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
