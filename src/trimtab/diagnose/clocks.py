"""Do the logs and the reports run on the same clock?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from trimtab.diagnose.night import Usage

#: Zones differ by whole quarters of an hour.
_QUARTER = timedelta(minutes=15)


def clock_warnings(
    spans: Mapping[str, tuple[datetime, datetime]], usages: Sequence[Usage]
) -> list[str]:
    """Find logs whose times do not overlap the reports' and lie quarters of an hour off.

    Such a log was written in another zone than the recording says, and none of its
    rounds would meet the reports that it was decided on.

    Args:
        spans: log file → first and last time in it.
        usages: of the brokers, in order of time.
    """
    if not usages:
        return []
    first, last = usages[0].time, usages[-1].time
    found = []
    for file, (start, end) in sorted(spans.items()):
        gap = start - last if start > last else end - first
        quarters = round(gap / _QUARTER)
        if (start <= last and end >= first) or quarters == 0:
            continue
        way = "after" if start > last else "before"
        hours = abs(round((start - first) / _QUARTER)) / 4
        found.append(
            f"{file}: its times lie about {hours:g} h {way} the load reports; expected the same "
            "clock: set time_zone in recording.toml to the zone that the log was written in"
        )
    return found
