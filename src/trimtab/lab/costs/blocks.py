"""Windows of brokers → means over quiet stretches; of those kept, the most alike are joined."""

from __future__ import annotations

import numpy as np

from trimtab.lab.costs.knowledge import BLOCKS, COUNT, FIRST, TIME
from trimtab.pulsar.model import Flags, Floats, Ints

# Windows below which a block is thrown away when it is cut short.
_WINDOWS_MIN = 2.0
# Blocks of different hours are joined only if their traffic is much alike: s that weigh as much
# as a third of the traffic.
_APART_S = 6 * 3600.0


def closed(blocks: Floats, sums: Floats, which: Flags) -> tuple[Floats, Floats]:
    """Return blocks with the open ones of some brokers among them, and the open ones emptied.

    Args:
        blocks: (n_brokers, BLOCKS, columns); a count of 0 is a free place.
        sums: (n_brokers, columns) of the open blocks.
        which: (n_brokers,) whose block is to be closed.
    """
    kept = np.flatnonzero(which & (sums[:, COUNT] >= _WINDOWS_MIN))
    blocks, emptied = blocks.copy(), np.where(which[:, None], 0.0, sums)
    if kept.size:
        joined = _with_room(blocks[kept])
        place = np.argmin(joined[:, :, COUNT], axis=1)
        means = sums[kept] / sums[kept, COUNT][:, None]
        means[:, COUNT] = sums[kept, COUNT]
        joined[np.arange(kept.size), place] = means
        blocks[kept] = joined
    return blocks, emptied


def _with_room(blocks: Floats) -> Floats:
    """Return blocks of which at least one of each broker is free."""
    full = np.flatnonzero((blocks[:, :, COUNT] > 0).all(axis=1))
    if full.size == 0:
        return blocks
    joined = blocks.copy()
    first, second = _most_alike(blocks[full])
    one, other = blocks[full, first], blocks[full, second]
    count = one[:, COUNT] + other[:, COUNT]
    share = (one[:, COUNT] / count)[:, None]
    mean = share * one + (1.0 - share) * other
    mean[:, COUNT] = count
    joined[full, first] = mean
    joined[full, second] = 0.0
    return joined


def _most_alike(blocks: Floats) -> tuple[Ints, Ints]:
    """Return the two blocks of each broker that lose least if they become one."""
    features = blocks[:, :, FIRST:]
    scale = np.maximum(features.mean(axis=1, keepdims=True), 1e-9)
    share = features / scale
    apart = ((share[:, :, None] - share[:, None]) ** 2).mean(axis=3)
    apart += ((blocks[:, :, None, TIME] - blocks[:, None, :, TIME]) / _APART_S) ** 2 / 9.0
    count = blocks[:, :, COUNT]
    loss = apart / (1.0 / count[:, :, None] + 1.0 / count[:, None])
    loss[:, np.arange(BLOCKS), np.arange(BLOCKS)] = np.inf
    place = loss.reshape(len(blocks), -1).argmin(axis=1)
    return place // BLOCKS, place % BLOCKS
