"""For how long brokers were above one bar, the same for every night, so that nights compare."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np

from trimtab.diagnose.usages import Usages, places_by_broker
from trimtab.pulsar.model import MINUTE_S

#: Fraction: the default of loadBalancerBrokerOverloadedThresholdPercentage, whatever is set.
BAR = 0.85
#: s for which a report holds at most: brokers report at least so often by default.
HOLDS_S_MAX = 15 * MINUTE_S


def busy(usages: Usages, end: datetime) -> dict[str, Any]:
    """Return broker-minutes above the bar, and those of which the usage is known.

    A report holds until the broker's next one, and no longer than a quarter of an hour.

    Args:
        usages: what brokers reported.
        end: of the recording.
    """
    over_s = known_s = 0.0
    seconds = usages.seconds()
    for mine in places_by_broker(usages).values():
        fraction = usages.fractions[mine]
        held_s = np.diff(seconds[mine], append=end.timestamp())
        held_s = np.where(np.isnan(fraction), 0.0, np.clip(held_s, 0.0, HOLDS_S_MAX))
        known_s += float(held_s.sum())
        over_s += float(held_s[fraction >= BAR].sum())
    return {
        "bar_percent": round(100 * BAR),
        "over_min": round(over_s / MINUTE_S, 3),
        "known_min": round(known_s / MINUTE_S, 3),
    }
