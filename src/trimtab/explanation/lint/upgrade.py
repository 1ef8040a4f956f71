"""What a change of release does to a conf: defaults that flip, keys that go or come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trimtab.explanation.lint.conf import Conf, shown, simple_name
from trimtab.explanation.lint.readers import is_heeded
from trimtab.explanation.lint.rule import Match, Rule, Severity, Span, holds_in
from trimtab.pulsar.keys import KEYS, Key, Kind, Value

#: Key → where its default was changed.
_FLIPPED_BY: Mapping[str, tuple[str, ...]] = {
    "loadBalancerLoadSheddingStrategy": ("#26609",),
    "loadBalancerLoadPlacementStrategy": ("#26609",),
    "loadBalancerDistributeBundlesEvenlyEnabled": ("#26609",),
    "maxUnloadPercentage": ("#26609",),
    "defaultNumberOfNamespaceBundles": ("#26610",),
    "loadBalancerDirectMemoryResourceWeight": ("#21168",),
    "loadBalancerMemoryResourceWeight": ("#22820",),
}


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The same file under two releases."""

    before: Conf
    after: Conf


@dataclass(frozen=True, slots=True)
class _Change:
    """What a class does from a release on that it did not do before."""

    name: str
    #: Releases that do it.
    spans: tuple[Span, ...]
    #: What it does; ends without a full stop.
    what: str
    evidence: tuple[str, ...]


_CHANGES = (
    _Change(
        "ThresholdShedder",
        (("3.0.0", ""),),
        "it leaves the heap out of a broker's usage, and forgets brokers that left",
        ("#19559",),
    ),
    _Change(
        "OverloadShedder",
        (("4.0.0", ""),),
        "it heeds the weights of resources: direct memory counts no more by default",
        ("PIP-358", "#22888"),
    ),
    _Change(
        "LeastLongTermMessageRate",
        (("4.0.0", ""),),
        "it heeds the weights of resources when it asks which brokers are overloaded",
        ("PIP-358", "#22888"),
    ),
    _Change(
        "UniformLoadShedder",
        (("3.0.2", "3.1.0"), ("3.1.1", "")),
        "it seeks the extremes of rate and of throughput apart, so that another broker is relieved",
        ("#21016",),
    ),
    _Change(
        "UniformLoadShedder",
        (("5.0.0-M1", ""),),
        "it moves no more than was asked for, where it moved up to 1000 messages/s beyond",
        ("#21905", "#21906"),
    ),
    _Change(
        "AvgShedder",
        (("4.0.8", ""),),
        "it sorts brokers exactly, so that other pairs come about",
        ("#24954",),
    ),
    _Change(
        "AvgShedder",
        (("5.0.1", ""),),
        "it finds its own plans again, so that bundles go where they were meant to",
        ("#26246",),
    ),
)


def _default_flips(upgrade: Upgrade) -> Iterator[Match]:
    before, after = upgrade.before, upgrade.after
    for name, key in KEYS.items():
        old, new = key.default(before.release), key.default(after.release)
        if after.is_written(name) or old is None or new is None or _is_within(key, old, new):
            continue
        if is_heeded(before, name) or is_heeded(after, name):
            yield Match(
                f"{name} is not set: its default is {simple_name(_spelled(old))} in "
                f"{before.release}, and {simple_name(_spelled(new))} in {after.release}",
                None,
                name,
                f"{name}={_spelled(old)} to keep what you have",
                evidence=_FLIPPED_BY.get(name, ()),
            )


def _keeps_old_default(upgrade: Upgrade) -> Iterator[Match]:
    before, after = upgrade.before, upgrade.after
    for name in _written(upgrade):
        key = KEYS[name]
        old, new = key.default(before.release), key.default(after.release)
        if old is None or new is None or _is_within(key, old, new):
            continue
        if before.value(name) == old and is_heeded(after, name):
            yield Match(
                f"{after.fact(name)}, the default of {before.release}; that of {after.release} "
                f"is {simple_name(_spelled(new))}",
                after.at(name),
                name,
                f"{name}={_spelled(new)}, or no line, once the new value is wanted",
                evidence=_FLIPPED_BY.get(name, ()),
            )


def _is_within(key: Key, old: Value, new: Value) -> bool:
    """Return whether whoever had the old default has all of it in the new one."""
    if key.kind is Kind.LIST:
        return set(str(old).split(",")) <= set(str(new).split(","))
    return old == new


