"""Truths of rounds that did nothing, or not what they meant to: by the pages' definitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tools.nights.leader import Round
from tools.nights.night import AVG, LOGS, OVERLOAD, REPORTS, THRESHOLD, UNIFORM, Night
from tools.nights.of_rounds import done, rounds_of, threshold
from tools.nights.reported import Reported
from tools.nights.truth import Truth, at
from trimtab.pulsar.model import Reason

_MINUTE_MS = 60_000


def throughput_floor(night: Night) -> Iterator[Truth]:
    """Yield each broker that was over the bar, with less to lose than the floor, in three rounds.

    ThresholdShedder prints nothing of it, so its rounds must be decided again; AvgShedder does.
    Where less than nothing is to be moved brokers differ in strength, which has a page of its own.
    """
    rounds: defaultdict[str, list[Round]] = defaultdict(list)
    negative: set[str] = set()
    for played in rounds_of(night):
        for i, reason in enumerate(played.decision.reasons if played.decision else ()):
            if reason is Reason.LOW_THROUGHPUT:
                rounds[played.load.brokers[i]].append(played)
                if played.decision and played.decision.offload[i] <= 0:
                    negative.add(played.load.brokers[i])
    # The page takes a printed line from the first on; AvgShedder prints each.
    least = 1 if night.shedder == AVG else 3
    is_known = {
        THRESHOLD: night.is_replayable,
        AVG: night.form != REPORTS,
        UNIFORM: night.has_store,
    }.get(night.shedder, False)
    for broker, mine in rounds.items():
        yield at(
            "throughput-floor",
            (mine[0].time_ms, mine[-1].time_ms),
            broker,
            is_open=len(mine) < least or not is_known or night.form == LOGS or broker in negative,
        )


def grace_starvation(night: Night) -> Iterator[Truth]:
    """Yield each hot broker of which nothing was chosen, as its bundles had just come.

    An attempt is printed and nothing is chosen, and the balancer had moved bundles to it within
    the grace period, in the recording; one that came elsewhere than it was sent to leaves it open.
    """
    if night.shedder not in {THRESHOLD, OVERLOAD}:
        return
    arrivals: defaultdict[str, list[int]] = defaultdict(list)
    earlier: set[str] = set()
    for played in night.rounds:
        for move in done(played):
            is_meant = move.placed is not None and move.taker == move.placed.broker
            if move.taker is not None and is_meant and played.time_ms >= night.from_ms:
                arrivals[move.taker].append(move.taken_ms)
            elif move.taker is not None:
                earlier.add(move.taker)
    grace = night.cluster.setting("loadBalancerSheddingGracePeriodMinutes", 30) * _MINUTE_MS
    starved: defaultdict[str, list[tuple[int, bool]]] = defaultdict(list)
    for played in rounds_of(night):
        for i, reason in enumerate(played.decision.reasons if played.decision else ()):
            broker = played.load.brokers[i]
            if reason is not Reason.NO_BUNDLES or not played.load.bundle_count[i]:
                continue
            lately = [t for t in arrivals[broker] if 0 <= played.time_ms - t <= grace]
            if lately or broker in earlier:
                starved[broker].append((played.time_ms, bool(lately) and night.has_store))
    yield from _one_each("grace-starvation", starved)


def _one_each(
    code: str, rounds: Mapping[str, list[tuple[int, bool]]], bundles: Iterable[str] = ()
) -> Iterator[Truth]:
    """Yield a broker's rounds as one truth, which is certain if one of them is."""
    for broker, times in rounds.items():
        certain = [time_ms for time_ms, is_certain in times if is_certain]
        span = (times[0][0], times[-1][0])
        yield at(code, span, broker, bundles, is_open=not certain)


def stale_report(night: Night) -> Iterator[Truth]:
    """Yield each broker shed in two rounds in a row on the same printed traffic."""
    if night.shedder != THRESHOLD:
        return
    for one, two in pairwise(rounds_of(night)):
        for source in {it.source for it in done(one)} & {it.source for it in done(two)}:
            sums = []
            for played in (one, two):
                i = played.load.brokers.index(source)
                sums.append(float(played.load.throughput_in[i] + played.load.throughput_out[i]))
            if sums[0] == sums[1]:
                # Between two leaders that take turns it hangs on whose rounds are in a row.
                is_open = night.form == REPORTS or one.leader != two.leader
                yield at("stale-report", (one.time_ms, two.time_ms), source, is_open=is_open)


def memory_as_load(night: Night) -> Iterator[Truth]:
    """Yield each broker shed while memory was its busiest resource after weighing.

    The line must print the resources, as releases from 3.2.3 on do.
    """
    if night.shedder not in {THRESHOLD, OVERLOAD}:
        return
    shed: defaultdict[str, list[tuple[int, bool]]] = defaultdict(list)
    weights = night.cluster.weights if night.shedder == THRESHOLD else night.cluster.gate
    for played in rounds_of(night):
        for i, reason in enumerate(played.decision.reasons if played.decision else ()):
            broker = played.load.brokers[i]
            report = Reported(night.cluster).latest(broker, played.time_ms)
            if reason is Reason.OVERLOADED and report is not None:
                weighed = report.percent() * weights
                if int(np.argmax(weighed)) in {1, 2}:
                    is_known = night.prints_resources and night.form != REPORTS
                    shed[broker].append((played.time_ms, is_known))
    yield from _one_each("memory-as-load", shed)


