"""Where the bundles of a decision would go, as far as a round alone tells."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from trimtab.diagnose.replay.replay import Replaying
from trimtab.live.watch.nouns import Steered
from trimtab.pulsar.bundles import namespace
from trimtab.pulsar.leader.load import broker_load
from trimtab.pulsar.model import ClusterLoad, NoCandidatesError, UnreportedCandidateError
from trimtab.pulsar.place import PlacerEntry, placer


def with_targets(now: Replaying, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row of `replayed_rounds`, with the brokers that each unload may go to.

    Returns:
        The row with `targets` in each unload: where the shedder plans it to go, or else the
        placer's best; empty if nobody is.
    """
    placing = placer(now.leading.placer, now.leading.release)
    load = broker_load(now.view) if row["unloads"] else None
    unloads = [
        {**unload, "targets": [unload["target"]] if unload["target"] else best}
        for unload in row["unloads"]
        for best in [_best(now, placing, load, unload["bundle"])]
    ]
    return {**row, "unloads": unloads}


def as_round(row: Mapping[str, Any], turns: Sequence[Steered]) -> Mapping[str, Any]:
    """Return a row of `replayed_rounds` as a strategy of trimtab's own would have decided it.

    What it would have moved in its turns since the round before counts as one round's; of several
    moves of a bundle the last.

    Args:
        row: of the same round by Pulsar's class, which has the brokers and their traffic.
        turns: since the round before, in order of time.
    """
    levels = turns[-1].levels if turns else {}
    brokers = [
        {**each, "score": None if level is None else level / 100.0, "offload": None, "reason": None}
        for each in row["brokers"].to_pylist()
        for level in [levels.get(each["broker"])]
    ]
    moves = {each.bundle: each for turn in turns for each in turn.moves}
    return {
        **row,
        "average": sum(levels.values()) / len(levels) / 100.0 if levels else None,
        "doubt": None,
        "bundle_doubt": None,
        "brokers": pa.array(brokers, row["brokers"].type),
        "unloads": [
            {
                "bundle": each.bundle,
                "source": each.source,
                "target": each.target,
                "targets": [each.target],
                "throughput": each.throughput,
            }
            for each in moves.values()
        ],
        "hits_high": [],
        "hits_low": [],
    }


def moves_of(row: Mapping[str, Any] | None) -> list[tuple[str, str, str | None]]:
    """Return what a round with targets would move: bundle, from, to; None if nobody is there.

    Whoever would get back what it gives up keeps it, as in Pulsar.
    """
    unloads = [
        (each["bundle"], each["source"], target_of(each))
        for each in (row["unloads"] if row else ())
    ]
    return [move for move in unloads if move[1] != move[2]]


def target_of(unload: Mapping[str, Any]) -> str | None:
    """Return where an unload goes: drawn by the bundle's name, so always the same one."""
    targets: Sequence[str] = unload["targets"]
    if not targets:
        return None
    return targets[zlib.crc32(unload["bundle"].encode()) % len(targets)]


def _best(
    now: Replaying, placing: PlacerEntry[Any, Any] | None, load: ClusterLoad | None, bundle: str
) -> list[str]:
    if placing is None or load is None:
        return []
    is_even = now.leading.manager.distributes_evenly
    view = now.view
    names = view.brokers_with_fewest(namespace(bundle)) if is_even else view.set_order()
    place = {broker: i for i, broker in enumerate(load.brokers)}
    candidates = np.array([place[name] for name in names], np.int64)
    is_shared = now.leading.placer == now.leading.shedder
    memory = now.memory.shedder if is_shared else now.memory.placer
    memory = placing.memory if memory is None else memory
    settings = placing.settings(now.leading.conf, now.leading.release)
    try:
        # What it remembers of this is left: nothing is really placed.
        placement, _ = placing.place(load, bundle, candidates, memory, settings)
    except (NoCandidatesError, UnreportedCandidateError):
        return []
    return [load.brokers[i] for i in placement.best]
