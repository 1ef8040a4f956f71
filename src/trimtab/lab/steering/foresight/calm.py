"""Reports that a gate lets through → those that show no change halfway.

Who writes only what has changed writes while it changes: usage of one window beside traffic of
another.  Nothing can be learned from such a pair, and no level is to be set by it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trimtab.lab.costs import Knowledge, Look, Windows
from trimtab.lab.costs.knowledge import with_brokers
from trimtab.lab.costs.look import has_measured
from trimtab.lab.costs.predict import level_now
from trimtab.lab.steering.view import Network, View
from trimtab.pulsar.model import Flags, Floats

# Points of CPU and share of bytes by which a report contradicts another.
_POINTS, _SHARE = 5.0, 0.15
# Points of CPU by which a broker may differ from what it wrote, mostly, without a word.
_GATE = 7.0
# Windows of silence that confirm a report.
_SILENT = 0.75


@dataclass(frozen=True, slots=True)
class Waiting:
    """Reports that are not believed yet, and what brokers said in those that were."""

    look: Look
    network: Network
    #: (n_brokers, 2) percent of CPU, and bytes/s in and out; NaN before the first.
    said: Floats


def calm(view: View, waiting: Waiting | None, touched_s: Floats) -> tuple[View, Waiting]:
    """Return the view with the reports that may be believed now, and those that have to wait.

    A report that contradicts the one before waits until the next agrees with it, or until silence
    has confirmed it; one that the next contradicts is dropped.  What a broker wrote while bundles
    came or went is half of before: it waits for good.

    Args:
        view: a cluster as reports tell of it.
        waiting: what has waited until now.
        touched_s: (n_brokers,) s at which bundles came or went last.
    """
    if waiting is None:
        said = np.full((len(view.brokers), 2), np.nan)
        nothing = np.zeros(view.look.broker.size, np.bool_)
        waiting = Waiting(*_part(view.look, view.network, nothing), said)
    former = np.full_like(waiting.said, np.nan)
    former[waiting.look.broker] = _said(waiting.look)
    is_kept = view.is_there[waiting.look.broker]
    is_kept &= ~np.isin(waiting.look.broker, view.look.broker)
    look, network = _joined(
        _part(waiting.look, waiting.network, is_kept), (view.look, view.network)
    )
    now, who = _said(look), look.broker
    is_silent = view.time_s - look.written_s >= _SILENT * view.windows.host_s
    agrees = _agree(now, waiting.said[who]) | _agree(now, former[who])
    # Those that have waited agree with themselves.
    agrees[: int(is_kept.sum())] = False
    is_first = np.isnan(waiting.said[who, 0]) | ~has_measured(look.cpu)
    is_mixed = look.written_s <= touched_s[who] + view.windows.settled_s
    is_mixed &= look.written_s > touched_s[who]
    believed = is_first | (~is_mixed & (agrees | is_silent))
    said = waiting.said.copy()
    said[who[believed]] = now[believed]
    rest = _part(look, network, ~believed)
    look, network = _part(look, network, believed)
    return replace(view, look=look, network=network), Waiting(*rest, said)


def bounded(known: Knowledge, waiting: Waiting, windows: Windows) -> Knowledge:
    """Return what is known with levels near what was written, where silence says they must be."""
    look = waiting.look
    rows = look.written_s <= known.time_s - windows.settled_s
    who = look.broker[rows]
    now = level_now(known)[who]
    level = known.brokers.level.copy()
    level[who] += np.clip(now, look.cpu[rows] - _GATE, look.cpu[rows] + _GATE) - now
    return with_brokers(known, level=level)


def _said(look: Look) -> Floats:
    """Return percent of CPU and bytes/s of each report, (n_reports, 2)."""
    carried = np.bincount(look.report, look.counts[:, 2:4].sum(axis=1), look.broker.size)
    return np.column_stack((look.cpu, carried))


def _agree(now: Floats, before: Floats) -> Flags:
    """Return which reports say about the same; none where nothing was said before."""
    off = np.abs(now - before)
    share = _SHARE * np.maximum(now[:, 1], before[:, 1])
    return np.asarray((off[:, 0] <= _POINTS) & (off[:, 1] <= share))


def _part(look: Look, network: Network, kept: Flags) -> tuple[Look, Network]:
    """Return some of the reports; all that changed hands."""
    lines = kept[look.report]
    place = np.cumsum(kept) - 1
    part = replace(
        look,
        broker=look.broker[kept],
        written_s=look.written_s[kept],
        started_s=look.started_s[kept],
        cpu=look.cpu[kept],
        others=look.others[kept],
        cores=look.cores[kept],
        report=place[look.report[lines]],
        bundle=look.bundle[lines],
        counts=look.counts[lines],
    )
    return part, Network(network.percent[kept], network.capacity[kept])


def _joined(first: tuple[Look, Network], then: tuple[Look, Network]) -> tuple[Look, Network]:
    """Return reports and further ones; what changed hands is that of the latter."""
    (old, old_network), (new, new_network) = first, then
    look = replace(
        new,
        broker=np.concatenate((old.broker, new.broker)),
        written_s=np.concatenate((old.written_s, new.written_s)),
        started_s=np.concatenate((old.started_s, new.started_s)),
        cpu=np.concatenate((old.cpu, new.cpu)),
        others=np.concatenate((old.others, new.others)),
        cores=np.concatenate((old.cores, new.cores)),
        report=np.concatenate((old.report, new.report + old.broker.size)),
        bundle=np.concatenate((old.bundle, new.bundle)),
        counts=np.concatenate((old.counts, new.counts)),
    )
    network = Network(
        np.concatenate((old_network.percent, new_network.percent)),
        np.concatenate((old_network.capacity, new_network.capacity)),
    )
    return look, network
