"""Samples of rows of averages that wait to be fed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from trimtab.pulsar.model import Flags, Floats, Ints

# Samples that are laid out together, for the sake of memory.
_TOGETHER = 1 << 18


@dataclass(frozen=True, slots=True)
class Samples:
    """New samples of some rows, in the order in which they came."""

    #: (n_told,) how often all had been fed by then.
    at: Ints
    #: (n_told,) which row each is of.
    rows: Ints
    #: (n_told, 5) METRICS and topics.
    samples: Floats

    def of(self, rows: Flags) -> Samples:
        """Return those of some rows."""
        return self.part(np.flatnonzero(rows[self.rows]))

    def part(self, which: Flags | Ints | slice) -> Samples:
        """Return some of them."""
        return Samples(self.at[which], self.rows[which], self.samples[which])

    def put(self, start: int, new: Samples) -> None:
        """Have others from a position on."""
        end = start + new.rows.size
        self.at[start:end], self.rows[start:end] = new.at, new.rows
        self.samples[start:end] = new.samples


@dataclass(slots=True)
class Waiting:
    """What was told and is not taken yet."""

    #: Samples that wait.
    size: int = 0
    #: They as they were given, together those between which nobody asks.
    _pending: list[Samples] = field(default_factory=list)
    #: So many of these from the first on, laid out together with room behind, and their samples.
    _laid_out: int = 0
    _room: Samples = field(default_factory=lambda: _together(()))
    _filled: int = 0

    def tell(self, at: int, rows: Ints, samples: Floats) -> None:
        """Put samples behind the others; a report that measured nothing leaves nothing here."""
        self.tell_each(at, rows, samples, np.array([rows.size]))

    def tell_each(self, at: int, rows: Ints, samples: Floats, sizes: Ints) -> None:
        """Put several reports behind the others, which came a feeding after the other.

        Args:
            at: how often all had been fed by the first.
            rows: (n_told,) of one report after the other.
            samples: (n_told, 5) METRICS and topics.
            sizes: (n_reports,) how many of them are of each report.
        """
        if rows.size:
            feedings = np.repeat(np.arange(at, at + sizes.size), sizes)
            self._pending.append(Samples(feedings, rows, samples))
            self.size += rows.size

    def before(self, feedings: int) -> Samples:
        """Return what came before a feeding, to be used before more is asked for.

        Whoever asks again and again for a few of many that wait has each laid out once.
        """
        count = self._count(feedings)
        new = _together(self._pending[self._laid_out : count])
        start, end = self._filled, self._filled + new.rows.size
        if end > self._room.rows.size:
            before, self._room = self._room.part(slice(start)), _room(2 * end)
            self._room.put(0, before)
        self._room.put(start, new)
        self._laid_out, self._filled = count, end
        return self._room.part(slice(end))

    def take(self, feedings: int) -> Iterator[tuple[Samples, int]]:
        """Yield what came before a feeding part by part, each with the feedings over by its end.

        One part comes at least; what came later goes on waiting.
        """
        count = self._count(feedings)
        taken, self._pending = self._pending[:count], self._pending[count:]
        self._forget_layout()
        sizes = np.cumsum([0, *(part.rows.size for part in taken)])
        self.size -= int(sizes[-1])
        cuts = np.searchsorted(sizes, range(_TOGETHER, int(sizes[-1]), _TOGETHER)).tolist()
        for start, end in pairwise([0, *cuts, count]):
            until = int(taken[end].at[0]) if end < count else feedings
            yield _together(taken[start:end]), until

    def drop(self, since: Ints) -> Samples:
        """Return, in their order, samples that came before what their rows hold; they wait no more.

        Args:
            since: (n_rows,) feedings that what each row has stands for.
        """
        parts = [(part, part.at <= since[part.rows]) for part in self._pending]
        dropped = [part.part(old) for part, old in parts]
        kept = [part.part(~old) if old.any() else part for part, old in parts if not old.all()]
        self._pending, self.size = kept, sum(part.rows.size for part in kept)
        self._forget_layout()
        return _together(dropped)

    def _forget_layout(self) -> None:
        self._laid_out = self._filled = 0
        self._room = _together(())

    def _count(self, feedings: int) -> int:
        return bisect_left(self._pending, feedings, key=lambda part: part.at[0])


def _room(size: int) -> Samples:
    return Samples(np.empty(size, np.int64), np.empty(size, np.int64), np.empty((size, 5)))


def _together(parts: Sequence[Samples]) -> Samples:
    parts = (_room(0), *parts)
    return Samples(
        np.concatenate([part.at for part in parts]),
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.samples for part in parts]),
    )
