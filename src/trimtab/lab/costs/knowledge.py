"""What is known of a cluster's costs: all that is kept from one look to the next."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.costs.features import COSTS_BEFORE
from trimtab.pulsar.model import Floats, Ints

Singles: TypeAlias = NDArray[np.float32]

#: Blocks that are kept of each broker.
BLOCKS = 20
#: Columns of a block: windows in it, percent of CPU, concentration of its bundles (1 if one
#: has all), middle time (s),
#: noise besides that of a window (points squared), then the features.
COUNT, CPU, CONCENTRATION, TIME, NOISE, FIRST = range(6)
_COLUMNS = FIRST + COSTS_BEFORE.size
#: Parameters that all brokers share: the logarithm of each cost, and that of the exponent.
SHARED = COSTS_BEFORE.size + 1
#: Looks back, in steps of LEVEL_STEP_S, to which levels are compared, to learn how they drift.
LEVEL_STEP_S = 300.0
LEVELS = 13
LAGS = (1, 6, 12)
#: Cores of a machine whose speed is 1.
CORES = 16.0
#: Standard deviation of what a bundle costs about what its traffic does, as a share of it,
#: before any move is verified.
DEVIATION = 0.29
#: Variance that what is not explained of a broker gains in a minute, points squared.
WANDERING = 0.5
#: Bundles of a broker whose deviations are estimated: its heaviest.
HEAVIEST = 16
#: Windows that are kept for that: the latest, the one before, and the latest that was learned from.
LATEST, BEFORE, MIXED = range(3)
#: Columns of these behind the work of the heaviest: that of the rest, percent of CPU, percent that
#: others used, when it was written (s; NaN: there is none).
REMAINDER, USED, OTHERS_USED, WRITTEN = range(HEAVIEST, HEAVIEST + 4)
#: Shares of a window by which those of a host's usage may end later than those of its bundles, and
#: those in which others are measured than those of the host.
LAGS_TRIED = np.linspace(-1.0, 1.0, 9)
OTHERS_LAGS_TRIED = np.linspace(0.0, 1.0, 5)
#: Mean and variance of a base before anything is learned, points.
BASE_BEFORE = (3.0, 400.0)


@dataclass(frozen=True, slots=True)
class Brokers:
    """What is known of each broker; all arrays are (n_brokers, …)."""

    #: Points of work for a unit: what its cores make of it, and the logarithm of what is learned.
    by_cores: Floats
    slowness: Floats
    #: What was learned of that before blocks were thrown away: mean and 1/variance.
    slowness_before: Floats
    weight_before: Floats
    #: Percent of CPU at rest, beyond what others were measured to take, and whether they were.
    rest: Floats
    is_measured: Floats
    #: (BLOCKS, columns) means over quiet stretches, and (columns,) the one that is open.
    blocks: Floats
    open: Floats
    #: Filtered CPU and load, the variance of what is not explained of it, and of a window.
    level: Floats
    level_load: Floats
    level_variance: Floats
    window_variance: Floats
    #: Windows in a row that contradict it, and the sum of what they miss.
    doubts: Floats
    doubt: Floats
    #: Variance of what its last moves changed that is not verified yet, points squared.
    unverified: Floats
    #: s; its bundles changed, its process began, its last report.
    touched_s: Floats
    started_s: Floats
    written_s: Floats
    #: Percent that others took when measured last.
    others: Floats
    #: (LEVELS,) levels in steps of LEVEL_STEP_S, the latest first; NaN before it was touched.
    levels: Floats
    levels_s: Floats


@dataclass(frozen=True, slots=True)
class Bundles:
    """What is known of each bundle; all arrays are (n_bundles, …)."""

    #: Position of its owner; -1 for nobody.
    owner: Ints
    moved_s: Floats
    #: (7,) filtered, columns COUNTS, and how many windows they are of.
    counts: Floats
    windows: Floats
    #: By which share of it a bundle costs more than its traffic does, and how much of the variance
    #: of that, as it was before anything was learned of it, is left.
    deviation: Floats
    untold: Floats


@dataclass(frozen=True, slots=True)
class Deviations:
    """What is estimated together of the heaviest bundles of a broker; all are (n_brokers, …)."""

    #: (HEAVIEST,) positions of the bundles; -1 where there is none.
    place: Ints
    #: (HEAVIEST + 1,) their deviations, and the broker's base: what it uses beside all traffic,
    #: points; and the covariance, in single precision: it is most of what is kept.
    mean: Floats
    covariance: Singles
    #: Variance of the noise of a window, points squared, and windows in a row that fit nothing.
    noise: Floats
    surprises: Floats
    #: (3, columns) the windows that are kept.
    kept: Floats
    #: Sums of squares by which more or less was missed than in the window before with each of
    #: LAGS_TRIED and OTHERS_LAGS_TRIED, and what was missed last; NaN where that is long ago.
    lags: Floats
    lags_missed: Floats


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All of it; positions are those of the names."""

    broker_names: tuple[str, ...]
    bundle_names: tuple[str, ...]
    brokers: Brokers
    bundles: Bundles
    deviations: Deviations
    #: (SHARED,) and (SHARED, SHARED) what all brokers share, and its covariance.
    shared: Floats
    covariance: Floats
    #: (n_brokers, 2, 2) covariance of a broker's slowness and rest if the shared were known, and
    #: (n_brokers, 2, SHARED) by how much they follow these.
    own_covariance: Floats
    following: Floats
    #: (2,) mean and (2,) variance over brokers of slowness and rest, as far as they are learned.
    alike_mean: Floats
    alike_variance: Floats
    #: (len(LAGS), 2) sum of squares by which levels drifted in each lag, and their number.
    drift: Floats
    #: Squares of missed changes over what was expected of them: sum and number.
    missed: Floats
    time_s: float


