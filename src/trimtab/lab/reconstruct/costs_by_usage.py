"""A rebuilt cluster → costs of its traffic that account for what its brokers used.

Costs are drawn of what is known before anything is learned, and usage with errors as large as
windows have them; what lies between both is found by Gauss's and Newton's steps (randomized
maximum likelihood).  So each draw keeps to what brokers used in all, however little is known of
what it is made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from trimtab.lab.costs.curve import curved
from trimtab.lab.costs.features import COSTS_BEFORE, works
from trimtab.lab.costs.fit import deviation_variance
from trimtab.lab.costs.knowledge import SHARED, shared_before
from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.reconstruct.cost_uncertainty import drawn_costs
from trimtab.lab.reconstruct.costs import Costs
from trimtab.lab.reconstruct.usage import WINDOWS_MIN, means
from trimtab.pulsar.model import Floats, Ints

# Percent that a window is off by noise, and by how much of what usage changes beside it: bundles
# are counted by another clock than hosts.
_NOISE = 1.5
_CHANGE = 0.3
# Degrees of freedom of Student's distribution: what other processes take at times counts little.
_FREEDOM = 4.0
# Median of the square of what is normally distributed; deviations beyond which no window counts for
# how alike two in a row are, and the most that these are.
_MEDIAN_SQUARE, _FAR, _ALIKE_MAX = 0.455, 3.0, 0.9
# Moments of a window at which its traffic is looked at.
_MOMENTS = 4
# Windows that are used at most, and multiplications that their matrix may take.
_WINDOWS_MAX, _PRODUCTS_MAX = 6000, 2e8
# Steps at most, of the most probable costs and of each draw, and the gain below which they end.
_STEPS, _STEPS_OF_DRAW, _GAIN = 12, 8, 1e-3
_STEP_MIN = 1e-3
# Percent at rest: log(1 + exp(x)) of so many, about 3 in the middle and up to 15, x being normal.
_REST_UNIT, _REST_MEAN, _REST_DEVIATION = 5.0, -0.2, 1.5
# Percent a broker uses at most, and what is left of a slope above it, so that steps lead back.
_FULL, _SLOPE_ABOVE = 100.0, 0.05
# Logarithms beyond which no cost, no exponent and no speed goes.
_COST_BOUND, _EXPONENT_BOUND, _SLOWNESS_BOUND = 9.0, 1.0, 3.0


def costs_by_usage(
    nights: Sequence[Rebuilt], count: int, seed: int = 0
) -> tuple[tuple[Costs, ...], ...]:
    """Return costs that account for what brokers used, drawn at random, for each of some nights.

    Where too few windows of brokers are told, those of `drawn_costs`.

    Args:
        nights: of one cluster, each by names of its own.
        count: how many are drawn.
        seed: of what is drawn.

    Properties:
        The same arguments give the same costs; more of them begin with the same ones.
        In all nights a draw has the same costs of a broker, and of a bundle.
        A window that fits no other counts for little, and so does one beside which usage
        changes much.
    """
    plain = tuple(drawn_costs(night, count, seed) for night in nights)
    if sum(len(night.used.warm) for night in nights) < WINDOWS_MIN:
        return plain
    places = _places(nights)
    fit = _Fit(_windows(nights, places), _before(nights, places))
    points = [fit.drawn(np.random.default_rng([seed, number, 1])) for number in range(count)]
    return tuple(
        tuple(
            fit.before.costs(point, place, each.overhead)
            for point, each in zip(points, of_night, strict=True)
        )
        for of_night, place in zip(plain, places, strict=True)
    )


class _Place(NamedTuple):
    """Where a night's brokers and bundles are among those of all nights; positions."""

    brokers: Ints
    bundles: Ints


def _places(nights: Sequence[Rebuilt]) -> tuple[_Place, ...]:
    known = [night.used.known for night in nights]
    brokers = {name: i for i, name in enumerate(_all(each.broker_names for each in known))}
    bundles = {name: i for i, name in enumerate(_all(each.bundle_names for each in known))}
    return tuple(
        _Place(
            np.array([brokers[name] for name in each.broker_names], np.int64),
            np.array([bundles[name] for name in each.bundle_names], np.int64),
        )
        for each in known
    )


