"""What is known → what a message, a topic and a broker at rest cost, and what cannot be told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.lab.costs.arithmetic import half_width
from trimtab.lab.costs.curve import curved
from trimtab.lab.costs.features import FEATURES
from trimtab.lab.costs.fit import deviation_variance
from trimtab.lab.costs.knowledge import COUNT, FIRST, Knowledge, shared_before
from trimtab.lab.costs.load import BESIDE
from trimtab.lab.costs.predict import carried
from trimtab.pulsar.model import Floats

#: Of cases in which a cost lies in its interval.
SHARE = 0.9
# Largest ratio of an interval's ends at which a cost is called known.
_RATIO_MAX = 10.0
# The same of all traffic together, below which the night tells what a move does.
_TRAFFIC_RATIO_MAX = 3.0
# Deviations by which traffic must have changed, or nothing is called known.
_CHANGES_MIN = 5.0
# The same of a speed, of either end to the middle.
_SPEED_RATIO_MAX = 1.25
# A cost is learned if its interval is so much narrower than before anything was seen.
_NARROWER = 0.7


@dataclass(frozen=True, slots=True)
class Price:
    """A figure with its interval, and whether the cluster told it."""

    value: float
    low: float
    high: float
    is_told: bool


@dataclass(frozen=True, slots=True)
class Prices:
    """What things cost, percent of the CPU of a host."""

    #: Cores of the host that the prices are of: the median of those that are known.
    cores: float
    #: A unit of each feature, by its name, for a host that uses what the median one does.
    units: dict[str, Price]
    #: All traffic of the median broker together, of those that carry any.
    traffic: Price
    #: Exponent of what a host makes of work; 1 is a straight line.
    exponent: Price
    #: By broker: what it takes at rest, and its speed beside the median of its cores.
    rest: dict[str, Price]
    speed: dict[str, Price]
    #: Standard deviation of what bundles cost about what their traffic does, as a share of it.
    deviation: float
    #: What cannot be told, and what would tell it; a sentence each.
    untold: tuple[str, ...]


def priced(known: Knowledge) -> Prices:
    """Return what things cost by what is known.

    Properties:
        Before anything is seen nothing is told.
    """
    brokers, half = known.brokers, half_width(SHARE)
    there = np.flatnonzero(~np.isnan(brokers.level))
    by_cores = float(np.median(brokers.by_cores[there])) if there.size else 1.0
    load = _load(known)
    costs = np.exp(known.shared[:-1])
    is_changing = _changes(known) >= _CHANGES_MIN
    work = max(float(by_cores * (load @ costs)), 1e-6)
    curve = curved(np.array(work), float(known.shared[-1]))
    scale = float(curve.slope) * by_cores
    deviation = np.sqrt(np.diag(known.covariance))
    before = np.sqrt(np.diag(shared_before()[1]))
    units = {
        name: _price(scale * float(costs[i]), half * deviation[i], half * before[i], is_changing)
        for i, name in enumerate(FEATURES)
    }
    traffic = _traffic(known, load, float(curve.cpu), half, is_changing)
    power = float(np.exp(known.shared[-1]))
    exponent = _price(power, half * deviation[-1], half * before[-1], is_changing)
    rest, speed = _own(known, half)
    return Prices(
        cores=16.0 / by_cores,
        units=units,
        traffic=traffic,
        exponent=exponent,
        rest=rest,
        speed=speed,
        deviation=float(np.sqrt(deviation_variance(known))),
        untold=_unknowns(known, units, traffic),
    )


def _load(known: Knowledge) -> Floats:
    """Return the features of the median broker of those that carry anything, (7,)."""
    load = carried(known)[~np.isnan(known.brokers.level), :BESIDE]
    busy = load[load.sum(axis=1) > 0]
    return np.asarray(np.median(busy, axis=0)) if busy.size else np.zeros(len(FEATURES))


def _changes(known: Knowledge) -> float:
    """Return by how many deviations the traffic of brokers changed, as far as it is kept.

    Where it did not, costs are only what is left of usage when the rest is guessed.
    """
    blocks = known.brokers.blocks
    speed = known.brokers.by_cores * np.exp(known.brokers.slowness)
    count = blocks[:, :, COUNT]
    work = speed[:, None] * (blocks[:, :, FIRST:] @ np.exp(known.shared[:-1]))
    mean = (count * work).sum(axis=1) / np.maximum(count.sum(axis=1), 1.0)
    squares = (count * (work - mean[:, None]) ** 2).sum(axis=1)
    return float(np.sqrt((squares / known.brokers.window_variance).sum()))


def _price(value: float, reach: float, reach_before: float, is_changing: bool) -> Price:
    """Return a price whose logarithm has an interval, now and before anything was seen."""
    ratio = float(np.exp(reach))
    is_told = is_changing and ratio**2 <= _RATIO_MAX and reach < _NARROWER * reach_before
    return Price(value, value / ratio, value * ratio, bool(is_told))


def _traffic(known: Knowledge, load: Floats, cpu: float, half: float, is_changing: bool) -> Price:
    """Return what the traffic of one broker costs: surer than that of its parts."""
    parts = load * np.exp(known.shared[:-1])
    slopes = np.append(parts / max(float(parts.sum()), 1e-9), 0.0)
    ratio = float(np.exp(half * np.sqrt(slopes @ known.covariance @ slopes)))
    is_told = is_changing and bool(parts.any()) and ratio**2 <= _TRAFFIC_RATIO_MAX
    return Price(cpu, cpu / ratio, cpu * ratio, is_told)


def _own(known: Knowledge, half: float) -> tuple[dict[str, Price], dict[str, Price]]:
    """Return what each broker takes at rest, and its speed."""
    brokers = known.brokers
    variance = np.einsum("bis,st,bit->bi", known.following, known.covariance, known.following)
    variance += np.stack((known.own_covariance[:, 0, 0], known.own_covariance[:, 1, 1]), axis=1)
    deviation = np.sqrt(variance)
    before = np.sqrt(known.alike_variance)
    has = np.asarray((brokers.blocks[:, :, COUNT] > 0).any(axis=1))
    typical = float(np.median(brokers.slowness[has])) if has.any() else 0.0
    rest, speed = {}, {}
    for i in np.flatnonzero(~np.isnan(brokers.level)).tolist():
        name, ratio = known.broker_names[i], float(np.exp(half * deviation[i, 0]))
        value, reach = float(brokers.rest[i]), half * float(deviation[i, 1])
        is_told = bool(has[i] and deviation[i, 1] < _NARROWER * max(before[1], 2.0))
        rest[name] = Price(value, max(value - reach, 0.0), value + reach, is_told)
        quick = float(np.exp(typical - brokers.slowness[i]))
        speed[name] = Price(
            quick, quick / ratio, quick * ratio, bool(has[i] and ratio <= _SPEED_RATIO_MAX)
        )
    return rest, speed


def _unknowns(known: Knowledge, units: dict[str, Price], traffic: Price) -> tuple[str, ...]:
    """Return what cannot be told, and what would tell it."""
    sentences = []
    if not traffic.is_told:
        sentences.append(
            "what a move does: traffic and usage hardly changed together; steps of load, or a few "
            "moves of large bundles between brokers that are not full, would tell"
        )
    names = [name for name, price in units.items() if not price.is_told]
    if names:
        sentences.append(
            f"what costs how much of it: {', '.join(names)}; traffic in which one of them "
            "changes without the others would tell"
        )
    sentences.append(
        "which bundles cost more than their traffic: usage is of whole brokers; a sample of the "
        "broker's own CPU by bundle would tell"
    )
    if not (known.brokers.is_measured > 0).any():
        sentences.append(
            "what other processes take on each host: the host's CPU beside that of the broker's "
            "process would tell"
        )
    return tuple(sentences)
