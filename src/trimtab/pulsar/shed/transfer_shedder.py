"""Pulsar's TransferShedder, the shedder of the extensible load manager."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from trimtab.pulsar.load_statistics import LoadStatistics, after_transfer, load_statistics
from trimtab.pulsar.model import (
    ExtensibleLoad,
    Ints,
    Reason,
    Transfer,
    TransferDecision,
    Unload,
)
from trimtab.pulsar.scores import ascending
from trimtab.pulsar.settings import TransferShedderSettings

# An exchange must take the source below this share of its throughput.
_SWAPPED_SHARE_MAX = 0.75
# In 3.0.0 a broker with less than this is underloaded, bytes/s.
_NO_TRAFFIC = 1.0
_SECOND_MS = 1000


def transfer_shedder(
    load: ExtensibleLoad, hits: int, settings: TransferShedderSettings
) -> tuple[TransferDecision, int]:
    """Move bundles from the most loaded brokers to the least loaded, pair by pair.

    Brokers are out of balance if the standard deviation of their usage is above its
    target, if the least loaded is far below the others, or if the most loaded is over the
    threshold and the average.  After enough rounds of that the most and the least loaded
    are paired, then the next, and each pair is to meet halfway.

    Args:
        load: what the brokers published, and what the leader remembers of its unloads.
        hits: rounds in a row out of balance so far.
        settings: target, thresholds, pauses.

    Returns:
        The decision, with a `Transfer` for every pair that was looked at, and the hits to
        pass in at the next round: 0 after a round that unloads anything.

    Quirks:
        It acts when the hits are above the threshold: with 3 in the fourth round.
        A broker without new load data since its last unload, and long enough after it,
        stops the whole round (`CoolDown`), whoever else is out of balance; a registered
        broker without any load data does too (`NoLoadData`).
        A broker whose load data are too old does not count in the mean and the deviation,
        and is paired by them all the same.
        Underloaded means below a share of the mean usage, or of the smoothed throughput of
        the most loaded; the share is half the target deviation, 0.125 by default.
        What is to move is half the difference of usage, as a share of the source's
        throughput as it is now, not smoothed.
        Bundles go in the order published, the lightest first but for those that are close,
        until the next would be too much.  One of those published must stay, and one that
        may not go will do; so with a sole bundle nothing goes.
        The bundle that is too much may be exchanged for bundles of the target, walked in
        their order too, those that do not help passed over.  A pair walks the target's
        bundles once: one that was passed over does not come back for the next bundle.
        What comes back in exchange is not asked whether it was unloaded just now, whether
        the target owns it, or whether its namespace is excluded.
        What is gained in exchange counts in debug mode alone (in a logger at debug too).
        Otherwise a source counts as relieved of all that it loses, so that it stops
        earlier, and the deviation is expected to fall further than it will.
        Nothing goes to a broker that is not registered; what is on one may leave.
        The next pair has the next lowest target only if this one moved anything.
        If usage or traffic is NaN, nothing is too much; what moves then counts as nothing.
        Pulsar collects unloads in a set, so their order is ours.

    Source:
        apache/pulsar 3.3.5, 4.0.8 and 5.0.0-M1, extensions/scheduler/TransferShedder.java,
        findBundlesForUnloading; every decision checked against runs of the class.  By their
        class files 4.0.1 decides so, and 3.3.2 as 4.0.0 does.
    """
    return _shed(load, hits, settings, _Form(_far_below, _has_traffic))


def transfer_shedder_4_0_0(
    load: ExtensibleLoad, hits: int, settings: TransferShedderSettings
) -> tuple[TransferDecision, int]:
    """Decide as later releases do, but move bundles without any traffic too.

    Quirks:
        They come first, as the lightest do, and never are too much.

    Source:
        apache/pulsar 3.0.7 and 4.0.0, TransferShedder.java, findBundlesForUnloading; every
        decision checked against runs of the class; pull request #23626 for the change.
    """
    return _shed(load, hits, settings, _Form(_far_below, _any_traffic))


def transfer_shedder_3_0(
    load: ExtensibleLoad, hits: int, settings: TransferShedderSettings
) -> tuple[TransferDecision, int]:
    """Decide as 4.0.0 does, but call a broker underloaded that has no throughput.

    Quirks:
        No throughput is less than 1 byte/s, which a health check is enough to exceed.

    Source:
        apache/pulsar 3.0.0, TransferShedder.java, isUnderLoaded; every decision checked
        against runs of the class; pull request #22321 for the change, and for the releases
        3.0.5, 3.1.5 and 3.2.3 that it was carried to.
    """
    return _shed(load, hits, settings, _Form(_without_traffic, _any_traffic))


def transfer_shedder_rules(settings: TransferShedderSettings) -> Iterator[str]:
    """Return what the class goes by."""
    target, threshold = settings.deviation_target, settings.overloaded_threshold
    yield f"out of balance: deviation above {target:.4f}, or the lowest far below the others,"
    yield f"  or the highest above {threshold:.4f} and {target:.4f} above the average"
    yield f"acts after {settings.hits} such rounds, on {settings.brokers_max} brokers at most"
    if not settings.is_transferring:
        yield "bundles are unloaded, and placed anew"


class _Pair(NamedTuple):
    """The most loaded broker and the least loaded."""

    high: int
    low: int


@dataclass(frozen=True, slots=True)
class _Form:
    """What releases differ in."""

    #: Tells of a pair whether its second is underloaded, given the mean and the share.
    is_underloaded: Callable[[ExtensibleLoad, _Pair, float, float], bool]
    #: Tells of a bundle's traffic, bytes/s, whether a bundle of that may move.
    may_move: Callable[[float], bool]


@dataclass(frozen=True, slots=True)
class _Counted:
    """Which brokers' usage counts this round."""

    brokers: tuple[int, ...]
    rested: tuple[str, ...]
    #: Why the round ends here; None if it goes on.
    skipped: Reason | None


