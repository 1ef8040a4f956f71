"""One line of input → a sequence: one strategy's settings and the rounds that it lives through.

The form is that of the recorded decisions of Pulsar's own classes: each round says what
changed against the round before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from trimtab.files.fields import Field, FieldError, expected_name, shown
from trimtab.pulsar.keys import KEYS, Kind
from trimtab.pulsar.place import EXTENSIBLE_PLACERS, PLACERS, extensible_placer, placer
from trimtab.pulsar.releases import release_line
from trimtab.pulsar.sequences.extensible.rounds import (
    RESOURCES,
    ExtensibleRound,
    ExtensibleSequence,
    Selection,
    extensible_round,
    name_set,
    numbers,
    optional,
    reported_resources,
    selections_of,
)
from trimtab.pulsar.settings import SettingError, setting
from trimtab.pulsar.shed import EXTENSIBLE_SHEDDERS, SHEDDERS, extensible_shedder, shedder

_TOTALS = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")

_ROUND = (
    "active_brokers",
    "brokers",
    "bundle_data",
    "preallocated",
    "recently_unloaded",
    "select",
    "shed",
)
_ORDERS = ("broker_order", "bundle_order", "candidate_orders", "prealloc_order", "select")

#: What a line may hold besides its input: what was expected of it, and notes.
_NOTES = ("conf_ignored", "expect", "tags", "ties")
#: What an entry of `orders` may hold besides orders, so that `expect` can be given as it is.
_ANSWERS = (
    "dest",
    "error",
    "error_message",
    "logs",
    "reasons",
    "sorted",
    "state",
    "ties",
    "unload",
)


@dataclass(frozen=True, slots=True)
class Report:
    """What a broker reports."""

    #: Usage and limit, in the order of `model.RESOURCES`.
    resources: tuple[tuple[float, ...], ...]
    #: Messages/s in and out, bytes/s in and out.
    totals: tuple[float, ...]
    #: Names, each once.
    bundles: tuple[str, ...]
    #: Long-term messages/s of its bundles, in and out.
    long_term: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Averages:
    """New averages of a bundle: rates in and out, throughput in and out, perhaps samples."""

    short: tuple[float, ...]
    #: None leaves them as they were.
    long: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Orders:
    """Orders in which the Java walked its maps, where they are known; None is not."""

    #: Where they stand, for errors.
    where: Field
    brokers: tuple[str, ...] | None = None
    bundles: tuple[str, ...] | None = None
    #: Broker → bundles on their way to it.
    preallocated: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: A selection each; fewer if the rest are not known.
    candidates: tuple[tuple[str, ...] | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Round:
    """What changes before a round, and what is asked in it."""

    #: Where it stands, for errors.
    where: Field
    #: Broker → its new report; None if it left.
    brokers: Mapping[str, Report | None]
    #: Bundle → its new averages; None if they are forgotten.
    bundle_data: Mapping[str, Averages | None]
    #: None leaves the list of the round before.
    recently_unloaded: frozenset[str] | None
    #: Broker → bundles on their way to it; None leaves them.
    preallocated: Mapping[str, tuple[str, ...]] | None
    #: Who is said to be there; None if nobody says.
    active_brokers: tuple[str, ...] | None
    sheds: bool
    selections: tuple[Selection, ...]
    orders: Orders


@dataclass(frozen=True, slots=True)
class Sequence:
    """One strategy object's life."""

    id: str
    #: Simple name of Pulsar's class.
    strategy: str
    release: str
    #: Keys of broker.conf, as the release has them.
    conf: Mapping[str, str]
    #: Keys that were given and that the release does not have.
    ignored: tuple[str, ...]
    rounds: tuple[Round, ...]


def sequence(value: object, release: str | None = None, strategy: str | None = None) -> Sequence:
    """Read a sequence of the modular load manager; see `any_sequence`."""
    result = any_sequence(value, release, strategy)
    if isinstance(result, ExtensibleSequence):
        where = Field(result.strategy, ("strategy",))
        raise where.wrong("a strategy of the modular load manager")
    return result


