"""Pulsar's UniformLoadShedder, which evens out traffic and reads no usage."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from trimtab.pulsar.model import (
    MEBIBYTE,
    ClusterLoad,
    Decision,
    Floats,
    LostRoundError,
    Reason,
    Unload,
)
from trimtab.pulsar.scores import descending, mean_in_order
from trimtab.pulsar.settings import UniformLoadShedderSettings

# Integer.MAX_VALUE and its opposite, between which the Java keeps its budget.
_INT_MAX = 2**31 - 1
_INT_MIN = -(2**31)
# EPS in the Java: a lowest traffic this close to 0 counts as 1.
_ZERO = 1e-6
# By how much a bundle may exceed what is left to move, in the releases that allow it.
_SLACK = 1000

_RATE, _THROUGHPUT = 0, 1


def uniform_load_shedder(
    load: ClusterLoad, memory: None, settings: UniformLoadShedderSettings
) -> tuple[Decision, None]:
    """Shed from the broker with the most traffic, if another has far less.

    Message rate is looked at first, throughput only if the rates are even enough.  The
    broker is to lose a share of its distance to the lowest one, counted in whole messages
    or bytes a second.

    Args:
        load: what the brokers reported this round.
        memory: none; every round is the first.
        settings: how uneven is too much, what share moves, how little is not worth it.

    Returns:
        The decision.  `Decision.scores` is each broker's throughput if it is throughput
        that is too uneven, else its message rate; `average` is the mean of them, by which
        nothing goes here, and `offload` is in the same unit.  Of the two brokers compared
        one is `Overloaded` or has the reason why it keeps its bundles, the other is
        `Underloaded`.

    Raises:
        LostRoundError: all traffic is below -1, and the threshold below 1; the Java looks
            for a broker without a name then.

    Quirks:
        Both tests are `>`: rates of 1500 and 1000 are not 50 % apart.
        Only one broker sheds, the first of the highest.
        A lowest traffic of 0 counts as 1.  So with one idle broker the ratios are huge,
        and the highest rate alone decides whether the difference is worth a move.
        Rate shadows throughput: once the rates are too uneven throughput is not looked
        at, though too little is to be moved by rate, or the broker has one bundle.
        What is to be moved is a whole number of 32 bits.  From 2 GiB/s on it saturates,
        and a broker of 2147483647 bytes/s or more is never the lowest.
        Bundles go heaviest first, and one that is heavier than what is left is passed
        over: if all are, nothing is moved, ever.
        A bundle counts with its whole part, so the sum may exceed what was to be moved.
        A bundle without traffic always fits, and goes, unless `bundles_max` is reached.
        A bundle of NaN traffic never goes; neither is a broker of NaN ever compared.
        A bundle of 2 GiB/s or more cannot fit.
        The test for a second bundle counts all that are reported, those of Pulsar's own
        included; if none of them may go or fits, the broker is `NoBundles`.
        Where the traffic goes is left to placement, and the lowest broker may not get it.

    Source:
        apache/pulsar 5.0.0-M1, impl/UniformLoadShedder.java, findBundlesForUnloading;
        every decision checked against runs of the class.
    """
    form = _Form(slack=(0, 0), is_worth=_by_its_own_floor)
    return _shed(load, _separate_extremes(load), settings, form), memory


def uniform_load_shedder_3_0_7(
    load: ClusterLoad, memory: None, settings: UniformLoadShedderSettings
) -> tuple[Decision, None]:
    """Shed as later releases do, but let a bundle exceed what is left to move by 1000.

    Quirks:
        The 1000 are messages/s or bytes/s, as it happens.  In bytes they do not matter;
        in messages they let bundles go that alone are more than was to be moved, and with
        little traffic all of a broker's bundles.
        From 2147482648 on the sum wraps below zero, so if as much as 32 bits hold is to be
        moved nothing goes, not even a bundle without traffic.

    Raises:
        LostRoundError: all traffic is below -1, and the threshold below 1.

    Source:
        apache/pulsar 3.0.7, 3.3.5, 4.0.0 and 4.0.8, impl/UniformLoadShedder.java,
        findBundlesForUnloading; every decision checked against runs of the class, and
        2052 more against runs of 3.0.2.
    """
    form = _Form(slack=(_SLACK, _SLACK), is_worth=_by_its_own_floor)
    return _shed(load, _separate_extremes(load), settings, form), memory


def uniform_load_shedder_3_0(
    load: ClusterLoad, memory: None, settings: UniformLoadShedderSettings
) -> tuple[Decision, None]:
    """Shed as later releases do, but look for highest and lowest by rate or throughput.

    Quirks:
        A broker becomes the highest if its rate or its throughput is above that of the
        highest so far, and brings both with it; likewise the lowest.  So neither need be
        the highest or lowest of anything, one broker may be both, and the order in which
        brokers are walked decides.
        It is worth a move if either difference is, whichever of them is counted.
        The 1000 by which a bundle may exceed what is left are for messages alone.
        The fix is in 3.0.2 and 3.1.1, not in 3.1.0.  It was carried to 2.10.6 and 2.11.3
        as well, which were not to be had: they are decided as 2.10.4 is.

    Raises:
        LostRoundError: all traffic is below -1, and the threshold below 1.

    Source:
        apache/pulsar 3.0.0, impl/UniformLoadShedder.java, findBundlesForUnloading; every
        decision checked against runs of the class, and 646 more against runs of 3.1.0.
        Pull requests #21025, #21179 and #21180 made the fix.
    """
    form = _Form(slack=(_SLACK, 0), is_worth=_by_either_floor)
    everybody = range(len(load.brokers))
    return _shed(load, _joint_extremes(load, everybody), settings, form), memory


def uniform_load_shedder_2_10(
    load: ClusterLoad, memory: None, settings: UniformLoadShedderSettings
) -> tuple[Decision, None]:
    """Shed as 3.0.0 does, but pass over brokers with one bundle or none.

    Quirks:
        A new broker without bundles is never the lowest: it gets nothing from here.
        Shares and floors are constants, of the values that became defaults later.

    Raises:
        LostRoundError: all traffic is below -1, and the threshold below 1.

    Source:
        apache/pulsar 2.10.4, impl/UniformLoadShedder.java, findBundlesForUnloading; every
        decision checked against runs of the class.
    """
    form = _Form(slack=(_SLACK, 0), is_worth=_by_either_floor)
    several = np.flatnonzero(load.bundle_count > 1).tolist()
    return _shed(load, _joint_extremes(load, several), settings, form), memory


def uniform_load_shedder_rules(settings: UniformLoadShedderSettings) -> Iterator[str]:
    """Return what the class goes by."""
    for what, limit, much in (
        ("messages/s", settings.rate_difference_percent, "% more than"),
        ("throughput", settings.throughput_ratio, "times"),
    ):
        condition = f"if that is above {limit:g} {much} the lowest" if limit > 0 else "never"
        yield f"sheds: who has the highest {what}, {condition}"
    least = f"{settings.rate_min:.0f} messages/s or {settings.throughput_min / MEBIBYTE:.2f} MiB/s"
    yield f"{settings.unload_share:g} of the difference moves, {least} at least"


@dataclass(frozen=True, slots=True)
class _Extremes:
    """The highest and the lowest traffic met, and whose it is."""

    highest: float = -1.0
    lowest: float = float(_INT_MAX)
    high: int | None = None
    low: int | None = None


class _Pair(NamedTuple):
    """The extremes by rate, and those by throughput."""

    rate: _Extremes
    throughput: _Extremes


_Ints: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Form:
    """What releases differ in, besides how they look for the extremes."""

    #: By how much a bundle may exceed what is left, in messages/s and bytes/s.
    slack: _Ints
    #: Tells from what is to be moved whether that is worth it.
    is_worth: Callable[[_Ints, UniformLoadShedderSettings, int], bool]


def _shed(
    load: ClusterLoad, extremes: _Pair, settings: UniformLoadShedderSettings, form: _Form
) -> Decision:
    """Relieve the highest broker, if it is too high."""
    extremes = _Pair(*map(_guarded, extremes))
    hit = _first_hit(extremes, settings)
    scores = _broker_traffic(load)[hit or _RATE]
    reasons = [Reason.BALANCED] * len(load.brokers)
    offload = np.full(len(load.brokers), np.nan)
    unloads: tuple[Unload, ...] = ()
    if hit is not None:
        high, low = extremes[hit].high, extremes[hit].low
        if high is None:
            raise LostRoundError(
                "no broker has a traffic above -1", None, "java.lang.NullPointerException"
            )
        budgets = _budgets(extremes, settings)
        is_several = int(load.bundle_count[high]) > 1
        is_worth = form.is_worth(budgets, settings, hit)
        if is_several and is_worth:
            room = _Room(budgets[hit], form.slack[hit], settings.bundles_max)
            unloads = _fitting(load, high, _bundle_traffic(load)[hit], room)
        if low is not None:
            reasons[low] = Reason.UNDERLOADED
        reasons[high] = _reason(int(load.bundle_count[high]), is_worth, bool(unloads))
        offload[high] = budgets[hit]
    is_rate = np.full(len(load.brokers), hit == _RATE)
    return Decision(unloads, tuple(reasons), scores, mean_in_order(scores), offload, is_rate)


def _separate_extremes(load: ClusterLoad) -> _Pair:
    """Return the highest and lowest by rate, and again by throughput."""
    rates, throughputs = _broker_traffic(load)
    return _Pair(_extremes(rates), _extremes(throughputs))


def _extremes(traffic: Floats) -> _Extremes:
    """Return the first of the highest and of the lowest; NaN is neither."""
    highest, lowest, high, low = -1.0, float(_INT_MAX), None, None
    for i, value in enumerate(traffic.tolist()):
        if value > highest:
            highest, high = value, i
        if value < lowest:
            lowest, low = value, i
    return _Extremes(highest, lowest, high, low)


def _joint_extremes(load: ClusterLoad, brokers: Sequence[int]) -> _Pair:
    """Return one highest and one lowest broker, each by rate or throughput, whichever comes."""
    top: tuple[float, float] = (-1.0, -1.0)
    bottom: tuple[float, float] = (float(_INT_MAX), float(_INT_MAX))
    high = low = None
    rates, throughputs = (traffic.tolist() for traffic in _broker_traffic(load))
    for i in brokers:
        rate, throughput = rates[i], throughputs[i]
        if rate > top[_RATE] or throughput > top[_THROUGHPUT]:
            top, high = (rate, throughput), i
        if rate < bottom[_RATE] or throughput < bottom[_THROUGHPUT]:
            bottom, low = (rate, throughput), i
    return _Pair(
        _Extremes(top[_RATE], bottom[_RATE], high, low),
        _Extremes(top[_THROUGHPUT], bottom[_THROUGHPUT], high, low),
    )


def _guarded(extremes: _Extremes) -> _Extremes:
    """Return extremes with 1 for a lowest traffic of nothing, so that it can be divided by."""
    lowest = 1.0 if -_ZERO <= extremes.lowest <= _ZERO else extremes.lowest
    return _Extremes(extremes.highest, lowest, extremes.high, extremes.low)


def _first_hit(extremes: _Pair, settings: UniformLoadShedderSettings) -> int | None:
    """Return whether it is rate that is too uneven, or else throughput; None if neither."""
    rate, throughput = extremes
    difference_percent = (rate.highest - rate.lowest) * 100 / rate.lowest
    if 0 < settings.rate_difference_percent < difference_percent:
        return _RATE
    if 0 < settings.throughput_ratio < throughput.highest / throughput.lowest:
        return _THROUGHPUT
    return None


def _budgets(extremes: _Pair, settings: UniformLoadShedderSettings) -> _Ints:
    """Return what is to be moved by rate and by throughput, whole."""
    rate, throughput = extremes
    return (
        _int32((rate.highest - rate.lowest) * settings.unload_share),
        _int32((throughput.highest - throughput.lowest) * settings.unload_share),
    )


def _by_its_own_floor(budgets: _Ints, settings: UniformLoadShedderSettings, hit: int) -> bool:
    """Return whether there is enough of what is counted."""
    return budgets[hit] >= (settings.rate_min, settings.throughput_min)[hit]


def _by_either_floor(budgets: _Ints, settings: UniformLoadShedderSettings, hit: int) -> bool:
    """Return whether there are enough messages or bytes, whichever of them is counted."""
    del hit
    return budgets[_RATE] >= settings.rate_min or budgets[_THROUGHPUT] >= settings.throughput_min


class _Room(NamedTuple):
    """How much a broker is to give up, by how much a bundle may exceed it, and in how many."""

    left: int
    slack: int
    bundles_max: int | None


def _fitting(load: ClusterLoad, broker: int, traffic: Floats, room: _Room) -> tuple[Unload, ...]:
    """Return a broker's bundles, heaviest first, as far as they fit into what is left."""
    left = room.left
    pool = np.flatnonzero(load.bundle_is_sheddable & (load.bundle_broker == broker))
    pool = pool[descending(traffic[pool])]
    taken: list[Unload] = []
    for i, value in zip(pool.tolist(), traffic[pool].tolist(), strict=True):
        if room.bundles_max is not None and len(taken) >= room.bundles_max:
            break
        if value <= _wrapped(left + room.slack):
            taken.append(Unload(load.brokers[broker], load.bundles[i]))
            left += _int32(-value)  # wraps, too, but not before it is compared
    return tuple(taken)