def _shed(
    load: ExtensibleLoad, hits: int, settings: TransferShedderSettings, form: _Form
) -> tuple[TransferDecision, int]:
    """Look whether anything is to be done, and do it."""
    counted = _counted(load, settings)
    if counted.skipped is not None:
        return TransferDecision((), counted.skipped, 0.0, 0.0, counted.rested), hits
    statistics = load_statistics(load.usage[np.array(counted.brokers)])
    nothing = TransferDecision(
        (), Reason.HIT_COUNT, statistics.average, statistics.deviation, counted.rested
    )
    walked = np.flatnonzero(load.has_load_data)
    order = walked[ascending(load.usage[walked])]
    pair = _Pair(int(order[-1]), int(order[0]))
    round_ = _Round(load, settings, form)
    hits = 0 if round_.cause(pair, statistics) is None else hits + 1
    if hits <= settings.hits:
        return nothing, hits
    transfers = round_.transfers(order, statistics)
    if any(transfer.unloads for transfer in transfers):
        return replace(nothing, transfers=transfers, skipped=None), 0
    return replace(nothing, transfers=transfers, skipped=_why_nothing(transfers)), hits


def _counted(load: ExtensibleLoad, settings: TransferShedderSettings) -> _Counted:
    """Return the brokers whose load data are new enough, unless one is too new."""
    counted: list[int] = []
    rested: list[str] = []
    age_max = settings.load_data_age_s_max * _SECOND_MS
    for i in np.flatnonzero(load.has_load_data).tolist():
        name, updated_at = load.brokers[i], int(load.updated_at_ms[i])
        if load.now_ms - updated_at > age_max:
            continue
        if name in load.unloaded_at_ms:
            if updated_at - load.unloaded_at_ms[name] < settings.pause_s * _SECOND_MS:
                return _Counted((), tuple(rested), Reason.COOL_DOWN)
            rested.append(name)
        counted.append(i)
    skipped = None
    if not counted:
        skipped = Reason.OUTDATED_DATA if load.has_load_data.any() else Reason.NO_BROKERS
    elif (load.is_available & ~load.has_load_data).any():
        skipped = Reason.NO_LOAD_DATA
    return _Counted(tuple(counted), tuple(rested), skipped)


