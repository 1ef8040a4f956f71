"""Pulsar's AvgShedder, which levels pairs of brokers: the hottest with the coldest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from trimtab.pulsar.avg_shedder_plans import BY_IDENTITY, BY_VALUE, Keys, noticed, planned
from trimtab.pulsar.map_order import hash_map_order, hash_map_size
from trimtab.pulsar.model import (
    MEBIBYTE,
    AvgShedderMemory,
    ClusterLoad,
    Decision,
    Flags,
    Floats,
    Ints,
    LostRoundError,
    Plans,
    Reason,
    Unload,
)
from trimtab.pulsar.scores import mean_in_order, weighted_usage
from trimtab.pulsar.settings import AvgShedderSettings
from trimtab.pulsar.tim_sort import ContradictionError, tim_sorted

#: Puts positions in ascending order of their scores.
_Order: TypeAlias = Callable[[Ints, Floats], Ints]
#: Positions of the colder and of the hotter broker.
_Pair: TypeAlias = tuple[int, int]


def avg_shedder(
    load: ClusterLoad, memory: AvgShedderMemory, settings: AvgShedderSettings
) -> tuple[Decision, AvgShedderMemory]:
    """Move bundles from the hottest broker to the coldest, the next to the next, and so on.

    A pair moves bundles when one of the two has been in a pair too far apart for so many
    rounds in a row: a few for a large gap, more for a small one.

    Args:
        load: what the brokers reported this round.
        memory: rounds counted, and destinations planned.
        settings: weights, two thresholds with their counts, share of the difference.

    Returns:
        The decision, and the memory to pass in next, to the placer too.  Each unload has
        its destination.  `Decision.scores` are percent.  `offload` is what each hotter
        broker whose turn had come was to lose: messages/s if these decided, else bytes/s.

    Quirks:
        Rounds are counted for brokers, not for pairs: whoever was in some wide pair every
        round brings its present partner with it.  A count is lost in a round in which the
        broker's gap is small, and all counts in a round without a wide gap.  A broker that
        left keeps its counts until then, and acts at once if it comes back.
        A gap exactly at a threshold is wide.  A gap beyond the high threshold counts for
        both; one between the two sets the high count back.
        Counts are used up before traffic is looked at.  If the hotter broker carries less
        than the colder one, as on unequal machines, nothing moves, and the pair starts
        counting again, for ever.
        Message rate is asked first, throughput only if that difference is too small; both
        must be above their least value, not at it.
        Bundles go heaviest first, each only if it fits into what is left of the share; one
        that is too heavy stays, however hot the broker is.  Bundles without traffic stay.
        The Java warns that a sole bundle will not be shed, and sheds it if it fits.
        Of an odd number of brokers the middle one is paired with itself and loses its
        counts; with a low threshold of 0 it counts twice.
        Equal scores stand in the order of a hash map that is emptied each round and does
        not shrink, so it depends on how many brokers there once were.
        A broker with nothing but NaN has the score -inf and is the coldest of all; two of
        them are not a number apart, which counts as wide.
        A plan whose bundle is moved by other means stays, see the placer.

    Source:
        apache/pulsar 4.0.8 and 5.0.0-M1, impl/AvgShedder.java, findBundlesForUnloading,
        calculateScoresAndSort, findBrokerPairs, selectBundleForUnloading; every number
        checked against runs of the class.
    """
    return _decided(load, memory, settings, _by_score, BY_VALUE)


def avg_shedder_5_0(
    load: ClusterLoad, memory: AvgShedderMemory, settings: AvgShedderSettings
) -> tuple[Decision, AvgShedderMemory]:
    """Move the same bundles, and keep each one's destination under its name.

    Quirks:
        Every round begins by dropping the plans of the round before.  The leader drops them
        as well when it has gone through what was selected, so a plan never outlives its
        round: a bundle that is looked up later is placed by chance.
        A bundle that two brokers report at once has one plan, that of the second.

    Source:
        apache/pulsar 5.0.1, impl/AvgShedder.java, findBundlesForUnloading,
        selectBundleForUnloading, onUnloadAttemptCompleted; 9354 decisions of the class, in
        both its roles, came out the same, with the settings of 5.0.0-M1.  Pull request
        #26246 made the change.
    """
    decision, memory = _decided(load, replace(memory, plans=Plans()), settings, _by_score, BY_VALUE)
    pending = {u.bundle: (u.source, u.target) for u in decision.unloads if u.target is not None}
    return decision, replace(memory, plans=Plans(), pending=pending)


def avg_shedder_4_0_0(
    load: ClusterLoad, memory: AvgShedderMemory, settings: AvgShedderSettings
) -> tuple[Decision, AvgShedderMemory]:
    """Move the same between brokers that are sorted by whole points only.

    Raises:
        LostRoundError: the sort noticed that the comparison contradicts itself; counts
            stay as they were.  It takes 32 brokers or more.

    Quirks:
        Scores less than a point apart count as equal.  That is not transitive, so the
        ends of the list need not be the hottest and the coldest, and a gap may even be
        negative.

    Source:
        apache/pulsar 4.0.0, impl/AvgShedder.java, calculateScoresAndSort; every number
        checked against runs of the class.
    """
    return _decided(load, memory, settings, _by_whole_points, BY_VALUE)


def avg_shedder_3_0(
    load: ClusterLoad, memory: AvgShedderMemory, settings: AvgShedderSettings
) -> tuple[Decision, AvgShedderMemory]:
    """Move the same as in 4.0.0, with plans that belong to one object of averages each.

    Raises:
        LostRoundError: as in 4.0.0.

    Quirks:
        As in 4.0.0.

    Source:
        apache/pulsar 3.0.7 and 3.3.5, impl/AvgShedder.java; every number checked against
        runs of the class.
    """
    return _decided(load, memory, settings, _by_whole_points, BY_IDENTITY)


def without_pending(memory: AvgShedderMemory) -> AvgShedderMemory:
    """Return a memory without the plans of a round gone through, as releases from 5.0.1 on do."""
    return replace(memory, pending={})


def avg_shedder_rules(settings: AvgShedderSettings) -> Iterator[str]:
    """Return what the class goes by, in both its roles."""
    for gap, hits in (
        (settings.low_threshold_points, settings.low_hits),
        (settings.high_threshold_points, settings.high_hits),
    ):
        yield f"sheds: who is {gap:g} points or more above its partner; rounds in a row: {hits}"
    least = f"{settings.rate_min:.0f} messages/s or {settings.throughput_min / MEBIBYTE:.2f} MiB/s"
    yield f"{settings.unload_share:g} of the difference moves, if above {least}"
    yield "gets a bundle: who is planned for it, else any"


def avg_shedder_state(
    load: ClusterLoad, memory: AvgShedderMemory, settings: AvgShedderSettings
) -> Mapping[str, Any]:
    """Lay out the counts, and the scores, which are there even if sorting them fails."""
    return {
        "hit_high": dict(memory.hits_high),
        "hit_low": dict(memory.hits_low),
        "score": dict(zip(load.brokers, _points(load, settings).tolist(), strict=True)),
    }


@dataclass(slots=True)
class _Hits:
    """Rounds counted so far, while a round goes on."""

    low: dict[str, int]
    high: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Shares:
    """What the hotter broker of each pair whose turn has come is to lose, by broker."""

    #: (n_brokers,) messages/s or bytes/s; NaN where nothing is asked.
    room: Floats
    #: (n_brokers,) the message rate decides.
    by_rate: Flags
    #: (n_brokers,) it is worth a move.
    is_enough: Flags


def _decided(
    load: ClusterLoad,
    memory: AvgShedderMemory,
    settings: AvgShedderSettings,
    order: _Order,
    keys: Keys,
) -> tuple[Decision, AvgShedderMemory]:
    """Decide one round."""
    scores = _points(load, settings)
    plans = noticed(memory.plans, load.bundle_data, keys)
    table_size = hash_map_size(len(load.brokers), memory.table_size)
    memory = replace(memory, table_size=table_size, plans=plans)
    try:
        ranked = order(_walked(load.brokers, table_size), scores)
    except ContradictionError as error:
        raise LostRoundError(str(error), memory, "java.lang.IllegalArgumentException") from error
    hits = _Hits(dict(memory.hits_low), dict(memory.hits_high))
    pairs = _paired(load, ranked, scores, settings, hits)
    ripe = [pair for pair in pairs if _is_ripe([load.brokers[i] for i in pair], settings, hits)]
    shares = _shares(load, ripe, settings)
    unloads = _unloads(load, ripe, shares)
    targets = [(unload.bundle, unload.target) for unload in unloads if unload.target is not None]
    reasons = _reasons(load, pairs, ripe, shares, unloads)
    average = mean_in_order(scores)
    decision = Decision(unloads, reasons, scores, average, shares.room, shares.by_rate)
    return decision, AvgShedderMemory(
        hits.low, hits.high, table_size, planned(plans, targets, keys)
    )


def _points(load: ClusterLoad, settings: AvgShedderSettings) -> Floats:
    """Return each broker's usage, weighed, in points of percent."""
    with np.errstate(all="ignore"):
        # Weighing has divided by 100; multiplying again is not the same number.
        return weighted_usage(load, settings.weights) * 100


