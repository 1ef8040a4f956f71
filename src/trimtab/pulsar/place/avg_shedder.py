"""Pulsar's AvgShedder in its other role: it places the bundles that it shed."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from trimtab.pulsar.avg_shedder_plans import (
    BY_IDENTITY,
    BY_VALUE,
    Keys,
    destination,
    noticed,
    planned,
)
from trimtab.pulsar.model import (
    AvgShedderMemory,
    ClusterLoad,
    Floats,
    Ints,
    NoCandidatesError,
    Placement,
    UnreportedCandidateError,
)
from trimtab.pulsar.scores import mean_in_order, weighted_usage
from trimtab.pulsar.settings import AvgShedderSettings


def avg_shedder(
    load: ClusterLoad,
    bundle: str,
    candidates: Ints,
    memory: AvgShedderMemory,
    settings: AvgShedderSettings,
) -> tuple[Placement, AvgShedderMemory]:
    """Choose the planned destination if it is a candidate, else any candidate.

    Args:
        load: the brokers, of which nothing but the names counts, and the averages of all
            bundles, by which plans are looked up; without these, plans go by name.
        bundle: the bundle to place.
        candidates: positions in `load.brokers`, in the order of the leader's set.
        memory: what the shedder remembers; both are one object in Pulsar.
        settings: none of them counts here.

    Returns:
        The placement, and the memory to pass in next, to whichever of the two.  There are
        no scores.  If `is_fallback`, the one who draws must tell `drawn` who it was.

    Raises:
        NoCandidatesError: there is none; the Java divides by zero.
        UnreportedCandidateError: a candidate is no broker of the load, so that it has no
            name.  The Java knows candidates by name and needs no report of them.

    Quirks:
        Load is not looked at: whatever was not planned, after a start or when a broker
        has stopped, is spread by chance.
        A chance destination is remembered as if it had been planned, and replaces the plan
        that was not a candidate.
        Plans are kept under the bundle's averages, not under its name.  Bundles with equal
        averages share one plan, so those that have none yet all follow the first of them.
        One more sample before the placement and the plan is not found, unless the averages
        come back to what they were; the entry stays in the map all the same.
        Where bundles are distributed evenly over brokers, the planned destination is often
        no candidate.

    Source:
        apache/pulsar 4.0.0, 4.0.8 and 5.0.0-M1, impl/AvgShedder.java, selectBroker,
        getExpectedBroker; every plan checked against runs of the class.
    """
    del settings
    return _placed(load, bundle, candidates, memory, BY_VALUE)


def avg_shedder_3_0(
    load: ClusterLoad,
    bundle: str,
    candidates: Ints,
    memory: AvgShedderMemory,
    settings: AvgShedderSettings,
) -> tuple[Placement, AvgShedderMemory]:
    """Choose the same, with plans that belong to one object of averages each.

    Quirks:
        Samples do not matter, but an object that the leader has forgotten and made anew
        has no plan, even if its averages are the same.

    Source:
        apache/pulsar 3.0.7 and 3.3.5, impl/AvgShedder.java, selectBroker; every plan
        checked against runs of the class.
    """
    del settings
    return _placed(load, bundle, candidates, memory, BY_IDENTITY)


def avg_shedder_5_0(
    load: ClusterLoad,
    bundle: str,
    candidates: Ints,
    memory: AvgShedderMemory,
    settings: AvgShedderSettings,
) -> tuple[Placement, AvgShedderMemory]:
    """Choose the planned destination unless it is overloaded by now, else somebody healthy.

    Returns:
        The placement; `scores` are points of percent, where a plan had to be weighed.  The
        memory is as it was: nothing that is drawn is remembered.

    Quirks:
        Plans are kept under the bundle's name, and only while a round of shedding lasts;
        whatever else is looked up goes to anybody, whatever the load.
        A destination above the overload threshold (85 %, not at it) is given up for the
        other candidates at or below it, the source aside; if there are none it stands.
        A destination that is no candidate is given up for any candidate but the source,
        overloaded ones included.  If the source is the only one, nobody is chosen.
        A destination without a report counts as healthy, another without one does not.
        No candidates: nobody is chosen, where older releases divide by zero.

    Source:
        apache/pulsar 5.0.1, impl/AvgShedder.java, selectBrokerForBundle,
        selectBrokerWithBundleName, getBrokerScore; checked as the shedder was.
    """
    _check_known(load, candidates, memory)
    unweighed = np.full(candidates.size, math.nan)
    if bundle not in memory.pending:
        return Placement(candidates, unweighed, math.nan, candidates.size > 0), memory
    source, target = memory.pending[bundle]
    names = np.array([load.brokers[i] for i in candidates.tolist()], dtype=np.object_)
    is_target, is_other = names == target, (names != source) & (names != target)
    if not is_target.any():
        return Placement(candidates[names != source], unweighed, math.nan, False), memory
    scores = _points(load, settings)[candidates]
    best = candidates[is_target]
    if (scores[is_target] > settings.overloaded_threshold_points).any():
        healthy = candidates[is_other & (scores <= settings.overloaded_threshold_points)]
        best = healthy if healthy.size else best
    return Placement(best, scores, mean_in_order(scores), is_fallback=False), memory


def planned_by(keys: Keys, load: ClusterLoad, bundle: str, memory: AvgShedderMemory) -> str | None:
    """Return where a bundle is to go, in releases whose plans are found by such keys."""
    return destination(noticed(memory.plans, load.bundle_data, keys), bundle, keys)


#: Plans belong to averages.
planned_by_value = partial(planned_by, BY_VALUE)
#: Plans belong to one object of averages each.
planned_by_identity = partial(planned_by, BY_IDENTITY)


def planned_by_name(load: ClusterLoad, bundle: str, memory: AvgShedderMemory) -> str | None:
    """Return the same in releases whose plans belong to names."""
    del load
    return memory.pending[bundle][1] if bundle in memory.pending else None


def drawn_by(keys: Keys, memory: AvgShedderMemory, bundle: str, broker: str) -> AvgShedderMemory:
    """Remember who was drawn for a bundle, right after it was placed."""
    return replace(memory, plans=planned(memory.plans, [(bundle, broker)], keys))


drawn = partial(drawn_by, BY_VALUE)
drawn_3_0 = partial(drawn_by, BY_IDENTITY)


def _placed(
    load: ClusterLoad, bundle: str, candidates: Ints, memory: AvgShedderMemory, keys: Keys
) -> tuple[Placement, AvgShedderMemory]:
    if candidates.size == 0:
        raise NoCandidatesError(bundle, memory)
    _check_known(load, candidates, memory)
    plans = noticed(memory.plans, load.bundle_data, keys)
    target = destination(plans, bundle, keys)
    is_known = target is not None and target in load.brokers
    best = candidates[candidates == load.brokers.index(target)] if is_known else candidates[:0]
    is_fallback = best.size == 0
    placement = Placement(
        best=candidates if is_fallback else best,
        scores=np.full(candidates.size, math.nan),
        average=math.nan,
        is_fallback=is_fallback,
    )
    return placement, memory if plans is memory.plans else replace(memory, plans=plans)


def _check_known(load: ClusterLoad, candidates: Ints, memory: AvgShedderMemory) -> None:
    """Refuse a candidate that is no broker of the load, so that it has no name."""
    is_unreported = (candidates < 0) | (candidates >= len(load.brokers))
    if is_unreported.any():
        index = int(np.argmax(is_unreported))
        raise UnreportedCandidateError(index, int(candidates[index]), memory)


def _points(load: ClusterLoad, settings: AvgShedderSettings) -> Floats:
    """Return usage, weighed, in points of percent; NaN for brokers that are known by name alone."""
    scores = np.full(len(load.brokers), np.nan)
    with np.errstate(all="ignore"):
        reported = weighted_usage(load, settings.weights) * 100
    scores[: reported.size] = reported
    return scores
