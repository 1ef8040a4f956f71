"""For how long brokers were above one bar, the same for every night, so that nights compare."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from trimtab.diagnose.night import Usage
from trimtab.pulsar.model import MINUTE_S

#: Fraction: the default of loadBalancerBrokerOverloadedThresholdPercentage, whatever is set.
BAR = 0.85
#: s for which a report holds at most: brokers report at least so often by default.
HOLDS_S_MAX = 15 * MINUTE_S


def busy(usages: Sequence[Usage], end: datetime) -> dict[str, Any]:
    """Return broker-minutes above the bar, and those of which the usage is known.

    A report holds until the broker's next one, and no longer than a quarter of an hour.

    Args:
        usages: in order of time.
        end: of the recording.
    """
    over_s = known_s = 0.0
    last: dict[str, Usage] = {}
    for usage in [*usages, *(Usage(end, broker, None) for broker in {it.broker for it in usages})]:
        before = last.get(usage.broker)
        if before is not None and before.usage is not None:
            held_s = min(max((usage.time - before.time).total_seconds(), 0.0), HOLDS_S_MAX)
            known_s += held_s
            over_s += held_s if before.usage >= BAR else 0.0
        last[usage.broker] = usage
    return {
        "bar_percent": round(100 * BAR),
        "over_min": round(over_s / MINUTE_S, 3),
        "known_min": round(known_s / MINUTE_S, 3),
    }