def _why_nothing(transfers: tuple[Transfer, ...]) -> Reason:
    """Return why nothing is unloaded, as the Java counts it."""
    refusals = {transfer.refusal for transfer in transfers}
    if Reason.NO_LOAD_DATA in refusals:
        return Reason.NO_LOAD_DATA
    return Reason.NO_BUNDLES if refusals else Reason.HIT_COUNT


@dataclass(frozen=True, slots=True)
class _Round:
    """One round: its load, and the rules that it is looked at by."""

    load: ExtensibleLoad
    settings: TransferShedderSettings
    form: _Form

    def cause(self, pair: _Pair, statistics: LoadStatistics) -> Reason | None:
        """Return what is out of balance, if the pair has the most and the least load."""
        target = self.settings.deviation_target
        if statistics.deviation > target:
            return Reason.OVERLOADED
        share = math.nan if math.isnan(target) else min(0.5, max(0.0, target / 2.0))
        if self.form.is_underloaded(self.load, pair, statistics.average, share):
            return Reason.UNDERLOADED
        most = float(self.load.usage[pair.high])
        is_over = most > self.settings.overloaded_threshold
        return Reason.OVERLOADED if is_over and most > statistics.average + target else None

    def transfers(self, order: Ints, statistics: LoadStatistics) -> tuple[Transfer, ...]:
        """Pair the brokers from both ends, until all is well or enough is done."""
        done: list[Transfer] = []
        low, high, relieved = 0, order.size - 1, 0
        while relieved < self.settings.brokers_max and low < high:
            pair = _Pair(int(order[high]), int(order[low]))
            cause = self.cause(pair, statistics)
            if cause is None:
                break
            transfer = self.transfer(pair, cause)
            high -= 1
            if transfer.refusal is None:
                statistics = self.expected(transfer, statistics)
                low, relieved = low + 1, relieved + 1
            done.append(replace(transfer, deviation=statistics.deviation))
        return tuple(done)

    def expected(self, transfer: Transfer, statistics: LoadStatistics) -> LoadStatistics:
        """Return what the deviation will be after a transfer."""
        most, least = (float(self.load.usage[i]) for i in (transfer.source, transfer.target))
        moved = _divided((transfer.lost - transfer.gained) * most, self.throughput(transfer.source))
        return after_transfer(statistics, most, least, moved)

    def transfer(self, pair: _Pair, cause: Reason) -> Transfer:
        """Return what moves between two brokers."""
        most, least = (float(self.load.usage[i]) for i in pair)
        offload = _divided(self.throughput(pair.high) * ((most - least) / 2), most)
        exchange = _Exchange(self, pair, offload)
        bundles = self.bundles(pair.high)
        refusal: Reason | None = Reason.NO_LOAD_DATA
        if len(bundles) == 1:
            refusal = Reason.SOLE_BUNDLE
        elif bundles:
            exchange.run(bundles)
            refusal = None if exchange.lost > 0 else Reason.NO_BUNDLES
        unloads = tuple(dict.fromkeys(exchange.unloads))
        return Transfer(
            *pair, cause, refusal, unloads, offload, exchange.lost, exchange.gained, math.nan
        )

    def bundles(self, broker: int) -> list[int]:
        """Return the bundles that a broker published, in its order."""
        bundles: list[int] = np.flatnonzero(self.load.bundle_broker == broker).tolist()
        return bundles

    def throughput(self, broker: int) -> float:
        """Return what goes in and out of a broker, bytes/s."""
        return float(self.load.throughput_in[broker]) + float(self.load.throughput_out[broker])

    def traffic(self, bundle: int) -> float:
        """Return what goes in and out of a bundle, bytes/s."""
        load = self.load
        return float(load.bundle_throughput_in[bundle]) + float(load.bundle_throughput_out[bundle])

    def may_leave(self, bundle: int) -> bool:
        """Return whether a bundle may be shed, wherever it goes."""
        namespace = self.load.bundles[bundle].rpartition("/")[0]
        is_excluded = namespace in self.settings.excluded_namespaces
        return bool(self.load.bundle_is_sheddable[bundle]) and not is_excluded

    def may_go(self, bundle: int, broker: int) -> bool:
        """Return whether policies and filters let a bundle go to a broker."""
        if self.load.bundle_has_policy[bundle] and not self.settings.sheds_with_policies:
            return False
        left = self.load.filtered.get(self.load.bundles[bundle])
        is_left = left is None or self.load.brokers[broker] in left
        return is_left and bool(self.load.is_available[broker])


