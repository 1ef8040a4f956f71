"""What ran: the release, the strategies and the settings, by the recording's own evidence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.diagnose.night import Event
from trimtab.pulsar.confs import dumped_entries
from trimtab.pulsar.keys import KEYS
from trimtab.pulsar.releases import RELEASE_LINES, release_order
from trimtab.pulsar.settings import (
    LeastResourceUsageWithWeightSettings,
    LoadManagerSettings,
    SettingError,
    ThresholdShedderSettings,
    check_intervals,
    least_resource_usage_with_weight_settings,
    load_manager_settings,
    threshold_shedder_settings,
    unknown_keys,
)

#: Taken where nothing tells the release.
_RELEASE_ASSUMED = "4.0.8"
#: Decides for those before it, which nobody has run.
_OLDEST = f"{RELEASE_LINES[0]}.0"
_MARGIN = "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
#: First release that has it.
_FIRST = "2.11.0"
#: What stands around a folder's name in the keys of `recording`.
_BROKERS, _ID = "brokers.", ".id"
#: How a broker names its release when it starts.
_VERSION = re.compile(r"version: '([^']+)'")
#: What is no part of an address in every name of a folder.
_ADDRESS = re.compile(r"[^0-9A-Za-z]")
#: Placers that say in the log that they draw.
_PLACER_LOGGERS = ("LeastResourceUsageWithWeight", "LeastLongTermMessageRate")
_STRATEGY_KEYS = ("loadBalancerLoadSheddingStrategy", "loadBalancerLoadPlacementStrategy")


@dataclass(frozen=True, slots=True)
class Deployment:
    """The cluster's software and settings."""

    release: str
    #: Where the release is from, in words.
    release_basis: str
    conf: Mapping[str, str]
    #: Setting → file:line where it is written.
    places: Mapping[str, str]
    manager: LoadManagerSettings
    threshold_shedder: ThresholdShedderSettings
    least_resource_usage_with_weight: LeastResourceUsageWithWeightSettings
    #: Simple class names.
    shedder: str
    placer: str
    #: What is odd about the settings, a sentence each.
    warnings: tuple[str, ...]


def deployment(
    meta: Mapping[str, str],
    settings: Sequence[Mapping[str, Any]],
    releases: Iterable[str],
    strategies: tuple[Iterable[str], Iterable[str]],
) -> Deployment:
    """Return what ran: release, strategies and settings.

    Args:
        meta: keys of recording.toml.
        settings: rows of `settings`.
        releases: releases that load reports or start-up lines name.
        strategies: shedders that unload lines name, placers that logged; what a log says wins over
            the settings, which may have been changed since or not be there.
    """
    warnings: list[str] = []
    recorded, basis = _release(meta, releases, warnings)
    release, basis = _deciding(recorded, basis)
    conf, places = _conf(settings, warnings)
    for key, similar in unknown_keys(conf):
        meant = f"; did you mean {similar}?" if similar else ""
        warnings.append(f"{places[key]}: {key} is not a key of the load balancer{meant}")
    conf = _without_bad_values(conf, places, release, warnings)
    # Defaults are those of the release that ran.
    manager = load_manager_settings(conf, recorded)
    shedder, placer = (
        Counter(names).most_common(1)[0][0] if names else configured
        for names, configured in zip(
            (list(names) for names in strategies),
            (manager.shedding_strategy, manager.placement_strategy),
            strict=True,
        )
    )
    return Deployment(
        release=release,
        release_basis=basis,
        conf=conf,
        places=places,
        manager=manager,
        threshold_shedder=threshold_shedder_settings(conf, release),
        least_resource_usage_with_weight=_of_placer(conf, release),
        shedder=shedder.rpartition(".")[2],
        placer=placer.rpartition(".")[2],
        warnings=tuple(warnings),
    )


