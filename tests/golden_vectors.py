"""Reads recorded decisions of Pulsar's own classes: a vector → a ClusterLoad a round."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.bundles import is_system_bundle
from trimtab.model import ClusterLoad

GOLDEN = Path(__file__).parent / "golden"

_RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
_TOTALS = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
_UNREPORTED = (-1.0, -1.0)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One round: what the strategy saw, what it was asked, what it answered."""

    load: ClusterLoad
    #: What happened before and during the round, as in the file.
    asked: Mapping[str, Any]
    #: What the Java class answered, as in the file.
    answered: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Vector:
    """One strategy object's life."""

    id: str
    conf: Mapping[str, str]
    rounds: tuple[Recorded, ...]


def vectors(strategy: str, release: str) -> Iterator[Vector]:
    """Yield every vector recorded of a strategy in a release."""
    with gzip.open(GOLDEN / f"{strategy}-{release}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            vector = json.loads(line)
            conf = {key: _conf_text(value) for key, value in vector["conf"].items()}
            yield Vector(vector["id"], conf, tuple(_rounds(vector, release)))


def defaults(release: str) -> Mapping[str, Any]:
    """Read every load-balancing default of a release."""
    text = (GOLDEN / f"defaults-{release}.json").read_text(encoding="utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found


def _conf_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _rounds(vector: Mapping[str, Any], release: str) -> Iterator[Recorded]:
    world = _World(release)
    for asked, answered in zip(vector["rounds"], vector["expect"], strict=True):
        world.update(asked, answered)
        yield Recorded(world.load(), asked, answered)


@dataclass
class _World:
    """The leader's maps, with the orders in which the Java walked them."""

    release: str
    brokers: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    averages: dict[str, dict[str, Any]] = field(default_factory=dict)
    recent: frozenset[str] = frozenset()
    broker_order: list[str] = field(default_factory=list)
    bundle_order: list[str] = field(default_factory=list)

    def update(self, asked: Mapping[str, Any], answered: Mapping[str, Any]) -> None:
        for name, report in asked.get("brokers", {}).items():
            if report is None:
                self.brokers.pop(name, None)
            else:
                self.brokers[name] = report
        for name, averages in asked.get("bundle_data", {}).items():
            if averages is None:
                self.averages.pop(name, None)
            else:
                self.averages.setdefault(name, {}).update(averages)
        self.recent = frozenset(asked.get("recently_unloaded", self.recent))
        self.broker_order = answered.get("broker_order", self.broker_order)
        self.bundle_order = answered.get("bundle_order", self.bundle_order)

    def load(self) -> ClusterLoad:
        assert sorted(self.broker_order) == sorted(self.brokers)
        reports = [self.brokers[name] for name in self.broker_order]
        listed = self._listed(reports)
        averages = np.array(
            [self.averages.get(name, {}).get("short", (0.0,) * 4)[:4] for name, _ in listed]
        ).reshape(-1, 4)
        totals = np.array([[r.get(k, 0.0) for k in _TOTALS] for r in reports]).reshape(-1, 4)
        resources = np.array(
            [[r.get(k, _UNREPORTED) for k in _RESOURCES] for r in reports], dtype=np.float64
        ).reshape(-1, 5, 2)
        return ClusterLoad(
            tuple(self.broker_order),
            resources[:, :, 0],
            resources[:, :, 1],
            *totals.T,
            np.array([len(r["bundles"]) for r in reports], dtype=np.int64),
            tuple(name for name, _ in listed),
            np.array([broker for _, broker in listed], dtype=np.int64),
            *averages.T,
            np.array([self._is_sheddable(name) for name, _ in listed], dtype=np.bool_),
        )

    def _listed(self, reports: list[Mapping[str, Any]]) -> list[tuple[str, int]]:
        """List (bundle, broker) in the order of the leader's bundle map."""
        # A recorded order is complete for a round in which order matters; in other rounds
        # bundles that it does not name may stand anywhere.
        rank = {name: i for i, name in enumerate(self.bundle_order)}
        listed = [(name, i) for i, report in enumerate(reports) for name in report["bundles"]]
        return sorted(listed, key=lambda entry: rank.get(entry[0], len(rank)))

    def _is_sheddable(self, name: str) -> bool:
        is_known = name in self.averages and name not in self.recent
        return is_known and not is_system_bundle(name, self.release)