def skipped_bundles(night: Night) -> Iterator[Truth]:
    """Yield each broker of which chosen bundles were skipped, with a line that says so."""
    skipped: defaultdict[str, list[tuple[int, bool]]] = defaultdict(list)
    for played in rounds_of(night):
        for move in played.moves:
            if move.refusal in {"none", "same"}:
                skipped[move.source].append((move.time_ms, night.form != REPORTS))
    yield from _one_each("skipped-bundles", skipped)


def unload_failed(night: Night) -> Iterator[Truth]:
    """Yield each bundle whose unloading failed: one truth a bundle."""
    failed: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for played in rounds_of(night):
        for move in played.moves:
            if move.refusal == "failed":
                failed[move.bundle].append((move.time_ms, move.source))
    for bundle, times in failed.items():
        span = (times[0][0], times[-1][0])
        sources = {source for _, source in times}
        yield at("unload-failed", span, sources, bundle, is_open=night.form == REPORTS)


def shedding_aborted(night: Night) -> Iterator[Truth]:
    """Yield each leader with rounds that an exception ended."""
    broken: defaultdict[str, list[int]] = defaultdict(list)
    for played in rounds_of(night):
        if played.decision is None:
            broken[played.leader].append(played.time_ms)
    for leader, times in broken.items():
        yield at("shedding-aborted", (times[0], times[-1]), leader, is_open=night.form == REPORTS)


def slow_round(night: Night) -> Iterator[Truth]:
    """Yield each round that took half a minute from its first line to its last.

    The last unload's end is in the log of its source; without it the round ends with the order.
    """
    for played in rounds_of(night):
        if not played.moves:
            continue
        ordered = played.moves[-1].time_ms - played.time_ms
        whole = played.end_ms - played.time_ms
        if whole >= 29_500:
            sees_end = night.density > 0 and night.form not in {LOGS, REPORTS}
            is_sure = ordered > 30_500 or (sees_end and whole > 31_000)
            is_ended = played.end_ms < night.to_ms
            yield at(
                "slow-round",
                (played.time_ms, played.end_ms),
                played.leader,
                [move.bundle for move in played.moves],
                is_open=not (is_sure and is_ended) or night.form == REPORTS,
            )


def lost_destination(night: Night) -> Iterator[Truth]:
    """Yield each bundle that a third broker took, neither source nor destination."""
    yield from _takers(night, "lost-destination")


def same_broker(night: Night) -> Iterator[Truth]:
    """Yield each bundle that its old broker took again; only its log proves it."""
    yield from _takers(night, "same-broker")


def _takers(night: Night, code: str) -> Iterator[Truth]:
    for played in rounds_of(night):
        for move in done(played):
            if move.placed is None or move.taker in {None, move.placed.broker}:
                continue
            mine = "same-broker" if move.taker == move.source else "lost-destination"
            if mine != code:
                continue
            by_log = night.density > 0 and night.form not in {LOGS, REPORTS}
            is_known = by_log or (code == "lost-destination" and night.has_store)
            yield at(
                code,
                (move.time_ms, max(move.taken_ms, move.time_ms)),
                {move.source, move.placed.broker, str(move.taker)},
                move.bundle,
                is_open=not is_known or move.taken_ms > night.to_ms - 30_000,
            )


def vanished_bundle(night: Night) -> Iterator[Truth]:
    """Yield each bundle with 1 kB/s that nobody owned for ten minutes after its unload."""
    for played in rounds_of(night):
        for move in done(played):
            if move.taker is not None:
                continue
            back = [
                it.time_ms
                for it in night.cluster.owners
                if it.bundle == move.bundle and it.broker and it.time_ms > move.time_ms
            ]
            until = min([*back, night.to_ms])
            if until - move.time_ms > 9 * _MINUTE_MS:
                yield at(
                    "vanished-bundle",
                    (move.time_ms, move.time_ms),
                    move.source,
                    move.bundle,
                    is_open=until - move.time_ms < 12 * _MINUTE_MS
                    or bool(back)
                    or not night.has_store,
                )


