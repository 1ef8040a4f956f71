"""Pulsar's RoundRobinBrokerSelector, the placement strategy that takes turns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from trimtab.pulsar.model import (
    ClusterLoad,
    Ints,
    Placement,
    RoundRobinMemory,
    UnreportedCandidateError,
)

# Integer.MAX_VALUE, after which the count starts again.
_COUNT_MAX = 2**31 - 1


def round_robin_broker_selector(
    load: ClusterLoad, bundle: str, candidates: Ints, memory: RoundRobinMemory, settings: None
) -> tuple[Placement, RoundRobinMemory]:
    """Choose the candidates in turn, whatever their load.

    Args:
        load: the brokers, of which nothing but the names counts.
        bundle: does not count either.
        candidates: positions in `load.brokers`, in the order of the leader's set.
        memory: selections so far, and the candidates as they were.
        settings: none.

    Returns:
        The placement, and the memory to pass in at the next call.  `Placement.best` is the
        one broker whose turn it is; there are no scores.

    Raises:
        UnreportedCandidateError: a candidate is no broker of the load, so that it has no
            name.  The Java knows candidates by name and needs no report of them.

    Quirks:
        The count goes on whatever the candidates are: with other candidates in between, a
        broker may be passed over, or have two turns in a row.
        The list of candidates is renewed when their number has changed, or when the one
        whose turn it is has gone; if one was exchanged for another, the old list goes on
        until the turn of the one that went.
        After 2147483647 selections the count starts again at 0.
        No candidates: nothing to draw from, and the count stands still.

    Source:
        apache/pulsar 3.0.0 to 5.0.0-M1, impl/RoundRobinBrokerSelector.java, selectBroker;
        every selection checked against runs of the class.
    """
    del bundle, settings
    nothing = np.full(candidates.size, math.nan)
    if candidates.size == 0:
        return Placement(candidates, nothing, math.nan, is_fallback=False), memory
    if ((candidates < 0) | (candidates >= len(load.brokers))).any():
        unknown = int(np.argmax((candidates < 0) | (candidates >= len(load.brokers))))
        raise UnreportedCandidateError(unknown, int(candidates[unknown]), memory)
    turn = memory.count % candidates.size
    brokers = memory.brokers
    best = candidates[:0]
    if len(brokers) == candidates.size and brokers[turn] in load.brokers:
        best = candidates[candidates == load.brokers.index(brokers[turn])]
    if best.size == 0:
        brokers = tuple(load.brokers[i] for i in candidates.tolist())
        best = candidates[turn : turn + 1]
    count = 0 if memory.count == _COUNT_MAX else memory.count + 1
    return Placement(best, nothing, math.nan, is_fallback=False), RoundRobinMemory(count, brokers)


def round_robin_broker_selector_rules(settings: None) -> Iterator[str]:
    """Return what the class goes by."""
    del settings
    yield "gets a bundle: whose turn it is"


def round_robin_broker_selector_state(
    load: ClusterLoad, memory: RoundRobinMemory, settings: None
) -> Mapping[str, Any]:
    """Lay out the count, as text, as it was recorded."""
    del load, settings
    return {"count": str(memory.count)}
