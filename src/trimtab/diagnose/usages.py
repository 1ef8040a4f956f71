"""What brokers reported of their usage, as columns: a week of a large cluster has a million."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from trimtab.diagnose.columns import microseconds, moments
from trimtab.pulsar.model import Floats, Ints


class Usage(NamedTuple):
    """What a broker reported at a time."""

    time: datetime
    broker: str
    #: By the weights of the shedder, fraction; None when the broker had gone.
    usage: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Usages:
    """Reported usage in order of time; no two are equal but the same object."""

    #: (n,) µs since 1970.
    times: Ints
    #: (n,) positions in `brokers`.
    codes: Ints
    #: (n,) by the weights of the shedder, fraction; NaN when the broker had gone.
    fractions: Floats
    #: Each broker once, in the order in which they reported first.
    brokers: tuple[str, ...]

    def __len__(self) -> int:
        """Return how many there are."""
        return self.times.size

    def __iter__(self) -> Iterator[Usage]:
        """Yield each as a row."""
        for time, code, usage in zip(
            moments(self.times), self.codes.tolist(), self.fractions.tolist(), strict=True
        ):
            yield Usage(time, self.brokers[code], None if math.isnan(usage) else usage)

    def seconds(self) -> Floats:
        """Return (n,) the times as s since 1970."""
        return self.times / 1e6

    def ends(self) -> tuple[datetime, ...]:
        """Return the first and the last time; nothing if nothing was reported."""
        return tuple(moments(self.times[[0, -1]])) if len(self) else ()


def usages_of(rows: Iterable[Usage]) -> Usages:
    """Return rows that are in order of time as columns."""
    every = list(rows)
    codes: dict[str, int] = {}
    positions = [codes.setdefault(row.broker, len(codes)) for row in every]
    return Usages(
        microseconds([row.time for row in every]),
        np.array(positions, np.int64),
        np.array([row.usage for row in every], np.float64),  # None becomes NaN
        tuple(codes),
    )


# Whoever asks once asks again: several findings and the page look at each broker's.
@lru_cache(maxsize=1)
def places_by_broker(usages: Usages) -> Mapping[str, Ints]:
    """Return of each broker, in their order, which usages are its own."""
    order = np.argsort(usages.codes, kind="stable")
    cuts = np.searchsorted(usages.codes[order], np.arange(1, len(usages.brokers)))
    return dict(zip(usages.brokers, np.split(order, cuts), strict=False))
