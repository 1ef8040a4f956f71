"""Classes that the release does not have, or that do not go together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trimtab.explanation.lint.conf import (
    EXTENSIBLE,
    EXTENSIONS,
    IMPL,
    MANAGER_KEY,
    MODULAR,
    PLACER_KEY,
    SHEDDER_KEY,
    SIMPLE,
    Conf,
    shown,
    simple_name,
)
from trimtab.explanation.lint.rule import Match, Rule, Severity, Span, holds_in

_AVG = "AvgShedder"
_OVERLOADED = "loadBalancerBrokerOverloadedThresholdPercentage"
_RATE = "loadBalancerMsgRateDifferenceShedderThreshold"
_RATIO = "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold"
_SIMPLE_PLACER_KEY = "loadBalancerPlacementStrategy"

#: AvgShedder came to three lines at once.
_AVG_SPANS: tuple[Span, ...] = (("3.0.6", "3.1.0"), ("3.2.4", "3.3.0"), ("3.3.1", ""))
_ANY: tuple[Span, ...] = (("2.10.0", ""),)
_FROM_3: tuple[Span, ...] = (("3.0.0", ""),)

#: Class that can be asked for → releases that have it.
_SHEDDERS: Mapping[str, tuple[Span, ...]] = {
    f"{IMPL}ThresholdShedder": _ANY,
    f"{IMPL}OverloadShedder": _ANY,
    f"{IMPL}UniformLoadShedder": _ANY,
    f"{IMPL}AvgShedder": _AVG_SPANS,
    f"{EXTENSIONS}scheduler.TransferShedder": _FROM_3,
}
_PLACERS: Mapping[str, tuple[Span, ...]] = {
    f"{IMPL}LeastLongTermMessageRate": _ANY,
    f"{IMPL}LeastResourceUsageWithWeight": (("2.11.0", ""),),
    f"{IMPL}RoundRobinBrokerSelector": _FROM_3,
    f"{IMPL}AvgShedder": _AVG_SPANS,
}
_MANAGERS: Mapping[str, tuple[Span, ...]] = {
    f"{IMPL}ModularLoadManagerImpl": _ANY,
    f"{IMPL}SimpleLoadManagerImpl": _ANY,
    f"{EXTENSIONS}ExtensibleLoadManagerImpl": _FROM_3,
}
#: Releases that compared AvgShedder with the wrong key.
_WRONG_KEY: tuple[Span, ...] = (("3.0.6", "3.1.0"), ("3.2.4", "3.2.5"), ("3.3.1", "3.3.3"))


def _fallback(conf: Conf) -> str:
    """Return what a load manager that cannot be made leads to."""
    if conf.is_from("5.0.0-M1"):
        return "The broker refuses to start."
    return (
        "The load manager cannot be made, and SimpleLoadManagerImpl takes its place, with a "
        "warning in the log and nothing else: no shedder and no placer named here is ever asked."
    )


def _no_such(
    conf: Conf, key: str, classes: Mapping[str, tuple[Span, ...]]
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a class of Pulsar's that the release lacks, and what to write."""
    name = conf.text(key).strip()
    if not conf.is_written(key) or (name in classes and holds_in(classes[name], conf.release)):
        return
    is_ours = name.startswith("org.apache.pulsar.") or "." not in name
    if not is_ours:
        return
    there = [it for it in classes if holds_in(classes[it], conf.release)]
    same = [it for it in there if it.rpartition(".")[2] == name.rpartition(".")[2]]
    if name in classes:
        problem = f"release {conf.release} does not have it yet"
    elif same:
        problem = "the class has another package"
    else:
        problem = f"release {conf.release} has no such class"
    choice = f"{key}={same[0]}" if same else "one of " + ", ".join(map(simple_name, there))
    yield f"{conf.fact(key)}: {problem}", choice


def _no_such_shedder(conf: Conf) -> Iterator[Match]:
    if conf.manager != MODULAR:
        return
    for message, choice in _no_such(conf, SHEDDER_KEY, _SHEDDERS):
        why = (
            _fallback(conf)
            if conf.is_from("4.0.0")
            else "OverloadShedder takes its place, with an error in the log: it sheds from 85 % "
            "on, and never below."
        )
        yield Match(message, conf.at(SHEDDER_KEY), SHEDDER_KEY, choice, why)


def _no_such_placer(conf: Conf) -> Iterator[Match]:
    if conf.manager != MODULAR or not conf.text(PLACER_KEY):
        return
    for message, choice in _no_such(conf, PLACER_KEY, _PLACERS):
        yield Match(message, conf.at(PLACER_KEY), PLACER_KEY, choice, _fallback(conf))


def _no_such_manager(conf: Conf) -> Iterator[Match]:
    for message, choice in _no_such(conf, MANAGER_KEY, _MANAGERS):
        yield Match(message, conf.at(MANAGER_KEY), MANAGER_KEY, choice, _fallback(conf))


