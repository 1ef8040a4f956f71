"""Defects of releases that a chosen strategy has, whatever is set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from trimtab.explanation.lint.conf import EXTENSIBLE, MODULAR, PLACER_KEY, SHEDDER_KEY, Conf
from trimtab.explanation.lint.rule import Match, Rule, Severity


def _has(strategy: str, does: str, conf: Conf) -> Iterator[Match]:
    if strategy in (conf.shedder, conf.placer):
        key = SHEDDER_KEY if strategy == conf.shedder else PLACER_KEY
        yield Match(
            f"{strategy} of release {conf.release} {does}: {conf.fact(key)}", conf.at(key), key
        )


def _under(manager: str, does: str, conf: Conf) -> Iterator[Match]:
    if conf.manager == manager and conf.shedder:
        yield Match(
            f"the {manager} load manager of release {conf.release} {does}",
            conf.at("loadManagerClassName"),
            "loadManagerClassName",
        )


def _debugging(conf: Conf) -> Iterator[Match]:
    key = "loadBalancerDebugModeEnabled"
    if conf.manager == EXTENSIBLE and conf.is_on(key):
        yield Match(
            f"{conf.fact(key)}: what an exchange gives back counts, as it otherwise does not",
            conf.at(key),
            key,
        )


def _strategy(name: str, does: str) -> Callable[[Conf], Iterator[Match]]:
    return partial(_has, name, does)


def _manager(name: str, does: str) -> Callable[[Conf], Iterator[Match]]:
    return partial(_under, name, does)


RULES: tuple[Rule[Conf], ...] = (
    Rule(
        "uniform-joint-extremes",
        Severity.WARNING,
        "UniformLoadShedder that seeks one pair of brokers by rate or throughput",
        "The broker that is highest in rate or in throughput replaces the highest of both, so that "
        "the pair it compares is often not the extreme one.",
        ("#21016",),
        "3.0.2, 3.1.1 or later, or another shedder",
        _strategy("UniformLoadShedder", "compares one pair of brokers for rate and throughput"),
        (("2.10.0", "3.0.2"), ("3.1.0", "3.1.1")),
    ),
    Rule(
        "uniform-empties-broker",
        Severity.WARNING,
        "UniformLoadShedder that lets every small bundle go",
        "A bundle may be 1000 messages/s beyond what is left to move: on a broker with little "
        "traffic everything fits, and all of it goes in one round.",
        ("#21905", "#21906"),
        "5.0, or AvgShedder for both roles",
        _strategy("UniformLoadShedder", "lets every small bundle go"),
        (("2.10.0", "5.0.0-M1"),),
    ),
    Rule(
        "avg-shedder-sorting",
        Severity.WARNING,
        "AvgShedder that sorts brokers wrongly",
        "Scores less than a point apart count as equal, so that the ends of the list are often "
        "not the hottest and the coolest broker; from 32 brokers on Java may find the "
        "contradiction, and the round is lost.",
        ("#24954",),
        "4.0.8 or later",
        _strategy("AvgShedder", "sorts brokers wrongly"),
        (("3.0.6", "4.0.8"),),
    ),
    Rule(
        "avg-shedder-lost-plans",
        Severity.NOTE,
        "AvgShedder that may not find its own plan again",
        "Destinations are kept under averages that change with every report: a plan that is not "
        "found is a random broker, and that is kept as if it had been planned.",
        ("#26246",),
        "a release with the fix; until then look for bundles that went elsewhere than planned",
        _strategy("AvgShedder", "may not find its own plan again"),
        (("4.0.0", "5.0.1"),),
    ),
    Rule(
        "history-kept-of-departed",
        Severity.NOTE,
        "ThresholdShedder that never forgets a broker",
        "The score of a broker that left stays, and holds for whatever comes back under its name: "
        "after a restart it is shed, or spared, by the load of before.",
        ("#13119", "ThresholdShedder"),
        "3.0 or later",
        _strategy("ThresholdShedder", "never forgets a broker"),
        (("2.10.0", "3.0.0"),),
    ),
    Rule(
        "unload-to-self",
        Severity.WARNING,
        "bundles that are unloaded before their target is known",
        "The next lookup decides where the bundle goes, and may send it back to where it was: "
        "clients reconnect for nothing, each minute.",
        ("#20822", "#21722"),
        "a release with the fix, and no even distribution until then",
        _manager(MODULAR, "unloads bundles before it knows where they go"),
        (("2.10.0", "2.10.6"), ("2.11.0", "2.11.3"), ("3.0.0", "3.0.1")),
    ),
    Rule(
        "transfer-debug-mode",
        Severity.NOTE,
        "TransferShedder in debug mode",
        "What an exchange gives back is counted in debug mode alone, so that decisions differ "
        "between a cluster that is looked at and one that is not.",
        ("TransferShedder",),
        "loadBalancerDebugModeEnabled=false once the question is answered",
        _debugging,
        (("3.0.0", ""),),
    ),
)