def nothing_known(brokers: Sequence[str], bundles: Sequence[str]) -> Knowledge:
    """Return what is known of a cluster before the first look."""
    n, m = len(brokers), len(bundles)

    def of_brokers(value: float, *shape: int) -> Floats:
        return np.full((n, *shape), value)

    none = -np.inf
    known = Brokers(
        by_cores=of_brokers(1.0),
        slowness=of_brokers(0.0),
        slowness_before=of_brokers(0.0),
        weight_before=of_brokers(0.0),
        rest=of_brokers(3.0),
        is_measured=of_brokers(0.0),
        blocks=of_brokers(0.0, BLOCKS, _COLUMNS),
        open=of_brokers(0.0, _COLUMNS),
        level=of_brokers(np.nan),
        level_load=of_brokers(0.0, COSTS_BEFORE.size + 1),
        level_variance=of_brokers(1e4),
        window_variance=of_brokers(4.0),
        doubts=of_brokers(0.0),
        doubt=of_brokers(0.0),
        unverified=of_brokers(0.0),
        touched_s=of_brokers(none),
        started_s=of_brokers(none),
        written_s=of_brokers(none),
        others=of_brokers(np.nan),
        levels=of_brokers(np.nan, LEVELS),
        levels_s=of_brokers(none),
    )
    each = Bundles(
        owner=np.full(m, -1),
        moved_s=np.full(m, none),
        counts=np.zeros((m, COSTS_BEFORE.size)),
        windows=np.zeros(m),
        deviation=np.zeros(m),
        untold=np.ones(m),
    )
    mean, covariance = shared_before()
    return Knowledge(
        broker_names=tuple(brokers),
        bundle_names=tuple(bundles),
        brokers=known,
        bundles=each,
        deviations=_no_deviations(n),
        shared=mean,
        covariance=covariance,
        own_covariance=np.broadcast_to(
            np.diag((SLOWNESS_BEFORE**2, REST_BEFORE[1] ** 2)), (n, 2, 2)
        ),
        following=np.zeros((n, 2, SHARED)),
        alike_mean=np.array((0.0, REST_BEFORE[0])),
        alike_variance=np.array((SLOWNESS_BEFORE**2, REST_BEFORE[1] ** 2)),
        drift=np.array([(each, 1.0) for each in (2.0, 6.0, 10.0)]),
        missed=np.array((_CHANGES_BEFORE, _CHANGES_BEFORE)),
        time_s=none,
    )