def logged_settings(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Read the settings of the load balancer out of the lines with which brokers become ready.

    Args:
        events: lines of kind broker-ready, in order of time; a broker's last one counts.

    Returns:
        Rows as those of `settings`.
    """
    last = {event.log_broker: event for event in events}
    return [
        {
            "log_broker": event.log_broker,
            "key": key,
            "value": value,
            "origin": "runtime",
            "file": event.file,
            "line": event.line,
        }
        for event in last.values()
        for key, value, _ in dumped_entries(event.text)
        if key in KEYS
    ]


def logged_releases(events: Iterable[Event]) -> list[str]:
    """Return the releases that brokers name when they start."""
    lines = (_VERSION.search(event.text) for event in events if event.kind == "broker-starting")
    return [matches[1] for matches in lines if matches]


def logged_strategies(events: Sequence[Event]) -> tuple[list[str], list[str]]:
    """Return the shedders that unload lines name, and the placers that logged; line by line."""
    return (
        [event.strategy for event in events if event.kind == "unload" and event.strategy],
        [event.logger for event in events if event.logger in _PLACER_LOGGERS],
    )


def broker_ids(meta: Mapping[str, str]) -> dict[str, str]:
    """Return which broker's log lies in which folder.

    >>> broker_ids({"name": "night", "brokers.10.0.0.1_8080.id": "10.0.0.1:8080"})
    {'10.0.0.1_8080': '10.0.0.1:8080'}
    """
    # A folder may be named by an address, which has dots of its own.
    return {
        key.removeprefix(_BROKERS).removesuffix(_ID): value
        for key, value in meta.items()
        if key.startswith(_BROKERS) and key.endswith(_ID)
    }


def named_by_address(
    names: Mapping[str, str], folders: Iterable[str], brokers: Iterable[str]
) -> dict[str, str]:
    """Return which broker's log lies in which folder, by the folders' names where nothing says so.

    A folder is a broker's that has its address and port for a name, whatever stands between
    them; one that could be two brokers' is neither's.

    >>> named_by_address({}, ["10.0.0.1_8080"], ["10.0.0.1:8080", "10.0.0.2:8080"])
    {'10.0.0.1_8080': '10.0.0.1:8080'}
    """
    by_name: dict[str, set[str]] = {}
    for broker in brokers:
        by_name.setdefault(_ADDRESS.sub("_", broker), set()).add(broker)
    found = {folder: by_name.get(_ADDRESS.sub("_", folder), set()) for folder in sorted(folders)}
    ids = {folder: next(iter(ids)) for folder, ids in found.items() if len(ids) == 1}
    return {**ids, **names}


def _release(
    meta: Mapping[str, str], releases: Iterable[str], warnings: list[str]
) -> tuple[str, str]:
    """Return the release that the recording tells, and where; the assumed one if it tells none."""
    recording_release = meta.get("pulsar")
    commonest = Counter(releases).most_common(1)
    for release, basis in (
        (recording_release, "recording.toml"),
        (commonest[0][0] if commonest else None, "the brokers"),
    ):
        if release is None:
            continue
        try:
            release_order(release)
        except ValueError as error:
            warnings.append(f"{basis}: {error}")
            continue
        return release, basis
    return _RELEASE_ASSUMED, f"assumed; releases known: {', '.join(RELEASE_LINES)}"


def _deciding(release: str, basis: str) -> tuple[str, str]:
    """Return the release that decides for one, and how that is known."""
    if release_order(release) >= release_order(_OLDEST):
        return release, basis
    return (
        _OLDEST,
        f"in place of {release}, which is what {basis} says: {_OLDEST} is the oldest release "
        "whose classes were run",
    )


def _conf(
    settings: Sequence[Mapping[str, Any]], warnings: list[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the brokers' settings as one: what runs wins over the file, the first broker wins.

    A load-balancing setting in which brokers differ is worth a warning, since only the
    leader's counts and any broker may become it.
    """
    conf: dict[str, str] = {}
    places: dict[str, str] = {}
    values: dict[str, dict[str, str]] = {}
    for origin in ("conf", "runtime"):
        mine: dict[str, str] = {}
        for row in settings:
            if row["origin"] != origin:
                continue
            value = _plain(row["value"])
            mine.setdefault(row["key"], value)
            values.setdefault(row["key"], {})[row["log_broker"]] = value
            if origin == "conf":
                places.setdefault(row["key"], f"{row['file']}:{row['line']}")
            elif row["key"] not in places:
                places[row["key"]] = f"{row['file']}:{row['line']}"
        conf.update(mine)
    for key, by_broker in values.items():
        if key.startswith("loadBalanc") and len(set(by_broker.values())) > 1:
            by_value = ", ".join(f"{broker} {value!r}" for broker, value in by_broker.items())
            warnings.append(f"{key} differs between brokers: {by_value}")
    return conf, places


def _plain(value: str) -> str:
    """Return text without how Java prints an optional: Optional[0.01] is 0.01, empty is blank."""
    if value.startswith("Optional[") and value.endswith("]"):
        return value[len("Optional[") : -1]
    return "" if value in ("null", "Optional.empty") else value


def _of_placer(conf: Mapping[str, str], release: str) -> LeastResourceUsageWithWeightSettings:
    """Return the placer's settings; a release that has no such class cannot have drawn by it."""
    has_it = KEYS[_MARGIN].default(release) is not None
    return least_resource_usage_with_weight_settings(conf, release if has_it else _FIRST)


def _without_bad_values(
    conf: Mapping[str, str], places: Mapping[str, str], release: str, warnings: list[str]
) -> dict[str, str]:
    """Return a conf without values that cannot be read; the default stands for each."""
    good = dict(conf)
    readers = (
        load_manager_settings,
        check_intervals,
        threshold_shedder_settings,
        _of_placer,
    )
    for reader in readers:
        for _ in range(len(good)):
            try:
                reader(good, release)
                break
            except SettingError as error:
                if error.key not in good:
                    raise
                warnings.append(f"{places[error.key]}: {error}; the default is taken")
                del good[error.key]
    return good
