"""What a change of release does to a conf: defaults that flip, keys that go or come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trimtab.explanation.lint.conf import Conf, shown, simple_name
from trimtab.explanation.lint.readers import is_heeded
from trimtab.explanation.lint.rule import Finder, Match, holds_in
from trimtab.explanation.lint.traps import TABLES, spans_of
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

    strategy: str
    #: Releases that do it.
    releases: Sequence[str]
    #: What it does; ends without a full stop.
    what: str
    evidence: Sequence[str]


_CHANGES = [_Change(**row) for row in TABLES["upgrade"]["decides-differently"]["changes"]]


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
        did, does = (holds_in(spans_of(change.releases), it.release) for it in (before, after))
        is_kept = all(change.strategy in (it.shedder, it.placer) for it in (before, after))
        if did == does or not is_kept:
            continue
        how = "from then on" if does else "no longer so"
        yield Match(
            f"{change.strategy} of {after.release} decides differently than that of "
            f"{before.release}: {change.what} ({how})",
            after.at("loadBalancerLoadSheddingStrategy", "loadBalancerLoadPlacementStrategy"),
            "loadBalancerLoadSheddingStrategy",
            evidence=tuple(change.evidence),
        )


def _written(upgrade: Upgrade) -> list[str]:
    return [name for name in KEYS if upgrade.after.is_written(name)]


def _knows(conf: Conf, name: str) -> bool:
    return KEYS[name].default(conf.release) is not None


#: Code → what looks for it.
FINDERS: Mapping[str, Finder] = {
    "default-flips": _default_flips,
    "keeps-old-default": _keeps_old_default,
    "key-vanishes": _key_vanishes,
    "key-wakes-up": _key_wakes,
    "key-renamed": _key_renamed,
    "decides-differently": _decides_differently,
}