def _no_deviations(n: int) -> Deviations:
    """Return what is estimated of bundles before the first look: nothing."""
    mean = np.zeros((n, HEAVIEST + 1))
    covariance = np.zeros((n, HEAVIEST + 1, HEAVIEST + 1), np.float32)
    mean[:, HEAVIEST], covariance[:, HEAVIEST, HEAVIEST] = BASE_BEFORE
    return Deviations(
        place=np.full((n, HEAVIEST), -1),
        mean=mean,
        covariance=covariance,
        noise=np.full(n, 2.0),
        surprises=np.zeros(n),
        kept=np.full((n, 3, WRITTEN + 1), np.nan),
        lags=np.zeros((n, LAGS_TRIED.size + OTHERS_LAGS_TRIED.size)),
        lags_missed=np.full((n, LAGS_TRIED.size + OTHERS_LAGS_TRIED.size), np.nan),
    )


def unwatched(known: Knowledge) -> Knowledge:
    """Return what is known of a cluster that nobody has looked at for long.

    What its traffic costs stays; where its bundles and its brokers' levels were tells nothing of
    where they are, so whatever has changed meanwhile is not taken for a change that was foretold.
    """
    before, of = nothing_known(known.broker_names, known.bundle_names), known.bundles
    brokers = {name: getattr(before.brokers, name) for name in _PASSING}
    deviations = {name: getattr(known.deviations, name) for name in _LASTING}
    return dataclasses.replace(
        known,
        brokers=dataclasses.replace(known.brokers, **brokers),
        bundles=dataclasses.replace(before.bundles, deviation=of.deviation, untold=of.untold),
        deviations=dataclasses.replace(before.deviations, **deviations),
    )


# What is known of brokers only as long as somebody looks.
_PASSING = (
    *("open", "level", "level_load", "level_variance", "doubts", "doubt", "unverified"),
    *("others", "levels", "levels_s"),
)
# What is known of how brokers are measured, whoever their bundles are.
_LASTING = ("noise", "lags")
#: What is taken of brokers before anything is learned: standard deviation of the logarithm of
#: their slowness; mean and deviation of their rest, points, and where others are measured.
SLOWNESS_BEFORE = 0.35
REST_BEFORE = (3.0, 10.0)
REST_MEASURED = (1.0, 2.0)
# Deviations of logarithms: of all costs together, of each, and of the exponent.
_SCALE_BEFORE = 1.5
_EACH_BEFORE = np.array((1.0, 1.0, 1.0, 1.0, 1.0, 0.7, 0.7))
_EXPONENT_BEFORE = 0.2
# Changes that the deviation of bundles is taken to have been learned from.
_CHANGES_BEFORE = 60.0


def shared_before() -> tuple[Floats, Floats]:
    """Return what is taken of all brokers before anything is learned: mean and covariance."""
    mean = np.append(np.log(COSTS_BEFORE), 0.0)
    covariance = np.zeros((SHARED, SHARED))
    covariance[:-1, :-1] = _SCALE_BEFORE**2 + np.diag(_EACH_BEFORE**2)
    covariance[-1, -1] = _EXPONENT_BEFORE**2
    return mean, covariance


def with_brokers(known: Knowledge, **arrays: Floats) -> Knowledge:
    """Return the same with other arrays of brokers."""
    return dataclasses.replace(known, brokers=dataclasses.replace(known.brokers, **arrays))


def with_bundles(known: Knowledge, **arrays: Floats | Ints) -> Knowledge:
    """Return the same with other arrays of bundles."""
    bundles = dataclasses.replace(known.bundles, **arrays)  # type: ignore[arg-type]  # by name
    return dataclasses.replace(known, bundles=bundles)
