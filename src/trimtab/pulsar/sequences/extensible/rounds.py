"""A round of the extensible load manager as JSON says it: what changed, what is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from trimtab.files.fields import Field, FieldError, shown

Value = TypeVar("Value")

# In the order of model.RESOURCES.
RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
_THROUGHPUTS = ("msgThroughputIn", "msgThroughputOut")
_SMOOTHED = ("weightedMaxEMA", "msgThroughputEMA")
# A namespace and a range of hashes: at anything else the Java fails, and loses the round.
_BUNDLE = re.compile(r"[\w.:=-]+/[\w.:=-]+/0x[0-9a-fA-F]{1,8}_0x[0-9a-fA-F]{1,8}", re.ASCII)

#: What a round may hold.
FIELDS = (
    "available_brokers",
    "broker_load_data",
    "filtered",
    "namespaces_with_policies",
    "now",
    "owners",
    "recently_unloaded",
    "recently_unloaded_brokers",
    "select",
    "shed",
    "top_bundles",
)


@dataclass(frozen=True, slots=True)
class Published:
    """What a broker publishes of its load: as smoothed, or what it smooths itself."""

    updated_at_ms: int
    #: Bytes/s in and out.
    throughput: tuple[float, ...]
    #: Usage and throughput, smoothed; None if `resources` are to be smoothed.
    smoothed: tuple[float, ...] | None
    #: Usage and limit, in the order of `model.RESOURCES`.
    resources: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class TopBundle:
    """One of a broker's heaviest bundles."""

    name: str
    #: Bytes/s in and out.
    throughput: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Selection:
    """A placement asked for."""

    bundle: str
    candidates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExtensibleRound:
    """What changes before a round, and what is asked in it; None changes nothing."""

    #: What the leader's clock shows.
    now_ms: int | None
    #: Broker → what it publishes; None if that is taken back.
    load_data: Mapping[str, Published | None]
    #: Broker → its heaviest bundles as it publishes them; None if they are taken back.
    top_bundles: Mapping[str, tuple[TopBundle, ...] | None]
    #: Who is registered.
    available: tuple[str, ...] | None
    #: Bundles unloaded just now.
    recent_bundles: frozenset[str] | None
    #: Broker → when something was last unloaded from it.
    recent_brokers: Mapping[str, int] | None
    #: Bundle → its owner, where that is not who publishes it.
    owners: Mapping[str, str] | None
    #: Namespaces with an isolation policy or an anti-affinity group.
    restricted: frozenset[str] | None
    #: Bundle → the brokers that the filters leave it.
    filtered: Mapping[str, frozenset[str]] | None
    sheds: bool
    selections: tuple[Selection, ...]


@dataclass(frozen=True, slots=True)
class ExtensibleSequence:
    """One strategy object's life under the extensible load manager."""

    id: str
    #: The strategy's name, as in EXTENSIBLE_SHEDDERS and EXTENSIBLE_PLACERS.
    strategy: str
    release: str
    #: Keys of broker.conf, as the release has them.
    conf: Mapping[str, str]
    #: Keys that were given and that the release does not have.
    ignored: tuple[str, ...]
    rounds: tuple[ExtensibleRound, ...]


def extensible_round(item: Field) -> ExtensibleRound:
    """Return a round, read from a document.

    Raises:
        FieldError: something is missing, misspelt, of a wrong type or unknown.
    """
    for key, value in item.entries():
        if key not in FIELDS:
            # Whoever takes a round of the modular load manager for one of these finds out best.
            raise FieldError(value.path, shown(key), f"one of {', '.join(FIELDS)}")
    members = item.members((), FIELDS)
    return ExtensibleRound(
        now_ms=optional(members, "now", Field.whole),
        load_data=optional(members, "broker_load_data", _load_data) or {},
        top_bundles=optional(members, "top_bundles", _top_bundles) or {},
        available=optional(members, "available_brokers", Field.names),
        recent_bundles=optional(members, "recently_unloaded", name_set),
        recent_brokers=optional(members, "recently_unloaded_brokers", _times),
        owners=optional(members, "owners", _owners),
        restricted=optional(members, "namespaces_with_policies", name_set),
        filtered=optional(members, "filtered", _sets),
        sheds="shed" in members and members["shed"].flag(),
        selections=optional(members, "select", selections_of) or (),
    )


def optional(
    members: Mapping[str, Field], key: str, read: Callable[[Field], Value]
) -> Value | None:
    """Return what is read of a member; None if it is not there."""
    return read(members[key]) if key in members else None


def name_set(names: Field) -> frozenset[str]:
    """Return a list of names as a set."""
    return frozenset(names.names())


def _sets(lists: Field) -> Mapping[str, frozenset[str]]:
    return {name: name_set(listed) for name, listed in lists.entries()}


def _times(times: Field) -> Mapping[str, int]:
    return {name: time.whole() for name, time in times.entries()}


def _owners(owners: Field) -> Mapping[str, str]:
    return {bundle: owner.text() for bundle, owner in owners.entries()}


def _load_data(brokers: Field) -> Mapping[str, Published | None]:
    return {name: None if p.value is None else _published(p) for name, p in brokers.entries()}


def _published(published: Field) -> Published:
    known = ("updatedAt", *_THROUGHPUTS)
    keys = dict(published.entries())
    is_smoothed = _SMOOTHED[0] in keys
    members = published.members((), (*known, *(_SMOOTHED if is_smoothed else RESOURCES)))
    return Published(
        updated_at_ms=optional(members, "updatedAt", Field.whole) or 0,
        throughput=numbers(members, _THROUGHPUTS),
        smoothed=numbers(members, _SMOOTHED) if is_smoothed else None,
        resources=reported_resources(members),
    )


def numbers(members: Mapping[str, Field], names: Iterable[str]) -> tuple[float, ...]:
    """Return some numbers, 0 for each that is not there."""
    return tuple(members[name].number() if name in members else 0.0 for name in names)


def reported_resources(members: Mapping[str, Field]) -> tuple[tuple[float, ...], ...]:
    """Return usage and limit of each resource, -1 of one that is not there."""
    return tuple(
        members[name].numbers((2,), "[usage, limit]") if name in members else (-1.0, -1.0)
        for name in RESOURCES
    )


def _top_bundles(brokers: Field) -> Mapping[str, tuple[TopBundle, ...] | None]:
    return {
        name: None if listed.value is None else tuple(map(_top_bundle, listed.items()))
        for name, listed in brokers.entries()
    }


def _top_bundle(bundle: Field) -> TopBundle:
    expected = "[bundle, msgThroughputIn, msgThroughputOut]"
    parts = tuple(bundle.items())
    if len(parts) != len(_THROUGHPUTS) + 1:
        raise bundle.wrong(expected)
    name, inward, outward = parts
    if not _BUNDLE.fullmatch(name.text()):
        raise name.wrong("a bundle like tenant/namespace/0x00000000_0x40000000")
    return TopBundle(name.text(), (inward.number(), outward.number()))


def selections_of(selections: Field) -> tuple[Selection, ...]:
    """Return the placements that a round asks for."""
    members = [item.members(("bundle", "candidates"), ()) for item in selections.items()]
    return tuple(Selection(f["bundle"].text(), f["candidates"].names()) for f in members)
