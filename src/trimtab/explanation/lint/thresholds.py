"""Thresholds, shares and hit counts that contradict each other, or bite."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from trimtab.explanation.lint.conf import Conf
from trimtab.explanation.lint.rule import Finder, Match
from trimtab.pulsar.keys import KEYS

_LOW_HITS = "loadBalancerAvgShedderHitCountLowThreshold"
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


def _target_out_of_range(conf: Conf) -> Iterator[Match]:
    target = conf.number(_TARGET)
    # What is no number is within no range, so that it is not for a row of rules.toml.
    if conf.shedder != "TransferShedder" or target is None or 0 < target < 0.5:
        return
    meaning = "no cluster is that uneven" if target > 0 else "no cluster is that even"
    yield Match(f"{conf.fact(_TARGET)}: {meaning}", conf.at(_TARGET), _TARGET)


#: Code → what looks for it.
FINDERS: Mapping[str, Finder] = {
    "avg-slow-to-act": _late_hits,
    "avg-moves-too-little": _small_share,
    "min-throughput": _too_little_to_move,
    "idle-broker-unnoticed": _idle_broker,
    "slow-scores": _slow_scores,
    "few-top-bundles": _few_top_bundles,
    "target-std-out-of-range": _target_out_of_range,
}
