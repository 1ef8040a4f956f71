"""How bundles are made and split, as far as it works against shedding."""

from __future__ import annotations

from collections.abc import Iterator

from trimtab.explanation.lint.conf import Conf
from trimtab.explanation.lint.rule import Match, Rule, Severity

_AUTO = "loadBalancerAutoBundleSplitEnabled"
_UNLOAD = "loadBalancerAutoUnloadSplitBundlesEnabled"
_MAXIMUM = "loadBalancerNamespaceMaximumBundles"
_BUNDLES = "defaultNumberOfNamespaceBundles"
_ALGORITHM = "defaultNamespaceBundleSplitAlgorithm"
_SUPPORTED = "supportedNamespaceBundleSplitAlgorithms"
#: Fewer cannot be spread over a cluster of ordinary size.
_BUNDLES_MIN = 8
#: Limit → the least that leaves a bundle whole.
_LIMITS = {
    "loadBalancerNamespaceBundleMaxTopics": 2,
    "loadBalancerNamespaceBundleMaxMsgRate": 1,
    "loadBalancerNamespaceBundleMaxBandwidthMbytes": 1,
}
_BY_AVERAGES = ("LeastLongTermMessageRate",)


def _splits_and_unloads(conf: Conf) -> Iterator[Match]:
    if conf.is_on(_AUTO) and conf.is_on(_UNLOAD) and conf.placer in _BY_AVERAGES:
        yield Match(
            f"{conf.fact(_UNLOAD)}, and {conf.placer} places by long-term averages",
            conf.at(_UNLOAD, _AUTO),
            _UNLOAD,
        )


def _cannot_split(conf: Conf) -> Iterator[Match]:
    bundles, maximum = conf.number(_BUNDLES), conf.number(_MAXIMUM)
    if conf.is_on(_AUTO) and bundles is not None and maximum is not None and bundles >= maximum:
        yield Match(
            f"{conf.fact(_BUNDLES)}, and {conf.fact(_MAXIMUM)}: no bundle of a new namespace can "
            "ever be split",
            conf.at(_MAXIMUM, _BUNDLES),
            _MAXIMUM,
            f"{_MAXIMUM}={int(max(128, 4 * bundles))}",
        )


def _splits_everything(conf: Conf) -> Iterator[Match]:
    for key, least in _LIMITS.items():
        value = conf.number(key)
        if conf.is_on(_AUTO) and value is not None and value < least:
            yield Match(
                f"{conf.fact(key)}: every bundle with two topics and any traffic is too big",
                conf.at(key),
                key,
            )


def _few_bundles(conf: Conf) -> Iterator[Match]:
    bundles = conf.number(_BUNDLES)
    if bundles is not None and bundles < _BUNDLES_MIN:
        yield Match(
            f"{conf.fact(_BUNDLES)}: a namespace keeps {bundles:g} brokers busy at most, and each "
            f"move carries {100 / max(1, bundles):.0f} % of it",
            conf.at(_BUNDLES),
            _BUNDLES,
        )


def _unsupported(conf: Conf) -> Iterator[Match]:
    name = conf.text(_ALGORITHM).strip()
    supported = [it.strip() for it in conf.text(_SUPPORTED).split(",")]
    if conf.is_written(_ALGORITHM) and name not in supported:
        yield Match(
            f"{conf.fact(_ALGORITHM)}: release {conf.release} supports {', '.join(supported)}"
            if not conf.is_written(_SUPPORTED)
            else f"{conf.fact(_ALGORITHM)}, but {conf.fact(_SUPPORTED)}",
            conf.at(_ALGORITHM),
            _ALGORITHM,
            f"{_ALGORITHM}=range_equally_divide, the default",
        )


RULES: tuple[Rule[Conf], ...] = (
    Rule(
        "split-unloads",
        Severity.NOTE,
        "halves of split bundles that are unloaded, under a placer that goes by averages",
        "A hot bundle is split and both halves are placed anew, without any history: their "
        "averages start again at whatever is measured first, and placement goes by that.",
        ("#857", "#13761"),
        f"{_UNLOAD}=false, and shedding decides what moves",
        _splits_and_unloads,
    ),
    Rule(
        "split-impossible",
        Severity.WARNING,
        "a new namespace that has all the bundles that it may have",
        "A bundle that is too big is found in each round and never split: the log says that the "
        "namespace has too many bundles, and the hot bundle stays.",
        ("#9484",),
        "a maximum of several times the bundles of a new namespace",
        _cannot_split,
    ),
    Rule(
        "splits-everything",
        Severity.WARNING,
        "a limit by which every bundle is too big",
        "Limits are passed when a bundle is above them: at nothing each is, and bundles are split "
        "until their number is at its maximum.  Of the limits that of sessions alone is switched "
        "off by -1.",
        ("#13108", "BundleSplitterTask"),
        "a limit that an ordinary bundle does not reach",
        _splits_everything,
    ),
    Rule(
        "few-bundles",
        Severity.NOTE,
        "few bundles for a new namespace",
        "A bundle is the least that can be moved: a broker with a single one cannot be relieved, "
        "and one that holds a quarter of a namespace is too big for any gap.",
        ("#26610", "#8492"),
        f"{_BUNDLES}=32, the default from 5.0 on",
        _few_bundles,
    ),
    Rule(
        "split-algorithm-unsupported",
        Severity.ERROR,
        "a way to split bundles that is not supported",
        "Each split asks for it, and fails.",
        ("#16782",),
        "one of the supported ones",
        _unsupported,
    ),
)