def any_sequence(
    value: object, release: str | None = None, strategy: str | None = None
) -> Sequence | ExtensibleSequence:
    """Read a sequence of either load manager.

    Args:
        value: what JSON made of a line.
        release: overrides the sequence's `version`.
        strategy: overrides the sequence's.

    Returns:
        A sequence of the load manager that the strategy is of.

    Raises:
        FieldError: something is missing, misspelt, of a wrong type or unknown.
    """
    overrides = {"version": ("--release", release), "strategy": ("--strategy", strategy)}
    replacements = {k: Field(v, (option,)) for k, (option, v) in overrides.items() if v is not None}
    needed = ["id", "rounds", *(key for key in overrides if key not in replacements)]
    optional = ["conf", "orders", "role", *replacements, *_NOTES]
    members = {**Field(value).members(needed, optional), **replacements}
    version = known_release(members["version"])
    name = known_strategy(members["strategy"], version)
    if "role" in members and members["role"].text() not in ("place", "shed"):
        raise members["role"].wrong("'shed' or 'place'")
    conf, ignored = _conf(members.get("conf", Field({})), version)
    if _is_extensible(name, version):
        if "orders" in members:
            raise members["orders"].wrong("none: the orders of this load manager are computed")
        of_extensible = tuple(
            _extensible_round(item, name, version) for item in members["rounds"].items()
        )
        return ExtensibleSequence(members["id"].text(), name, version, conf, ignored, of_extensible)
    places = [_order_place(members.get("orders"), i) for i in range(_length(members["rounds"]))]
    if "orders" in members and _length(members["orders"]) != len(places):
        raise members["orders"].wrong(f"a list of {len(places)}, one a round")
    rounds = zip(members["rounds"].items(), places, strict=True)
    return Sequence(
        id=members["id"].text(),
        strategy=name,
        release=version,
        conf=conf,
        ignored=ignored,
        rounds=tuple(_round(item, order, name, version) for item, order in rounds),
    )


def known_release(release: Field) -> str:
    """Return the release or release line that a field names.

    Raises:
        FieldError: it is none, or too old.
    """
    try:
        release_line(release.text())
    except ValueError as error:
        raise release.wrong("a release like 4.0.8 or 4.0, from 2.10 on") from error
    return release.text()


def known_strategy(strategy: Field, release: str | None = None) -> str:
    """Return a strategy that a release has; without one, that any release has.

    Raises:
        FieldError: there is none of that name.
    """
    name = strategy.text()
    extensible = (*EXTENSIBLE_SHEDDERS, *EXTENSIBLE_PLACERS)
    every = {name for name, _ in (*SHEDDERS, *PLACERS, *extensible)}
    if name not in every:
        raise strategy.wrong(expected_name(name, every))
    if release is not None and not _is_there(name, release):
        there = sorted(n for n in every if _is_there(n, release))
        raise strategy.wrong(f"one that {release} has: {', '.join(there)}")
    return name


def _is_there(name: str, release: str) -> bool:
    is_modular = shedder(name, release) or placer(name, release)
    return is_modular is not None or _is_extensible(name, release)


def _is_extensible(name: str, release: str) -> bool:
    """Return whether a strategy is one of the extensible load manager's."""
    return (extensible_shedder(name, release) or extensible_placer(name, release)) is not None


def _length(items: Field) -> int:
    return sum(1 for _ in items.items())


def _order_place(orders: Field | None, index: int) -> Field:
    """Return the given orders of one round; an empty field if none are given."""
    places = () if orders is None else tuple(orders.items())
    return places[index] if index < len(places) else Field({})


def _round(item: Field, order: Field, name: str, release: str) -> Round:
    """Return a round of a strategy in a release."""
    members = item.members((), _ROUND)
    sheds = "shed" in members and members["shed"].flag()
    if sheds and shedder(name, release) is None:
        raise members["shed"].wrong(f"false: {name} does not shed")
    selections = optional(members, "select", selections_of) or ()
    if selections and placer(name, release) is None:
        raise members["select"].wrong(f"none: {name} does not place")
    return Round(
        where=item,
        brokers=optional(members, "brokers", _reports) or {},
        bundle_data=optional(members, "bundle_data", _bundle_data) or {},
        recently_unloaded=optional(members, "recently_unloaded", name_set),
        preallocated=optional(members, "preallocated", _lists),
        active_brokers=optional(members, "active_brokers", Field.names),
        sheds=sheds,
        selections=selections,
        orders=_orders(order),
    )


