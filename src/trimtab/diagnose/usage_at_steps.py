"""What brokers reported of their usage and traffic, an interval after the other, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from trimtab.diagnose.night import Night
from trimtab.pulsar.model import Floats, Ints


@dataclass(frozen=True, slots=True)
class UsageAtSteps:
    """Usage and traffic of all brokers; what was reported holds until the next report."""

    #: (n_steps,) s since 1970.
    times: Floats
    brokers: tuple[str, ...]
    #: Broker → its row below.
    row: Mapping[str, int]
    #: (n_brokers, n_steps) fraction, and bytes/s in and out; NaN where it is not known.
    usage: Floats
    throughput: Floats
    #: (n_steps,) mean usage of the brokers that are there.
    mean: Floats

    def positions(self, times: Sequence[datetime]) -> Ints:
        """Return the position of the latest of some times at each step, -1 before the first."""
        seconds = np.array([time.timestamp() for time in times])
        return np.asarray(np.searchsorted(seconds, self.times, side="right") - 1)

    def coolest_but(self, rows: Ints) -> Floats:
        """Return the least usage at each step of the brokers but one; NaN if there is no other."""
        others = self.usage.copy()
        others[rows, np.arange(self.times.size)] = np.nan
        least = np.where(np.isnan(others), np.inf, others).min(axis=0)
        return np.where(np.isinf(least), np.nan, least)


def usage_at_steps(night: Night) -> UsageAtSteps | None:
    """Return usage and traffic an interval after the other; None if not both are known of two."""
    brokers = tuple(sorted({usage.broker for usage in night.usages} & night.reports.keys()))
    if len(brokers) < 2 or night.end is None:
        return None
    times = np.arange(
        night.usages[0].time.timestamp(), night.end.timestamp() + 1e-3, night.interval_s
    )
    usage, throughput = (np.full((len(brokers), times.size), np.nan) for _ in range(2))
    row = {broker: i for i, broker in enumerate(brokers)}
    codes = np.array([row.get(each.broker, -1) for each in night.usages])
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(brokers)), side="right")
    starts = np.searchsorted(codes[order], np.arange(len(brokers)), side="left")
    since = np.array([each.time.timestamp() for each in night.usages])[order]
    # None becomes NaN.
    value = np.array([each.usage for each in night.usages], np.float64)[order]
    for broker, i in row.items():
        reports, mine = night.reports[broker], slice(starts[i], ends[i])
        seconds = [time.timestamp() for time in reports.times]
        usage[i] = _standing(times, since[mine], value[mine])
        throughput[i] = _standing(times, np.array(seconds), reports.throughput)
    count = (~np.isnan(usage)).sum(axis=0)
    mean = np.where(count > 1, np.nansum(usage, axis=0) / np.maximum(count, 1), np.nan)
    return UsageAtSteps(times, brokers, row, usage, throughput, mean)


def _standing(times: Floats, reported: Floats, values: Floats) -> Floats:
    """Return at each of some times what was reported last, NaN before the first report."""
    at = np.searchsorted(reported, times, side="right") - 1
    return np.where(at >= 0, values[np.maximum(at, 0)], np.nan)
