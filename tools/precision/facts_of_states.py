"""What was wrong with the cluster while rounds came and went: as the simulator has it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tools.precision.case import Case
from tools.precision.draft import Draft
from tools.precision.true_usage import mean_of, usage_at
from tools.precision.truth import Planted
from tools.precision.witness import Decided
from trimtab.pulsar.model import Floats, Reason
from trimtab.pulsar.settings import load_manager_settings
from trimtab.trials.record.lines import shedder_lines

_THRESHOLD = 10.0
_OPEN = 4.0
_ROUNDS = 10
_MINUTE_MS = 60_000
#: Positions in RESOURCES.
_MEMORIES = (1, 2)
#: How far each of two scores must tell two brokers apart to rank them.
_APART = 0.01


def cold_history(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of rounds with lines in which a score was far from the true usage."""
    if case.shedder != "ThresholdShedder":
        return
    widest: list[tuple[int, float, float]] = []
    for decided in draft.witness.rounds:
        if any(True for _ in shedder_lines(decided.shed)):
            # What is reported is up to a minute older than what is true.
            gaps = [_lag(draft, decided, late) for late in (0, -_MINUTE_MS)]
            widest.append((decided.time_ms, min(gaps), max(gaps)))
    certain = [time_ms for time_ms, least, _ in widest if least > _THRESHOLD + _OPEN]
    possible = [time_ms for time_ms, _, most in widest if most > _THRESHOLD - _OPEN]
    for times, is_marginal in ((certain, False), (possible, True)):
        if times:
            yield Planted("cold-history", times[0], times[-1], is_marginal=is_marginal)


def _lag(draft: Draft, decided: Decided, late_ms: int) -> float:
    """Return how far the score farthest from the true usage of a time is from it, points."""
    usage = usage_at(draft, decided.time_ms + late_ms)
    really = dict(zip(draft.brokers, usage.tolist(), strict=True))
    shed = decided.shed
    pairs = zip(shed.load.brokers, shed.decision.scores.tolist(), strict=True)
    gaps = [abs(really[broker] - 100.0 * score) for broker, score in pairs]
    return max((gap for gap in gaps if not np.isnan(gap)), default=0.0)