def _extensible_round(item: Field, name: str, release: str) -> ExtensibleRound:
    """Return a round of a strategy of the extensible load manager in a release."""
    round_ = extensible_round(item)
    if round_.sheds and extensible_shedder(name, release) is None:
        raise item.at("shed", value=True).wrong(f"false: {name} does not shed")
    if round_.selections and extensible_placer(name, release) is None:
        count = [None] * len(round_.selections)
        raise item.at("select", value=count).wrong(f"none: {name} does not place")
    return round_


def _lists(broker_lists: Field) -> Mapping[str, tuple[str, ...]]:
    return {name: listed.names() for name, listed in broker_lists.entries()}


def _reports(brokers: Field) -> Mapping[str, Report | None]:
    return {name: None if r.value is None else _report(r) for name, r in brokers.entries()}


def _report(report: Field) -> Report:
    members = report.members(("bundles",), (*RESOURCES, *_TOTALS, "longTerm"))
    return Report(
        resources=reported_resources(members),
        totals=numbers(members, _TOTALS),
        bundles=tuple(dict.fromkeys(members["bundles"].names())),
        long_term=optional(members, "longTerm", _rates) or (0.0, 0.0),
    )


def _rates(rates: Field) -> tuple[float, ...]:
    return rates.numbers((2,), "[longTermMsgRateIn, longTermMsgRateOut]")


def _bundle_data(bundles: Field) -> Mapping[str, Averages | None]:
    return {name: None if a.value is None else _averages(a) for name, a in bundles.entries()}


def _averages(averages: Field) -> Averages:
    members = averages.members(("short",), ("long",))
    return Averages(_average(members["short"]), optional(members, "long", _average))


def _average(average: Field) -> tuple[float, ...]:
    fields = "[msgRateIn, msgRateOut, msgThroughputIn, msgThroughputOut, numSamples?]"
    return average.numbers((4, 5), fields)


def _orders(orders: Field) -> Orders:
    """Return what is given of a round's orders, in the form of its `expect`."""
    members = orders.members((), (*_ORDERS, *_ANSWERS))
    candidates = optional(members, "candidate_orders", _candidate_orders)
    if candidates is None:
        candidates = optional(members, "select", _orders_of_selections)
    return Orders(
        where=orders,
        brokers=optional(members, "broker_order", Field.names),
        bundles=optional(members, "bundle_order", Field.names),
        preallocated=optional(members, "prealloc_order", _lists) or {},
        candidates=candidates or (),
    )


def _candidate_orders(orders: Field) -> tuple[tuple[str, ...] | None, ...]:
    return tuple(None if item.value is None else item.names() for item in orders.items())


def _orders_of_selections(answers: Field) -> tuple[tuple[str, ...] | None, ...]:
    entries = (dict(answer.entries()) for answer in answers.items())
    return tuple(optional(answer, "candidate_order", Field.names) for answer in entries)


def _conf(conf: Field, release: str) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Return settings as of a broker.conf, and those that the release does not have.

    A key that the release has under its old spelling alone sets that one, unless that is
    given too.
    """
    values = dict(conf.entries())
    texts: dict[str, str] = {}
    ignored = []
    for name, value in values.items():
        if name not in KEYS:
            expected = expected_name(name, KEYS, "a key that Pulsar's load balancer reads")
            raise FieldError(value.path, shown(name), expected)
        text, key = conf_text(value, KEYS[name].kind), KEYS[name]
        if key.default(release) is None and (not key.twin or key.twin in values):
            ignored.append(name)
            continue
        known = name if key.default(release) is not None else key.twin
        try:
            setting({known: text}, known, release)
        except SettingError as error:
            raise value.wrong(error.expected) from error
        texts[known] = text
    return texts, tuple(ignored)


def conf_text(value: Field, kind: Kind) -> str:
    """Return a value as it would stand in broker.conf."""
    if isinstance(value.value, str):
        return value.text()
    if isinstance(value.value, bool):
        return shown(value.value)
    if not isinstance(value.value, int | float):
        raise value.wrong(kind.value)
    number = value.number()
    if math.isfinite(number):
        is_whole = kind in (Kind.INT, Kind.LONG) and number.is_integer()
        return str(int(value.value)) if is_whole else str(value.value)
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
