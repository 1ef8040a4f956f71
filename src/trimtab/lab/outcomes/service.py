"""What the clients felt of it."""

from __future__ import annotations

import numpy as np

from trimtab.lab.outcomes.aftermath import Aftermath

#: Percent of usage beyond which a broker is overloaded: OverloadShedder's default.
OVERLOAD_PERCENT = 85.0
#: Share of the time in which the peak may be higher.
PEAK_QUANTILE = 0.99


def peak_percent(aftermath: Aftermath) -> float:
    """Percent, usage of the busiest broker: 99 percent of the time since the event it is lower.

    By the minute means, not the levels: a short peak hurts.

    Properties:
        At least the usage of any broker, 99 percent of the time.
    """
    is_known = ~np.isnan(aftermath.usage).all(axis=1)
    if not is_known.any():
        return np.nan
    highest = np.nanmax(aftermath.usage[is_known], axis=1).astype(np.float64)
    return float(np.quantile(highest, PEAK_QUANTILE))


def overload_min(aftermath: Aftermath) -> float:
    """Minutes above 85 percent since the event, added up over the brokers.

    Properties:
        At most the time observed times the number of brokers.
    """
    if np.isnan(aftermath.usage).all():
        return np.nan
    return float((aftermath.usage > OVERLOAD_PERCENT).sum() * aftermath.step_s / 60)


def unavailability_s(aftermath: Aftermath) -> float:
    """Seconds for which the whole traffic would have to stop to interrupt as much.

    Every move since the event interrupts its bundle: the seconds without an owner that
    serves, times its share of the cluster's bytes, are added up.  Placements after a
    broker left are in it, whoever has to answer for them.

    Properties:
        At least 0; the same moves one by one add up to it.
    """
    return float(np.sum(aftermath.outage_s * aftermath.traffic_share))


def lost_percent(aftermath: Aftermath) -> float:
    """Percent of the bytes wanted since the event that did not pass.

    Because brokers were full, or bundles had no owner.  NaN if nothing was wanted.

    Properties:
        Between 0 and 100.
    """
    return 100.0 * aftermath.lost / aftermath.offered if aftermath.offered > 0 else np.nan


def disconnected_topics(aftermath: Aftermath) -> float:
    """Topics whose clients had to reconnect: those of every bundle moved since the event.

    A topic that moves twice counts twice.  NaN if the topics of a bundle are not known.
    """
    return float(aftermath.topics.sum())
