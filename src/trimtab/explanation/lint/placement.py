"""Where bundles go: placement that works against shedding, and what narrows the choice."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trimtab.explanation.lint.conf import IMPL, MODULAR, PLACER_KEY, SHEDDER_KEY, Conf, shown
from trimtab.explanation.lint.rule import Match, Rule, Severity

_EVENLY = "loadBalancerDistributeBundlesEvenlyEnabled"
_EXCLUDED = "loadBalancerSheddingExcludedNamespaces"
_MARGIN = "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
_THRESHOLD = "loadBalancerBrokerThresholdShedderPercentage"
_LATER = "preferLaterVersions"
_OVERLOADED = "loadBalancerBrokerOverloadedThresholdPercentage"

#: What each strategy ranks brokers by.
_USAGE, _RATES = "resource usage", "message rates"
_SHEDS_BY = {
    "ThresholdShedder": _USAGE,
    "OverloadShedder": _USAGE,
    "UniformLoadShedder": _RATES,
}
_PLACES_BY = {"LeastLongTermMessageRate": _RATES, "LeastResourceUsageWithWeight": _USAGE}
_MATCH = {_USAGE: "LeastResourceUsageWithWeight", _RATES: "LeastLongTermMessageRate"}

_NAMESPACE = re.compile(r"[^/\s]+(?:/[^/\s]+){1,2}")


def _mixed_scores(conf: Conf) -> Iterator[Match]:
    sheds, places = _SHEDS_BY.get(conf.shedder), _PLACES_BY.get(conf.placer)
    if sheds is None or places is None or sheds == places:
        return
    is_choice = conf.is_from("2.11.0")
    instead = (
        f"{PLACER_KEY}={IMPL}{_MATCH[sheds]}"
        if is_choice
        else f"{SHEDDER_KEY}=\
{IMPL}UniformLoadShedder, the only one here that goes by rates"
    )
    yield Match(
        f"{conf.shedder} sheds by {sheds}, and {conf.placer} places by {places}: "
        f"{conf.fact(SHEDDER_KEY)}, {_placer_line(conf)}",
        conf.at(PLACER_KEY, SHEDDER_KEY),
        PLACER_KEY if is_choice else SHEDDER_KEY,
        instead,
    )


def _placer_line(conf: Conf) -> str:
    if conf.is_from("2.11.0"):
        return conf.fact(PLACER_KEY)
    return f"release {conf.release} has no other placement"


def _wide_margin(conf: Conf) -> Iterator[Match]:
    margin, threshold = conf.number(_MARGIN), conf.number(_THRESHOLD)
    is_pair = conf.shedder == "ThresholdShedder" and conf.placer == "LeastResourceUsageWithWeight"
    if not is_pair or margin is None or threshold is None or not 0 < threshold <= margin:
        return
    yield Match(
        f"{conf.fact(_MARGIN)}, and {conf.fact(_THRESHOLD)}: with five brokers, one of them at "
        f"the bar, the others are {threshold / 4:g} points below the average, and none is "
        f"{margin:g} below",
        conf.at(_MARGIN, _THRESHOLD),
        _MARGIN,
        f"{_MARGIN}={max(1, int(threshold / 4))}",
    )


def _evenly(conf: Conf) -> Iterator[Match]:
    if conf.manager == MODULAR and conf.is_on(_EVENLY):
        yield Match(
            f"{conf.fact(_EVENLY)}: only brokers with the fewest bundles of a namespace may get "
            "its next one",
            conf.at(_EVENLY),
            _EVENLY,
        )


def _excluded(conf: Conf) -> Iterator[Match]:
    names = [name.strip() for name in conf.text(_EXCLUDED).split(",") if name.strip()]
    whole = [name for name in names if _NAMESPACE.fullmatch(name)]
    if whole and conf.manager == MODULAR:
        yield Match(
            f"{conf.fact(_EXCLUDED)}: bundles of these namespaces are placed in turn, on whichever "
            "broker comes next",
            conf.at(_EXCLUDED),
            _EXCLUDED,
        )


def _no_namespace(conf: Conf) -> Iterator[Match]:
    for name in (it.strip() for it in conf.text(_EXCLUDED).split(",")):
        if name and not _NAMESPACE.fullmatch(name):
            yield Match(
                f"{_EXCLUDED} names {shown(name)}: expected tenant/namespace",
                conf.at(_EXCLUDED),
                _EXCLUDED,
                f"{_EXCLUDED}={shown(name).strip('/')}/NAMESPACE, one for each",
            )


def _later_versions(conf: Conf) -> Iterator[Match]:
    if conf.is_on(_LATER):
        yield Match(
            f"{conf.fact(_LATER)}: the first broker of a newer release gets every bundle",
            conf.at(_LATER),
            _LATER,
        )


def _low_overload(conf: Conf) -> Iterator[Match]:
    value = conf.number(_OVERLOADED)
    if conf.placer == "LeastLongTermMessageRate" and value is not None and value < 50:
        yield Match(
            f"{conf.fact(_OVERLOADED)}: at {value:g} % a broker counts as overloaded, and where "
            "all are the owner is drawn by lot",
            conf.at(_OVERLOADED),
            _OVERLOADED,
        )


RULES: tuple[Rule[Conf], ...] = (
    Rule(
        "mixed-scores",
        Severity.WARNING,
        "a shedder and a placer that rank brokers by different things",
        "The broker that is relieved by one measure may be the emptiest by the other: bundles "
        "come back, or land on the next hot broker, and are shed again.",
        ("#18100", "#26609", "PIP-181"),
        "two strategies that go by the same measure",
        _mixed_scores,
    ),
    Rule(
        "placement-margin-too-wide",
        Severity.WARNING,
        "LeastResourceUsageWithWeight with a margin as wide as ThresholdShedder's threshold",
        "A broker that is shed stands above the average by the threshold, and all others share "
        "that below it; if none is below by the margin, the target is drawn by lot among all, "
        "the hottest too, and the log says that all are overloaded.",
        ("PIP-181", "#16281"),
        "a margin of a quarter of the threshold, or less in larger clusters",
        _wide_margin,
        (("2.11.0", ""),),
    ),
    Rule(
        "even-distribution",
        Severity.WARNING,
        "bundles of a namespace spread by number, whatever their load",
        "Only the brokers with the fewest bundles of the namespace may get its next one; often "
        "that is a single broker, hot or cold, or the one that has just given the bundle away.  "
        "More than 400 unloads in ten hours were counted, and eight hot partitions on two brokers.",
        ("#16059", "#8492", "#21722", "#26609"),
        f"{_EVENLY}=false",
        _evenly,
        (("2.11.0", ""),),
    ),
    Rule(
        "excluded-namespaces",
        Severity.NOTE,
        "namespaces that are excluded from shedding",
        "What is excluded is not only left where it is: it is placed in turn, without a look at "
        "load, so that a heavy namespace ends up anywhere.",
        ("PIP-380", "#23549"),
        "no namespace that carries much load",
        _excluded,
        (("4.1.0", ""),),
    ),
    Rule(
        "excluded-not-a-namespace",
        Severity.ERROR,
        "something else than tenant/namespace among the excluded namespaces",
        "The whole name of a namespace is compared; anything else excludes nothing.",
        ("PIP-380", "#23549"),
        "tenant/namespace",
        _no_namespace,
        (("4.1.0", ""),),
    ),
    Rule(
        "prefers-later-versions",
        Severity.WARNING,
        "bundles that go to brokers of the newest release alone",
        "While brokers are upgraded one by one the first is the only candidate for every bundle, "
        "and gets them all.",
        ("#397", "#19023"),
        f"{_LATER}=false, unless an upgrade of the whole cluster at once is under way",
        _later_versions,
    ),
    Rule(
        "all-overloaded",
        Severity.WARNING,
        "LeastLongTermMessageRate with a low bar for overloaded brokers",
        "An overloaded broker's score is infinite; once every broker is beyond the bar all scores "
        "are alike, and rates do not count any more.",
        ("#15904", "#6772"),
        f"{_OVERLOADED}=85, the default",
        _low_overload,
    ),
)
