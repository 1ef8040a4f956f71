"""How loaded brokers really were, and how they were to the leader."""

from __future__ import annotations

import warnings

import numpy as np

from tools.precision.draft import Draft
from trimtab.pulsar.model import Floats

_MINUTE_S = 60.0


def usage_at(draft: Draft, time_ms: int) -> Floats:
    """Return each broker's true usage over the last minute, percent; NaN while it is down."""
    run = draft.run
    end = int((time_ms - draft.start_ms) / 1000.0 / run.tick_s)
    end = min(max(end, 1), len(run.usage))
    part = run.usage[max(0, end - round(_MINUTE_S / run.tick_s)) : end]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found: Floats = np.nanmean(part, axis=0, dtype=np.float64)
    return found


def mean_of(usage: Floats) -> float:
    """Average over the brokers that are up, percent."""
    return float(np.nanmean(usage))
