"""Names of bundles → which were split into which."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.lab.reconstruct.evidence import Lines, Owners
from trimtab.pulsar.bundles import namespace
from trimtab.pulsar.model import Floats

_RANGE = re.compile(r"(0x[0-9a-f]{8})_(0x[0-9a-f]{8})")


@dataclass(frozen=True, slots=True)
class Split:
    """A bundle was cut in pieces."""

    bundle: int
    pieces: tuple[int, ...]


def splits(bundles: Sequence[str]) -> tuple[Split, ...]:
    """Return bundles whose range holds those of others: they were there before these.

    Of a piece that was split again both the whole and the piece are listed with the
    smaller pieces.
    """
    ranges = dict[str, list[tuple[int, int, int]]]()
    for i, name in enumerate(bundles):
        named = _RANGE.fullmatch(name.rpartition("/")[2])
        if named is not None:
            begin, end = (int(each, 16) for each in named.groups())
            # The wider of two that begin alike comes first.
            ranges.setdefault(namespace(name), []).append((begin, -end, i))
    wholes = list[Split]()
    for mine in map(sorted, ranges.values()):
        for at, (_, minus_end, whole) in enumerate(mine):
            past = bisect_left(mine, (-minus_end,), at + 1)
            within = tuple(i for _, other, i in mine[at + 1 : past] if other >= minus_end)
            if within:
                wholes.append(Split(whole, within))
    return tuple(wholes)


def cut(
    wanted: Collection[Floats], of: Sequence[Split], lines: Lines, owners: Owners, end_s: Floats
) -> None:
    """Let a bundle want nothing from its split on, and its pieces nothing before it.

    Changes `wanted`, (n_ticks, n_bundles) each.  A split is when one of the pieces is first told
    of; `end_s` is when each tick ends.
    """
    for split in of:
        first_s = min(_first_s(piece, lines, owners) for piece in split.pieces)
        is_after = end_s >= first_s
        for each in wanted:
            each[is_after, split.bundle] = 0.0
            each[np.ix_(~is_after, np.array(split.pieces))] = 0.0


def _first_s(bundle: int, lines: Lines, owners: Owners) -> float:
    """Return when a bundle is first told of."""
    sources = lines.time_s[lines.bundle == bundle], owners.time_s[owners.bundle == bundle]
    return min(float(times.min(initial=np.inf)) for times in sources)
