"""What was wrong with the moves that the balancer made: as the simulator has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tools.precision.case import Case
from tools.precision.draft import Draft
from tools.precision.true_usage import mean_of, usage_at
from tools.precision.truth import Planted
from trimtab.pulsar.settings import load_manager_settings

#: Points of usage on either side of a bar within which it is open which side a broker is on:
#: reports are up to a minute old.
_OPEN = 4.0
_THRESHOLD = 10.0
_SETTLED_MS = 150_000
_PLANNING = frozenset({"AvgShedder", "TransferShedder"})
_HASTY = frozenset({"UniformLoadShedder", "OverloadShedder"})
_MINUTE_MS = 60_000
_TAKEN_MS = 300_000


@dataclass(frozen=True, slots=True)
class _Unload:
    """One unload as it really went."""

    round: int
    time_ms: int
    bundle: str
    source: int
    #: Whom the leader named, and who took it; -1 for nobody.
    told: int
    target: int


def _unloads(draft: Draft) -> list[_Unload]:
    """List the unloads in order of time."""
    witness = draft.witness
    found = []
    for number, unload in witness.unloads:
        until = unload.time_ms + _TAKEN_MS
        took = [
            broker
            for time_ms, bundle, broker in witness.taken
            if bundle == unload.bundle and unload.time_ms <= time_ms < until and broker >= 0
        ]
        told = -1 if unload.target is None else unload.target
        name = witness.bundles[unload.bundle]
        target = took[0] if took else -1
        found.append(_Unload(number, unload.time_ms, name, unload.source, told, target))
    return found


def random_placement(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of destinations drawn among several because none passed the placer's bar."""
    is_marginal = case.placer != "LeastResourceUsageWithWeight"
    unloaded = {(number, unload.bundle) for number, unload in draft.witness.unloads}
    for number, selected in draft.witness.selections:
        is_drawn = bool(selected.draws) and selected.draws[-1][1] and selected.draws[-1][0] > 1
        if is_drawn and (number, selected.bundle) in unloaded:
            name = draft.witness.bundles[selected.bundle]
            time_ms = selected.time_ms
            yield Planted(
                "random-placement", time_ms, time_ms, (), (name,), is_marginal=is_marginal
            )


