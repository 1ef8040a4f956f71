"""What clients want of each bundle over time: the same for every balancer."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trimtab.lab.simulate.noise import Noise, generator
from trimtab.lab.simulate.parameters import Physics
from trimtab.lab.simulate.physics import costs, work
from trimtab.lab.simulate.world import Change, World
from trimtab.pulsar.model import Floats, Ints

# Numbers that are computed at a time, so that they stay in the processor's cache, and steps
# that are held at least.
_AT_A_TIME = 1 << 15
_HELD = 1 << 20
_HELD_STEPS = (16, 512)


@dataclass(frozen=True, slots=True)
class Rows:
    """Traffic in some steps; arrays are (n_steps, n_bundles) where nothing else is said."""

    #: Number of the first step.
    first: int
    #: Messages/s published and dispatched.
    rate_in: Floats
    rate_out: Floats
    #: Bytes/s.
    bytes_in: Floats
    bytes_out: Floats
    #: Points of a reference machine.
    work: Floats
    #: (n_steps,) bytes/s in and out, and work, of all bundles.
    all_bytes: Floats
    all_work: Floats

    def arrays(self) -> tuple[Floats, ...]:
        """Return the arrays in the order of the fields."""
        of_bundles = (self.rate_in, self.rate_out, self.bytes_in, self.bytes_out, self.work)
        return (*of_bundles, self.all_bytes, self.all_work)

    def part(self, first: int, last: int) -> Rows:
        """Return the steps from `first` up to `last`, which is not among them."""
        at = slice(first - self.first, last - self.first)
        return Rows(first, *(array[at] for array in self.arrays()))


def traffic_rows(first: int, rate_in: Floats, rate_out: Floats, work: Floats, size: Floats) -> Rows:
    """Return steps of traffic by rates, work and bytes a message."""
    into, out = rate_in * size, rate_out * size
    everything = into.sum(axis=1) + out.sum(axis=1)
    return Rows(first, rate_in, rate_out, into, out, work, everything, work.sum(axis=1))


@dataclass(frozen=True, slots=True)
class Splits:
    """Which bundles are parts of others, and from when on."""

    #: (n_bundles,) the bundle whose traffic it has a part of: itself, or what was split.
    origin: Ints
    #: (n_bundles,) which part of it.
    share: Floats
    #: (n_bundles,) step at which it begins and ends to be.
    born: Ints
    gone: Ints


class Traffic:
    """Makes traffic in blocks of steps, as the simulation gets there.

    Properties:
        Does not depend on the size of blocks, nor on who asks when.
    """

    def __init__(self, world: World, physics: Physics, splits: Splits | None) -> None:
        """Begin before the first step."""
        self.world, self.physics, self.splits = world, physics, splits
        bundles = world.bundles
        step_s = physics.traffic_step_s
        size = bundles.rate.size
        kept, kept_by_groups = (math.exp(-step_s / s) for s in (physics.jitter_s, physics.group_s))
        self._own = Noise(generator(world.seed, "traffic"), size, kept)
        groups = int(bundles.group.max()) + 1 if size else 0
        self._groups = Noise(generator(world.seed, "groups"), groups, kept_by_groups)
        self._costs = costs(bundles, physics)
        # The mean of exp(d·noise) is exp(d²/2).
        variance = bundles.jitter**2 + physics.group_deviation**2
        self._base: Floats = bundles.rate * np.exp(-variance / 2)
        angle = 2 * math.pi * bundles.wave_phase
        waves = (bundles.wave * np.cos(angle), bundles.wave * np.sin(angle))
        self._waves = waves if bundles.wave.any() else None
        nothing = np.empty((0, size if splits is None else splits.origin.size))
        self._known = 0
        #: Room for steps, of which those before `_known` have been made.
        self._held = Rows(0, *[nothing] * 5, *[np.empty(0)] * 2)

    def rows(self, first: int, last: int) -> Rows:
        """Return the steps from `first` up to `last`, which is not among them.

        Steps before `first` are forgotten, and cannot be asked for again.
        """
        if last > self._known:
            self._make_room(first, last - first)
        while self._known < last:
            self._make()
        return self._held.part(first, last)

    def sizes(self, step: int, usual: Floats) -> Floats:
        """Return bytes a message: always the same."""
        del step
        return usual

    def _make_room(self, first: int, count: int) -> None:
        """Move the steps that are still wanted to the front, in a larger place if need be."""
        buffer, kept = self._held, slice(first - self._held.first, self._known - self._held.first)
        arrays = buffer.arrays()
        size = buffer.work.shape[1]
        room = min(max(_HELD_STEPS[0], _HELD // max(1, size)), _HELD_STEPS[1]) + 2 * count
        if len(buffer.work) < room:
            arrays = tuple(np.empty((room, *array.shape[1:])) for array in arrays)
        for new, old in zip(arrays, buffer.arrays(), strict=True):
            new[: kept.stop - kept.start] = old[kept].copy()
        self._held = Rows(first, *arrays)

    def _make(self) -> None:
        """Make as many of the next steps as are quickly made together and find room."""
        first, buffer = self._known, self._held
        begin = first - buffer.first
        count = min(max(1, _AT_A_TIME // max(1, buffer.work.shape[1])), len(buffer.work) - begin)
        rows = self._unsplit_rows(first, count)
        if self.splits is not None:
            rows = _divided(rows, self.splits)
        for place, array in zip(buffer.arrays(), rows.arrays(), strict=True):
            place[begin : begin + count] = array
        self._known += count

    def _unsplit_rows(self, first: int, count: int) -> Rows:
        """Return some steps, before anything is split."""
        bundles = self.world.bundles
        level = self._own.rows(count)
        level *= bundles.jitter.astype(np.float32)
        groups = np.float32(self.physics.group_deviation) * self._groups.rows(count)
        level += groups[:, bundles.group]
        np.exp(level, out=level)
        rate_in = self._base * level
        step = np.arange(first, first + count, dtype=np.float64)
        time_s = (step + 0.5) * self.physics.traffic_step_s
        if self._waves is not None:
            rate_in *= self._wave(time_s)
        rate_out = rate_in * bundles.fan_out
        for change in self.world.changes:
            _apply(change, time_s, rate_in, rate_out)
        done = work(self._costs, rate_in, rate_out)
        return traffic_rows(first, rate_in, rate_out, done, bundles.message_bytes)

    def _wave(self, time_s: Floats) -> Floats:
        """Return what the time of day makes of each rate."""
        assert self._waves is not None
        cosine, sine = self._waves
        angle = 2 * math.pi * time_s[:, None] / self.physics.day_s
        return np.maximum(1 + cosine * np.sin(angle) + sine * np.cos(angle), 0.0)


def _apply(change: Change, time_s: Floats, rate_in: Floats, rate_out: Floats) -> None:
    """Multiply the rates of a change's bundles, while it lasts."""
    if time_s[-1] < change.from_s or time_s[0] >= change.to_s:
        return
    factor_in, factor_out = _factors(change, time_s)
    for rates, factor in ((rate_in, factor_in), (rate_out, factor_out)):
        if (factor != 1.0).any():
            rates[:, change.bundles] *= factor[:, None]


