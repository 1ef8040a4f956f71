"""What a fleet is made of: clusters, nights, what is changed where, and which nights are spoilt.

All of it is decided before anything is recorded, so that it can be written down as the truth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

#: What is set at first, beside classes.
BEFORE: Mapping[str, str] = {
    "loadBalancerBrokerThresholdShedderPercentage": "3",
    "loadBalancerBundleUnloadMinThroughputThreshold": "0.5",
    "loadBalancerDistributeBundlesEvenlyEnabled": "false",
}
#: The change that does something, and one that does nothing in such a cluster.
_LESS = {"loadBalancerBrokerThresholdShedderPercentage": "5"}
_IDLE = {"loadBalancerReportUpdateMaxIntervalMinutes": "10"}
_FIRST = datetime(2026, 9, 7, 22, 0, tzinfo=UTC)
_RELEASE, _OLDER = "4.0.8", "4.0.0"
_SEED = 36

#: What is done to a night after it is recorded, and what a night that cannot be explained says.
EMPTY, GARBLED, SILENT = "empty", "garbled", "silent"
REASONS: Mapping[str, str] = {EMPTY: "nothing to read", GARBLED: "time_zone"}


@dataclass(frozen=True, slots=True)
class Planted:
    """What one cluster runs from a night on."""

    night: int
    settings: Mapping[str, str] = field(default_factory=dict)
    release: str = _RELEASE


@dataclass(frozen=True, slots=True)
class Recorded:
    """One night that is to be recorded."""

    cluster: int
    night: int
    begin: datetime
    release: str
    settings: Mapping[str, str]
    #: What is done to it afterwards; blank: nothing.
    spoilt: str
    root: Path

    @property
    def name(self) -> str:
        """Return the cluster's name."""
        return f"c{self.cluster:02}"

    @property
    def key(self) -> str:
        """Return the folder below that of all nights."""
        return f"{self.name}/{self.begin:%Y-%m-%d}"

    @property
    def folder(self) -> Path:
        """Return where the recording lies."""
        return self.root / self.key


@dataclass(frozen=True, slots=True)
class Plan:
    """A fleet, before it is made."""

    clusters: int
    nights: int
    brokers: int
    minutes: int
    apart: timedelta
    #: Cluster → what is changed in it.
    planted: Mapping[int, Planted]
    #: Cluster and night → what is done to it.
    spoilt: Mapping[tuple[int, int], str]
    folder: Path

    @property
    def count(self) -> int:
        """Return how many nights there are."""
        return self.clusters * self.nights

    def release(self, cluster: int, night: int) -> str:
        """Return the release that a cluster runs on a night."""
        planted = self.planted.get(cluster)
        is_older = planted is not None and not planted.settings and night < planted.night
        return _OLDER if is_older else _RELEASE

    def settings(self, cluster: int, night: int) -> dict[str, str]:
        """Return what a cluster has set on a night."""
        planted = self.planted.get(cluster)
        is_changed = planted is not None and night >= planted.night
        return {**BEFORE, **(planted.settings if planted and is_changed else {})}

    def begin(self, night: int) -> datetime:
        """Return when a night begins."""
        return _FIRST + night * self.apart

    def each(self) -> Iterator[Recorded]:
        """Yield the nights of the fleet."""
        for cluster in range(self.clusters):
            for night in range(self.nights):
                yield self._recorded(cluster, night, night, self.folder / "nights")

    def otherwise(self) -> Iterator[Recorded]:
        """Yield the nights after each change, as they would have been without it."""
        for cluster, planted in self.planted.items():
            for night in range(planted.night, self.nights):
                if (cluster, night) not in self.spoilt:
                    yield self._recorded(cluster, night, 0, self.folder / "otherwise")

    def _recorded(self, cluster: int, night: int, as_of: int, root: Path) -> Recorded:
        return Recorded(
            cluster=cluster,
            night=night,
            begin=self.begin(night),
            release=self.release(cluster, as_of),
            settings=self.settings(cluster, as_of),
            spoilt=self.spoilt.get((cluster, night), ""),
            root=root,
        )

    def truth(self) -> dict[str, Any]:
        """Return what is planted, as it is written down."""
        return {
            "clusters": self.clusters,
            "nights": self.nights,
            "brokers": self.brokers,
            "minutes": self.minutes,
            "planted": {
                f"c{cluster:02}": {
                    "from": f"{self.begin(it.night):%Y-%m-%d}",
                    "release": [self.release(cluster, 0), it.release],
                    "settings": {k: [BEFORE.get(k), value] for k, value in it.settings.items()},
                }
                for cluster, it in self.planted.items()
            },
            "spoilt": {
                f"c{cluster:02}/{self.begin(night):%Y-%m-%d}": what
                for (cluster, night), what in sorted(self.spoilt.items())
            },
        }


def small(root: Path) -> Plan:
    """Return twelve clusters with six nights, five days apart."""
    planted = {at: Planted(3, _LESS) for at in (2, 4, 7, 10)} | {8: Planted(3, _IDLE)}
    return Plan(12, 6, 6, 90, timedelta(days=5), planted, {}, root / "fleet")


def large(root: Path, size: tuple[int, int], brokers: int, minutes: int, changed: int) -> Plan:
    """Return clusters with a night a day, where changes come in two waves and some nights spoilt.

    Args:
        root: folder in which the fleet's own is.
        size: how many clusters, and how many nights of each.
        brokers: of each cluster.
        minutes: of each night.
        changed: clusters with a change of settings that does something.
    """
    clusters, nights = size
    random = np.random.default_rng(_SEED)
    upgraded, idle = changed // 3, changed // 5
    chosen = random.permutation(clusters)[: changed + upgraded + idle].tolist()
    waves = nights // 3, 2 * nights // 3
    planted = {at: Planted(waves[i % 2], _LESS) for i, at in enumerate(chosen[:changed])}
    planted |= {at: Planted(nights // 2) for at in chosen[changed : changed + upgraded]}
    planted |= {at: Planted(nights // 2, _IDLE) for at in chosen[changed + upgraded :]}
    name = f"fleet-{clusters}x{nights}x{brokers}"
    spoilt = _spoilt(random, planted, size)
    return Plan(clusters, nights, brokers, minutes, timedelta(days=1), planted, spoilt, root / name)


def _spoilt(
    random: np.random.Generator, planted: Mapping[int, Planted], size: tuple[int, int]
) -> dict[tuple[int, int], str]:
    """Return one night of a hundred that cannot be explained, and as many that tell no settings.

    Of each kind one is the first night after a change, another the last before one.
    """
    clusters, nights = size
    places = random.permutation(clusters * nights)[: max(3, clusters * nights // 50)].tolist()
    kinds = (EMPTY, SILENT, GARBLED, SILENT)
    spoilt = {divmod(at, nights): kinds[i % len(kinds)] for i, at in enumerate(places)}
    borders = [(cluster, it.night) for cluster, it in planted.items() if it.settings][:4]
    for i, (cluster, night) in enumerate(borders):
        spoilt[cluster, night - i // 2] = SILENT if i % 2 else EMPTY
    return spoilt
