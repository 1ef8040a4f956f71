"""Thresholds, shares and hit counts that contradict each other, or bite."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trimtab.explanation.lint.conf import Conf
from trimtab.explanation.lint.rule import Match, Rule, Severity, Span
from trimtab.pulsar.keys import KEYS

_LOW = "loadBalancerAvgShedderLowThreshold"
_HIGH = "loadBalancerAvgShedderHighThreshold"
_LOW_HITS = "loadBalancerAvgShedderHitCountLowThreshold"
_HIGH_HITS = "loadBalancerAvgShedderHitCountHighThreshold"
_SHARE = "maxUnloadPercentage"
_THRESHOLD = "loadBalancerBrokerThresholdShedderPercentage"
_MIN_THROUGHPUT = "loadBalancerBundleUnloadMinThroughputThreshold"
_HISTORY = "loadBalancerHistoryResourcePercentage"
_INTERVAL = "loadBalancerSheddingIntervalMinutes"
_LOWER_BOUNDARY = "lowerBoundarySheddingEnabled"
_TARGET = "loadBalancerBrokerLoadTargetStd"
_TOP_BUNDLES = "loadBalancerMaxNumberOfBundlesInBundleLoadReport"
#: What ThresholdShedder adds to the excess, whatever is set.
_MARGIN = 0.05
#: Longer than this is longer than the grace period of Pulsar's defaults.
_WAIT_MIN_MAX = 30

_AVG_SPANS: tuple[Span, ...] = (("3.0.6", ""),)


def _crossed_thresholds(conf: Conf) -> Iterator[Match]:
    low, high = conf.number(_LOW), conf.number(_HIGH)
    if conf.shedder == "AvgShedder" and low is not None and high is not None and high <= low:
        yield Match(
            f"{conf.fact(_HIGH)}, and {conf.fact(_LOW)}: the high one is not above the low one",
            conf.at(_HIGH, _LOW),
            _HIGH,
        )


def _crossed_hits(conf: Conf) -> Iterator[Match]:
    low, high = conf.number(_LOW_HITS), conf.number(_HIGH_HITS)
    if conf.shedder == "AvgShedder" and low is not None and high is not None and high >= low:
        yield Match(
            f"{conf.fact(_HIGH_HITS)}, and {conf.fact(_LOW_HITS)}: "
            "the wide gap does not act sooner than the narrow one",
            conf.at(_HIGH_HITS, _LOW_HITS),
            _HIGH_HITS,
        )


def _first_hit(conf: Conf) -> Iterator[Match]:
    hits = conf.number(_LOW_HITS)
    if conf.shedder == "AvgShedder" and hits is not None and hits <= 1:
        yield Match(
            f"{conf.fact(_LOW_HITS)}: any single round above the low threshold moves bundles",
            conf.at(_LOW_HITS),
            _LOW_HITS,
        )


def _self_pair(conf: Conf) -> Iterator[Match]:
    low = conf.number(_LOW)
    if conf.shedder == "AvgShedder" and low is not None and low <= 0:
        yield Match(
            f"{conf.fact(_LOW)}: every pair of brokers is too far apart, a broker and itself too",
            conf.at(_LOW),
            _LOW,
        )


def _late_hits(conf: Conf) -> Iterator[Match]:
    hits, interval = conf.number(_LOW_HITS), conf.number(_INTERVAL)
    if conf.shedder != "AvgShedder" or hits is None or interval is None:
        return
    if hits * interval > _WAIT_MIN_MAX:
        yield Match(
            f"{conf.fact(_LOW_HITS)}, a round every {interval:g} min: "
            f"{hits * interval:g} min pass before bundles move",
            conf.at(_LOW_HITS, _INTERVAL),
            _LOW_HITS,
        )


def _small_share(conf: Conf) -> Iterator[Match]:
    share = conf.number(_SHARE)
    if conf.shedder == "AvgShedder" and share is not None and 0 < share < 0.5:
        yield Match(
            f"{conf.fact(_SHARE)}: of a difference of 100 MB/s, {share * 100:g} MB/s are moved, "
            f"and {100 - 2 * share * 100:g} MB/s are left",
            conf.at(_SHARE),
            _SHARE,
        )


def _large_share(conf: Conf) -> Iterator[Match]:
    share = conf.number(_SHARE)
    is_read = conf.shedder in ("AvgShedder", "UniformLoadShedder")
    if is_read and share is not None and 0.5 < share <= 1:
        yield Match(
            f"{conf.fact(_SHARE)}: the brokers change places, since {share * 100:g} % of their "
            "difference is moved",
            conf.at(_SHARE),
            _SHARE,
        )


def _too_little_to_move(conf: Conf) -> Iterator[Match]:
    least = conf.number(_MIN_THROUGHPUT)
    if conf.shedder != "ThresholdShedder" or least is None or not 10 <= least < 10_000:
        return
    yield Match(
        f"{conf.fact(_MIN_THROUGHPUT)} MiB/s: a broker at the bar sheds from "
        f"{least / _MARGIN:g} MiB/s of traffic on, and from {least / (_MARGIN + 0.1):.0f} MiB/s "
        "ten points above it",
        conf.at(_MIN_THROUGHPUT),
        _MIN_THROUGHPUT,
    )


def _idle_broker(conf: Conf) -> Iterator[Match]:
    threshold = conf.number(_THRESHOLD)
    if conf.shedder != "ThresholdShedder" or conf.is_on(_LOWER_BOUNDARY) or threshold is None:
        return
    average = (10 * 80 + 5) / 11
    if average + threshold > 80:
        yield Match(
            f"{conf.fact(_LOWER_BOUNDARY)}: with ten brokers at 80 % and one at 5 % the bar is "
            f"{average + threshold:.2f} %, and nothing moves",
            conf.at(_LOWER_BOUNDARY),
            _LOWER_BOUNDARY,
        )


def _slow_scores(conf: Conf) -> Iterator[Match]:
    history = conf.number(_HISTORY)
    is_read = conf.shedder == "ThresholdShedder" or conf.placer == "LeastResourceUsageWithWeight"
    if not is_read or history is None or not 0.9 <= history < 1:
        return
    rounds = math.ceil(math.log(0.1) / math.log(history) - 1e-9)
    yield Match(
        f"{conf.fact(_HISTORY)}: {rounds} rounds pass until a score has followed 90 % of a change",
        conf.at(_HISTORY),
        _HISTORY,
    )


def _history_out_of_range(conf: Conf) -> Iterator[Match]:
    history = conf.number(_HISTORY)
    if history is not None and history < 0:
        yield Match(
            f"{conf.fact(_HISTORY)}: expected a fraction from 0 to below 1",
            conf.at(_HISTORY),
            _HISTORY,
        )


def _target_out_of_range(conf: Conf) -> Iterator[Match]:
    target = conf.number(_TARGET)
    if conf.shedder != "TransferShedder" or target is None or 0 < target < 0.5:
        return
    meaning = "no cluster is that uneven" if target > 0 else "no cluster is that even"
    yield Match(f"{conf.fact(_TARGET)}: {meaning}", conf.at(_TARGET), _TARGET)


def _few_top_bundles(conf: Conf) -> Iterator[Match]:
    bundles = conf.number(_TOP_BUNDLES)
    default = KEYS[_TOP_BUNDLES].default(conf.release)
    if conf.shedder != "TransferShedder" or bundles is None or default is None:
        return
    if 1 < bundles < float(default):
        yield Match(
            f"{conf.fact(_TOP_BUNDLES)}: a round relieves a broker of {bundles - 1:g} bundles at "
            "most",
            conf.at(_TOP_BUNDLES),
            _TOP_BUNDLES,
        )


RULES: tuple[Rule[Conf], ...] = (
    Rule(
        "avg-thresholds-crossed",
        Severity.WARNING,
        "AvgShedder's high threshold at or below the low one",
        "Every gap that counts at all counts as wide, so that the low hit count is never waited "
        "for and jitter is not told from load.",
        ("PIP-364", "#22946"),
        "15 and 40, the defaults, or a high threshold well above the low one",
        _crossed_thresholds,
        _AVG_SPANS,
    ),
    Rule(
        "avg-hits-crossed",
        Severity.WARNING,
        "AvgShedder's hit count for wide gaps at or above the one for narrow gaps",
        "Wide gaps count as narrow ones too: the smaller count acts first, and the larger one "
        "never.",
        ("PIP-364", "#22946"),
        "8 for narrow gaps and 2 for wide ones, the defaults",
        _crossed_hits,
        _AVG_SPANS,
    ),
    Rule(
        "avg-single-hit",
        Severity.WARNING,
        "AvgShedder that acts on the first hit",
        "Hits in a row are all that AvgShedder has against jitter: it keeps no history.",
        ("PIP-364",),
        f"{_LOW_HITS}=8, the default",
        _first_hit,
        _AVG_SPANS,
    ),
    Rule(
        "avg-threshold-zero",
        Severity.WARNING,
        "AvgShedder's low threshold at 0 or below",
        "Pairs count whatever their difference, and with an odd number of brokers the one in the "
        "middle is a pair with itself.",
        ("PIP-364",),
        f"{_LOW}=15, the default",
        _self_pair,
        _AVG_SPANS,
    ),
    Rule(
        "avg-slow-to-act",
        Severity.NOTE,
        "AvgShedder that waits for more than half an hour",
        "Hits are counted in rounds, not in minutes: a longer interval makes every wait longer.",
        ("PIP-364",),
        f"{_INTERVAL}=1, or fewer hits",
        _late_hits,
        _AVG_SPANS,
    ),
    Rule(
        "avg-moves-too-little",
        Severity.WARNING,
        "AvgShedder that moves less than half of the difference",
        "AvgShedder pairs the most and the least loaded broker and moves a share of what is "
        "between them: half makes them equal; a fifth leaves three fifths, and the next move has "
        "to collect its hits anew.",
        ("PIP-364", "#22946", "#26609"),
        f"{_SHARE}=0.5",
        _small_share,
        _AVG_SPANS,
    ),
    Rule(
        "moves-too-much",
        Severity.WARNING,
        "a shedder that moves more than half of the difference",
        "More than half of the difference makes the cold broker the hotter of the two, and the "
        "next rounds carry it back.",
        ("#13915", "PIP-364"),
        f"{_SHARE}=0.5 at most",
        _large_share,
        (("3.0.0", ""),),
    ),
    Rule(
        "min-throughput",
        Severity.NOTE,
        "ThresholdShedder that needs much traffic before it moves anything",
        "What is to be moved is traffic times excess, and less than this is not moved at all: a "
        "cluster of small messages runs out of CPU long before, and nothing is shed.",
        ("#21299",),
        f"{_MIN_THROUGHPUT}=1, or less for small clusters",
        _too_little_to_move,
    ),
    Rule(
        "idle-broker-unnoticed",
        Severity.NOTE,
        "ThresholdShedder that does not look for idle brokers",
        "A broker sheds if it is above the average by the threshold; where all but one are "
        "equally busy none is, and the idle one stays idle, such as after a rolling restart.",
        ("#17456", "PIP-220", "#26609"),
        f"{_LOWER_BOUNDARY}=true; rounds in which nothing moves then smooth scores twice",
        _idle_broker,
        (("3.0.0", ""),),
    ),
    Rule(
        "slow-scores",
        Severity.NOTE,
        "a history so heavy that scores lag far behind the load",
        "A broker keeps shedding after its load has gone, and fills up after it has become full: "
        "scores of 90 and 10 that have become 50 and 50 still read 86 and 14 a round later.",
        ("#18173", "#13119", "#26609"),
        f"{_HISTORY}=0.5, or AvgShedder, which keeps no history",
        _slow_scores,
    ),
    Rule(
        "history-out-of-range",
        Severity.ERROR,
        "a history below 0",
        "Scores are the old one times this and the new usage times the rest: below 0 they swing "
        "around the usage.",
        ("#6772",),
        f"{_HISTORY}=0.5",
        _history_out_of_range,
    ),
    Rule(
        "few-top-bundles",
        Severity.NOTE,
        "brokers that publish few of their bundles to TransferShedder",
        "TransferShedder chooses among those that a broker publishes and leaves it one of them: "
        "the fewer there are, the more rounds it takes.",
        ("PIP-354", "#19813"),
        f"{_TOP_BUNDLES}=10, the default, or -1 for all",
        _few_top_bundles,
        (("3.0.0", ""),),
    ),
    Rule(
        "target-std-out-of-range",
        Severity.WARNING,
        "TransferShedder with a deviation that none can reach, or all do",
        "Half of the brokers at 0 % and half at 100 % is a deviation of 0.5, and there is no "
        "larger one: only an idle or an overloaded broker is noticed then.  With 0 or less every "
        "cluster is out of balance, for ever.",
        ("PIP-220",),
        f"{_TARGET}=0.25, the default",
        _target_out_of_range,
        (("3.0.0", ""),),
    ),
)
