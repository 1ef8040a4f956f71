"""Columns of now, and what bundles carried for some days → the same columns hour by hour ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trimtab.lab.planning.columns import Column
from trimtab.lab.planning.profile import Expected, expected
from trimtab.pulsar.model import Floats, Ints

_HOUR_S = 3600.0
# The first of January 1970 was a Thursday: hours from a Monday's midnight until then.
_THURSDAY = 72
# Hours of history that are kept.
_PAST_MAX = 24 * 70


@dataclass(frozen=True, slots=True)
class History:
    """What bundles carried, hour by hour; in whatever unit."""

    #: (n_bundles, n_hours) means, NaN where nothing is known; the last hour is the last whole one.
    hourly: Floats
    #: Hours from a Monday's midnight, UTC, to the first hour that is not in it.
    next_hour: int

    @property
    def days(self) -> float:
        """Return of how many days anything is known."""
        return float((~np.isnan(self.hourly)).any(axis=0).sum()) / 24.0

    def ahead(self, hours: int) -> Expected:
        """Return what bundles are expected to carry in the hours to come, (n_bundles, hours)."""
        return expected(self.hourly, self.next_hour, hours)


def history(bundle: Ints, time_s: Floats, carried: Floats, n_bundles: int) -> History:
    """Return what bundles carried hour by hour.

    Args:
        bundle: (n,) positions.
        time_s: (n,) s from 1970.
        carried: (n,) at that time.
        n_bundles: of the cluster.
    """
    if time_s.size == 0:
        return History(np.empty((n_bundles, 0)), 0)
    hour = np.floor(time_s / _HOUR_S).astype(np.int64)
    end = int(hour.max()) + 1
    begin = max(int(hour.min()), end - _PAST_MAX)
    kept = hour >= begin
    cell = bundle[kept] * (end - begin) + hour[kept] - begin
    size = n_bundles * (end - begin)
    sums, counts = np.bincount(cell, carried[kept], size), np.bincount(cell, minlength=size)
    means = np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0)
    return History(means.reshape(n_bundles, -1), end + _THURSDAY)


def by_hours(
    columns: Sequence[Column], owner: Ints, now: Floats, expected_ahead: Expected
) -> tuple[Column, ...]:
    """Return each column at each hour ahead.

    What a broker uses that is not its bundles' stays; what its bundles carry goes as expected,
    and costs a unit of it what that costs now.

    Args:
        columns: of now.
        owner: (n_bundles,) positions; -1 is nobody.
        now: (n_bundles,) what bundles carry now, in the unit of what is expected.
        expected_ahead: of the hours to come; NaN is as now.
    """
    unknown = np.isnan(expected_ahead.mean)
    mean = np.where(unknown, now[:, None], expected_ahead.mean)
    deviation = np.where(unknown, 0.0, expected_ahead.deviation)
    hours = [Expected(*each) for each in zip(mean.T, deviation.T, strict=True)]
    return tuple(
        replace(_then(column, owner, now, hour), name=f"{column.name}, {i + 1} h ahead")
        for column in columns
        for i, hour in enumerate(hours)
    )


def _then(column: Column, owner: Ints, now: Floats, hour: Expected) -> Column:
    """Return a column at one hour, (n_bundles,) of which are expected."""
    owned, place, n = owner >= 0, np.maximum(owner, 0), column.usage.size
    cost, carried = (np.bincount(place[owned], each[owned], n) for each in (column.cost, now))
    unit = np.divide(cost, carried, out=np.zeros(n), where=carried > 0)[place]
    ahead = np.where(owned, unit * hour.mean, 0.0)
    then = np.bincount(place[owned], ahead[owned], n)
    spread = np.bincount(place[owned], ((unit * hour.deviation) ** 2)[owned], n)
    return replace(
        column,
        usage=np.clip(column.usage + column.speed * (then - cost), 0.0, 100.0),
        spread=column.speed * np.sqrt(spread),
        cost=ahead,
    )