def score_disagreement(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of unloads before which shedder and placer ranked or scored brokers differently."""
    if case.placer != "LeastResourceUsageWithWeight" or case.shedder != "ThresholdShedder":
        return
    for number, selected in draft.witness.selections:
        shed = draft.witness.rounds[number].shed
        scores = dict(zip(shed.load.brokers, shed.decision.scores.tolist(), strict=True))
        pairs = [(scores[b], s) for b, s in selected.scores.items() if b in scores]
        if len(pairs) < 2:
            continue
        ours, theirs = np.array(pairs).T
        apart, other = np.subtract.outer(ours, ours), np.subtract.outer(theirs, theirs)
        turned = np.where(apart * other < 0, np.minimum(abs(apart), abs(other)), 0.0).max()
        is_far = np.abs(ours - theirs).max() > 0.10
        if is_far or turned >= _APART / 2:
            is_marginal = not is_far and turned < 2 * _APART
            at = (selected.time_ms, selected.time_ms)
            yield Planted("score-disagreement", *at, is_marginal=is_marginal)


def sole_bundle(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of brokers that the shedder left alone because they have one bundle."""
    del case
    known = set()
    for decided in draft.witness.rounds:
        shed = decided.shed
        pairs = zip(shed.load.brokers, shed.decision.reasons, strict=True)
        for broker, reason in pairs:
            if reason == Reason.SOLE_BUNDLE and broker not in known:
                known.add(broker)
                yield Planted("sole-bundle", None, None, (broker,))


def is_tried(reason: str) -> bool:
    """Return whether a broker was to be relieved, whatever came of it."""
    return reason not in (Reason.BALANCED, Reason.UNDERLOADED, Reason.UNKNOWN)


def blind_to_imbalance(case: Case, draft: Draft) -> Iterator[Planted]:
    """Return long stretches in which brokers were far apart and nobody passed the bar."""
    del case
    for rounds, spread, is_clear in ((_ROUNDS + 2, 29.0, True), (_ROUNDS - 2, 20.0, False)):
        run: list[int] = []
        for decided in [*draft.witness.rounds, None]:
            if decided is not None and not any(map(is_tried, decided.shed.decision.reasons)):
                usage = usage_at(draft, decided.time_ms)
                if np.nanmax(usage) - np.nanmin(usage) >= spread:
                    run.append(decided.time_ms)
                    continue
            if len(run) >= rounds:
                yield Planted("blind-to-imbalance", run[0], run[-1], is_marginal=not is_clear)
            run = []


def throughput_floor(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of brokers that were spared in rounds because what was to go is too little."""
    rounds: dict[str, list[int]] = {}
    for decided in draft.witness.rounds:
        load, decision = decided.shed.load, decided.shed.decision
        for i, broker in enumerate(load.brokers):
            carried = float(load.throughput_in[i] + load.throughput_out[i])
            if decision.reasons[i] == Reason.LOW_THROUGHPUT and carried > 0:
                if case.shedder == "AvgShedder" and decision.offload[i] < 0:
                    continue
                rounds.setdefault(broker, []).append(decided.time_ms)
    for broker, times in rounds.items():
        is_marginal = len(times) < 3 or case.shedder == "AvgShedder"
        yield Planted("throughput-floor", None, None, (broker,), is_marginal=is_marginal)


def no_headroom(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of long times in which all brokers were hot."""
    del case
    steps = range(draft.start_ms, draft.ms(draft.run.world.duration_s), _MINUTE_MS // 2)
    usages = [(time_ms, usage_at(draft, time_ms)) for time_ms in steps]
    for minutes, mean, coolest, is_clear in ((13, 77.0, 67.0, True), (8, 72.0, 61.0, False)):
        run: list[int] = []
        for time_ms, usage in [*usages, (0, np.zeros(2))]:
            if mean_of(usage) >= mean and np.nanmin(usage) >= coolest:
                run.append(time_ms)
                continue
            if run and run[-1] - run[0] >= minutes * _MINUTE_MS:
                yield Planted("no-headroom", run[0], run[-1], is_marginal=not is_clear)
            run = []


def one_pair_per_round(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of rounds in a row that relieved one broker each."""
    if case.shedder != "UniformLoadShedder":
        return
    unloads: dict[int, set[int]] = {}
    for number, unload in draft.witness.unloads:
        unloads.setdefault(number, set()).add(unload.source)
    run: list[int] = []
    for number in range(len(draft.witness.rounds) + 1):
        if len(unloads.get(number, ())) == 1:
            run.append(number)
            continue
        sources = {source for each in run for source in unloads[each]}
        if len(run) >= 5 and len(sources) >= 4:
            times = [draft.witness.rounds[each].time_ms for each in run]
            yield Planted("one-pair-per-round", times[0], times[-1])
        run = []


def stale_report(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of brokers relieved twice while the leader knew of the same traffic."""
    if case.shedder != "ThresholdShedder":
        return
    sources: dict[int, set[str]] = {}
    for number, unload in draft.witness.unloads:
        sources.setdefault(number, set()).add(draft.brokers[unload.source])
    # Rounds in between in which nothing was said are passed over, as their load is the same.
    rounds = sorted(sources)
    for before, after in pairwise(rounds):
        loads = [draft.witness.rounds[i].shed.load for i in (before, after)]
        time_ms = draft.witness.rounds[after].time_ms
        for broker in sources[before] & sources[after]:
            at = [load.brokers.index(broker) for load in loads]
            was, now = (
                float(load.throughput_in[i] + load.throughput_out[i])
                for load, i in zip(loads, at, strict=True)
            )
            if was == now > 0:
                yield Planted("stale-report", time_ms, time_ms, (broker,))


def grace_starvation(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of brokers that were to be relieved while all they had was just moved there."""
    if case.shedder != "ThresholdShedder":
        return
    conf = {key: str(value) for key, value in case.scenario["settings"].items()}
    grace_ms = 1000 * load_manager_settings(conf, case.release).grace_period_s
    known = set()
    for decided in draft.witness.rounds:
        load, decision = decided.shed.load, decided.shed.decision
        for i, broker in enumerate(load.brokers):
            is_asked = not np.isnan(decision.offload[i])
            if not is_asked or decision.reasons[i] != Reason.NO_BUNDLES or broker in known:
                continue
            came = any(
                unload.target is not None
                and draft.brokers[unload.target] == broker
                and 0 < decided.time_ms - unload.time_ms <= grace_ms
                for _, unload in draft.witness.unloads
            )
            if came:
                known.add(broker)
                yield Planted("grace-starvation", None, None, (broker,))


def cold_cpu(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of brokers relieved because another had reported nothing of its CPU yet."""
    if case.shedder != "ThresholdShedder":
        return
    moved = {(number, draft.brokers[unload.source]) for number, unload in draft.witness.unloads}
    for number, decided in enumerate(draft.witness.rounds):
        load, decision = decided.shed.load, decided.shed.decision
        scores = 100.0 * decision.scores
        is_cold = scores < 0.1
        if not is_cold.any() or is_cold.all():
            continue
        # What its CPU does without any bundle is what other processes take.
        minute = int((decided.time_ms - draft.start_ms) / _MINUTE_MS) + 1
        taken = draft.run.background[min(minute, len(draft.run.background) - 1)].tolist()
        usage = dict(zip(draft.brokers, taken, strict=True))
        really = np.nan_to_num(np.array([usage[broker] for broker in load.brokers]))
        bar = float(np.where(is_cold, really, scores).mean()) + _THRESHOLD
        for broker, score in zip(load.brokers, scores.tolist(), strict=True):
            if (number, broker) in moved and score < bar + 2.0:
                time_ms = decided.time_ms
                yield Planted(
                    "cold-cpu", time_ms, time_ms, (broker,), is_marginal=score > bar - 2.0
                )


def wrong_extreme(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of sources beside which the leader knew a busier broker in both respects."""
    if case.shedder != "UniformLoadShedder":
        return
    seen = set()
    for number, unload in draft.witness.unloads:
        if (number, unload.source) in seen:
            continue
        seen.add((number, unload.source))
        load, name = draft.witness.rounds[number].shed.load, draft.brokers[unload.source]
        rate = load.rate_in + load.rate_out
        throughput = load.throughput_in + load.throughput_out
        at = load.brokers.index(name)
        more = float(np.minimum(rate / rate[at], throughput / throughput[at]).max())
        if more > 1.05:
            yield Planted(
                "wrong-extreme", unload.time_ms, unload.time_ms, (name,), is_marginal=more < 1.15
            )


def giant_bundle(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of bundles that carry more than a broker's even share, on brokers that are hot."""
    del case
    run = draft.run
    bundles, usage = run.world.bundles, np.nanmean(run.usage, axis=0)
    carried = bundles.rate * bundles.message_bytes * (1.0 + bundles.fan_out)
    even = float(carried.sum()) / len(usage)
    owner = {bundle: broker for _, bundle, broker in draft.witness.taken}
    most = carried.copy()
    for change in run.world.changes:
        most[change.bundles] *= max(1.0, change.factor_in)
    for i in np.flatnonzero(most >= 1.3 * even).tolist():
        broker = owner.get(i, int(bundles.owner[i]))
        excess = float(usage[broker]) - float(np.nanmean(usage)) - _THRESHOLD
        if excess > -_OPEN:
            is_clear = carried[i] >= 1.7 * even and excess > _OPEN
            yield Planted("giant-bundle", bundles=(bundles.names[i],), is_marginal=not is_clear)


def too_much_for_anybody(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of bundles that lifted whoever had them over the bar, and would lift anybody else."""
    del case
    times: dict[str, list[bool]] = {}
    for decided in draft.witness.rounds:
        load = decided.shed.load
        by_name = dict(zip(draft.brokers, usage_at(draft, decided.time_ms).tolist(), strict=True))
        usage = np.array([by_name[broker] for broker in load.brokers])
        if np.isnan(usage).any() or usage.size < 2:
            continue
        traffic, owner = decided.traffic, load.bundle_broker
        carried = np.maximum((load.throughput_in + load.throughput_out)[owner], 1.0)
        takes = usage[owner] * np.minimum(
            1.0, (traffic.throughput_in + traffic.throughput_out) / carried
        )
        coolest, second = np.sort(usage)[:2]
        others = np.where(usage[owner] == coolest, second, coolest)
        above = np.minimum(usage[owner], others + takes) - usage.mean() - _THRESHOLD
        for i in np.flatnonzero(above > -_OPEN).tolist():
            times.setdefault(load.bundles[i], []).append(bool(above[i] > _OPEN))
    for name, clear in times.items():
        if len(clear) >= 8:
            yield Planted("giant-bundle", bundles=(name,), is_marginal=sum(clear) < 12)


def above_every_budget(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of brokers whose bundles were all larger than what a round would move."""
    if case.shedder not in {"AvgShedder", "UniformLoadShedder"}:
        return
    rounds: dict[str, int] = {}
    for decided in draft.witness.rounds:
        load, decision = decided.shed.load, decided.shed.decision
        for i, broker in enumerate(load.brokers):
            if decision.reasons[i] not in {Reason.NO_BUNDLES, Reason.SOLE_BUNDLE}:
                continue
            traffic, is_rate = decided.traffic, decision.offload_is_rate
            carried = (
                traffic.rate_in + traffic.rate_out
                if is_rate is not None and is_rate[i]
                else traffic.throughput_in + traffic.throughput_out
            )[load.bundle_broker == i]
            if carried.size and 0 < decision.offload[i] < carried.min():
                rounds[broker] = rounds.get(broker, 0) + 1
    for broker, count in rounds.items():
        yield Planted("giant-bundle", brokers=(broker,), is_marginal=count < 4)


def dearer_brokers(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of brokers that about the same traffic heats more, where nobody looks at usage.

    What has no CPU or no traffic was not measured, and says nothing of a broker's strength.
    """
    if case.shedder != "UniformLoadShedder":
        return
    rows: dict[str, list[list[float]]] = {}
    for decided in draft.witness.rounds:
        load = decided.shed.load
        cpu = load.resource_usage[:, 0] / load.resource_limit[:, 0]
        rate, carried = load.rate_in + load.rate_out, load.throughput_in + load.throughput_out
        for broker, *row in zip(load.brokers, cpu, rate, carried, strict=True):
            rows.setdefault(broker, []).append([float(value) for value in row])
    measured = [[row for row in mine if row[0] > 0 and row[2] > 0] for mine in rows.values()]
    medians = [np.median(np.array(mine), axis=0) for mine in measured if len(mine) >= 3]
    pairs = [(mine, its) for mine in medians for its in medians]
    if any(_is_dearer(mine, its, 0.0) for mine, its in pairs):
        is_clear = any(_is_dearer(mine, its, 1.0) for mine, its in pairs)
        yield Planted("heterogeneous-brokers", brokers=tuple(rows), is_marginal=not is_clear)


def _is_dearer(mine: Floats, its: Floats, margin: float) -> bool:
    """Return whether a broker is hotter than another at about its traffic, by a margin or nearly.

    Each has the share of its CPU that it uses, messages/s and bytes/s.
    """
    times, points = mine / np.maximum(its, 1e-9), 100.0 * (mine[0] - its[0])
    is_alike = times[1:].min() >= 0.45 + 0.1 * margin and times[1:].max() <= 1.15 - 0.1 * margin
    return bool(is_alike and times[0] >= 1.45 + 0.15 * margin and points >= 13.0 + 4.0 * margin)


def memory_as_load(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of brokers that were to be relieved while memory was their busiest resource."""
    weight = case.scenario["settings"].get("loadBalancerDirectMemoryResourceWeight", 0)
    if case.shedder != "ThresholdShedder" or (case.release == "4.0.8" and not weight):
        return
    known = set()
    for decided in draft.witness.rounds:
        load, decision = decided.shed.load, decided.shed.decision
        busiest = (load.resource_usage / load.resource_limit).argmax(axis=1)
        for i, broker in enumerate(load.brokers):
            is_asked = not np.isnan(decision.offload[i])
            is_asked = is_asked and decision.reasons[i] != Reason.LOW_THROUGHPUT
            if is_asked and busiest[i] in _MEMORIES and broker not in known:
                known.add(broker)
                yield Planted("memory-as-load", brokers=(broker,))


STATES = (
    memory_as_load,
    giant_bundle,
    too_much_for_anybody,
    above_every_budget,
    dearer_brokers,
    stale_report,
    grace_starvation,
    cold_cpu,
    wrong_extreme,
    cold_history,
    score_disagreement,
    sole_bundle,
    blind_to_imbalance,
    throughput_floor,
    no_headroom,
    one_pair_per_round,
)
