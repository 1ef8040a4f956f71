"""A decided round as columns of `replayed_rounds`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trimtab.model import AvgShedderMemory, ClusterLoad, Decision, Floats


def states(load: ClusterLoad, decision: Decision, usage: Floats) -> list[dict[str, Any]]:
    """Lay out what a round went by, broker by broker.

    Args:
        load: the round.
        decision: what was decided.
        usage: (n_brokers,) fraction, as the cluster weighs resources.
    """
    offload = decision.offload.astype(object)
    offload[np.isnan(decision.offload)] = None
    columns = {
        "broker": load.brokers,
        "usage": usage.tolist(),
        "score": decision.scores.tolist(),
        "throughput": (load.throughput_in + load.throughput_out).tolist(),
        "rate": (load.rate_in + load.rate_out).tolist(),
        "offload": offload.tolist(),
        "bundles": load.bundle_count.tolist(),
        "reason": list(map(str, decision.reasons)),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def chosen(load: ClusterLoad, decision: Decision) -> list[dict[str, Any]]:
    """Lay out the bundles that a round unloads, with their traffic."""
    if not decision.unloads:
        return []
    throughput = load.bundle_throughput_in + load.bundle_throughput_out
    rate = load.bundle_rate_in + load.bundle_rate_out
    place = {broker: i for i, broker in enumerate(load.brokers)}
    unloaded = {unload.bundle for unload in decision.unloads}
    at = {
        (load.bundle_broker[i], bundle): i
        for i, bundle in enumerate(load.bundles)
        if bundle in unloaded
    }
    found = [at[place[unload.source], unload.bundle] for unload in decision.unloads]
    return [
        {
            "source": unload.source,
            "bundle": unload.bundle,
            "target": unload.target,
            "throughput": float(throughput[i]),
            "rate": float(rate[i]),
        }
        for i, unload in zip(found, decision.unloads, strict=True)
    ]


def hits(memory: Any, which: str) -> dict[str, float] | None:
    """Return AvgShedder's counters after the round; other shedders have none."""
    if not isinstance(memory, AvgShedderMemory):
        return None
    counts: Mapping[str, int] = getattr(memory, which)
    return {broker: float(count) for broker, count in counts.items()}
