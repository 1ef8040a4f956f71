"""What a simulated cluster meets and no balancer changes: traffic, other processes, clocks.

A simulation asks for nothing else that is not its own doing, so whatever can answer may
stand here: what is drawn from a scenario, or what a recording tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from trimtab.lab.simulate.machines import Background
from trimtab.lab.simulate.noise import generator
from trimtab.lab.simulate.parameters import Parameters
from trimtab.lab.simulate.traffic import Rows, Splits, Traffic
from trimtab.lab.simulate.world import World
from trimtab.pulsar.model import Floats, Ints


class Wanted(Protocol):
    """What clients want of each bundle over time."""

    def rows(self, first: int, last: int) -> Rows:
        """Return the steps from `first` up to `last`, which is not among them.

        Steps before `first` are not asked for again.
        """

    def sizes(self, step: int, usual: Floats) -> Floats:
        """Return bytes a message in a step, (n_bundles,); `usual` is what the world says."""


class Others(Protocol):
    """What other processes take of the brokers' machines over time."""

    @property
    def least(self) -> float:
        """Return the least that they can take, percent."""

    def ticks(self, first: int, last: int) -> Floats:
        """Return percent of CPU, (n_ticks, n_brokers), of the ticks from `first` up to `last`.

        Ticks before `first` are not asked for again.
        """

    def network(self, first: int, last: int) -> Floats:
        """Return percent of the NIC, in and out, (2, n_ticks or 1, n_brokers or 1)."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long windows are, and how often a broker looks whether to report; ticks."""

    host: int
    stats: int
    look: int


class Phases(Protocol):
    """At which ticks windows close: those that are a phase above a multiple of a length."""

    def at_begin(self, lengths: Lengths) -> Ints:
        """Return the phases of hosts' and of bundles' windows, (2, n_brokers) ticks."""

    def at_start(self, broker: int, tick: int, lengths: Lengths) -> Ints:
        """Return both phases of a broker whose process begins at a tick, (2,) ticks."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All of it."""

    traffic: Wanted
    background: Others
    phases: Phases


#: Makes the surroundings of a world, told which bundles will be split.
Meet: TypeAlias = Callable[[World, Parameters, Splits | None], Surroundings]


@dataclass(frozen=True, slots=True)
class DrawnPhases:
    """Phases of brokers that began nobody knows when, and of those that join."""

    seed: int
    n_brokers: int

    def at_begin(self, lengths: Lengths) -> Ints:
        """Return phases, drawn as shares, so that other lengths do not shift what is drawn next."""
        phases = generator(self.seed, "phases").random((2, self.n_brokers))
        ticks = phases * np.array([[lengths.host], [lengths.stats]])
        return _on_looks(np.asarray(ticks, dtype=np.int64), lengths.look)

    def at_start(self, broker: int, tick: int, lengths: Lengths) -> Ints:
        """Return phases of windows that begin with the process."""
        del broker
        return _on_looks(np.array([tick - 1, tick - 1]), lengths.look)


def _on_looks(phase: Ints, look: int) -> Ints:
    """Return phases of windows that close when the broker looks whether to write a report."""
    return phase - phase % look + look - 1


def drawn_surroundings(world: World, parameters: Parameters, splits: Splits | None) -> Surroundings:
    """Return the surroundings of a scenario, drawn from the seed of its world."""
    physics, tick_s = parameters.physics, parameters.measuring.tick_s
    return Surroundings(
        traffic=Traffic(world, physics, splits),
        background=Background(world, physics, tick_s),
        phases=DrawnPhases(world.seed, len(world.machines.names)),
    )