@lru_cache(maxsize=4)
def _positions(brokers: tuple[str, ...]) -> Mapping[str, int]:
    """Return broker → position, the same round after round."""
    return {broker: i for i, broker in enumerate(brokers)}


@lru_cache(maxsize=4)
def _walked(brokers: tuple[str, ...], table_size: int) -> Ints:
    """Return the brokers as the Java's map of scores walks them, the same round after round."""
    position = _positions(brokers)
    walked = np.array([position[name] for name in hash_map_order(brokers, table_size)], np.int64)
    walked.flags.writeable = False
    return walked


def _by_score(walked: Ints, scores: Floats) -> Ints:
    """Return the order of `Double.compare`: -0.0 before 0.0, equals as they are walked."""
    values = scores[walked]
    return walked[np.lexsort((~np.signbit(values), values))]


def _by_whole_points(walked: Ints, scores: Floats) -> Ints:
    """Return the order by differences cut to whole numbers, of which the Java keeps the sign."""
    values = scores.tolist()

    def compare(one: int, other: int) -> int:
        difference = values[one] - values[other]
        return int(difference >= 1) - int(difference <= -1)

    return np.array(tim_sorted(walked.tolist(), compare), dtype=np.int64)


def _paired(
    load: ClusterLoad,
    ranked: Ints,
    scores: Floats,
    settings: AvgShedderSettings,
    hits: _Hits,
) -> list[_Pair]:
    """Pair the ends of the ranking, then the next, and count rounds; return the wide pairs."""
    half = (ranked.size + 1) // 2
    colder, hotter = ranked[:half], ranked[::-1][:half]
    with np.errstate(all="ignore"):
        gaps = scores[hotter] - scores[colder]
        # `<` as in the Java: a gap of NaN is wide.
        is_wide = ~(gaps < settings.low_threshold_points)
        is_widest = is_wide & ~(gaps < settings.high_threshold_points)
    if not is_wide.any():
        hits.low.clear()
        hits.high.clear()
        return []
    for counts, are_hit in ((hits.low, is_wide), (hits.high, is_widest)):
        _forget(counts, load, np.append(colder[are_hit], hotter[are_hit]))
        _count(counts, load, np.column_stack((colder[are_hit], hotter[are_hit])).reshape(-1))
    return list(zip(colder[is_wide].tolist(), hotter[is_wide].tolist(), strict=True))


