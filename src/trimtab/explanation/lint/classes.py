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
    UNKNOWN,
    Conf,
    shown,
    simple_name,
)
from trimtab.explanation.lint.rule import ALWAYS, Finder, Match, Span, holds_in

_AVG = "AvgShedder"
_OVERLOADED = "loadBalancerBrokerOverloadedThresholdPercentage"
_RATE = "loadBalancerMsgRateDifferenceShedderThreshold"
_RATIO = "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold"
_SIMPLE_PLACER_KEY = "loadBalancerPlacementStrategy"

#: AvgShedder came to three lines at once.
_AVG_SPANS: tuple[Span, ...] = (("3.0.6", "3.1.0"), ("3.2.4", "3.3.0"), ("3.3.1", ""))
_FROM_2_10: tuple[Span, ...] = (("2.10.0", ""),)
_FROM_3: tuple[Span, ...] = (("3.0.0", ""),)

#: What a standalone Pulsar runs, and nobody else should.
_NOOP = "org.apache.pulsar.broker.loadbalance.NoopLoadManager"
#: Class that can be asked for → releases that have it.
_SHEDDERS: Mapping[str, tuple[Span, ...]] = {
    f"{IMPL}ThresholdShedder": ALWAYS,
    f"{IMPL}OverloadShedder": ALWAYS,
    f"{IMPL}UniformLoadShedder": _FROM_2_10,
    f"{IMPL}AvgShedder": _AVG_SPANS,
    f"{EXTENSIONS}scheduler.TransferShedder": _FROM_3,
}
_PLACERS: Mapping[str, tuple[Span, ...]] = {
    f"{IMPL}LeastLongTermMessageRate": ALWAYS,
    f"{IMPL}LeastResourceUsageWithWeight": (("2.11.0", ""),),
    f"{IMPL}RoundRobinBrokerSelector": _FROM_3,
    f"{IMPL}AvgShedder": _AVG_SPANS,
}
_MANAGERS: Mapping[str, tuple[Span, ...]] = {
    f"{IMPL}ModularLoadManagerImpl": ALWAYS,
    f"{IMPL}SimpleLoadManagerImpl": ALWAYS,
    f"{EXTENSIONS}ExtensibleLoadManagerImpl": _FROM_3,
    _NOOP: ALWAYS,
}
#: Releases that compared AvgShedder with the wrong key.
_WRONG_KEY: tuple[Span, ...] = (("3.0.6", "3.1.0"), ("3.2.4", "3.2.5"), ("3.3.1", "3.3.3"))


#: Key → class of Pulsar's that it can name → releases that have it.
CLASSES: Mapping[str, Mapping[str, tuple[Span, ...]]] = {
    SHEDDER_KEY: _SHEDDERS,
    PLACER_KEY: _PLACERS,
    MANAGER_KEY: _MANAGERS,
}


def has_avg_shedder(release: str) -> bool:
    """Return whether a release has AvgShedder."""
    return holds_in(_AVG_SPANS, release)


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
    there = [it for it in classes if holds_in(classes[it], conf.release) and it != _NOOP]
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
    if conf.manager not in (MODULAR, UNKNOWN):
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
    is_other = conf.manager in (MODULAR, UNKNOWN)
    if is_other and conf.text(SHEDDER_KEY).endswith(".TransferShedder"):
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


#: Code → what looks for it.
FINDERS: Mapping[str, Finder] = {
    "no-such-load-manager": _no_such_manager,
    "no-such-shedder": _no_such_shedder,
    "no-such-placer": _no_such_placer,
    "transfer-shedder-in-modular": _transfer_in_modular,
    "modular-strategy-in-extensible": _modular_in_extensible,
    "avg-shedder-half": _half_a_pair,
    "placement-falls-back": _falls_back,
    "avg-shedder-plan-unheeded": _plan_unheeded,
    "avg-shedder-wrong-key": _compared_with_wrong_key,
    "placement-in-wrong-key": _placer_in_wrong_key,
    "overload-shedder": _overload_shedder,
    "rate-shadows-throughput": _shadowed_throughput,
}
