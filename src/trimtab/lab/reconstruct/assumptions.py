"""What a recording does not tell, and what is taken for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.lab.reconstruct.clocks import Life
from trimtab.lab.reconstruct.events import ended_untold
from trimtab.lab.reconstruct.evidence import Told
from trimtab.lab.reconstruct.grid import Grid
from trimtab.lab.reconstruct.usage import Used
from trimtab.pulsar.model import Floats


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in what was told."""

    lives: Sequence[Life]
    grid: Grid
    #: Length of a window of bundles, s.
    stats_s: float
    #: (n_bundles,) s of the windows that tell of each bundle's traffic.
    told_s: Floats
    used: Used
    #: Bundles that were split.
    n_splits: int


def untold(told: Told, found: Found) -> tuple[str, ...]:
    """Return what was not told and what is taken for it, one after the other with a colon."""
    parts = (_traffic(found), _brokers(told, found), _leader(told, found), _bundles(told, found))
    return tuple(said for part in parts for said in part)


def _traffic(found: Found) -> Iterator[str]:
    grid, is_told = found.grid, found.told_s > 0
    n_bundles = is_told.size
    silent = n_bundles - int(is_told.sum())
    if silent:
        yield f"{_many(silent, 'bundle')} of {n_bundles} in no load report: no traffic"
    length_s = grid.tick_s * grid.n_ticks
    share = float(np.minimum(found.told_s[is_told] / length_s, 1.0).mean())
    yield (
        f"traffic: windows of {found.stats_s:g} s tell of {100 * share:.0f} % of the bundles' "
        "time; between them what was told last, or a line"
    )


def _brokers(told: Told, found: Found) -> Iterator[str]:
    lives, given = found.lives, found.used
    for what, phases in (
        ("hosts", np.array([life.host_phase_s for life in lives])),
        ("bundles", np.array([life.stats_phase_s for life in lives])),
    ):
        missing = int(np.isnan(phases).sum())
        if missing:
            yield f"when windows of {what} close in {missing} of {len(lives)} starts: drawn"
    for what, r_squared in (("CPU", given.cpu.r_squared), ("NIC", given.network.r_squared)):
        if np.isnan(r_squared):
            yield f"what traffic costs the {what}: nothing"
    unknown = ended_untold(told, lives)
    if unknown:
        yield f"why {_many(unknown, 'broker')} went: stopped in good order"


def _leader(told: Told, found: Found) -> Iterator[str]:
    if not any(time_s <= found.grid.from_s for time_s, _ in told.leaders):
        yield "who led at the beginning: the first broker"
    moved = _moved(told)
    if moved and not told.is_attributed:
        yield f"who unloaded bundles ({_many(moved, 'change')} of owners): the leader, always"


def _bundles(told: Told, found: Found) -> Iterator[str]:
    if found.n_splits:
        split = _many(found.n_splits, "bundle")
        yield f"who split {split} and how: the pieces stand ready from the beginning, idle"
    ownerless = len(told.bundles) - np.unique(told.owners.bundle[told.owners.broker >= 0]).size
    if ownerless:
        yield f"who owned {_many(ownerless, 'bundle')}: placed at the beginning"


def _moved(told: Told) -> int:
    """Count the changes from one owner to another."""
    owners = told.owners
    count, last = 0, dict[int, int]()
    for bundle, broker in zip(owners.bundle.tolist(), owners.broker.tolist(), strict=True):
        if broker >= 0:
            count += last.get(bundle, broker) != broker
            last[bundle] = broker
    return count


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
