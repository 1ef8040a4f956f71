"""A decided round as columns of `replayed_rounds`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from trimtab.files.tables import DIAGNOSED
from trimtab.pulsar.model import AvgShedderMemory, ClusterLoad, Decision, Floats, Reason

#: Reasons of brokers that were to lose something and lost nothing.
_UNFIT = frozenset({Reason.NO_BUNDLES, Reason.SOLE_BUNDLE})
#: What `brokers` of `replayed_rounds` holds of each broker.
_STATE = list(DIAGNOSED["replayed_rounds"].field("brokers").type.value_type)


def states(load: ClusterLoad, decision: Decision, usage: Floats) -> pa.StructArray:
    """Return what a round went by, broker by broker.

    It is columns from the start: a night of a large cluster has millions of these.

    Args:
        load: the round.
        decision: what was decided.
        usage: (n_brokers,) fraction, as the cluster weighs resources.
    """
    is_asked = ~np.isnan(decision.offload)
    columns = {
        "broker": _texts(load.brokers),
        "usage": pa.array(usage),
        "score": pa.array(decision.scores),
        "throughput": pa.array(load.throughput_in + load.throughput_out),
        "rate": pa.array(load.rate_in + load.rate_out),
        "offload": pa.array(np.where(is_asked, decision.offload, 0.0), mask=~is_asked),
        "bundles": pa.array(load.bundle_count),
        "reason": _texts(decision.reasons),
    }
    return pa.StructArray.from_arrays([columns[each.name] for each in _STATE], fields=_STATE)


@lru_cache(maxsize=4)
def _texts(words: tuple[str, ...]) -> pa.Array:
    """Return words as a column, made once for rounds that have the same ones."""
    return pa.array(words, pa.string())


def chosen(load: ClusterLoad, decision: Decision) -> list[dict[str, Any]]:
    """Return the bundles that a round unloads, with their traffic."""
    if not decision.unloads:
        return []
    place = {broker: i for i, broker in enumerate(load.brokers)}
    sources = [place[unload.source] for unload in decision.unloads]
    mine = np.flatnonzero(np.isin(load.bundle_broker, sources)).tolist()
    at = {(load.bundle_broker[i], load.bundles[i]): i for i in mine}
    positions = [
        at[source, unload.bundle] for source, unload in zip(sources, decision.unloads, strict=True)
    ]
    traffic = load.traffic_of(np.array(positions))
    throughputs = (traffic.throughput_in + traffic.throughput_out).tolist()
    rates = (traffic.rate_in + traffic.rate_out).tolist()
    return [
        {
            "source": unload.source,
            "bundle": unload.bundle,
            "target": unload.target,
            "throughput": throughput,
            "rate": rate,
        }
        for unload, throughput, rate in zip(decision.unloads, throughputs, rates, strict=True)
    ]


def too_large(load: ClusterLoad, decision: Decision) -> list[dict[str, Any]]:
    """Return the lightest bundle of each broker that lost none, since each is too large.

    For shedders that move a bundle only if it fits into what a broker is to lose.
    """
    stuck = [i for i, reason in enumerate(decision.reasons) if reason in _UNFIT]
    if not stuck:
        return []
    traffic, rows = load.bundle_traffic(), []
    for i in stuck:
        is_rate = decision.offload_is_rate is not None and bool(decision.offload_is_rate[i])
        carried = (
            traffic.rate_in + traffic.rate_out
            if is_rate
            else traffic.throughput_in + traffic.throughput_out
        )
        mine = np.flatnonzero(load.bundle_is_sheddable & (load.bundle_broker == i) & (carried > 0))
        offload = float(decision.offload[i])
        if mine.size and 0 < offload < carried[mine].min():
            lightest = int(mine[np.argmin(carried[mine])])
            rows.append(
                {
                    "source": load.brokers[i],
                    "bundle": load.bundles[lightest],
                    "carried": float(carried[lightest]),
                    "offload": offload,
                    "is_rate": is_rate,
                }
            )
    return rows


def hits(memory: Any, which: str) -> dict[str, float] | None:
    """Return AvgShedder's counters after the round; other shedders have none."""
    if not isinstance(memory, AvgShedderMemory):
        return None
    counts: Mapping[str, int] = getattr(memory, which)
    return {broker: float(count) for broker, count in counts.items()}
