"""Keys that nothing reads: misspelt, renamed, of another release, or written twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trimtab.explanation.lint.conf import Conf, Written, shown
from trimtab.explanation.lint.rule import Finder, Match, Span, holds_in
from trimtab.pulsar.keys import KEYS
from trimtab.pulsar.settings import unknown_keys

#: Name that a key had while it was proposed → the name with which it was released, and
#: where the change was made.
_RENAMED: Mapping[str, tuple[str, str]] = {
    "loadBalancerLoadManagerStrategy": ("loadBalancerLoadPlacementStrategy", "#14971"),
    "loadBalancerReportUpdateMinIntervalMilliSeconds": (
        "loadBalancerReportUpdateMinIntervalMillis",
        "#17598",
    ),
    "enableLowerBoundaryShedding": ("lowerBoundarySheddingEnabled", "#17456"),
    "loadBalancerMaxNumberOfBrokerTransfersPerCycle": (
        "loadBalancerMaxNumberOfBrokerSheddingPerCycle",
        "#19813",
    ),
    "loadBalancerNamespaceBundleSplitConditionThreshold": (
        "loadBalancerNamespaceBundleSplitConditionHitCountThreshold",
        "#19813",
    ),
    "loadBalancerBundleLoadReportPercentage": (
        "loadBalancerMaxNumberOfBundlesInBundleLoadReport",
        "#19813",
    ),
}

#: Key → where it came in, for keys that not every release has.
_CAME_WITH: Mapping[str, str] = {
    "loadBalancerLoadPlacementStrategy": "PIP-181",
    "loadBalancerAverageResourceUsageDifferenceThresholdPercentage": "PIP-181",
    "loadBalancerDistributeBundlesEvenlyEnabled": "#16059",
    "maxUnloadBundleNumPerShedding": "#16409",
    "lowerBoundarySheddingEnabled": "#17456",
    "loadBalancerAvgShedderLowThreshold": "PIP-364",
    "loadBalancerAvgShedderHighThreshold": "PIP-364",
    "loadBalancerAvgShedderHitCountLowThreshold": "PIP-364",
    "loadBalancerAvgShedderHitCountHighThreshold": "PIP-364",
    "loadBalancerBandwidthInResourceWeight": "PIP-357",
    "loadBalancerBandwidthOutResourceWeight": "PIP-357",
    "loadBalancerSheddingExcludedNamespaces": "PIP-380",
    "loadBalancerOverrideBrokerNics": "#24883",
}

#: Beginning of a key → releases between those that have it, as a fix came to several
#: lines one by one.
_GAPS: Mapping[str, tuple[Span, ...]] = {
    "loadBalancerAvgShedder": (("3.1.0", "3.2.4"), ("3.3.0", "3.3.1")),
}


def _misspelt(conf: Conf) -> Iterator[Match]:
    for name, meant in _unknown(conf):
        if meant is not None:
            at = conf.written[name]
            yield Match(
                f"no release knows {shown(name)}: did you mean {meant}?",
                at,
                name,
                f"{meant}={shown(at.value.strip())}",
            )


def _renamed(conf: Conf) -> Iterator[Match]:
    for old, (new, where) in _RENAMED.items():
        if conf.is_written(old) and not conf.is_runtime:
            at = conf.written[old]
            yield Match(
                f"{old} was released as {new}, and is not read by the old name",
                at,
                old,
                f"{new}, with a value that suits it: {KEYS[new].meaning}",
                evidence=(where,),
            )


def _unknown_key(conf: Conf) -> Iterator[Match]:
    for name, meant in _unknown(conf):
        if meant is None:
            yield Match(f"no release knows {shown(name)}", conf.written[name], name)


def _unknown(conf: Conf) -> Iterator[tuple[str, str | None]]:
    """Yield keys that no release knows; what a broker names itself, it knows."""
    if not conf.is_runtime:
        written = {key: it.value for key, it in conf.written.items() if key not in _RENAMED}
        yield from unknown_keys(written)


def _not_in_release(conf: Conf) -> Iterator[Match]:
    for name, key in KEYS.items():
        if conf.is_runtime or not conf.is_written(name) or knows(conf, name):
            continue
        since = key.since
        twin = key.twin if key.twin and knows(conf, key.twin) else ""
        value = shown(conf.written[name].value.strip())
        when = f"was not seen before {since}"
        if key.default(conf.release) is not None:
            when = f"came to other lines before it came to this one, with {since} first"
        yield Match(
            f"{conf.fact(name)}, but release {conf.release} does not know the key: it {when}",
            conf.at(name),
            name,
            f"{twin}={value}, its name in this release" if twin else "",
            evidence=(_CAME_WITH[name],) if name in _CAME_WITH else (),
        )


def knows(conf: Conf, name: str) -> bool:
    """Return whether a release has a key, as far as that is known."""
    spans = next((those for start, those in _GAPS.items() if name.startswith(start)), ())
    has_default = KEYS[name].default(conf.release) is not None
    return has_default and not holds_in(spans, conf.release)


def _written_twice(conf: Conf) -> Iterator[Match]:
    for earlier, later in conf.repeated:
        if earlier.value.strip() != later.value.strip() and _matters(earlier):
            yield Match(
                f"{earlier.key} = {shown(earlier.value.strip())} is overruled by line "
                f"{later.line}, where it is {shown(later.value.strip())}",
                earlier,
                earlier.key,
            )


def _matters(written: Written) -> bool:
    return written.key in KEYS or written.key.lower().startswith("loadbalance")


def _unreadable(conf: Conf) -> Iterator[Match]:
    for number, reason in conf.unreadable:
        yield Match(f"the line sets nothing: {reason}", Written("", "", conf.source, number))


def _old_spelling(conf: Conf) -> Iterator[Match]:
    for old, new in _bandwidth():
        if conf.is_changed(old) and not conf.is_written(new):
            yield Match(
                f"{conf.fact(old)}: {old} is the old, misspelt name of {new}",
                conf.at(old),
                old,
                f"{new}={shown(conf.written[old].value.strip())}",
            )


def _spelt_twice(conf: Conf) -> Iterator[Match]:
    for old, new in _bandwidth():
        if not (conf.is_written(old) and conf.is_written(new)):
            continue
        if conf.value(old) == conf.value(new):
            continue
        # 1.0 counts as not set, in either spelling.
        wins, loses = (old, new) if conf.value(new) == 1.0 else (new, old)
        if conf.value(loses) == 1.0 and wins == new:
            continue
        yield Match(
            f"{conf.fact(wins)} holds, and {conf.fact(loses)} does not",
            conf.at(loses),
            loses,
            f"{new} alone, and no line with {old}",
        )


def _bandwidth() -> Iterator[tuple[str, str]]:
    for direction in ("In", "Out"):
        yield (
            f"loadBalancerBandwith{direction}ResourceWeight",
            f"loadBalancerBandwidth{direction}ResourceWeight",
        )


#: Code → what looks for it.
FINDERS: Mapping[str, Finder] = {
    "misspelt-key": _misspelt,
    "renamed-key": _renamed,
    "unknown-key": _unknown_key,
    "key-not-in-release": _not_in_release,
    "duplicate-key": _written_twice,
    "unreadable-line": _unreadable,
    "bandwidth-old-spelling": _old_spelling,
    "bandwidth-spelt-twice": _spelt_twice,
}