def _transfer_in_modular(conf: Conf) -> Iterator[Match]:
    if conf.manager == MODULAR and conf.text(SHEDDER_KEY).endswith(".TransferShedder"):
        why = (
            _fallback(conf)
            if conf.is_from("4.0.0")
            else "OverloadShedder takes its place, with an error in the log."
        )
        yield Match(
            f"{conf.fact(SHEDDER_KEY)}, but {conf.fact(MANAGER_KEY)}",
            conf.at(SHEDDER_KEY),
            SHEDDER_KEY,
            why=why,
        )


def _modular_in_extensible(conf: Conf) -> Iterator[Match]:
    if conf.manager == EXTENSIBLE:
        for key, name in ((SHEDDER_KEY, "TransferShedder"), (PLACER_KEY, "its own placement")):
            if conf.is_changed(key) and conf.text(key).startswith(IMPL):
                yield Match(
                    f"{conf.fact(key)} is not asked: the extensible load manager takes {name}",
                    conf.at(key),
                    key,
                )


def _half_a_pair(conf: Conf) -> Iterator[Match]:
    if _is_half(conf):
        yield Match(
            f"{conf.fact(PLACER_KEY)}, but {conf.fact(SHEDDER_KEY)}",
            conf.at(PLACER_KEY, SHEDDER_KEY),
            PLACER_KEY,
            f"{SHEDDER_KEY}={IMPL}{_AVG} as well, or another placement",
            _fallback(conf),
        )


def _falls_back(conf: Conf) -> Iterator[Match]:
    if _is_half(conf):
        yield Match(
            f"{conf.fact(PLACER_KEY)}, but {conf.fact(SHEDDER_KEY)}: "
            "placement falls back to LeastLongTermMessageRate",
            conf.at(SHEDDER_KEY, PLACER_KEY),
            SHEDDER_KEY,
        )


def _is_half(conf: Conf) -> bool:
    return (
        conf.manager == MODULAR
        and simple_name(conf.text(PLACER_KEY)) == _AVG
        and conf.text(SHEDDER_KEY) != conf.text(PLACER_KEY)
    )


def _plan_unheeded(conf: Conf) -> Iterator[Match]:
    if conf.shedder == _AVG and conf.placer != _AVG:
        yield Match(
            f"{conf.fact(SHEDDER_KEY)}, but {conf.fact(PLACER_KEY)}",
            conf.at(SHEDDER_KEY),
            SHEDDER_KEY,
        )


def _compared_with_wrong_key(conf: Conf) -> Iterator[Match]:
    is_pair = conf.shedder == _AVG and conf.placer == _AVG
    if is_pair and conf.text(_SIMPLE_PLACER_KEY) != conf.text(SHEDDER_KEY):
        yield Match(
            f"AvgShedder is compared with {_SIMPLE_PLACER_KEY} in release {conf.release}, and "
            f"{conf.fact(_SIMPLE_PLACER_KEY)}",
            conf.at(_SIMPLE_PLACER_KEY, PLACER_KEY),
            _SIMPLE_PLACER_KEY,
        )


def _placer_in_wrong_key(conf: Conf) -> Iterator[Match]:
    name = conf.text(_SIMPLE_PLACER_KEY).strip()
    is_class = "." in name or f"{IMPL}{name}" in _PLACERS
    is_needed = holds_in(_WRONG_KEY, conf.release) and simple_name(name) == _AVG
    is_other = name != conf.text(PLACER_KEY)
    if conf.manager == MODULAR and is_class and is_other and not is_needed:
        yield Match(
            f"{conf.fact(_SIMPLE_PLACER_KEY)} is not asked; {conf.fact(PLACER_KEY)}",
            conf.at(_SIMPLE_PLACER_KEY),
            _SIMPLE_PLACER_KEY,
            f"{PLACER_KEY}={shown(name if '.' in name else IMPL + name)}",
        )


def _overload_shedder(conf: Conf) -> Iterator[Match]:
    threshold = conf.number(_OVERLOADED)
    if conf.shedder == "OverloadShedder" and threshold is not None:
        yield Match(
            f"{conf.fact(SHEDDER_KEY)}: nothing is shed below {threshold:g} %",
            conf.at(SHEDDER_KEY),
            SHEDDER_KEY,
        )


def _shadowed_throughput(conf: Conf) -> Iterator[Match]:
    rate, ratio = conf.number(_RATE), conf.number(_RATIO)
    if conf.shedder != "UniformLoadShedder" or rate is None or ratio is None:
        return
    if rate > 0 and ratio > 0:
        yield Match(
            f"{conf.fact(_RATE)} %, and {conf.fact(_RATIO)}: beside a broker without traffic the "
            "first always passes, and the second is never asked",
            conf.at(_RATE, SHEDDER_KEY),
            _RATE,
        )


def _simple_manager(conf: Conf) -> Iterator[Match]:
    if conf.manager == SIMPLE:
        yield Match(
            f"{conf.fact(MANAGER_KEY)}: it asks no shedder and no placer",
            conf.at(MANAGER_KEY),
            MANAGER_KEY,
        )


