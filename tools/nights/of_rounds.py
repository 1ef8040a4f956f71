"""Truths that follow from rounds as they were played: each is its page's definition, and no more.

A truth is open where the page's evidence is not in what was kept, or where a number lies so near
to a bar that another minute would have decided otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from tools.nights.leader import Move, Round
from tools.nights.night import LEAST_USED, OVERLOAD, REPORTS, THRESHOLD, UNIFORM, Night
from tools.nights.report import Report
from tools.nights.reported import Reported
from tools.nights.truth import Truth, at
from trimtab.pulsar.model import Reason

_MINUTE_MS = 60_000


def rounds_of(night: Night) -> list[Round]:
    """Return the rounds of the recording."""
    return [it for it in night.rounds if night.from_ms <= it.time_ms <= night.to_ms]


def done(played: Round) -> list[Move]:
    """Return the moves of a round that came to be."""
    return [it for it in played.moves if it.refusal is None]


def margin(night: Night) -> float:
    """Return how near to a bar usage leaves a truth open: reports of the store are exact."""
    return 0.003 if night.has_store else 0.04


def threshold(night: Night) -> float:
    """Return the shedding threshold as a fraction."""
    return night.cluster.setting("loadBalancerBrokerThresholdShedderPercentage", 10) / 100


def random_placement(night: Night) -> Iterator[Truth]:
    """Yield each move drawn by lot: the placer's line, and more than one broker considered."""
    if night.placer != LEAST_USED:
        return
    for played in rounds_of(night):
        for move in played.moves:
            placed = move.placed
            if placed and placed.is_fallback and len(placed.candidates) > 1:
                yield at(
                    "random-placement",
                    (move.time_ms, move.time_ms),
                    (placed.broker, move.source),
                    move.bundle,
                    is_open=move.refusal is not None or night.form == REPORTS,
                )


def over_placement(night: Night) -> Iterator[Truth]:
    """Yield each destination of a round that was given more than it could take.

    Two bundles or more (not where the shedder plans destinations); over the bar already; under
    the bar before and over it two intervals after; or shed within three rounds.  The bar is the
    mean of reported usage, without brokers below 0.1 %, plus the shedding threshold.
    """
    rounds, reported = rounds_of(night), Reported(night.cluster)
    interval = round(night.cluster.setting("loadBalancerSheddingIntervalMinutes", 1) * _MINUTE_MS)
    near = max(margin(night), 0.04 if night.form != REPORTS else 1.0)
    for i, played in enumerate(rounds):
        targets: defaultdict[str, list[Move]] = defaultdict(list)
        for move in done(played):
            assert move.placed is not None
            targets[move.placed.broker].append(move)
        for target, moves in targets.items():
            several = len(moves) > 1 and not night.is_joint
            later = [move for other in rounds[i + 1 : i + 4] for move in other.moves]
            again = any(move.source == target and move.refusal is None for move in later)
            tried = any(move.source == target for move in later)
            before = _over(night, reported, target, moves[0].time_ms)
            after = _over(night, reported, target, played.end_ms + 2 * interval)
            is_certain = several or again
            is_sure = before > near or (before < -near and after > near)
            is_near = before > -near or after > -near
            if is_certain or is_near or tried:
                yield at(
                    "over-placement",
                    (played.time_ms, played.end_ms),
                    target,
                    [move.bundle for move in moves],
                    is_open=not (is_certain or (is_sure and night.has_store)),
                )


def _over(night: Night, reported: Reported, broker: str, time_ms: int) -> float:
    """Return by how much a broker's usage was over the bar."""
    usages = reported.usages(min(time_ms, night.to_ms))
    if broker not in usages:
        return -1.0
    counted = [usage for usage in usages.values() if usage >= 0.001]
    return usages[broker] - float(np.mean(counted or [0.0])) - threshold(night)


def over_unloading(night: Night) -> Iterator[Truth]:
    """Yield each broker that ThresholdShedder shed though its last report was under the bar."""
    if night.shedder != THRESHOLD:
        return
    for played in rounds_of(night):
        bar = float(np.mean(played.usage)) + threshold(night)
        for source in dict.fromkeys(move.source for move in played.moves):
            under = bar - played.usage[played.load.brokers.index(source)]
            moves = [move for move in played.moves if move.source == source]
            if under > -margin(night):
                is_moved = any(move.refusal is None for move in moves)
                yield at(
                    "over-unloading",
                    (played.time_ms, played.end_ms),
                    source,
                    [move.bundle for move in moves],
                    is_open=under < margin(night) or not is_moved or not night.has_reports,
                )


