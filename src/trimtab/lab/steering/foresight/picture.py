"""What is known, filtered → what brokers use and bundles cost now, as plans go by it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trimtab.lab.costs import Knowledge, Windows
from trimtab.lab.costs.knowledge import with_brokers, with_bundles
from trimtab.lab.costs.load import by_traffic_alone
from trimtab.lab.costs.predict import carried
from trimtab.lab.costs.usage import usage as usage_of
from trimtab.lab.planning.columns import Column, by_share, learned_cpu
from trimtab.lab.steering.foresight.calm import bounded
from trimtab.lab.steering.foresight.filters import network_usage, robust_others
from trimtab.lab.steering.foresight.large import too_large
from trimtab.lab.steering.foresight.memory import Memory, Picture
from trimtab.lab.steering.foresight.settings import Settings
from trimtab.lab.steering.view import View
from trimtab.pulsar.model import MINUTE_S, Flags, Floats, Ints

# s since a broker came for which it is taken to be at rest until it says otherwise.
_YOUNG_S = 900.0
_HALVINGS = 40
# Points by which both of the last minutes contradict a level that lags behind, and at most; and at
# most where traffic has changed.
_LAGS, _LAGS_MAX, _STEP_MAX = 2.0, 10.0, 20.0


def believed(memory: Memory, windows: Windows, settings: Settings) -> Knowledge:
    """Return what is known, with the robust traffic of bundles in place of the running mean.

    What single bundles cost beside it is left out: it is learned from traffic that varies, and in
    a burst it would be taken for granted before it is sure.
    """
    counts = memory.robust if settings.robust else memory.rates[-1]
    known = with_bundles(by_traffic_alone(memory.known), counts=counts)
    if settings.robust:
        known = with_brokers(known, others=robust_others(memory))
    return known if memory.waiting is None else bounded(known, memory.waiting, windows)


def picture(memory: Memory, known: Knowledge, settings: Settings) -> Picture:
    """Return the picture of now: measured levels, moved on with moves and traffic since."""
    owner, counts = known.bundles.owner, known.bundles.counts
    cpu = _cpu(memory, known, settings)
    nic, nic_speed, nic_cost = network_usage(memory.network, counts[:, 2:4], owner)
    usage = np.column_stack((cpu.usage, nic))
    usage[~memory.is_there] = np.nan
    speed = np.column_stack((cpu.speed, nic_speed))
    cost = np.column_stack((cpu.cost, nic_cost))
    cost[owner < 0, 1:] = 0.0
    known_cpu = usage[~np.isnan(usage[:, 0]), 0]
    water, beyond = float(known_cpu.mean()) if known_cpu.size else 0.0, np.zeros(len(usage))
    if settings.water:
        water, beyond = poured(usage[:, 0], speed[:, 0], _sums(owner, cost[:, 0], len(usage)))
    was = memory.picture.is_too_large
    now = Picture(usage, speed, cost, owner, beyond, water, np.zeros_like(was))
    if not settings.aside:
        return now
    points = speed[np.maximum(owner, 0)] * cost
    large = too_large(now.movable_usage, points, owner, was)
    return replace(now, is_too_large=large)


def caught_up(memory: Memory, view: View) -> Picture:
    """Return the picture with levels that lag behind as near as the last two minutes say.

    Where both contradict the filtered level in one direction, it is off by the lesser of the two.
    Brokers that bundles came to or left in that time stay as they are, as do those that are so far
    off that it may be a burst: beyond 10 points, or 20 where their traffic has changed.
    """
    picture, looks = memory.picture, memory.excursions
    (before,) = np.nonzero(looks.time_s <= view.time_s - MINUTE_S)
    if before.size == 0:
        return picture
    count, last = max(1, round(MINUTE_S / view.windows.host_s)), int(before[-1]) + 1
    newest = looks.usage[-count:].mean(axis=0) - picture.levels
    former = looks.usage[max(0, last - count) : last].mean(axis=0) - picture.levels
    settled_s = memory.known.brokers.touched_s + view.windows.settled_s
    is_sound = (settled_s < view.time_s - 2 * MINUTE_S) & (picture.beyond < 1.0)
    usage, who = picture.usage.copy(), np.flatnonzero(is_sound)
    fullest = np.nan_to_num(picture.movable_usage[who]).argmax(axis=1)
    most = np.where(looks.by_traffic[who], _STEP_MAX, _LAGS_MAX)
    usage[who, fullest] += lag(former[who], newest[who], most)
    return replace(picture, usage=usage)


def lag(former: Floats, newest: Floats, most: Floats) -> Floats:
    """Return the points by which levels lag behind two minutes, one after the other.

    Both have to contradict the level in one direction, and the lesser of the two counts.

    Args:
        former: points that a minute is above the level.
        newest: points that the next one is.
        most: points beyond which it is no lag.

    Properties:
        Noise is no lag, and what is far off is a burst: both give 0, as does what is not known.
    """
    lesser = np.where(np.abs(newest) < np.abs(former), newest, former)
    is_lag = np.sign(newest) == np.sign(former)
    is_lag &= (np.abs(lesser) > _LAGS) & (np.abs(lesser) <= most)
    return np.where(is_lag, lesser, 0.0)


def _cpu(memory: Memory, known: Knowledge, settings: Settings) -> Column:
    """Return the CPU of brokers: learned, or by the share of traffic where nothing is learned."""
    column = learned_cpu(known)
    usage = column.usage
    if not settings.robust:
        usage = np.where(np.isnan(usage), np.nan, memory.newest)
    is_at_rest = np.isnan(usage) & _is_young(memory)
    if is_at_rest.any():
        usage = np.where(is_at_rest, at_rest(known), usage)
    if settings.learning:
        return replace(column, usage=usage)
    traffic = known.bundles.counts[:, 2] + known.bundles.counts[:, 3]
    return by_share("CPU", usage, traffic, known.bundles.owner)


def at_rest(known: Knowledge) -> Floats:
    """Return what brokers would use by what they own alone, (n_brokers,) percent."""
    everyone = np.arange(len(known.broker_names))
    return np.minimum(usage_of(known, everyone, carried(known)).cpu + known.brokers.rest, 100.0)


def _is_young(memory: Memory) -> Flags:
    return np.asarray(memory.came_s > memory.known.time_s - _YOUNG_S)


def poured(usage: Floats, speed: Floats, carried_cost: Floats) -> tuple[float, Floats]:
    """Return the level of the water, and by how many points brokers at rest stand above it.

    If all that is carried were poured over the brokers, each filled from what other processes take,
    it would stand at one level; who is above it without carrying anything is balanced as it is.
    """
    known = np.flatnonzero(~np.isnan(usage))
    rest = np.maximum(usage[known] - speed[known] * carried_cost[known], 0.0)
    points = np.maximum(speed[known], 1e-9)
    total, low, high = float(carried_cost[known].sum()), 0.0, 400.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if float((np.maximum(middle - rest, 0.0) / points).sum()) > total:
            high = middle
        else:
            low = middle
    beyond = np.zeros(usage.size)
    beyond[known] = np.maximum(rest - low, 0.0)
    return low, beyond


def _sums(owner: Ints, values: Floats, count: int) -> Floats:
    owned = owner >= 0
    return np.bincount(owner[owned], values[owned], count).astype(np.float64)