def _count(hits: dict[str, int], load: ClusterLoad, brokers: Ints) -> None:
    """Count a round for brokers."""
    for broker in brokers.tolist():
        name = load.brokers[broker]
        hits[name] = hits.get(name, 0) + 1


def _forget(hits: dict[str, int], load: ClusterLoad, are_hit: Ints) -> None:
    """Forget what was counted for brokers of the load other than some."""
    names = {load.brokers[broker] for broker in are_hit.tolist()}
    position = _positions(load.brokers)
    for name in [name for name in hits if name in position and name not in names]:
        del hits[name]


def _is_ripe(names: Sequence[str], settings: AvgShedderSettings, hits: _Hits) -> bool:
    """Return whether a pair's turn has come, and if so use its counts up.

    Those looked at in vain are set to 0, as in the Java, which logs them.
    """
    limits = ((hits.high, settings.high_hits), (hits.low, settings.low_hits))
    # A pair is (colder, hotter), and stops being asked at the first count that is enough.
    if not any(counts.setdefault(name, 0) >= least for counts, least in limits for name in names):
        return False
    for counts, _ in limits:
        for name in names:
            counts.pop(name, None)
    return True


def _shares(load: ClusterLoad, ripe: Sequence[_Pair], settings: AvgShedderSettings) -> _Shares:
    """Return what each pair's hotter broker is to lose."""
    count = len(load.brokers)
    shares = _Shares(np.full(count, np.nan), np.zeros(count, np.bool_), np.zeros(count, np.bool_))
    if not ripe:
        return shares
    colder, hotter = np.array(ripe, dtype=np.int64).reshape(-1, 2).T
    with np.errstate(all="ignore"):
        rate, throughput = (
            (total[hotter] - total[colder]) * settings.unload_share
            for total in (
                load.rate_in + load.rate_out,
                load.throughput_in + load.throughput_out,
            )
        )
    by_rate = rate > settings.rate_min
    shares.room[hotter] = np.where(by_rate, rate, throughput)
    shares.by_rate[hotter] = by_rate
    shares.is_enough[hotter] = by_rate | (throughput > settings.throughput_min)
    return shares


