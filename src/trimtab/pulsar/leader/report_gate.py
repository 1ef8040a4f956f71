"""When a broker writes its load report, so that the leader learns of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.pulsar.model import Flags, Floats, Ints
from trimtab.pulsar.settings import LoadManagerSettings


@dataclass(frozen=True, slots=True)
class Measured:
    """What brokers have measured of themselves: what they wrote last, or what is so now."""

    #: (n_brokers, 4) messages/s in and out, bytes/s in and out.
    totals: Floats
    #: (n_brokers,) bundles.
    bundle_count: Ints
    #: (n_brokers,) fraction: weighed from 4.0 on, not weighed before (`scores`).
    usage: Floats


def need_broker_data_update(
    written: Measured, current: Measured, age_s: Floats, settings: LoadManagerSettings
) -> Flags:
    """Return which brokers write their report now, when they look whether it is time.

    A report is written that is too old, or of which something has changed by more than the
    threshold: messages/s, bytes/s and number of bundles by a share of what they were, usage
    by points.  Brokers look every `report_interval_s_min`.

    Args:
        written: what stood in the last report that was written.
        current: what a report would say now.
        age_s: (n_brokers,) time since the last report was written.
        settings: threshold and longest interval.

    Returns:
        (n_brokers,) whether the report is written.

    Properties:
        What changed more is written if what changed less is; so is what is older.
        Nothing changed and not too old: not written.

    Quirks:
        A report as old as the longest interval is not too old, and a change as large as
        the threshold is not large enough.
        From nothing to anything is an infinite change, from anything to nothing one of
        100 %.
        With ten bundles or more, one that comes or goes is not a change; with nine it is.
        In and out are added up, so what moves from one to the other is no change.
        Drift below the threshold stays untold for as long as the longest interval, 15
        minutes; the threshold of usage is as large as that by which ThresholdShedder sheds.
        What is not a number is passed over.

    Source:
        apache/pulsar 4.0.0 to 5.0.1, impl/ModularLoadManagerImpl.java
        needBrokerDataUpdate, percentChange; 4.0.8 checked against runs of the methods.
    """
    change = np.fmax.reduce(_changes_percent(written, current), axis=0, initial=-np.inf)
    return _is_written(change, age_s, settings)


def need_broker_data_update_2_10(
    written: Measured, current: Measured, age_s: Floats, settings: LoadManagerSettings
) -> Flags:
    """Return the same from usage that is not weighed.

    Quirks:
        If any of the numbers is not one, the report is not written until it is too old.

    Source:
        apache/pulsar 2.10.4 to 3.3.5, impl/ModularLoadManagerImpl.java
        needBrokerDataUpdate, percentChange; read.
    """
    change = np.maximum.reduce(_changes_percent(written, current), axis=0)
    return _is_written(change, age_s, settings)


def _is_written(change_percent: Floats, age_s: Floats, settings: LoadManagerSettings) -> Flags:
    # A whole percentage again, as the Java compares it.
    threshold_percent = round(settings.report_threshold * 100)
    is_old: Flags = age_s > settings.report_interval_s_max
    return is_old | (change_percent > threshold_percent)


def _changes_percent(written: Measured, current: Measured) -> Floats:
    """Return (4, n_brokers): change of messages/s, bytes/s and bundles in percent, usage."""
    with np.errstate(all="ignore"):
        changes = np.empty((4, written.usage.size))
        changes[:3] = _percent_change(_sums(written), _sums(current))
        np.multiply(100.0, np.abs(written.usage - current.usage), out=changes[3])
        return changes


def _sums(measured: Measured) -> Floats:
    """Return (3, n_brokers): messages/s and bytes/s, in and out added up, and bundles."""
    sums = np.empty((3, measured.usage.size))
    np.add(measured.totals[:, ::2].T, measured.totals[:, 1::2].T, out=sums[:2])
    sums[2] = measured.bundle_count
    return sums


def _percent_change(before: Floats, after: Floats) -> Floats:
    change = 100.0 * np.abs((before - after) / before)
    was_nothing = before == 0.0
    change[was_nothing] = np.where(after[was_nothing] == 0.0, 0.0, np.inf)
    return change