RULES: tuple[Rule[Conf], ...] = (
    Rule(
        "no-such-load-manager",
        Severity.ERROR,
        "a load manager that the release does not have",
        "The load manager cannot be made.",
        ("#26031",),
        "a class of this release, by its whole name",
        _no_such_manager,
    ),
    Rule(
        "no-such-shedder",
        Severity.ERROR,
        "a shedding strategy that the release does not have",
        "Another shedder takes its place, or another load manager.",
        ("#26031", "ModularLoadManagerImpl"),
        "a class of this release, by its whole name",
        _no_such_shedder,
    ),
    Rule(
        "no-such-placer",
        Severity.ERROR,
        "a placement strategy that the release does not have",
        "The load manager cannot be made.",
        ("#26031", "ModularLoadManagerStrategy"),
        "a class of this release, by its whole name",
        _no_such_placer,
        (("2.11.0", ""),),
    ),
    Rule(
        "transfer-shedder-in-modular",
        Severity.ERROR,
        "TransferShedder under the modular load manager",
        "TransferShedder is a class of the extensible load manager; the modular one cannot use it.",
        ("PIP-220", "#26031"),
        f"{MANAGER_KEY}={EXTENSIONS}ExtensibleLoadManagerImpl as well, or another shedder",
        _transfer_in_modular,
        _FROM_3,
    ),
    Rule(
        "modular-strategy-in-extensible",
        Severity.WARNING,
        "a strategy of the modular load manager under the extensible one",
        "The extensible load manager cannot use it: it says so in the log once, and takes its own.",
        ("PIP-192", "UnloadScheduler"),
        f"{SHEDDER_KEY}={EXTENSIONS}scheduler.TransferShedder, and no {PLACER_KEY}",
        _modular_in_extensible,
        _FROM_3,
    ),
    Rule(
        "avg-shedder-half",
        Severity.ERROR,
        "AvgShedder for placement, and something else for shedding",
        "AvgShedder places only for itself.",
        ("#26031", "PIP-364"),
        "AvgShedder for both roles",
        _half_a_pair,
        (("3.0.6", "3.1.0"), ("3.2.4", "3.3.0"), ("3.3.1", "5.0.0")),
    ),
    Rule(
        "placement-falls-back",
        Severity.WARNING,
        "another shedder than AvgShedder, with placement left to AvgShedder",
        "AvgShedder places only for itself: with another shedder placement falls back to message "
        "rates, with a warning in the log, whatever the shedder goes by.",
        ("#26609",),
        f"{PLACER_KEY} too: LeastResourceUsageWithWeight for shedders that go by usage",
        _falls_back,
        (("5.0.0", ""),),
    ),
    Rule(
        "avg-shedder-plan-unheeded",
        Severity.WARNING,
        "AvgShedder for shedding, and something else for placement",
        "AvgShedder plans where each bundle goes, and only AvgShedder as placement looks at the "
        "plan: any other puts the bundle where it thinks best.",
        ("PIP-364", "#26609"),
        f"{PLACER_KEY}={IMPL}{_AVG}",
        _plan_unheeded,
        _AVG_SPANS,
    ),
    Rule(
        "avg-shedder-wrong-key",
        Severity.ERROR,
        "AvgShedder for both roles, in a release that looks at a third key",
        "These releases compare the shedder with the placement of SimpleLoadManagerImpl, find them "
        "different, and put SimpleLoadManagerImpl in place, with a warning in the log.",
        ("#23156", "#26031"),
        f"{_SIMPLE_PLACER_KEY}={IMPL}{_AVG} as a third line, or a later release",
        _compared_with_wrong_key,
        _WRONG_KEY,
    ),
    Rule(
        "placement-in-wrong-key",
        Severity.WARNING,
        "a placement strategy in the key of SimpleLoadManagerImpl",
        f"{_SIMPLE_PLACER_KEY} is of SimpleLoadManagerImpl alone; the one for placement "
        f"strategies is {PLACER_KEY}.",
        ("#23156",),
        f"the class in {PLACER_KEY}",
        _placer_in_wrong_key,
        (("2.11.0", ""),),
    ),
    Rule(
        "overload-shedder",
        Severity.WARNING,
        "OverloadShedder, which sees no broker but the overloaded ones",
        "Below its threshold nothing is shed, however idle a new broker is; where all are above "
        "it, each round moves bundles from one overloaded broker to the next.",
        ("PIP-122", "#6772"),
        "AvgShedder for both roles, or ThresholdShedder where there is none",
        _overload_shedder,
    ),
    Rule(
        "rate-shadows-throughput",
        Severity.NOTE,
        "UniformLoadShedder that asks for the rate first, and for throughput hardly ever",
        "If the message rate passes its test, throughput is not looked at, even where the rate "
        "then has too little to move: a broker of few large messages is left as it is.",
        ("#21299", "UniformLoadShedder"),
        f"{_RATE}=0, where bytes matter more than messages",
        _shadowed_throughput,
    ),
    Rule(
        "simple-load-manager",
        Severity.WARNING,
        "SimpleLoadManagerImpl, asked for by name",
        "It is the first load manager that Pulsar had, and hardly tested any more.",
        ("#26031", "#865"),
        f"{MANAGER_KEY}={IMPL}ModularLoadManagerImpl",
        _simple_manager,
    ),
)