def heterogeneous_brokers(night: Night) -> Iterator[Truth]:
    """Yield brokers of different strength under strategies that go by traffic.

    A median of used CPU that is half as much again, and 15 points, at no more than a tenth more
    traffic and not less than half, under UniformLoadShedder; or AvgShedder's line that less than
    nothing is to be moved.  Brokers have equally many cores here, which is the page's other case.
    """
    lines = [
        line
        for line in night.cluster.log.lines
        if ",but the throughput -" in line.text and night.from_ms <= line.time_ms <= night.to_ms
    ]
    if lines and night.form != REPORTS:
        names = {b for b in night.ids for line in lines if b in line.text}
        yield at("heterogeneous-brokers", (lines[0].time_ms, lines[-1].time_ms), names)
    if night.shedder != UNIFORM:
        return
    reported = Reported(night.cluster)
    medians = []
    for broker in night.ids:
        writes = reported.of(broker, night.from_ms, night.to_ms)
        times = [*(write.time_ms for write in writes), night.to_ms]
        rows = [
            (until - write.time_ms, write.report.percent()[0], *write.report.totals)
            for write, until in zip(writes, times[1:], strict=True)
            if write.report is not None
        ]
        if rows and sum(row[0] for row in rows) > 0:
            medians.append(_medians(np.array(rows, dtype=float)))
    if any(_is_dearer(one, other, 0.0) for one in medians for other in medians):
        certain = any(_is_dearer(one, other, 0.1) for one in medians for other in medians)
        yield at(
            "heterogeneous-brokers",
            (night.from_ms, night.to_ms),
            night.ids,
            is_open=not (certain and night.has_store),
        )


def _medians(rows: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the medians over the time of CPU, messages and bytes; how long comes first."""
    lasted, cpu, in_rate, out_rate, inward, outward = rows.T

    def middle(column: NDArray[np.float64]) -> float:
        order = np.argsort(column, kind="stable")
        passed = np.cumsum(lasted[order])
        return float(column[order][np.searchsorted(passed, passed[-1] / 2)])

    return middle(cpu), middle(in_rate + out_rate), middle(inward + outward)


def _is_dearer(one: Sequence[float], other: Sequence[float], margin: float) -> bool:
    """Return whether a broker is hotter than another and carries about the same, or less.

    Each has its CPU, messages and bytes; without a margin what is near counts as well.
    """
    least, points = (1.45, 13.0) if margin == 0 else (1.5 + margin, 17.0)
    times = [mine / max(its, 1e-9) for mine, its in zip(one[1:], other[1:], strict=True)]
    bounds = (0.45, 1.15) if margin == 0 else (0.5 + margin / 2, 1.1 - margin / 2)
    is_alike = bounds[0] <= min(times) and max(times) <= bounds[1]
    return one[0] >= least * other[0] and one[0] - other[0] >= points and is_alike


def jitter_chasing(night: Night) -> Iterator[Truth]:
    """Yield each move for a passing peak, by a strategy that acts on one report.

    In the last report before the unload the bundle carried half as much again as the median of
    the ten minutes before, and of ten minutes from two minutes after.
    """
    is_unsmoothed = night.cluster.setting("loadBalancerHistoryResourcePercentage", 0.9) == 0
    if night.shedder not in {UNIFORM, OVERLOAD} and not (
        night.shedder == THRESHOLD and is_unsmoothed
    ):
        return
    reported = Reported(night.cluster)
    for played in rounds_of(night):
        for move in done(played):
            now = move.time_ms
            peak = reported.carried(move.bundle, played.time_ms, played.time_ms + 1)[0]
            since = max(now - 10 * _MINUTE_MS, night.from_ms)
            before = reported.carried(move.bundle, since, now)
            after = reported.carried(move.bundle, now + 2 * _MINUTE_MS, now + 12 * _MINUTE_MS)
            usual = max(np.nanmedian(before), np.nanmedian(after)) if len(before) else np.inf
            is_whole = now - since >= 5 * _MINUTE_MS and now + 12 * _MINUTE_MS <= night.to_ms
            if peak > 1.3 * usual:
                yield at(
                    "jitter-chasing",
                    (now, now),
                    (move.source, move.placed.broker if move.placed else move.source),
                    move.bundle,
                    # Without history ThresholdShedder may have waited for a report all the same.
                    is_open=peak < 1.7 * usual
                    or not (is_whole and night.has_store)
                    or night.shedder == THRESHOLD,
                )


def cold_cpu(night: Night) -> Iterator[Truth]:
    """Yield each broker shed only because another one's first report had no CPU yet.

    With the lowest usage that it measured within five minutes in place of that report the source
    would have been under the bar.
    """
    if night.shedder != THRESHOLD:
        return
    reported = Reported(night.cluster)
    for played in rounds_of(night):
        if played.decision is None or not played.moves:
            continue
        scores = played.decision.scores.copy()
        cold = []
        for i, broker in enumerate(played.load.brokers):
            report = reported.latest(broker, played.time_ms)
            if report is None or report.usage[0] > 0:
                continue
            later = reported.of(broker, played.time_ms, played.time_ms + 5 * _MINUTE_MS)
            usages = [reported.usage(w.report) for w in later if w.report and w.report.usage[0] > 0]
            if usages:
                scores[i] = min(usages)
                cold.append(broker)
        bar = float(scores.mean()) + threshold(night)
        for source in {move.source for move in done(played)} if cold else set():
            under = bar - scores[played.load.brokers.index(source)]
            if under > -0.03:
                yield at(
                    "cold-cpu",
                    (played.time_ms, played.end_ms),
                    {source, *cold},
                    is_open=under < 0.01 or not night.is_replayable,
                )
