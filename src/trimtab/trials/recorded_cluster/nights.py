"""Recordings of one cluster → its nights in order, each rebuilt by what all tell of its costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from trimtab.files.fields import FieldError
from trimtab.lab.costs import Windows
from trimtab.lab.reconstruct.cluster import rebuilt
from trimtab.lab.reconstruct.costs import known_costs
from trimtab.trials.recorded_cluster.cluster import RecordedCluster

# Settings that decide, and share of the bundles of the night with fewer that both must have.
_DECIDES = "loadBalancer"
_COMMON_MIN = 0.5


@dataclass(frozen=True, slots=True)
class RecordedNight:
    """A recorded cluster, and what was diagnosed of it."""

    cluster: RecordedCluster
    findings: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Return what the recording is called."""
        return str(self.findings["recording"])

    @property
    def begin_s(self) -> float:
        """Return when it begins, s from 1970."""
        return float(self.cluster.rebuilt.grid.from_s)

    @property
    def end_s(self) -> float:
        """Return when it ends, s from 1970."""
        return float(self.cluster.rebuilt.grid.end_s[-1])


def together(nights: Sequence[RecordedNight]) -> tuple[RecordedNight, ...]:
    """Return the nights of one cluster in order of time, each by what all tell of its costs.

    What is known of costs after one night is where the next one begins.

    Raises:
        FieldError: two of them are of different clusters, releases, strategies or settings of
            the balancer, or of the same time.
    """
    ordered = sorted(nights, key=lambda night: night.begin_s)
    for one, other in pairwise(ordered):
        for what, there, here in _differences(one, other):
            expected = f"{there} as in {one.name}: nights of one cluster are put together"
            raise FieldError(f"{other.name}: {what}", here, expected)
        if other.begin_s < one.end_s:
            expected = "one that begins when that has ended"
            raise FieldError(other.name, f"a night during that of {one.name}", expected)
    if len(ordered) == 1:
        return tuple(ordered)
    measured = ordered[-1].cluster.measured
    evidence = [night.cluster.evidence for night in ordered]
    known = known_costs(evidence, Windows(measured.host_s, measured.stats_s))
    return tuple(
        replace(
            night,
            cluster=replace(
                night.cluster,
                rebuilt=rebuilt(night.cluster.evidence, night.cluster.measured, known=costs),
            ),
        )
        for night, costs in zip(ordered, known, strict=True)
    )


def _differences(one: RecordedNight, other: RecordedNight) -> Iterator[tuple[str, str, str]]:
    """Yield what keeps two nights apart: what it is, as it is in the one and in the other."""
    ran, runs = one.cluster.balancer, other.cluster.balancer
    yield from _unequal("release", ran.release, runs.release)
    yield from _unequal("strategy", ran.shedder or "none", runs.shedder or "none")
    yield from _unequal("placement", ran.placer, runs.placer)
    keys = {key for key in (*ran.conf, *runs.conf) if key.startswith(_DECIDES)}
    for key in sorted(keys):
        yield from _unequal(key, ran.conf.get(key, "nothing"), runs.conf.get(key, "nothing"))
    bundles = set(one.cluster.evidence.bundles), set(other.cluster.evidence.bundles)
    common, fewer = len(bundles[0] & bundles[1]), min(map(len, bundles))
    if common < _COMMON_MIN * fewer:
        yield "bundles", f"at least half of the {fewer}", f"{common} of {fewer}"


def _unequal(what: str, there: str, here: str) -> Iterator[tuple[str, str, str]]:
    if there != here:
        yield what, there, here