class _Exchange:
    """What two brokers give one another, bundle by bundle."""

    def __init__(self, round_: _Round, pair: _Pair, offload: float) -> None:
        """Begin with nothing."""
        self.round = round_
        self.source, self.target = pair.high, pair.low
        self.offload = offload
        self.lost = self.gained = 0.0
        self.unloads: list[Unload] = []
        #: The target's bundles that were not looked at yet.
        self.offered = iter(round_.bundles(self.target))

    def run(self, bundles: list[int]) -> None:
        """Take bundles of the source until the next would be too much, but for the last."""
        names = self.round.load.brokers
        remaining = len(bundles)
        for bundle in bundles:
            if not (self.round.may_leave(bundle) and self.round.may_go(bundle, self.target)):
                continue
            if remaining <= 1:
                return
            traffic = self.round.traffic(bundle)
            if not self.round.form.may_move(traffic):
                continue
            if self.lost - self.gained + traffic > self.offload and not self.is_swapped(traffic):
                return
            target = names[self.target] if self.round.settings.is_transferring else None
            name = self.round.load.bundles[bundle]
            self.unloads.append(Unload(names[self.source], name, target))
            self.lost += traffic
            remaining -= 1

    def is_swapped(self, traffic: float) -> bool:
        """Find bundles of the target that even out a bundle that is too much alone."""
        if not self.round.settings.is_transferring:
            return False
        names = self.round.load.brokers
        top = self.round.throughput(self.source)
        most = top - self.lost + self.gained - traffic
        least = self.round.throughput(self.target) + self.lost - self.gained + traffic
        returned: list[Unload] = []
        weight = 0.0
        for bundle in self.offered:
            back = self.round.traffic(bundle)
            if not (self.round.may_go(bundle, self.source) and self.round.form.may_move(back)):
                continue
            if not (most + back < top and least - back < top):
                continue
            most, least, weight = most + back, least - back, weight + back
            name = self.round.load.bundles[bundle]
            returned.append(Unload(names[self.target], name, names[self.source]))
            if least <= most < top * _SWAPPED_SHARE_MAX:
                self.unloads += returned
                self.gained += weight if self.round.settings.is_debugging else 0.0
                return True
        return False


def _far_below(load: ExtensibleLoad, pair: _Pair, average: float, share: float) -> bool:
    """Return whether usage is far below the mean, or throughput below that of the most loaded."""
    smoothed = load.throughput_smoothed
    is_low_usage = float(load.usage[pair.low]) < average * share
    return is_low_usage or float(smoothed[pair.low]) < float(smoothed[pair.high]) * share


def _without_traffic(load: ExtensibleLoad, pair: _Pair, average: float, share: float) -> bool:
    """Return whether usage is far below the mean, or smoothed throughput is next to nothing."""
    low = pair.low
    is_low_usage = float(load.usage[low]) < average * share
    return is_low_usage or float(load.throughput_smoothed[low]) < _NO_TRAFFIC


def _has_traffic(traffic: float) -> bool:
    """Return whether there is any traffic; NaN is some."""
    return traffic != 0


def _any_traffic(traffic: float) -> bool:
    """Return that a bundle may move whatever its traffic."""
    del traffic
    return True


def _divided(number: float, by: float) -> float:
    """Return the quotient as the Java does: by 0 it is infinity or NaN."""
    with np.errstate(all="ignore"):
        return float(np.divide(number, by))