def ping_pong(night: Night) -> Iterator[Truth]:
    """Yield each bundle moved, within two grace periods, to a broker it had been taken from."""
    grace = night.cluster.setting("loadBalancerSheddingGracePeriodMinutes", 30) * _MINUTE_MS
    taken: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for played in rounds_of(night):
        for move in done(played):
            assert move.placed is not None
            target = move.placed.broker
            back = [
                t for b, t in taken[move.bundle] if b == target and move.time_ms - t <= 2 * grace
            ]
            if back:
                yield at(
                    "ping-pong",
                    (back[0], move.time_ms),
                    (target, move.source),
                    move.bundle,
                    is_open=night.form == REPORTS,
                )
            taken[move.bundle].append((move.source, move.time_ms))


def cold_history(night: Night) -> Iterator[Truth]:
    """Yield each run of rounds in which a smoothed score was off by more than the threshold.

    Scores are known where the leader's whole term can be decided again, or where a line prints
    that broker's; otherwise it is open, as are rounds that left no line.
    """
    if night.shedder != THRESHOLD:
        return
    run: list[tuple[Round, list[str], bool]] = []
    for played in [*rounds_of(night), None]:
        off, known = _off(night, played) if played else ([], False)
        goes_on = run and played and played.leader == run[-1][0].leader
        if run and not (off and goes_on):
            yield at(
                "cold-history",
                (run[0][0].time_ms, run[-1][0].time_ms),
                {broker for _, brokers, _ in run for broker in brokers},
                is_open=not any(is_known for _, _, is_known in run),
            )
            run = []
        if off and played:
            run.append((played, off, known))


def _off(night: Night, played: Round) -> tuple[list[str], bool]:
    """Return whose scores are off, and whether that is certain and can be known."""
    if played.decision is None:
        return [], False
    gap = np.abs(played.decision.scores - played.usage)
    names = [b for b, it in zip(played.load.brokers, gap, strict=True) if it > threshold(night)]
    near = [
        b
        for b, it in zip(played.load.brokers, gap, strict=True)
        if it > threshold(night) - margin(night)
    ]
    certain = gap > threshold(night) + margin(night)
    printed = np.array([it is Reason.OVERLOADED for it in played.decision.reasons])
    is_known = night.is_replayable or bool((certain & printed).any() and night.has_reports)
    is_known = is_known and bool(printed.any())
    return names or near, bool(certain.any()) and is_known


def score_disagreement(night: Night) -> Iterator[Truth]:
    """Yield each round with an unload in which shedder and placer see different clusters.

    Of the brokers that both have a score for two stand the other way round, by two points or more
    in both, or one's two scores differ by more than the placer's margin.  Less is open.
    """
    if (night.shedder, night.placer) != (THRESHOLD, LEAST_USED):
        return
    key = "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
    bar = night.cluster.setting(key, 10) / 100
    for played in rounds_of(night):
        if played.decision is None:
            continue
        scores = dict(zip(played.load.brokers, played.decision.scores.tolist(), strict=True))
        worst = 0
        for move in played.moves:
            if move.placed is not None:
                worst = max(worst, _disagree(scores, move, bar))
        if worst:
            is_known = worst == 2 and night.is_replayable and bool(done(played))
            yield at(
                "score-disagreement",
                (played.time_ms, played.end_ms),
                played.load.brokers,
                [move.bundle for move in played.moves],
                is_open=not is_known,
            )


def _disagree(scores: dict[str, float], move: Move, bar: float) -> int:
    """Return 2 if shedder and placer disagree for certain, 1 if by a little, 0 if not."""
    assert move.placed is not None
    pairs = [
        (scores[b], float(it))
        for b, it in zip(move.placed.candidates, move.placed.scores, strict=True)
        if b in scores
    ]
    worst = 0
    for i, (one, mine) in enumerate(pairs):
        if abs(one - mine) > bar - 0.003:
            worst = max(worst, 2 if abs(one - mine) > bar + 0.003 else 1)
        for other, yours in pairs[:i]:
            if (one - other) * (mine - yours) < 0:
                worst = max(worst, 2 if min(abs(one - other), abs(mine - yours)) > 0.02 else 1)
    return worst


def sole_bundle(night: Night) -> Iterator[Truth]:
    """Yield each broker with the warning that its only bundle overloads it."""
    if night.shedder not in {THRESHOLD, OVERLOAD} or night.form == REPORTS:
        return
    warned: dict[str, tuple[int, int, list[str]]] = {}
    for played in rounds_of(night):
        for i, reason in enumerate(played.decision.reasons if played.decision else ()):
            if reason is Reason.SOLE_BUNDLE:
                broker = played.load.brokers[i]
                rows = np.flatnonzero(played.load.bundle_broker == i)
                names = [played.load.bundles[row] for row in rows.tolist()]
                first = warned.get(broker, (played.time_ms, 0, []))[0]
                warned[broker] = (first, played.time_ms, names)
    for broker, (begin, end, names) in warned.items():
        yield at("sole-bundle", (begin, end), broker, names)


