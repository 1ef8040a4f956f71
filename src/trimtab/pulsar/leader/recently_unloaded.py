"""The grace period: bundles that were just unloaded are left alone."""

from __future__ import annotations

import numpy as np

from trimtab.pulsar.model import Flags, Floats


def is_recently_unloaded(unloaded_s: Floats, now_s: float, grace_period_s: float) -> Flags:
    """Return which bundles shedders may not choose, at the start of a round.

    Args:
        unloaded_s: (n_bundles,) when shedding unloaded it last; NaN for never.
        now_s: time of the round.
        grace_period_s: how long a bundle is left alone.

    Properties:
        Whoever is recent at some time is recent at any earlier one after the unload.

    Quirks:
        A bundle unloaded exactly one grace period ago is recent still.
        What counts is the end of the unloading, and only if it succeeded.
        Unloads by hand do not count.  A new leader knows of none: what was moved a minute
        ago may move again.
        Bundles that were selected and then stayed, for want of a broker that may take them,
        are not recent: they are selected again a round later.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, impl/ModularLoadManagerImpl.java doLoadShedding;
        read.
    """
    with np.errstate(invalid="ignore"):
        recent: Flags = unloaded_s >= now_s - grace_period_s
    return recent