def _spelled(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _key_vanishes(upgrade: Upgrade) -> Iterator[Match]:
    for name in _written(upgrade):
        if _knows(upgrade.before, name) and not _knows(upgrade.after, name):
            yield Match(
                f"{upgrade.after.fact(name)}: release {upgrade.after.release} does not know the "
                f"key, which {upgrade.before.release} heeds",
                upgrade.after.at(name),
                name,
            )


def _key_wakes(upgrade: Upgrade) -> Iterator[Match]:
    for name in _written(upgrade):
        if _knows(upgrade.after, name) and not _knows(upgrade.before, name):
            yield Match(
                f"{upgrade.after.fact(name)}: release {upgrade.before.release} passes over the "
                f"key, and {upgrade.after.release} heeds it",
                upgrade.after.at(name),
                name,
                f"no line, to keep the default, {_default(upgrade.after, name)}",
            )


def _default(conf: Conf, name: str) -> str:
    value = KEYS[name].default(conf.release)
    return "" if value is None else _spelled(value) or "nothing"


def _key_renamed(upgrade: Upgrade) -> Iterator[Match]:
    for name in _written(upgrade):
        twin = KEYS[name].twin
        if twin and not _knows(upgrade.before, twin) and _knows(upgrade.after, twin):
            value = shown(upgrade.after.written[name].value.strip())
            yield Match(
                f"{upgrade.after.fact(name)}: in release {upgrade.after.release} the key is "
                f"called {twin}",
                upgrade.after.at(name),
                name,
                f"{twin}={value}",
            )


def _decides_differently(upgrade: Upgrade) -> Iterator[Match]:
    before, after = upgrade.before, upgrade.after
    for change in _CHANGES:
        did, does = (holds_in(change.spans, it.release) for it in (before, after))
        is_kept = all(change.name in (it.shedder, it.placer) for it in (before, after))
        if did == does or not is_kept:
            continue
        how = "from then on" if does else "no longer so"
        yield Match(
            f"{change.name} of {after.release} decides differently than that of "
            f"{before.release}: {change.what} ({how})",
            after.at("loadBalancerLoadSheddingStrategy", "loadBalancerLoadPlacementStrategy"),
            "loadBalancerLoadSheddingStrategy",
            evidence=change.evidence,
        )


def _written(upgrade: Upgrade) -> list[str]:
    return [name for name in KEYS if upgrade.after.is_written(name)]


def _knows(conf: Conf, name: str) -> bool:
    return KEYS[name].default(conf.release) is not None


RULES: tuple[Rule[Upgrade], ...] = (
    Rule(
        "default-flips",
        Severity.WARNING,
        "a default that is another one after the upgrade, of a key that is not set",
        "What was never set changes with the release, on the first broker that is upgraded, while "
        "the others still go by the old value.",
        ("ServiceConfiguration",),
        "the old value, until the new one is wanted",
        _default_flips,
    ),
    Rule(
        "keeps-old-default",
        Severity.NOTE,
        "a key that is set to a default which changes with the upgrade",
        "A broker.conf that is carried over spells out the defaults of the release that it came "
        "with, and keeps them whether anybody wanted that or not.",
        ("ServiceConfiguration",),
        "the new default, or no line, once it is wanted",
        _keeps_old_default,
    ),
    Rule(
        "key-vanishes",
        Severity.ERROR,
        "a key that is set, and that the release after does not know",
        "Pulsar passes over keys that it does not know; the setting is lost without a word.",
        ("#26291",),
        "whatever takes its place; docs/settings.md says which keys a release has",
        _key_vanishes,
    ),
    Rule(
        "key-wakes-up",
        Severity.WARNING,
        "a key that is set, and that only the release after knows",
        "The line had no effect so far, and gets one with the upgrade.",
        ("#26291",),
        "the line only if its effect is wanted",
        _key_wakes,
    ),
    Rule(
        "key-renamed",
        Severity.WARNING,
        "a key that has another name after the upgrade",
        "The old name is heeded for now, as long as the new one is not set to anything but 1.0.",
        ("PIP-357", "#22823"),
        "the key by its new name, once all brokers are upgraded",
        _key_renamed,
    ),
    Rule(
        "decides-differently",
        Severity.NOTE,
        "a strategy that decides differently after the upgrade",
        "The same settings on the same load lead to other moves; thresholds that were tuned to "
        "the old ones are to be looked at again.",
        ("docs/strategies",),
        "nothing at first; compare the two with trimtab simulate --release",
        _decides_differently,
    ),
)
