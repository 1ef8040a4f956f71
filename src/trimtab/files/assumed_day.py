"""The day that stands for one that nobody knows: log lines may say the time of day alone."""

from __future__ import annotations

from datetime import date, datetime, timedelta

#: Computers' first day, which nobody takes for the day of an incident.
ASSUMED_DAY = date(1970, 1, 1)
#: Key of the table `recording`, and of findings.json, for it.
ASSUMED = "assumed_day"
#: A zone may carry a line of the first day into the day before.
_EARLIEST = ASSUMED_DAY - timedelta(days=1)


def day_number(time: datetime) -> int | None:
    """Return which of the assumed days a time is of, from 1; None where its day is known.

    >>> day_number(datetime(1970, 1, 2, 0, 10)), day_number(datetime(2026, 11, 21))
    (2, None)
    """
    day = time.date()
    known = not _EARLIEST <= day <= ASSUMED_DAY + timedelta(days=364)
    return None if known else (day - ASSUMED_DAY).days + 1
