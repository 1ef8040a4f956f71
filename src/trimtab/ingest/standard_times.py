"""Times as the distribution prints them, many at once."""

from __future__ import annotations

from functools import reduce

import numpy as np
import numpy.typing as npt

#: `2026-11-21T06:37:17,331+0000`
LENGTH = 28
_SIGN = 23
_MINUS = ord("-")
#: Where the digits of year, month, day, hour, minute, second, millisecond, and of the zone's
#: hours and minutes stand.
_DIGITS = ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19), (20, 23), (24, 26), (26, 28))
_MINUTES_A_DAY = 24 * 60


def standard_times(
    heads: npt.NDArray[np.uint8],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the times that lines begin with.

    Args:
        heads: shape (lines, `LENGTH`), each in the distribution's layout.

    Returns:
        Microseconds since 1970, and whether there is such a time; it is not said of years
        that a zone may move out of those that Python knows.
    """
    # A place of all lines at a time: what is no digit belongs to no number.
    places = (heads.T - np.uint8(ord("0"))).astype(np.int64)
    year, month, day, hour, minute, second, ms, *zone = (
        reduce(_with_digit, places[begin:end]) for begin, end in _DIGITS
    )
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    first = months.astype("datetime64[D]").astype(np.int64)
    behind = (months + np.timedelta64(1, "M")).astype("datetime64[D]").astype(np.int64)
    offset = zone[0] * 60 + zone[1]
    exists = (year > 1) & (year < 9999) & (month >= 1) & (month <= 12)
    exists &= (day >= 1) & (day <= behind - first)
    exists &= (hour < 24) & (minute < 60) & (second < 60) & (offset < _MINUTES_A_DAY)
    minutes = (first + day - 1) * _MINUTES_A_DAY + hour * 60 + minute
    minutes -= np.where(heads[:, _SIGN] == _MINUS, -offset, offset)
    return ((minutes * 60 + second) * 1000 + ms) * 1000, exists


def _with_digit(
    numbers: npt.NDArray[np.int64], digits: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return numbers with one more digit behind each."""
    return 10 * numbers + digits