def even_distribution_override(night: Night) -> Iterator[Truth]:
    """Yield each move whose only candidate, by the number of bundles, was not the coolest."""
    for played in rounds_of(night):
        usage = dict(zip(played.load.brokers, played.usage.tolist(), strict=True))
        for move in done(played):
            placed = move.placed
            if placed is None or placed.evened != 1 or len(placed.candidates) != 1:
                continue
            cooler = usage.get(placed.broker, 1.0) - min(usage.values())
            if cooler > 0.001 and len(usage) > 1:
                yield at(
                    "even-distribution-override",
                    (move.time_ms, move.time_ms),
                    (placed.broker, move.source),
                    move.bundle,
                    is_open=cooler < 0.01 or not night.has_store,
                )


def blind_to_imbalance(night: Night) -> Iterator[Truth]:
    """Yield each stretch of ten rounds in which nobody passed the bar, 25 points apart.

    Where the leader tried and could not, the causes are others', and it is open.
    """
    rows = []
    for played in rounds_of(night):
        if played.decision is None:
            rows.append((played, False, False))
            continue
        apart = float(played.usage.max() - played.usage.min())
        is_idle = not played.decision.unloads
        tried = any(
            it in {Reason.NO_BUNDLES, Reason.SOLE_BUNDLE, Reason.HIT_COUNT, Reason.LOW_THROUGHPUT}
            for it in played.decision.reasons
        )
        rows.append((played, is_idle and apart > 0.245, apart > 0.255 and not tried))
    for run in _runs(rows):
        if len(run) >= 9:
            edges = {broker for played, _, _ in run for broker in _extremes(played)}
            # Without a log nobody knows that nothing was moved.
            is_logged = night.form != REPORTS
            is_known = night.has_store and (night.is_replayable or night.shedder != THRESHOLD)
            certain = sum(is_sure for _, _, is_sure in run) >= 11
            yield at(
                "blind-to-imbalance",
                (run[0][0].time_ms, run[-1][0].time_ms),
                edges,
                is_open=not (is_logged and is_known and certain),
            )


def _extremes(played: Round) -> Iterator[str]:
    """Yield the brokers that are within five points of the hottest or of the coolest."""
    for broker, usage in zip(played.load.brokers, played.usage.tolist(), strict=True):
        if usage > played.usage.max() - 0.05 or usage < played.usage.min() + 0.05:
            yield broker


def _runs(rows: list[tuple[Round, bool, bool]]) -> Iterator[list[tuple[Round, bool, bool]]]:
    run: list[tuple[Round, bool, bool]] = []
    for row in rows:
        if row[1]:
            run.append(row)
        else:
            if run:
                yield run
            run = []
    if run:
        yield run


def emptied_broker(night: Night) -> Iterator[Truth]:
    """Yield each broker that lost nine of ten bundles in a round, and three at least."""
    for played in rounds_of(night):
        counts = dict(zip(played.load.brokers, played.load.bundle_count.tolist(), strict=True))
        for source, count in counts.items():
            moves = [move for move in done(played) if move.source == source]
            if len(moves) >= 3 and len(moves) >= 0.9 * count:
                yield at(
                    "emptied-broker",
                    (played.time_ms, played.end_ms),
                    source,
                    is_open=not night.has_store,
                )


def one_pair_per_round(night: Night) -> Iterator[Truth]:
    """Yield each run of five rounds that relieved one broker each, four different ones at least."""
    if night.shedder != UNIFORM:
        return
    run: list[tuple[Round, str]] = []
    for played in [*rounds_of(night), None]:
        sources = {move.source for move in done(played)} if played else set()
        if played and len(sources) == 1:
            run.append((played, sources.pop()))
            continue
        if len(run) >= 5 and len({source for _, source in run}) >= 4:
            yield at(
                "one-pair-per-round",
                (run[0][0].time_ms, run[-1][0].time_ms),
                {source for _, source in run},
                is_open=night.form == REPORTS,
            )
        run = []


def wrong_extreme(night: Night) -> Iterator[Truth]:
    """Yield rounds of UniformLoadShedder beside whose source another broker was busier.

    By a tenth in messages and in bytes, as reported ten seconds or more before the round.
    """
    if night.shedder != UNIFORM:
        return
    reported = Reported(night.cluster)
    for played in rounds_of(night):
        for source in {move.source for move in done(played)}:
            mine = reported.latest(source, played.time_ms)
            assert mine is not None
            for other in played.load.brokers:
                # What it had reported ten seconds before may have been overtaken by the round.
                more = [
                    _times_busier(reported.latest(other, time_ms), mine)
                    for time_ms in (played.time_ms - 10_000, played.time_ms)
                ]
                if other != source and max(more) > 1.09:
                    yield at(
                        "wrong-extreme",
                        (played.time_ms, played.time_ms),
                        source,
                        is_open=min(more) < 1.11 or not night.has_store,
                    )


def _times_busier(other: Report | None, mine: Report) -> float:
    """Return how many times as busy another broker is, by messages and by bytes at once."""
    if other is None:
        return 0.0
    both = [other.totals[i : i + 2].sum() / max(mine.totals[i : i + 2].sum(), 1e-9) for i in (0, 2)]
    return float(min(both))
