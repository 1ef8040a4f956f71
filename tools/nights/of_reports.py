"""Truths that follow from reports, from traffic and from who led: by the pages' definitions."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from tools.nights.leader import Move, Round
from tools.nights.night import AVG, REPORTS, UNIFORM, Night
from tools.nights.of_rounds import done, rounds_of, threshold
from tools.nights.report import Report
from tools.nights.reported import Reported
from tools.nights.truth import Truth, at
from trimtab.pulsar.model import Reason

_MINUTE_MS = 60_000


def giant_bundle(night: Night) -> Iterator[Truth]:
    """Yield each bundle that is too large: for any broker, or for the balancer to move.

    It carries half as much again as a broker's even share: mean over the recording, three brokers
    at least, and the broker that had it last stands above the average by the shedding threshold.
    Or see the two below.
    """
    yield from _too_large_wherever(night)
    yield from _above_every_budget(night)
    cluster = night.cluster
    if len(night.ids) < 3:
        return
    steps = np.linspace(night.minute(0), night.minute(night.minutes), 60)
    traffic = cluster.traffic
    carried = np.mean([traffic.carried(traffic.at(s))[:, 2:].sum(axis=1) for s in steps], axis=0)
    there = [b.id for b in cluster.brokers.values() if b.is_up]
    shares = carried / (carried.sum() / len(there))
    usages = Reported(cluster).usages(night.to_ms)
    mean = float(np.mean(list(usages.values())))
    for i in np.flatnonzero(shares > 1.35).tolist():
        name = traffic.names[i]
        last = [it.broker for it in cluster.owners if it.bundle == name and it.broker]
        above = usages.get(last[-1], 0.0) - mean - threshold(night) if last else -1.0
        if above > -0.04:
            is_sure = shares[i] > 1.65 and above > 0.04 and night.has_store
            yield at("giant-bundle", (night.from_ms, night.to_ms), last[-1], name, not is_sure)


def _too_large_wherever(night: Night) -> Iterator[Truth]:
    """Yield each bundle that for ten rounds in all lifted whoever had it over the average.

    By the shedding threshold, and it alone would lift the coolest broker as high.  What it takes of
    a broker is its share of that broker's traffic; within four points it is open.
    """
    near: defaultdict[str, list[tuple[int, str, bool]]] = defaultdict(list)
    for played in rounds_of(night):
        load, usage = played.load, played.usage
        if len(usage) < 2:
            continue
        bar = float(usage.mean()) + threshold(night)
        carried = load.throughput_in + load.throughput_out
        traffic = night.cluster.traffic
        second = (played.time_ms - night.cluster.zero_ms) / 1000
        now = traffic.carried(traffic.over_minute(second))[:, 2:].sum(axis=1)
        for row, name in enumerate(load.bundles):
            owner = int(load.bundle_broker[row])
            if usage[owner] < bar - 0.04 or carried[owner] <= 0:
                continue
            takes = usage[owner] * min(1.0, now[night.cluster.at[name]] / carried[owner])
            above = min(usage[owner], float(np.delete(usage, owner).min()) + takes) - bar
            if above > -0.04:
                near[name].append((played.time_ms, load.brokers[owner], bool(above > 0.04)))
    for name, times in near.items():
        certain = sum(is_sure for _, _, is_sure in times)
        if len(times) >= 8:
            yield at(
                "giant-bundle",
                (times[0][0], times[-1][0]),
                {broker for _, broker, _ in times},
                name,
                is_open=certain < 12 or not night.has_store,
            )


def _above_every_budget(night: Night) -> Iterator[Truth]:
    """Yield each broker of which AvgShedder or UniformLoadShedder could move no bundle.

    In three rounds it was to lose something, and each of its bundles carried more than that.
    """
    if night.shedder not in {AVG, UNIFORM}:
        return
    stuck: defaultdict[str, list[Round]] = defaultdict(list)
    for played in rounds_of(night):
        for i, reason in enumerate(played.decision.reasons if played.decision else ()):
            if reason in {Reason.NO_BUNDLES, Reason.SOLE_BUNDLE} and _is_above(played, i):
                stuck[played.load.brokers[i]].append(played)
    for broker, rounds in stuck.items():
        is_known = night.has_store and (night.shedder == UNIFORM or night.is_replayable)
        yield at(
            "giant-bundle",
            (rounds[0].time_ms, rounds[-1].time_ms),
            broker,
            is_open=len(rounds) < 3 or not is_known,
        )


def _is_above(played: Round, broker: int) -> bool:
    """Return whether each bundle of a broker carries more than the broker was to lose."""
    assert played.decision is not None
    decision, carried = played.decision, played.load.bundle_traffic()
    is_rate = decision.offload_is_rate is not None and decision.offload_is_rate[broker]
    weight = (
        carried.rate_in + carried.rate_out
        if is_rate
        else carried.throughput_in + carried.throughput_out
    )[played.load.bundle_broker == broker]
    return bool(weight.size and 0 < decision.offload[broker] < weight.min())


def empty_bundle_moved(night: Night) -> Iterator[Truth]:
    """Yield each move of a bundle that had carried nothing for a minute and a half.

    UniformLoadShedder prints the average by which it chose: 0.0 tells it without any report.
    """
    cluster = night.cluster
    for played in rounds_of(night):
        second = (played.time_ms - cluster.zero_ms) / 1000
        past = np.array([cluster.traffic.at(second - back) for back in range(0, 300, 15)])
        for move in done(played):
            silent = past[:, cluster.at[move.bundle]] <= 0
            if silent[:2].all():
                yield at(
                    "empty-bundle-moved",
                    (played.time_ms, played.end_ms),
                    move.source,
                    move.bundle,
                    is_open=not (silent.all() and (night.has_store or _is_printed(night, move))),
                )


def _is_printed(night: Night, move: Move) -> bool:
    """Return whether the leader's log tells of a bundle's silence, and of nothing that blurs it."""
    played = next(it for it in night.rounds if move in it.moves)
    is_whole = all(it.refusal is None for it in played.moves)
    return night.shedder == UNIFORM and night.form != REPORTS and is_whole


def no_headroom(night: Night) -> Iterator[Truth]:
    """Yield each ten intervals with a mean of 75 % or more and the coolest at 65 % or more."""
    run: list[tuple[int, bool]] = []
    rows = [(it.time_ms, float(it.usage.mean()), float(it.usage.min())) for it in rounds_of(night)]
    for time_ms, mean, least in [*rows, (night.to_ms, 0.0, 0.0)]:
        if mean > 0.73 and least > 0.63:
            run.append((time_ms, mean > 0.77 and least > 0.67))
            continue
        if len(run) >= 9:
            certain = sum(is_sure for _, is_sure in run) >= 12 and len(run) >= 12
            yield at(
                "no-headroom",
                (run[0][0], run[-1][0]),
                night.ids,
                is_open=not certain or not night.has_reports,
            )
        run = []


def bad_nic_limit(night: Night) -> Iterator[Truth]:
    """Yield each broker whose network, in three reports, carried over 105 % of its limit.

    Or something with a limit of zero.
    """

    def is_bad(report: Report) -> bool:
        network, limit = report.usage[3:], report.limit[3:]
        over = (limit > 0) & (network > 1.05 * limit)
        return bool((over | ((limit <= 0) & (network > 0))).any())

    reported = Reported(night.cluster)
    for broker in night.ids:
        writes = reported.of(broker, night.from_ms, night.to_ms)
        bad = [w.time_ms for w in writes if w.report is not None and is_bad(w.report)]
        standing = reported.latest(broker, night.from_ms)
        if standing is not None and is_bad(standing):
            bad.insert(0, night.from_ms)
        if bad:
            sure = len(bad) >= 3 and night.has_reports
            yield at("bad-nic-limit", (bad[0], night.to_ms), broker, is_open=not sure)


def wrong_manager(night: Night) -> Iterator[Truth]:
    """Yield each broker whose report names another load manager than the settings do."""
    name = night.conf["loadManagerClassName"]
    for broker in night.ids:
        writes = Reported(night.cluster).of(broker, night.from_ms - 20 * _MINUTE_MS, night.to_ms)
        odd = [w.time_ms for w in writes if w.report is not None and w.report.manager != name]
        if odd:
            span = (max(odd[0], night.from_ms), night.to_ms)
            yield at("wrong-manager", span, broker, is_open=not night.has_reports)


def usage_zero(night: Night) -> Iterator[Truth]:
    """Yield each broker with three reports in a row of 1 MB/s in which nothing is used."""
    for broker in night.ids:
        run: list[int] = []
        best: list[int] = []
        for write in Reported(night.cluster).of(broker, night.from_ms, night.to_ms):
            report = write.report
            is_zero = report is not None and report.percent()[[0, 3, 4]].max() < 0.01
            if is_zero and report is not None and report.totals[2:].sum() >= 1e6:
                run.append(write.time_ms)
                best = max(best, run, key=len)
            else:
                run = []
        if best:
            sure = len(best) >= 3 and night.has_store
            yield at("usage-zero", (best[0], night.to_ms), broker, is_open=not sure)


def zero_traffic_contradiction(night: Night) -> Iterator[Truth]:
    """Yield each broker hot without traffic: three reports of two minutes, or ten minutes of it.

    CPU or network at half or more, with less than 1 kB/s and less than a message a second.
    """
    for broker in night.ids:
        spans: list[tuple[int, int, int]] = []
        writes = Reported(night.cluster).of(broker, night.from_ms - 20 * _MINUTE_MS, night.to_ms)
        for i, write in enumerate(writes):
            until = writes[i + 1].time_ms if i + 1 < len(writes) else night.to_ms
            report = write.report
            if report is None or until < night.from_ms:
                continue
            is_hot = report.percent()[[0, 3, 4]].max() >= 50
            if is_hot and report.totals[2:].sum() < 1000 and report.totals[:2].sum() < 1:
                spans.append((max(write.time_ms, night.from_ms), until, 1))
        if spans:
            held = sum(end - begin for begin, end, _ in spans)
            count = len(spans)
            whole = spans[-1][1] - spans[0][0]
            sure = held > 12 * _MINUTE_MS or (count >= 4 and whole > 4 * _MINUTE_MS)
            yield at(
                "zero-traffic-contradiction",
                (spans[0][0], night.to_ms),
                broker,
                is_open=not sure or not night.has_store,
            )


def chatty_reports(night: Night) -> Iterator[Truth]:
    """Yield each broker with thirty reports in ten minutes whose traffic had stayed.

    Each within 45 s of the one before; messages, bytes and bundles within the report threshold.
    """
    bar = night.cluster.setting("loadBalancerReportUpdateThresholdPercentage", 10)
    for broker in night.ids:
        writes = Reported(night.cluster).of(broker, night.from_ms, night.to_ms)
        needless = [
            two.time_ms
            for one, two in itertools.pairwise(writes)
            if one.report is not None
            and two.report is not None
            and two.time_ms - one.time_ms <= 45_000
            and _stayed(one.report, two.report, bar)
        ]
        most = max(
            (sum(t <= other < t + 10 * _MINUTE_MS for other in needless) for t in needless),
            default=0,
        )
        if most >= 27:
            sure = most >= 34 and night.has_store
            yield at("chatty-reports", (needless[0], needless[-1]), broker, is_open=not sure)


def _stayed(one: Report, two: Report, bar: float) -> bool:
    for old, new in (
        (one.totals[:2].sum(), two.totals[:2].sum()),
        (one.totals[2:].sum(), two.totals[2:].sum()),
        (float(len(one.names)), float(len(two.names))),
    ):
        if abs(new - old) * 100 > bar * old:
            return False
    return True


def leader_change(night: Night) -> Iterator[Truth]:
    """Yield the elections after the first that the recording knows of: one truth a night.

    By the logs or the store; an election before which nobody is known to have led is no change.
    """
    elections = [(t, b) for t, b in night.cluster.led if b is not None]
    inside = [(t, b) for t, b in elections if night.from_ms < t <= night.to_ms]
    earlier = [(t, b) for t, b in elections if t <= night.from_ms]
    has_logs = night.form != REPORTS and night.keeps_elections
    changes = inside if earlier else inside[1:]
    if changes:
        is_known = night.has_store or (has_logs and len(inside) > 1)
        names = {broker for _, broker in [*earlier[-1:], *inside]}
        span = (changes[0][0], changes[-1][0])
        yield at("leader-change", span, names, is_open=not is_known)


def two_leaders(night: Night) -> Iterator[Truth]:
    """Yield each broker with rounds more than five seconds after another one was elected.

    Or after it had said in its log that it follows, without an election of its own since.
    """
    elections = [(t, b) for t, b in night.cluster.led if b is not None]
    ids = {broker.name: broker.id for broker in night.cluster.brokers.values()}
    follows = [
        (line.time_ms, ids[line.broker])
        for line in night.cluster.log.lines
        if "is a follower" in line.text and line.time_ms >= night.from_ms
    ]
    late: dict[str, list[tuple[int, bool]]] = {}
    for played in rounds_of(night):
        mine = [t for t, b in elections if b == played.leader and t <= played.time_ms]
        other = [t for t, b in elections if b != played.leader and t < played.time_ms - 5000]
        said = [t for t, b in follows if b == played.leader and t < played.time_ms - 5000]
        is_told = bool(played.moves) or played.decision is None or night.prints_rounds
        is_second = bool(mine and other and max(other) > max(mine))
        has_said = bool(mine and said and max(said) > max(mine))
        if is_told and (is_second or has_said):
            known = (has_said and night.keeps_elections) or (is_second and night.has_store)
            late.setdefault(played.leader, []).append((played.time_ms, known))
    for broker, rounds in late.items():
        successors = {b for t, b in elections if t <= rounds[-1][0]}
        is_known = night.form != REPORTS and any(known for _, known in rounds)
        span = (rounds[0][0], rounds[-1][0])
        yield at("two-leaders", span, {broker} | successors, is_open=not is_known)


def frozen_record(night: Night) -> Iterator[Truth]:
    """Yield each broker that was up and did not write its record when it was due.

    The record stands for longer than the longest time between two and a minute, and what the
    broker says of itself, over REST or in its metrics, goes on and differs from it.
    """
    cluster = night.cluster
    longest_s = 60 * cluster.setting("loadBalancerReportUpdateMaxIntervalMinutes", 15)
    due_ms = round(1000 * longest_s) + _MINUTE_MS
    reported = Reported(cluster)
    others = {w.broker: w.time_ms for w in cluster.writes if w.time_ms <= night.to_ms}
    for broker in night.ids:
        writes = [w for w in cluster.writes if w.broker == broker and w.time_ms <= night.to_ms]
        ends = [w.time_ms for w in writes[1:]] + [night.to_ms]
        for write, end in zip(writes, ends, strict=True):
            if write.report is None or end - write.time_ms <= due_ms or end <= night.from_ms:
                continue
            usage = reported.usage(write.report)
            answers = [
                reported.usage(it)
                for time_ms, it in zip(cluster.answered_ms, cluster.answers, strict=True)
                if it.broker == broker and max(write.time_ms, night.from_ms) < time_ms < end
            ]
            far = sum(abs(it - usage) > 0.15 for it in answers)
            last = max((t for b, t in others.items() if b != broker), default=0)
            is_seen = night.form in {"whole"} and last - write.time_ms > due_ms + 3 * _MINUTE_MS
            yield at(
                "frozen-record",
                (max(write.time_ms, night.from_ms), end),
                broker,
                is_open=not (is_seen and far * 2 > len(answers) > 6),
            )


def no_acting_leader(night: Night) -> Iterator[Truth]:
    """Yield each time longer than two intervals in which the store had no leader."""
    interval = night.cluster.setting("loadBalancerSheddingIntervalMinutes", 1) * _MINUTE_MS
    led = [*night.cluster.led, (night.to_ms, "end")]
    for (begin, broker), (end, _) in itertools.pairwise(led):
        if broker is None and begin >= night.from_ms and end - begin > 2 * interval:
            sure = end - begin > 2.2 * interval and night.has_store
            yield at("no-acting-leader", (begin, end), night.ids, is_open=not sure)


def moved_in(night: Night) -> set[str]:
    """Return the bundles that the recording's rounds moved."""
    return {move.bundle for played in rounds_of(night) for move in done(played)}
