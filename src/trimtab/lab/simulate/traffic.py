"""What clients want of each bundle over time: the same for every balancer."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.simulate.noise import Noise, generator
from trimtab.lab.simulate.parameters import Physics
from trimtab.lab.simulate.physics import Costs, costs, once, work
from trimtab.lab.simulate.world import Change, World
from trimtab.pulsar.model import Floats, Ints

# Bundles side by side, and numbers of theirs, that are computed at a time: they stay in the
# processor's cache.
_SIDE_BY_SIDE = 1 << 13
_AT_A_TIME = 1 << 15
# Numbers that are held, and steps at least and at most: of few steps the windows still find
# the last ones in the cache.
_HELD = 1 << 18
_HELD_STEPS = (4, 512)

Noises: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Rows:
    """Traffic in some steps; arrays are (n_steps, n_bundles) where nothing else is said."""

    #: Number of the first step.
    first: int
    #: Bytes a message.
    size: Floats
    #: Messages/s published and dispatched.
    rate_in: Floats
    rate_out: Floats
    #: Points of a reference machine.
    work: Floats
    #: (n_steps,) bytes/s in and out, and work, of all bundles.
    all_bytes: Floats
    all_work: Floats

    def arrays(self) -> tuple[Floats, ...]:
        """Return the arrays in the order of the fields, but for the sizes."""
        return self.rate_in, self.rate_out, self.work, self.all_bytes, self.all_work

    @property
    def bytes_in(self) -> Floats:
        """Return bytes/s published; they are not kept, as it takes longer to look them up."""
        return self.rate_in * self.size

    @property
    def bytes_out(self) -> Floats:
        """Return bytes/s dispatched."""
        return self.rate_out * self.size

    def part(self, first: int, last: int) -> Rows:
        """Return the steps from `first` up to `last`, which is not among them."""
        at = slice(first - self.first, last - self.first)
        return Rows(first, self.size[at], *(array[at] for array in self.arrays()))


def traffic_rows(first: int, rate_in: Floats, rate_out: Floats, work: Floats, size: Floats) -> Rows:
    """Return steps of traffic by rates, work and bytes a message."""
    everything = (rate_in * size).sum(axis=1) + (rate_out * size).sum(axis=1)
    return Rows(first, size, rate_in, rate_out, work, everything, work.sum(axis=1))


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


@dataclass(frozen=True, slots=True)
class _Columns:
    """Bundles side by side, and what their traffic is made of.

    Arrays are (n_columns,), or (1,) of what is the same for all of them.
    """

    at: slice
    #: Messages/s published, without noise and waves.
    base: Floats
    #: Deviation of the noise of its own, and the group whose noise it shares.
    jitter: NDArray[np.float32]
    group: Ints
    #: What cosine and sine of the time of day add, as shares of the rate.
    waves: tuple[Floats, Floats] | None
    fan_out: Floats
    costs: Costs
    #: Positions in them are among these bundles.
    changes: tuple[Change, ...]

    def fill(self, rows: Rows, own: Noises, groups: Noises, turn: tuple[Floats, Floats]) -> None:
        """Write what is known of these bundles' traffic into their columns of some steps.

        Args:
            rows: room for the steps.
            own: (n_steps, n_bundles) noise of each bundle.
            groups: (n_steps, n_groups) noise of each group.
            turn: (n_steps,) the time in s, and as an angle of the day.
        """
        time_s, angle = turn
        level = own[:, self.at] * self.jitter
        level += groups.take(self.group, axis=1)
        np.exp(level, out=level)
        rate_in, rate_out = rows.rate_in[:, self.at], rows.rate_out[:, self.at]
        # Two kinds of numbers are sooner made one than multiplied.
        np.copyto(rate_in, level)
        rate_in *= self.base
        if self.waves is not None:
            rate_in *= _wave(self.waves, angle)
        np.multiply(rate_in, self.fan_out, out=rate_out)
        for change in self.changes:
            _apply(change, time_s, rate_in, rate_out)
        work(self.costs, rate_in, rate_out, out=rows.work[:, self.at])


def _wave(waves: tuple[Floats, Floats], angle: Floats) -> Floats:
    """Return what the time of day makes of each rate, (n_steps, n_columns)."""
    cosine, sine = waves
    wave = cosine * np.sin(angle)[:, None]
    wave += 1
    wave += sine * np.cos(angle)[:, None]
    return np.maximum(wave, 0.0, out=wave)


def _columns(world: World, physics: Physics) -> tuple[_Columns, ...]:
    """Return all bundles of a world, as many side by side as are quickly worked out together."""
    bundles, count = world.bundles, world.bundles.rate.size
    # The mean of exp(d·noise) is exp(d²/2).
    base = bundles.rate * np.exp(-(bundles.jitter**2 + physics.group_deviation**2) / 2)
    angle = 2 * math.pi * bundles.wave_phase
    waves = (bundles.wave * np.cos(angle), bundles.wave * np.sin(angle))
    every = costs(bundles, physics)
    columns = []
    for first in range(0, count, _SIDE_BY_SIDE):
        at = slice(first, min(first + _SIDE_BY_SIDE, count))
        columns.append(
            _Columns(
                at=at,
                base=base[at],
                jitter=once(bundles.jitter[at].astype(np.float32)),
                group=once(bundles.group[at]),
                waves=(once(waves[0][at]), once(waves[1][at])) if bundles.wave.any() else None,
                fan_out=once(bundles.fan_out[at]),
                costs=every.part(at),
                changes=_changes_of(world.changes, at),
            )
        )
    return tuple(columns)


def _changes_of(changes: Iterable[Change], at: slice) -> tuple[Change, ...]:
    """Return what changes some bundles; positions are among these."""
    of_them = (
        (change, change.bundles[(change.bundles >= at.start) & (change.bundles < at.stop)])
        for change in changes
    )
    return tuple(
        replace(change, bundles=bundles - at.start) for change, bundles in of_them if bundles.size
    )


class Traffic:
    """Makes traffic in blocks of steps, as the simulation gets there.

    Properties:
        Does not depend on the size of blocks, nor on who asks when.
    """

    def __init__(self, world: World, physics: Physics, splits: Splits | None) -> None:
        """Begin before the first step."""
        self.physics, self.splits = physics, splits
        bundles = world.bundles
        step_s = physics.traffic_step_s
        size = bundles.rate.size
        kept, kept_by_groups = (math.exp(-step_s / s) for s in (physics.jitter_s, physics.group_s))
        self._own = Noise(generator(world.seed, "traffic"), size, kept)
        groups = int(bundles.group.max()) + 1 if size else 0
        self._groups = Noise(generator(world.seed, "groups"), groups, kept_by_groups)
        self._columns = _columns(world, physics)
        self._size = bundles.message_bytes
        #: The same with parts of bundles.
        self._sizes = self._size if splits is None else self._size[splits.origin]
        self._known = 0
        #: Room for steps, of which those before `_known` have been made.
        self._held = _room(0, 0, self._sizes)

    def rows(self, first: int, last: int) -> Rows:
        """Return the steps from `first` up to `last`, which is not among them.

        Steps before `first` are forgotten, and cannot be asked for again.
        """
        if last > self._held.first + len(self._held.work):
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
        old, size = self._held, self._held.work.shape[1]
        wanted = min(max(_HELD_STEPS[0], _HELD // max(1, size)), _HELD_STEPS[1]) + 2 * count
        is_large_enough = len(old.work) >= wanted
        room = replace(old, first=first) if is_large_enough else _room(first, wanted, self._sizes)
        kept = slice(first - old.first, self._known - old.first)
        for new, array in zip(room.arrays(), old.arrays(), strict=True):
            new[: kept.stop - kept.start] = array[kept]
        self._held = room

    def _make(self) -> None:
        """Make as many of the next steps as are quickly made together and find room."""
        held, begin = self._held, self._known - self._held.first
        at_a_time = max(1, _AT_A_TIME // min(max(1, self._own.size), _SIDE_BY_SIDE))
        last = self._known + min(at_a_time, len(held.work) - begin)
        rows = held.part(self._known, last)
        if self.splits is None:
            self._fill(rows)
        else:
            whole = _room(rows.first, len(rows.work), self._size)
            self._fill(whole)
            _divide(whole, self.splits, rows)
        self._known = last

    def _fill(self, rows: Rows) -> None:
        """Make steps, before anything is split."""
        count, physics = len(rows.work), self.physics
        own = self._own.rows(count)
        groups = np.float32(physics.group_deviation) * self._groups.rows(count)
        step = np.arange(rows.first, rows.first + count, dtype=np.float64)
        time_s = (step + 0.5) * physics.traffic_step_s
        angle = 2 * math.pi * time_s / physics.day_s
        for columns in self._columns:
            columns.fill(rows, own, groups, (time_s, angle))
        np.sum(rows.work, axis=1, out=rows.all_work)
        some, last = max(1, _AT_A_TIME // max(1, own.shape[1])), rows.first + count
        for first in range(rows.first, last, some):
            part = rows.part(first, min(last, first + some))
            np.add(part.bytes_in.sum(axis=1), part.bytes_out.sum(axis=1), out=part.all_bytes)


def _room(first: int, n_steps: int, size: Floats) -> Rows:
    """Return room for steps of which nothing is known but the bytes a message of each bundle."""
    shape = n_steps, size.size
    of_bundles = [np.empty(shape) for _ in range(3)]
    sizes = np.broadcast_to(once(size), shape)
    return Rows(first, sizes, *of_bundles, *[np.empty(n_steps) for _ in range(2)])


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


def _divide(whole: Rows, splits: Splits, parts: Rows) -> None:
    """Give each bundle in `parts` its share of what the bundle that it came from has."""
    step = (whole.first + np.arange(len(whole.work)))[:, None]
    share = np.where((step >= splits.born) & (step < splits.gone), splits.share, 0.0)
    *of_bundles, all_bytes, all_work = zip(whole.arrays(), parts.arrays(), strict=True)
    for before, after in of_bundles:
        np.multiply(before[:, splits.origin], share, out=after)
    for everything, same in (all_bytes, all_work):
        same[:] = everything
