"""Samples of rows of averages that wait to be fed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter

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
        mine = np.flatnonzero(rows[self.rows])
        return Samples(self.at[mine], self.rows[mine], self.samples[mine])

    def enlarged(self, size: int) -> Samples:
        """Return the same with room behind."""
        more = size - self.rows.size
        return Samples(
            np.pad(self.at, (0, more)),
            np.pad(self.rows, (0, more)),
            np.pad(self.samples, ((0, more), (0, 0))),
        )


@dataclass(slots=True)
class Waiting:
    """What was told and is not taken yet."""

    #: Samples that wait.
    size: int = 0
    #: After how many feedings they came, rows, and samples as they were given.
    _pending: list[tuple[int, Ints, Floats]] = field(default_factory=list)
    #: So many of these from the first on, laid out together with room behind, and their samples.
    _laid_out: int = 0
    _room: Samples = field(default_factory=lambda: _together(()))
    _filled: int = 0

    def tell(self, at: int, rows: Ints, samples: Floats) -> None:
        """Put samples behind the others; a report that measured nothing leaves nothing here."""
        self.tell_each(at, (rows,), (samples,))

    def tell_each(self, at: int, rows: Sequence[Ints], samples: Sequence[Floats]) -> None:
        """Put several behind the others, which came a feeding after the other."""
        parts = zip(range(at, at + len(rows)), rows, samples, strict=True)
        self._pending += [part for part in parts if part[1].size]
        self.size += sum(part.size for part in rows)

    def before(self, feedings: int) -> Samples:
        """Return what came before a feeding, to be used before more is asked for.

        Whoever asks again and again for a few of many that wait has each laid out once.
        """
        count = self._count(feedings)
        new = _together(self._pending[self._laid_out : count])
        start, end = self._filled, self._filled + new.rows.size
        if end > self._room.rows.size:
            self._room = self._room.enlarged(2 * end)
        room = self._room
        room.at[start:end], room.rows[start:end] = new.at, new.rows
        room.samples[start:end] = new.samples
        self._laid_out, self._filled = count, end
        return Samples(room.at[:end], room.rows[:end], room.samples[:end])

    def take(self, feedings: int) -> Iterator[tuple[Samples, int]]:
        """Yield what came before a feeding part by part, each with the feedings over by its end.

        One part comes at least; what came later goes on waiting.
        """
        count = self._count(feedings)
        taken, self._pending = self._pending[:count], self._pending[count:]
        self._forget_layout()
        sizes = np.cumsum([0, *(rows.size for _, rows, _ in taken)])
        self.size -= int(sizes[-1])
        cuts = np.searchsorted(sizes, range(_TOGETHER, int(sizes[-1]), _TOGETHER)).tolist()
        for start, end in pairwise([0, *cuts, count]):
            yield _together(taken[start:end]), taken[end][0] if end < count else feedings

    def drop(self, since: Ints) -> Samples:
        """Return, in their order, samples that came before what their rows hold; they wait no more.

        Args:
            since: (n_rows,) feedings that what each row has stands for.
        """
        parts = [(part, part[0] <= since[part[1]]) for part in self._pending]
        dropped = [(at, rows[old], samples[old]) for (at, rows, samples), old in parts]
        kept = [
            part if not old.any() else (part[0], part[1][~old], part[2][~old])
            for part, old in parts
            if not old.all()
        ]
        self._pending, self.size = kept, sum(rows.size for _, rows, _ in kept)
        self._forget_layout()
        return _together(dropped)

    def _forget_layout(self) -> None:
        self._laid_out = self._filled = 0
        self._room = _together(())

    def _count(self, feedings: int) -> int:
        return bisect_left(self._pending, feedings, key=itemgetter(0))


def _together(parts: Sequence[tuple[int, Ints, Floats]]) -> Samples:
    sizes = np.array([rows.size for _, rows, _ in parts], np.int64)
    return Samples(
        np.repeat(np.array([at for at, _, _ in parts], np.int64), sizes),
        np.concatenate([np.empty(0, np.int64), *(rows for _, rows, _ in parts)]),
        np.concatenate([np.empty((0, 5)), *(samples for _, _, samples in parts)]),
    )
