"""What a simulated cluster meets and no balancer changes: traffic, other processes, clocks.

A simulation asks for nothing else that is not its own doing.  It is drawn from a scenario, or
as a recording tells; what a balancer does cannot change it then either, only what it costs whom.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from trimtab.lab.simulate.machines import Background
from trimtab.lab.simulate.noise import generator
from trimtab.lab.simulate.parameters import Parameters
from trimtab.lab.simulate.standing import Standing
from trimtab.lab.simulate.traffic import Rows, Splits, Traffic, traffic_rows
from trimtab.lab.simulate.world import World
from trimtab.pulsar.model import Floats, Ints

# Numbers of each array of traffic that are worked out at a time.
_NUMBERS = 1 << 20


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long windows are, and how often a broker looks whether to report; ticks."""

    host: int
    stats: int
    look: int


@dataclass(frozen=True, slots=True)
class DrawnPhases:
    """At which ticks windows close: those that are a phase above a multiple of a length.

    Brokers that are there at first began nobody knows when.
    """

    seed: int
    n_brokers: int

    def at_begin(self, lengths: Lengths) -> Ints:
        """Return the phases of hosts' and of bundles' windows, (2, n_brokers) ticks.

        They are drawn as shares, so that other lengths do not shift what is drawn next.
        """
        phases = generator(self.seed, "phases").random((2, self.n_brokers))
        ticks = phases * np.array([[lengths.host], [lengths.stats]])
        return _on_looks(np.asarray(ticks, dtype=np.int64), lengths.look)

    def at_start(self, broker: int, tick: int, lengths: Lengths) -> Ints:
        """Return both phases of a broker whose process begins at a tick, (2,) ticks."""
        del broker
        return _on_looks(np.array([tick - 1, tick - 1]), lengths.look)


def _on_looks(phase: Ints, look: int) -> Ints:
    """Return phases of windows that close when the broker looks whether to write a report."""
    return phase - phase % look + look - 1


