"""What brokers reported of their usage and traffic, an interval after the other, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from trimtab.diagnose.night import Night
from trimtab.diagnose.usages import places_by_broker
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
    #: (n_steps,) mean usage of the brokers that are there, the row of the least used one, -1 if
    #: none is there, and the least usage of them and of the others.
    mean: Floats
    coolest: Ints
    least: Floats
    next_least: Floats

    def positions(self, times: Sequence[datetime]) -> Ints:
        """Return the position of the latest of some times at each step, -1 before the first."""
        seconds = np.array([time.timestamp() for time in times])
        return np.asarray(np.searchsorted(seconds, self.times, side="right") - 1)

    def coolest_but(self, rows: Ints) -> Floats:
        """Return the least usage at each step of the brokers but one; NaN if there is no other."""
        return np.where(rows == self.coolest, self.next_least, self.least)


def usage_at_steps(night: Night) -> UsageAtSteps | None:
    """Return usage and traffic an interval after the other; None if not both are known of two."""
    brokers = tuple(sorted(night.reports.keys() & set(night.usages.brokers)))
    if len(brokers) < 2 or night.end is None:
        return None
    since = night.usages.seconds()
    times = np.arange(since[0], night.end.timestamp() + 1e-3, night.interval_s)
    usage, throughput = (np.full((len(brokers), times.size), np.nan) for _ in range(2))
    row = {broker: i for i, broker in enumerate(brokers)}
    places = places_by_broker(night.usages)
    for broker, i in row.items():
        reports, mine = night.reports[broker], places[broker]
        usage[i] = _standing(times, since[mine], night.usages.fractions[mine])
        throughput[i] = _standing(times, reports.seconds, reports.throughput)
    count = (~np.isnan(usage)).sum(axis=0)
    mean = np.where(count > 1, np.nansum(usage, axis=0) / np.maximum(count, 1), np.nan)
    known = np.where(np.isnan(usage), np.inf, usage)
    coolest = np.where(count > 0, known.argmin(axis=0), -1)
    least, next_least = np.partition(known, 1, axis=0)[:2]
    least, next_least = (np.where(np.isinf(each), np.nan, each) for each in (least, next_least))
    return UsageAtSteps(times, brokers, row, usage, throughput, mean, coolest, least, next_least)


def _standing(times: Floats, reported: Floats, values: Floats) -> Floats:
    """Return at each of some times what was reported last, NaN before the first report."""
    at = np.searchsorted(reported, times, side="right") - 1
    return np.where(at >= 0, values[np.maximum(at, 0)], np.nan)