def over_placement(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of destinations that were given several bundles at once, or became too hot."""
    by_target: dict[tuple[int, int], list[_Unload]] = {}
    unloads = _unloads(draft)
    for each in unloads:
        if each.told >= 0:
            by_target.setdefault((each.round, each.told), []).append(each)
    interval_ms = 60_000 * float(
        case.scenario["settings"].get("loadBalancerSheddingIntervalMinutes", 1)
    )
    for (number, target), mine in by_target.items():
        time_ms = mine[0].time_ms
        several = len(mine) > 1 and case.shedder not in _PLANNING
        before, after = (usage_at(draft, time_ms + late) for late in (0, _SETTLED_MS))
        excess = max(
            float(usage[target]) - mean_of(usage) - _THRESHOLD for usage in (before, after)
        )
        again = [
            each.time_ms - time_ms
            for each in unloads
            if each.source == target and each.round > number
        ]
        is_shed = any(ms <= 3.3 * interval_ms for ms in again)
        is_perhaps = any(ms <= 4 * interval_ms for ms in again) or excess > -_OPEN
        is_clear = several or is_shed or excess > _OPEN
        if is_clear or is_perhaps:
            name = (draft.brokers[target],)
            yield Planted("over-placement", time_ms, time_ms, name, (), is_marginal=not is_clear)


def over_unloading(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of brokers that ThresholdShedder relieved when they were below the bar already."""
    if case.shedder != "ThresholdShedder":
        return
    seen = set()
    for each in _unloads(draft):
        if (each.round, each.source) in seen:
            continue
        seen.add((each.round, each.source))
        # What is reported is up to a minute older than what is true.
        usages = [usage_at(draft, each.time_ms - late) for late in (0, _MINUTE_MS)]
        excess = [float(usage[each.source]) - mean_of(usage) - _THRESHOLD for usage in usages]
        if min(excess) < _OPEN:
            name = (draft.brokers[each.source],)
            is_marginal = max(excess) > -_OPEN
            time_ms = each.time_ms
            yield Planted("over-unloading", time_ms, time_ms, name, is_marginal=is_marginal)


def ping_pong(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of bundles that the leader sent back to where it had taken them from."""
    conf = {key: str(value) for key, value in case.scenario["settings"].items()}
    horizon_ms = 2000 * load_manager_settings(conf, case.release).grace_period_s
    by_bundle: dict[str, list[_Unload]] = {}
    for each in _unloads(draft):
        by_bundle.setdefault(each.bundle, []).append(each)
    for bundle, trips in by_bundle.items():
        for i, away in enumerate(trips):
            back = [
                each
                for each in trips[i + 1 :]
                if each.told == away.source and each.time_ms - away.time_ms <= horizon_ms
            ]
            if back:
                yield Planted("ping-pong", away.time_ms, away.time_ms, (), (bundle,))
                break


def ping_pong_of_load(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of moves that followed traffic which comes and goes by itself.

    Whether a bundle was moved in a high turn of it, or just after one, is left open.
    """
    del case
    up_to_s = draft.run.world.duration_s
    turning = {
        int(bundle)
        for change in draft.run.world.changes
        if change.period_s > 0 and change.from_s + 1.5 * change.period_s <= up_to_s
        for bundle in change.bundles
    }
    moved = [(n, unload) for n, unload in draft.witness.unloads if unload.bundle in turning]
    if len({number for number, _ in moved}) > 1:
        times = [unload.time_ms for _, unload in moved]
        names = tuple(draft.witness.bundles[unload.bundle] for _, unload in moved)
        yield Planted("ping-pong", min(times), max(times), (), names, is_marginal=True)


def lost_destination(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of bundles that a third broker took."""
    del case
    for each in _unloads(draft):
        if each.told >= 0 and each.target not in (-1, each.told, each.source):
            yield Planted("lost-destination", each.time_ms, each.time_ms, (), (each.bundle,))


def same_broker(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of bundles that their source took again."""
    del case
    for each in _unloads(draft):
        if each.source == each.target:
            yield Planted(
                "same-broker", brokers=(draft.brokers[each.source],), bundles=(each.bundle,)
            )


def even_distribution_override(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of single candidates that the even distribution left, though others were cooler."""
    if case.scenario["settings"].get("loadBalancerDistributeBundlesEvenlyEnabled", True) is False:
        return
    chosen = {
        (number, selected.bundle): selected
        for number, selected in draft.witness.selections
        if selected.draws and selected.draws[-1][0] == 1 and selected.broker is not None
    }
    for number, unload in draft.witness.unloads:
        selected = chosen.get((number, unload.bundle))
        if selected is None or selected.broker is None:
            continue
        usages = [usage_at(draft, unload.time_ms - late) for late in (0, _MINUTE_MS)]
        gaps = [
            float(usage[selected.broker] - np.nanmin(np.delete(usage, unload.source)))
            for usage in usages
        ]
        if max(gaps) > -1.0:
            name = draft.witness.bundles[unload.bundle]
            yield Planted(
                "even-distribution-override",
                unload.time_ms,
                unload.time_ms,
                (),
                (name,),
                is_marginal=min(gaps) < _OPEN,
            )


def emptied_broker(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of brokers that lost nine tenths of what the leader knew them to have."""
    del case
    counts: dict[tuple[int, int], int] = {}
    for each in _unloads(draft):
        counts[each.round, each.source] = counts.get((each.round, each.source), 0) + 1
    for (number, source), moved in counts.items():
        decided = draft.witness.rounds[number]
        load, name = decided.shed.load, draft.brokers[source]
        had = int(load.bundle_count[load.brokers.index(name)])
        if moved >= max(3.0, 0.9 * had):
            yield Planted("emptied-broker", decided.time_ms, decided.time_ms, (name,))


def empty_bundle_moved(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of moves of bundles whose clients had gone away."""
    del case
    silent = {
        int(bundle): draft.ms(change.from_s)
        for change in draft.run.world.changes
        if change.factor_in == 0 and not np.isfinite(change.to_s)
        for bundle in change.bundles
    }
    for _, unload in draft.witness.unloads:
        since = silent.get(unload.bundle)
        if since is not None and unload.time_ms > since:
            # Two minutes until a minute's statistics are of silence alone and reported, and
            # ninety seconds that must pass.
            is_marginal = unload.time_ms - since < 225_000
            name = draft.witness.bundles[unload.bundle]
            yield Planted(
                "empty-bundle-moved", unload.time_ms, unload.time_ms, (), (name,), is_marginal
            )


def jitter_chasing(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of bundles that hasty strategies moved in a burst that was soon over."""
    if case.shedder not in _HASTY:
        return
    for _, unload in draft.witness.unloads:
        name = draft.witness.bundles[unload.bundle]
        for change in draft.run.world.changes:
            begin, end = draft.ms(change.from_s), change.to_s
            if unload.bundle not in change.bundles:
                continue
            if change.period_s > 0:
                yield Planted("jitter-chasing", bundles=(name,), is_marginal=True)
                break
            if not np.isfinite(end):
                continue
            end_ms = draft.ms(end)
            # The report that the leader went by may be a minute older.
            if change.factor_in > 1 and begin <= unload.time_ms <= end_ms + 90_000:
                is_clear = (
                    change.factor_in >= 2
                    and unload.time_ms - begin >= 60_000
                    and unload.time_ms <= end_ms
                    and end_ms - unload.time_ms <= 120_000
                    and draft.ms(draft.run.world.duration_s) - unload.time_ms > 780_000
                )
                yield Planted(
                    "jitter-chasing",
                    unload.time_ms,
                    unload.time_ms,
                    (),
                    (name,),
                    is_marginal=not is_clear,
                )
                break


def skipped_bundles(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of bundles that the shedder chose and the leader left where they were."""
    del case
    moved = {(number, unload.bundle) for number, unload in draft.witness.unloads}
    for number, selected in draft.witness.selections:
        if (number, selected.bundle) not in moved:
            name = draft.witness.bundles[selected.bundle]
            time_ms = selected.time_ms
            yield Planted("skipped-bundles", time_ms, time_ms, (), (name,))


MOVES = (
    skipped_bundles,
    random_placement,
    over_placement,
    over_unloading,
    ping_pong,
    ping_pong_of_load,
    lost_destination,
    same_broker,
    even_distribution_override,
    emptied_broker,
    empty_bundle_moved,
    jitter_chasing,
)
