"""What is counted of bundles → the features that a broker's CPU is paid for."""

from __future__ import annotations

import numpy as np

from trimtab.pulsar.model import MEBIBYTE, Floats

#: Features, in the order of all arrays of them: what one unit of each is called.
FEATURES = (
    "1,000 messages/s in",
    "1,000 messages/s out",
    "1 MiB/s in",
    "1 MiB/s out",
    "1,000 entries/s",
    "topic",
    "producer or consumer",
)
#: Points of a machine of 16 cores that one unit is taken to cost before anything is learned.
COSTS_BEFORE = np.array((0.12, 0.12, 0.15, 0.13, 0.35, 0.02, 0.002))
#: Producers send a batch a millisecond at most, unless they are told otherwise.
_BATCHES_PER_S = 1000.0


def features(counts: Floats) -> Floats:
    """Return what bundles are paid for, (n, 7) columns FEATURES.

    Entries are estimated: a producer puts what comes within a millisecond into one.

    Args:
        counts: (n, 7) columns COUNTS.
    """
    rate_in, rate_out, bytes_in, bytes_out, topics, producers, consumers = counts.T
    clients = np.nan_to_num(producers) + np.nan_to_num(consumers)
    limit = _BATCHES_PER_S * np.maximum(np.where(producers > 0, producers, topics), 1.0)
    fan_out = np.divide(rate_out, rate_in, out=np.ones_like(rate_in), where=rate_in > 0)
    limit_out = limit * np.maximum(fan_out, 0.05)
    entries = rate_in / (1.0 + rate_in / limit) + rate_out / (1.0 + rate_out / limit_out)
    return np.stack(
        (
            rate_in / 1000.0,
            rate_out / 1000.0,
            bytes_in / MEBIBYTE,
            bytes_out / MEBIBYTE,
            entries / 1000.0,
            topics,
            clients,
        ),
        axis=1,
    )


def works(
    rates: tuple[Floats, Floats], size: Floats, still: tuple[Floats, Floats], by_unit: Floats
) -> Floats:
    """Return what all features of bundles cost together, without laying them out.

    Args:
        rates: (n_times, n_bundles) messages/s in and out.
        size: (n_times, n_bundles) bytes a message.
        still: (n_bundles,) topics and producers, which do not change; consumers are not known.
        by_unit: (7,) what a unit of each feature costs.

    Properties:
        What `features` makes of it, times the costs, but for rounding.
    """
    into, out = rates
    topics, producers = still
    limit = _BATCHES_PER_S * np.maximum(np.where(producers > 0, producers, topics), 1.0)
    fan_out = np.divide(out, into, out=np.ones_like(into), where=into > 0)
    np.maximum(fan_out, 0.05, out=fan_out)
    fan_out *= limit
    # Entries, out and in.
    cost = out / fan_out
    cost += 1.0
    np.divide(out, cost, out=cost)
    entries = into / limit
    entries += 1.0
    np.divide(into, entries, out=entries)
    cost += entries
    cost *= by_unit[4] / 1000.0
    for rate, message, byte in ((into, *by_unit[[0, 2]]), (out, *by_unit[[1, 3]])):
        each = size * (byte / MEBIBYTE)
        each += message / 1000.0
        each *= rate
        cost += each
    cost += by_unit[5] * topics + by_unit[6] * np.nan_to_num(producers)
    return np.asarray(cost)
