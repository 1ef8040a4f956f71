"""What a recording does not tell, and what is taken for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.lab.reconstruct.beginning import Before
from trimtab.lab.reconstruct.clocks import Grid, Life
from trimtab.lab.reconstruct.events import unexplained_ends
from trimtab.lab.reconstruct.evidence import Evidence
from trimtab.lab.reconstruct.usage import Used
from trimtab.pulsar.model import Floats


@dataclass(frozen=True, slots=True)
class Inference:
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
    #: What is known of what the leader did before the beginning.
    past: Before


def untold(evidence: Evidence, inference: Inference) -> tuple[str, ...]:
    """Return what was not told and what is taken for it, one after the other with a colon."""
    parts = (
        _traffic(inference),
        _brokers(evidence, inference),
        _leader(evidence, inference),
        _before(evidence, inference),
        _bundles(evidence, inference),
    )
    return tuple(line for part in parts for line in part)


def _traffic(inference: Inference) -> Iterator[str]:
    grid, is_told = inference.grid, inference.told_s > 0
    n_bundles = is_told.size
    silent = n_bundles - int(is_told.sum())
    if silent:
        yield f"{_many(silent, 'bundle')} of {n_bundles} in no load report: no traffic"
    length_s = grid.tick_s * grid.n_ticks
    share = float(np.minimum(inference.told_s[is_told] / length_s, 1.0).mean())
    yield (
        f"traffic: windows of {inference.stats_s:g} s tell of {100 * share:.0f} % of the bundles' "
        "time; between them what was told last, or a line"
    )


def _brokers(evidence: Evidence, inference: Inference) -> Iterator[str]:
    lives, usage = inference.lives, inference.used
    for what, phases in (
        ("hosts", np.array([life.host_phase_s for life in lives])),
        ("bundles", np.array([life.stats_phase_s for life in lives])),
    ):
        missing = int(np.isnan(phases).sum())
        if missing:
            yield f"when windows of {what} close in {missing} of {len(lives)} starts: drawn"
    for what, r_squared in (("CPU", usage.cpu.r_squared), ("NIC", usage.network.r_squared)):
        if np.isnan(r_squared):
            yield f"what traffic costs the {what}: too few windows tell; what is taken beforehand"
    unknown = unexplained_ends(evidence, lives)
    if unknown:
        yield f"why {_many(unknown, 'broker')} went: stopped in good order"


def _leader(evidence: Evidence, inference: Inference) -> Iterator[str]:
    if not any(time_s <= inference.grid.from_s for time_s, _ in evidence.leaders):
        yield "who led at the beginning: the first broker"
    moved = _moved(evidence)
    if moved and not evidence.is_attributed:
        yield f"who unloaded bundles ({_many(moved, 'change')} of owners): the leader, always"


def _before(evidence: Evidence, inference: Inference) -> Iterator[str]:
    from_s, past = inference.grid.from_s, inference.past
    early = sum(each.time_s <= from_s for each in evidence.rounds)
    if early:
        yield f"what all brokers had said before {_many(early, 'round')}: left out"
    if not past.has_shed:
        return
    yield "what the leader remembered when it begins: what its first round prints, else nothing"
    stored = np.unique(evidence.averages.bundle[evidence.averages.time_s <= from_s]).size
    missing = len(evidence.bundles) - stored
    if missing:
        yield f"what it had averaged of {_many(missing, 'bundle')}: what is reported first"
    unseen = int(np.isfinite(past.unseen_s).sum())
    if unseen:
        yield (
            f"which of {_many(unseen, 'bundle')} it had unloaded lately: those that are seen to "
            "have changed their owner"
        )


def _bundles(evidence: Evidence, inference: Inference) -> Iterator[str]:
    if inference.n_splits:
        split = _many(inference.n_splits, "bundle")
        yield f"who split {split} and how: the pieces stand ready from the beginning, idle"
    ownerless = (
        len(evidence.bundles) - np.unique(evidence.owners.bundle[evidence.owners.broker >= 0]).size
    )
    if ownerless:
        yield f"who owned {_many(ownerless, 'bundle')}: placed at the beginning"


def _moved(evidence: Evidence) -> int:
    """Return how many changes there were from one owner to another."""
    owners = evidence.owners
    count, last = 0, dict[int, int]()
    for bundle, broker in zip(owners.bundle.tolist(), owners.broker.tolist(), strict=True):
        if broker >= 0:
            count += last.get(bundle, broker) != broker
            last[bundle] = broker
    return count


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