def _reason(bundle_count: int, is_worth: bool, is_shedding: bool) -> Reason:
    """Return why the highest broker sheds or not."""
    if bundle_count == 1:
        return Reason.SOLE_BUNDLE
    if bundle_count and not is_worth:
        return Reason.LOW_THROUGHPUT
    return Reason.OVERLOADED if is_shedding else Reason.NO_BUNDLES


def _broker_traffic(load: ClusterLoad) -> tuple[Floats, Floats]:
    """Return what goes in and out of each broker by its newest report: messages/s, bytes/s."""
    with np.errstate(all="ignore"):
        return load.rate_in + load.rate_out, load.throughput_in + load.throughput_out


def _bundle_traffic(load: ClusterLoad) -> tuple[Floats, Floats]:
    """Return what goes in and out of each bundle by its averages: messages/s, bytes/s."""
    traffic = load.bundle_traffic()
    with np.errstate(all="ignore"):
        return (
            traffic.rate_in + traffic.rate_out,
            traffic.throughput_in + traffic.throughput_out,
        )


def _int32(value: float) -> int:
    """Return the number as the Java casts it: towards 0, saturating, NaN to 0."""
    if math.isnan(value):
        return 0
    return int(min(max(value, float(_INT_MIN)), float(_INT_MAX)))


def _wrapped(value: int) -> int:
    """Return a sum of two 32-bit numbers, wrapped as the Java does."""
    return (value - _INT_MIN) % 2**32 + _INT_MIN