# Without slots, so that what is worked out once has a place.
@dataclass(frozen=True)
class RecordedTraffic:
    """Traffic that is known, a step a row; arrays are (n_steps, n_bundles)."""

    #: Messages/s published and dispatched.
    rate_in: Floats
    rate_out: Floats
    #: Points of a reference machine.
    work: Floats
    #: Bytes a message.
    message_bytes: Floats

    def rows(self, first: int, last: int) -> Rows:
        """Return the steps from `first` up to `last`, which is not among them."""
        steps = slice(first, last)
        rate_in, rate_out, size = (
            array[steps] for array in (self.rate_in, self.rate_out, self.message_bytes)
        )
        everything = (each[steps] for each in self._of_all)
        return Rows(first, size, rate_in, rate_out, self.work[steps], *everything)

    @cached_property
    def _of_all(self) -> tuple[Floats, Floats]:
        """Return bytes/s in and out, and work, of all bundles, (n_steps,); worked out once."""
        n_steps, n_bundles = self.shape
        arrays = (self.rate_in, self.rate_out, self.work, self.message_bytes)
        some = max(1, _NUMBERS // max(1, n_bundles))
        parts = [
            traffic_rows(first, *(array[first : first + some] for array in arrays)).arrays()[-2:]
            for first in range(0, n_steps, some)
        ]
        all_bytes, all_work = (np.concatenate(each) for each in zip(*parts, strict=True))
        return all_bytes, all_work

    def sizes(self, step: int, usual: Floats) -> Floats:
        """Return bytes a message in a step, (n_bundles,)."""
        del usual
        size: Floats = self.message_bytes[step]
        return size

    @property
    def shape(self) -> tuple[int, int]:
        """Return how many steps and bundles there are."""
        n_steps, n_bundles = self.work.shape
        return n_steps, n_bundles


@dataclass(frozen=True, slots=True)
class DividedTraffic:
    """Traffic that is known, of which each bundle has its part of what the one it came from has."""

    whole: RecordedTraffic
    splits: Splits

    def rows(self, first: int, last: int) -> Rows:
        """Return the steps from `first` up to `last`, which is not among them."""
        whole, splits = self.whole, self.splits
        step, at = np.arange(first, last)[:, None], slice(first, last)
        share = np.where((step >= splits.born) & (step < splits.gone), splits.share, 0.0)
        rate_in, rate_out, work, size = (
            array[at].take(splits.origin, axis=1)
            for array in (whole.rate_in, whole.rate_out, whole.work, whole.message_bytes)
        )
        return traffic_rows(first, rate_in * share, rate_out * share, work * share, size)

    def sizes(self, step: int, usual: Floats) -> Floats:
        """Return bytes a message in a step, (n_bundles,)."""
        return self.whole.sizes(step, usual)[self.splits.origin]

    @property
    def shape(self) -> tuple[int, int]:
        """Return how many steps and bundles there are, with those that others came from."""
        return self.whole.shape[0], self.splits.origin.size


@dataclass(slots=True)
class LatestRows:
    """Traffic that is known, of which steps that were not asked for yet are at hand, too.

    Windows overlap, so most steps are asked for several times.
    """

    traffic: RecordedTraffic | DividedTraffic
    _rows: Rows | None = None

    def rows(self, first: int, last: int) -> Rows:
        """Return the steps from `first` up to `last`, which is not among them."""
        rows = self._rows
        if rows is None or first < rows.first or last > rows.first + len(rows.work):
            n_steps, n_bundles = self.traffic.shape
            ahead = min(n_steps, first + _NUMBERS // max(1, n_bundles))
            rows = self._rows = self.traffic.rows(first, max(last, ahead))
        return rows.part(first, last)

    def sizes(self, step: int, usual: Floats) -> Floats:
        """Return bytes a message in a step, (n_bundles,)."""
        return self.traffic.sizes(step, usual)


@dataclass(frozen=True, slots=True)
class RecordedOthers:
    """What was used beyond what the traffic costs, percent; below 0 where that says too much."""

    #: (3, n_ticks, n_brokers) of CPU, NIC in and NIC out.
    percent: Floats

    @property
    def least(self) -> float:
        """Return the least that other processes can take, percent."""
        return -100.0

    def ticks(self, first: int, last: int) -> Floats:
        """Return percent of CPU, (n_ticks, n_brokers), of the ticks from `first` up to `last`."""
        return self.percent[0, first:last].copy()

    def network(self, first: int, last: int) -> Floats:
        """Return percent of the NIC, in and out, (2, n_ticks, n_brokers)."""
        return self.percent[1:, first:last]


@dataclass(frozen=True, slots=True)
class Begin:
    """A broker's process began, and its windows close since."""

    broker: int
    tick: int
    #: Ticks above a multiple of the windows' lengths, hosts' and bundles'; -1 if not known.
    phases: tuple[int, int]

    def phases_beside(self, drawn: Ints) -> Ints:
        """Return both phases, (2,) ticks, drawn ones where they are not known."""
        known = np.array(self.phases)
        return np.where(known >= 0, known, drawn)


@dataclass(frozen=True, slots=True)
class RecordedPhases:
    """Phases that are known, and drawn ones where they are not."""

    drawn: DrawnPhases
    #: In order of time; those of brokers that are there from the beginning have tick 0 or less.
    begins: tuple[Begin, ...]

    def at_begin(self, lengths: Lengths) -> Ints:
        """Return the phases of hosts' and of bundles' windows, (2, n_brokers) ticks."""
        phases = self.drawn.at_begin(lengths)
        for begin in self.begins:
            if begin.tick <= 0:
                phases[:, begin.broker] = begin.phases_beside(phases[:, begin.broker])
        return phases

    def at_start(self, broker: int, tick: int, lengths: Lengths) -> Ints:
        """Return both phases of a broker whose process begins at a tick, (2,) ticks."""
        drawn = self.drawn.at_start(broker, tick, lengths)
        mine = [begin for begin in self.begins if begin.broker == broker]
        if not mine:
            return drawn
        return min(mine, key=lambda begin: abs(begin.tick - tick)).phases_beside(drawn)


#: What clients want of each bundle over time.  Steps before the first that was asked for are
#: not asked for again, nor ticks of what other processes take.
Wanted: TypeAlias = Traffic | LatestRows
#: What other processes take of the brokers' machines over time.
Others: TypeAlias = Background | RecordedOthers
Phases: TypeAlias = DrawnPhases | RecordedPhases


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All of it."""

    traffic: Wanted
    background: Others
    phases: Phases
    #: What had been said before the beginning; None: nothing.
    standing: Standing | None = None


#: Makes the surroundings of a world, told which bundles will be split.
Meet: TypeAlias = Callable[[World, Parameters, Splits | None], Surroundings]


def drawn_surroundings(world: World, parameters: Parameters, splits: Splits | None) -> Surroundings:
    """Return the surroundings of a scenario, drawn from the seed of its world."""
    physics, tick_s = parameters.physics, parameters.measuring.tick_s
    return Surroundings(
        traffic=Traffic(world, physics, splits),
        background=Background(world, physics, tick_s),
        phases=DrawnPhases(world.seed, len(world.machines.names)),
    )


@dataclass(frozen=True, slots=True)
class RecordedSurroundings:
    """Everything that is told of what a cluster met; called, it meets it again."""

    traffic: RecordedTraffic
    others: RecordedOthers
    begins: Sequence[Begin]
    standing: Standing | None = None

    def __call__(self, world: World, parameters: Parameters, splits: Splits | None) -> Surroundings:
        """Return the surroundings; of a bundle that is to be split each half has half of it."""
        del parameters
        traffic = self.traffic if splits is None else DividedTraffic(self.traffic, splits)
        drawn = DrawnPhases(world.seed, len(world.machines.names))
        phases = RecordedPhases(drawn, tuple(self.begins))
        return Surroundings(LatestRows(traffic), self.others, phases, self.standing)