def _factors(change: Change, time_s: Floats) -> tuple[Floats, Floats]:
    """Return with what a change multiplies rates at some times."""
    since = time_s - change.from_s
    lasts = (since >= 0) & (time_s < change.to_s)
    is_on = np.ones(time_s.size, np.bool_)
    if change.period_s > 0:
        is_on = np.mod(since + change.phase_s, change.period_s) < change.duty * change.period_s
    ramp = np.clip(since / change.ramp_s, 0.0, 1.0) if change.ramp_s > 0 else 1.0
    factor_in, factor_out = (
        np.where(lasts, 1 + ramp * (np.where(is_on, on, off) - 1), 1.0)
        for on, off in ((change.factor_in, change.off_in), (change.factor_out, change.off_out))
    )
    return factor_in, factor_out


def _divided(rows: Rows, splits: Splits) -> Rows:
    """Return steps in which each bundle has its part of what the bundle that it came from has."""
    step = (rows.first + np.arange(len(rows.work)))[:, None]
    share = np.where((step >= splits.born) & (step < splits.gone), splits.share, 0.0)
    *of_bundles, all_bytes, all_work = rows.arrays()
    parts = [array[:, splits.origin] * share for array in of_bundles]
    return Rows(rows.first, *(*parts, all_bytes, all_work))
