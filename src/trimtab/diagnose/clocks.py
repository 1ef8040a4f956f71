"""Do the logs and the reports run on the same clock?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from trimtab.diagnose.clock_skew import Clocks
from trimtab.diagnose.night import Event

#: Zones differ by whole quarters of an hour.
_QUARTER = timedelta(minutes=15)
#: Clocks that are kept by NTP are closer together, s.
_KEPT_S = 1.0


def clock_warnings(
    spans: Mapping[str, tuple[datetime, datetime]], reported: Sequence[datetime]
) -> list[str]:
    """Return a warning for each log whose times lie quarters of an hour off those of the reports.

    Such a log was written in another zone than the recording says, and none of its
    rounds would meet the reports that it was decided on.

    Args:
        spans: log → its first and its last time.
        reported: the first and the last time of a report; empty if there is none.
    """
    if not reported:
        return []
    first, last = reported
    warnings = []
    for file, (start, end) in sorted(spans.items()):
        gap = start - last if start > last else end - first
        quarters = round(gap / _QUARTER)
        if (start <= last and end >= first) or quarters == 0:
            continue
        way = "after" if start > last else "before"
        hours = abs(round((start - first) / _QUARTER)) / 4
        warnings.append(
            f"{file}: its times lie about {hours:g} h {way} the load reports; expected the same "
            "clock: set time_zone in recording.toml to the zone that the log was written in"
        )
    return warnings


def backward_warnings(events: Iterable[Event]) -> list[str]:
    """Return a warning for each log whose times go back by more than threads mix lines."""
    by_file: dict[str, list[Event]] = {}
    for event in events:
        by_file.setdefault(event.file, []).append(event)
    warnings = []
    for file, mine in sorted(by_file.items()):
        mine.sort(key=lambda event: event.line)
        steps = [
            ((one.time - other.time).total_seconds(), other.line) for one, other in pairwise(mine)
        ]
        back = [(back_s, line) for back_s, line in steps if back_s > _KEPT_S]
        if back:
            back_s, line = max(back)
            times = "once" if len(back) == 1 else f"{len(back)} times, most"
            warnings.append(
                f"{file}: its times go back {times} by {back_s:.3f} s, at line {line}: its clock "
                "was set, or the file was put together out of order; lines are ordered by time"
            )
    return warnings


def skew_warnings(clocks: Clocks) -> list[str]:
    """Return a warning for each clock that was not kept: what was made of its times."""
    warnings = list(clocks.jumps)
    for skew in clocks.skews:
        if skew.is_off and skew.ahead_s is not None and abs(skew.ahead_s) >= _KEPT_S:
            way = "ahead of" if skew.ahead_s > 0 else "behind"
            warnings.append(
                f"the clock of {skew.broker} is {abs(skew.ahead_s):.3f} s (± {skew.bound_s:.3f} s) "
                f"{way} that of {clocks.reference}; its lines were ordered by the time without it: "
                "have NTP keep the clocks"
            )
    return warnings


def clocks_document(clocks: Clocks) -> dict[str, Any]:
    """Return how clocks stood to one another, as findings.json has it."""
    return {
        "reference": clocks.reference,
        "brokers": [
            {
                "broker": skew.broker,
                "ahead_s": None if skew.ahead_s is None else round(skew.ahead_s, 4),
                "bound_s": None if skew.bound_s is None else round(skew.bound_s, 4),
                "pairs": skew.pairs,
                "is_corrected": skew.is_off,
            }
            for skew in clocks.skews
        ],
    }