def _all(names: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return all names, each once."""
    return tuple(dict.fromkeys(chain.from_iterable(names)))


class _Windows(NamedTuple):
    """Windows of brokers beside the traffic of their bundles."""

    #: (n_windows,) percent of CPU, its variance, and the broker.
    cpu: Floats
    variance: Floats
    broker: Ints
    #: (n_entries,) a moment of a window, counted through all of them, and a bundle that was
    #: served then; (n_entries, 7) what a unit of cost of each feature makes it.
    moment: Ints
    bundle: Ints
    by_unit: Floats


@dataclass(frozen=True, slots=True)
class _Before:
    """What is taken before anything is learned.

    A point is (n,) standard deviations off it: costs that all share, slowness and rest of each
    broker, what each bundle costs besides.
    """

    mean: Floats
    root: Floats
    by_cores: Floats
    #: Standard deviations of the logarithm of brokers' slowness, and of bundles' costs.
    unlike: float
    deviation: float
    n_bundles: int

    @property
    def n(self) -> int:
        """Return how much is not known."""
        return SHARED + 2 * self.by_cores.size + self.n_bundles

    def parts(self, point: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the shared logarithms, (n_brokers, 2) slowness and rest, and bundles' factors."""
        shared = self.mean + self.root @ point[:SHARED]
        shared[:-1] = np.clip(shared[:-1], *(np.log(COSTS_BEFORE) + _COST_BOUND * _SIDES))
        shared[-1] = np.clip(shared[-1], -_EXPONENT_BOUND, _EXPONENT_BOUND)
        own_end = SHARED + 2 * self.by_cores.size
        slowness, rest = point[SHARED:own_end].reshape(-1, 2).T
        slowness = np.clip(self.unlike * slowness, -_SLOWNESS_BOUND, _SLOWNESS_BOUND)
        rest = _REST_UNIT * np.logaddexp(0.0, _REST_MEAN + _REST_DEVIATION * rest)
        own = np.exp(self.deviation * (point[own_end:] - self.deviation / 2))
        return shared, np.stack((slowness, rest), axis=1), own

    def costs(self, point: Floats, of: _Place, overhead: float) -> Costs:
        """Return the costs of a night at a point."""
        shared, brokers, own = self.parts(point)
        slowness, rest = brokers[of.brokers].T
        quick = self.by_cores[of.brokers] * np.exp(slowness)
        return Costs(shared, quick, rest.copy(), own[of.bundles], overhead)


_SIDES = np.array([[-1.0], [1.0]])


class _Modelled(NamedTuple):
    """What windows should have by a point, and (n_windows, n) how that changes with it."""

    cpu: Floats
    slopes: Floats


def _windows(nights: Sequence[Rebuilt], places: Sequence[_Place]) -> _Windows:
    """Return windows that were told in all nights, some of them where they are many."""
    n_bundles = max(len(night.world.bundles.names) for night in nights)
    n = max(1, n_bundles)
    most = int(
        min(_WINDOWS_MAX, max(WINDOWS_MIN, np.sqrt(_PRODUCTS_MAX / n), _PRODUCTS_MAX / n**2))
    )
    parts = [
        _windows_of(night, place, most // len(nights))
        for night, place in zip(nights, places, strict=True)
        if night.used.warm
    ]
    first = np.cumsum([0, *(_MOMENTS * part.cpu.size for part in parts)])
    moments = [part.moment + at for part, at in zip(parts, first[:-1], strict=True)]
    return _Windows(
        cpu=np.concatenate([part.cpu for part in parts]),
        variance=np.concatenate([part.variance for part in parts]),
        broker=np.concatenate([part.broker for part in parts]),
        moment=np.concatenate(moments),
        bundle=np.concatenate([part.bundle for part in parts]),
        by_unit=np.concatenate([part.by_unit for part in parts]),
    )


def _windows_of(rebuilt: Rebuilt, place: _Place, most: int) -> _Windows:
    """Return windows of one night, by the positions of all."""
    warm, served = rebuilt.used.warm, rebuilt.served
    told, of = means(rebuilt.used.usage[:1], warm)[:, 0], np.array([broker for _, broker in warm])
    variance = _NOISE**2 + (_CHANGE * _changes(told, of)) ** 2
    order = np.argsort(of, kind="stable")
    rows = order[np.unique(np.linspace(0, of.size - 1, min(most, of.size)).round().astype(int))]
    part = (np.arange(_MOMENTS) + 0.5) / _MOMENTS
    ends = np.array([(span.start, span.stop) for span, _ in warm])[rows]
    ticks = (ends[:, :1] + part * (ends[:, 1:] - ends[:, :1])).astype(np.int64).reshape(-1)
    is_mine = served.owner[ticks] == np.repeat(of[rows], _MOMENTS)[:, None]
    moment, bundle = np.nonzero(is_mine)
    tick = ticks[moment]
    rates = served.rate_in[tick, bundle], served.rate_out[tick, bundle]
    still = served.topics[bundle], served.producers[bundle]
    units = np.eye(COSTS_BEFORE.size)
    by_unit = np.stack([works(rates, served.size[tick, bundle], still, it) for it in units], axis=1)
    of, bundle = place.brokers[of[rows]], place.bundles[bundle]
    return _Windows(told[rows], variance[rows], of, moment, bundle, by_unit)


def _changes(told: Floats, of: Ints) -> Floats:
    """Return by how much usage changed beside each window of a broker, the larger of both sides."""
    changes = np.zeros(told.size)
    for broker in np.unique(of):
        rows = np.flatnonzero(of == broker)
        steps = np.abs(np.diff(told[rows]))
        changes[rows] = np.maximum(np.append(steps, 0.0), np.append(0.0, steps))
    return changes


def _before(nights: Sequence[Rebuilt], places: Sequence[_Place]) -> _Before:
    # What brokers and bundles are like was learned in all nights up to the last.
    known = nights[-1].used.known
    mean, covariance = shared_before()
    by_cores = np.ones(1 + max(int(place.brokers.max()) for place in places))
    for night, place in zip(nights, places, strict=True):
        by_cores[place.brokers] = night.used.known.brokers.by_cores
    return _Before(
        mean=mean,
        root=np.asarray(np.linalg.cholesky(covariance), np.float64),
        by_cores=by_cores,
        # How unlike brokers are is learned of all of them.
        unlike=float(np.sqrt(known.alike_variance[0])),
        deviation=float(np.sqrt(deviation_variance(known))),
        n_bundles=1 + max(int(place.bundles.max()) for place in places),
    )


class _Goal(NamedTuple):
    """What a point is to be near to, and the usage that it is to account for."""

    begin: Floats
    cpu: Floats
    variance: Floats
    #: Windows that are far off count little.
    is_robust: bool

    def cost(self, point: Floats, cpu: Floats) -> float:
        """Return how improbable a point is that makes windows so."""
        off, z2 = point - self.begin, (self.cpu - cpu) ** 2 / self.variance
        many = (_FREEDOM + 1.0) * np.log1p(z2 / _FREEDOM) if self.is_robust else z2
        return float(off @ off + many.sum())

    def weighed(self, cpu: Floats) -> Floats:
        """Return the variance that windows have in effect: more of one that is far off."""
        if not self.is_robust:
            return self.variance
        missed = self.cpu - cpu
        return (_FREEDOM * self.variance + missed**2) / (_FREEDOM + 1.0)


class _Fit:
    """Brings together what is taken beforehand and what windows told."""

    def __init__(self, windows: _Windows, before: _Before) -> None:
        self.windows, self.before = windows, before
        nothing = np.zeros(before.n)
        goal = _Goal(nothing, windows.cpu, windows.variance, is_robust=True)
        first = self._nearest(goal, nothing, _STEPS)
        variance = _in_a_row(goal, self._modelled(first).cpu, windows.broker)
        goal = _Goal(nothing, windows.cpu, variance, is_robust=False)
        self._likeliest = self._nearest(goal, first, _STEPS)
        self._deviation = np.sqrt(variance)

    def drawn(self, random: np.random.Generator) -> Floats:
        """Return a point that accounts for usage with drawn errors, from a drawn one."""
        begin = random.standard_normal(self.before.n)
        off = self._deviation * random.standard_normal(self._deviation.size)
        goal = _Goal(begin, self.windows.cpu + off, self._deviation**2, is_robust=False)
        return self._nearest(goal, self._likeliest, _STEPS_OF_DRAW)

    def _nearest(self, goal: _Goal, point: Floats, steps: int) -> Floats:
        """Return the point of the least cost, from one that is near to it."""
        modelled = self._modelled(point)
        cost = goal.cost(point, modelled.cpu)
        for _ in range(steps):
            variance = goal.weighed(modelled.cpu)
            step = _step(point - goal.begin, goal.cpu - modelled.cpu, modelled.slopes, variance)
            size, before = 1.0, cost
            while size > _STEP_MIN:
                there = point + size * step
                tried = self._modelled(there)
                tried_cost = goal.cost(there, tried.cpu)
                if tried_cost < cost:
                    point, modelled, cost = there, tried, tried_cost
                    break
                size /= 2
            if before - cost < _GAIN * before:
                break
        return point

    def _modelled(self, point: Floats) -> _Modelled:
        """Return what windows should have, and how that changes."""
        windows, before = self.windows, self.before
        shared, brokers, own = before.parts(point)
        n_windows, n_brokers = windows.cpu.size, before.by_cores.size
        n_moments, of = n_windows * _MOMENTS, np.repeat(windows.broker, _MOMENTS)
        plain = windows.by_unit * np.exp(shared[:-1])
        parts = plain * own[windows.bundle, None]
        sums = np.stack([np.bincount(windows.moment, it, n_moments) for it in parts.T], axis=1)
        quick = (before.by_cores * np.exp(brokers[:, 0]))[of]
        curve = curved(quick * sums.sum(axis=1), float(shared[-1]))
        total = curve.cpu + brokers[of, 1]
        live = np.where(total < _FULL, 1.0, _SLOPE_ABOVE)
        cpu = np.where(total < _FULL, total, _FULL + _SLOPE_ABOVE * (total - _FULL))
        by_work = live * curve.slope * quick

        def mean(values: Floats) -> Floats:
            each = values.reshape(n_windows, _MOMENTS, *values.shape[1:])
            return np.asarray(each.mean(axis=1), np.float64)

        slopes, rows = np.zeros((n_windows, before.n)), np.arange(n_windows)
        by_shared = np.column_stack((by_work[:, None] * sums, live * curve.by_exponent))
        slopes[:, :SHARED] = mean(by_shared) @ before.root
        at = SHARED + 2 * windows.broker
        slopes[rows, at] = mean(by_work * sums.sum(axis=1)) * before.unlike
        # The slope of log(1 + exp(x)) is 1 - exp(-log(1 + exp(x))).
        by_rest = 1.0 - np.exp(-brokers[windows.broker, 1] / _REST_UNIT)
        slopes[rows, at + 1] = mean(live) * _REST_UNIT * _REST_DEVIATION * by_rest
        each = by_work[windows.moment] * parts.sum(axis=1) * (before.deviation / _MOMENTS)
        to = windows.moment // _MOMENTS, SHARED + 2 * n_brokers + windows.bundle
        np.add.at(slopes, to, each)
        return _Modelled(mean(cpu), slopes)


def _in_a_row(goal: _Goal, cpu: Floats, broker: Ints) -> Floats:
    """Return the variance of windows as it shows beside a fit, (n_windows,).

    What one window misses the next one misses in part, so that many tell less than as many that
    have nothing to do with each other: the variance is that of a mean of windows in a row.
    """
    square = (goal.cpu - cpu) ** 2 / goal.variance
    scale = max(1.0, float(np.median(square)) / _MEDIAN_SQUARE)
    off = np.clip((goal.cpu - cpu) / np.sqrt(scale * goal.variance), -_FAR, _FAR)
    pairs = broker[1:] == broker[:-1]
    alike = float((off[1:] * off[:-1])[pairs].sum()) / max(1e-9, float((off[1:] ** 2)[pairs].sum()))
    alike = min(max(0.0, alike), _ALIKE_MAX)
    weighed = goal._replace(variance=scale * goal.variance).weighed(cpu)
    return np.asarray(weighed * (1.0 + alike) / (1.0 - alike))


def _step(off: Floats, missed: Floats, slopes: Floats, variance: Floats) -> Floats:
    """Return the step to the most probable point, were everything straight.

    Args:
        off: (n,) how far the point is from where it began.
        missed: (n_windows,) percent.
        slopes: (n_windows, n).
        variance: (n_windows,)
    """
    if missed.size > off.size:
        by_variance = slopes / variance[:, None]
        curvature = by_variance.T @ slopes
        curvature[np.diag_indices_from(curvature)] += 1.0
        return np.asarray(np.linalg.solve(curvature, by_variance.T @ missed - off), np.float64)
    # The same by the smaller of both matrices.
    inner = slopes @ slopes.T
    inner[np.diag_indices_from(inner)] += variance
    pull: Floats = slopes.T @ np.linalg.solve(inner, missed + slopes @ off)
    return pull - off
