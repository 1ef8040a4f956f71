"""What other processes on the brokers' machines take, tick by tick."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trimtab.lab.simulate.noise import Noise, generator
from trimtab.lab.simulate.parameters import Physics
from trimtab.lab.simulate.world import World
from trimtab.pulsar.model import Floats, Ints

# Ticks that are computed at a time.
_AT_A_TIME = 240


@dataclass(frozen=True, slots=True)
class _Spikes:
    """Short loads of other processes, in order of their beginning; all (n_spikes,)."""

    broker: Ints
    from_s: Floats
    to_s: Floats
    points: Floats


class Background:
    """Makes the CPU that other processes take, as the simulation gets there.

    Properties:
        Does not depend on the size of blocks, nor on what the balancer does.
    """

    def __init__(self, world: World, physics: Physics, tick_s: float) -> None:
        """Begin before the first tick."""
        self.world, self.physics, self.tick_s = world, physics, tick_s
        size, kept = len(world.machines.names), math.exp(-tick_s / physics.background_s)
        self._noise = Noise(generator(world.seed, "machines"), size, kept)
        self._spikes = _drawn_spikes(world, physics)
        self._first = 0
        self._held: Floats = np.empty((0, size))

    @property
    def least(self) -> float:
        """Return the least that other processes can take, percent."""
        return 0.0

    def ticks(self, first: int, last: int) -> Floats:
        """Return percent, (n_ticks, n_brokers), of the ticks from `first` up to `last`.

        Ticks before `first` are forgotten, and cannot be asked for again.
        """
        known = self._first + len(self._held)
        if last > known:
            parts = [self._held[first - self._first :]]
            while known < last:
                parts.append(self._background(known))
                known += _AT_A_TIME
            self._first, self._held = first, np.concatenate(parts)
        return self._held[first - self._first : last - self._first]

    def network(self, first: int, last: int) -> Floats:
        """Return percent of the NIC, in and out: other processes take none of it."""
        del first, last
        return np.zeros((2, 1, 1))

    def _background(self, first: int) -> Floats:
        machines = self.world.machines
        noise = self._noise.rows(_AT_A_TIME)
        background = machines.background + machines.background_deviation * noise
        np.maximum(background, self.physics.background_min, out=background)
        begin_s, end_s = first * self.tick_s, (first + _AT_A_TIME) * self.tick_s
        spikes = self._spikes
        for i in np.flatnonzero((spikes.to_s > begin_s) & (spikes.from_s < end_s)).tolist():
            tick_s = (first + np.arange(_AT_A_TIME)) * self.tick_s
            until = np.minimum(spikes.to_s[i], tick_s + self.tick_s)
            share = np.maximum(until - np.maximum(spikes.from_s[i], tick_s), 0.0) / self.tick_s
            background[:, spikes.broker[i]] += share * spikes.points[i]
        return background


def _drawn_spikes(world: World, physics: Physics) -> _Spikes:
    """Return all short loads of other processes, drawn at once."""
    random = generator(world.seed, "spikes")
    counts = random.poisson(world.machines.spikes_per_hour * world.duration_s / 3600.0)
    broker = np.repeat(np.arange(counts.size), counts)
    from_s = random.uniform(0.0, world.duration_s, broker.size)
    length_s = random.uniform(*physics.spike_s, broker.size)
    points = random.uniform(*physics.spike_points, broker.size)
    order = np.argsort(from_s, kind="stable")
    return _Spikes(broker[order], from_s[order], (from_s + length_s)[order], points[order])