def _unloads(load: ClusterLoad, ripe: Sequence[_Pair], shares: _Shares) -> tuple[Unload, ...]:
    """Return each hotter broker's bundles, heaviest first, as far as they fit."""
    if not ripe:
        return ()
    owner = load.bundle_broker
    asked = np.flatnonzero(load.bundle_is_sheddable & shares.is_enough[owner])
    traffic = load.traffic_of(asked)
    with np.errstate(all="ignore"):
        weight = np.where(
            shares.by_rate[owner[asked]],
            traffic.rate_in + traffic.rate_out,
            traffic.throughput_in + traffic.throughput_out,
        )
        is_heavy = weight > 0
    pool, weight = asked[is_heavy], weight[is_heavy]
    order = np.lexsort((-weight, owner[pool]))
    pool, weight = pool[order], weight[order]
    begins, ends = (
        np.searchsorted(owner[pool], [high for _, high in ripe], side).tolist()
        for side in ("left", "right")
    )
    unloads = list[Unload]()
    for (low, high), begin, end in zip(ripe, begins, ends, strict=True):
        mine = slice(begin, end)
        fitting = _fitting(pool[mine], weight[mine], float(shares.room[high]))
        source, target = load.brokers[high], load.brokers[low]
        unloads += [Unload(source, load.bundles[i], target) for i in fitting]
    return tuple(unloads)


def _fitting(pool: Ints, weight: Floats, room: float) -> Iterator[int]:
    """Yield the bundles that fit, one after the other, into what is left of the room."""
    for i, size in zip(pool.tolist(), weight.tolist(), strict=True):
        if size <= room:
            yield i
            room -= size


def _reasons(
    load: ClusterLoad,
    pairs: Iterable[_Pair],
    ripe: Iterable[_Pair],
    shares: _Shares,
    unloads: Iterable[Unload],
) -> tuple[Reason, ...]:
    """Return of each broker why it sheds or not."""
    sources = {unload.source for unload in unloads}
    reasons = [Reason.BALANCED] * len(load.brokers)
    for low, high in pairs:
        reasons[low] = reasons[high] = Reason.HIT_COUNT
    for low, high in ripe:
        reasons[low] = Reason.UNDERLOADED
        if not shares.is_enough[high]:
            reasons[high] = Reason.LOW_THROUGHPUT
        elif load.brokers[high] in sources:
            reasons[high] = Reason.OVERLOADED
        else:
            is_sole = load.bundle_count[high] == 1
            reasons[high] = Reason.SOLE_BUNDLE if is_sole else Reason.NO_BUNDLES
    return tuple(reasons)
