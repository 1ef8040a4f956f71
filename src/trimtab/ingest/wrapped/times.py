"""Times as collectors write them → nanoseconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

_SECOND_NS = 1_000_000_000
#: Epoch numbers below each are of that many nanoseconds: seconds, milliseconds, microseconds.
_SCALES = ((10**11, _SECOND_NS), (10**14, 10**6), (10**17, 10**3), (10**20, 1))
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\d* ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?",
    re.ASCII,
)
#: Kibana's: `Nov 21, 2026 @ 06:37:17.331`.
_KIBANA = re.compile(r"([A-Z][a-z]{2} \d{1,2}, \d{4}) @ (\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?", re.ASCII)
_NUMBER = re.compile(r"\d{9,19}(?:\.\d+)?", re.ASCII)


def nanoseconds(value: Any) -> int | None:
    """Return a time in nanoseconds since 1970, UTC where it has no zone; None if it is none.

    Numbers are seconds, milliseconds, microseconds or nanoseconds by their size.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _of_number(value)
    if not isinstance(value, str):
        return None
    if _NUMBER.fullmatch(value):
        return _of_number(float(value) if "." in value else int(value))
    match = _ISO.fullmatch(value)
    if match is not None:
        return _of_parts(f"{match[1]}T{match[2]}", match[3], match[4] or "")
    match = _KIBANA.fullmatch(value)
    return None if match is None else _of_parts(_kibana(match[1], match[2]), match[3], "")


def moment(time_ns: int) -> datetime:
    """Return the moment of a time, to the microsecond."""
    return datetime.fromtimestamp(time_ns // _SECOND_NS, UTC) + timedelta(
        microseconds=time_ns % _SECOND_NS // 1000
    )


def _of_number(number: float) -> int | None:
    for limit, scale in _SCALES:
        if 0 < number < limit:
            return round(number * scale)
    return None


def _of_parts(second: str, fraction: str | None, zone: str) -> int | None:
    whole = _second(second, zone)
    return None if whole is None else whole * _SECOND_NS + int((fraction or "0").ljust(9, "0"))


@lru_cache(maxsize=4096)
def _second(text: str, zone: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
        if zone and zone[0] in "+-":
            digits = zone[1:].replace(":", "").ljust(4, "0")
            offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
            moment = moment.replace(tzinfo=timezone(-offset if zone[0] == "-" else offset))
        else:
            moment = moment.replace(tzinfo=UTC)
        return int(moment.timestamp())
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=4096)
def _kibana(day: str, clock: str) -> str:
    months = "JanFebMarAprMayJunJulAugSepOctNovDec"
    number, year = day[4:].split(", ")
    return f"{year}-{months.find(day[:3]) // 3 + 1:02d}-{int(number):02d}T{clock}"
