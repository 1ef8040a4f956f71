"""Numbers, times and names in the form in which a person reads them.

Nothing here knows of the page or of a chart.  The full digits of a number are never
lost: what is rounded for the eye is given beside `exact`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from trimtab.files.assumed_day import day_number
from trimtab.files.visible import visible, visible_name

#: Not from `strftime`, which follows the locale of the process: the same input must give
#: the same bytes everywhere.
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

#: Names of numbers that are fractions by the rule of the house (a score without a unit).
FRACTION = re.compile(
    r"(^|[_ ])(usage|smoothed|average|mean|threshold|bar|spread|score|share|margin|gap|excess"
    r"|difference|missed|fraction|usages|scores)([_ ]|$)"
)
#: Names of numbers that are bytes a second.
TRAFFIC = re.compile(r"(^|[_ ])(throughput|traffic|bytes)([_ ]|$)")

#: Names of numbers that are messages a second.
RATE = re.compile(r"(^|[_ ])messages_s$")

#: Names of numbers whose units are kept: a night has ten thousands of numbers by a few names.
_NAMES = 4096

#: A fraction over this is something else (a percentage, a count), and is left as it is.
FRACTION_MAX = 3.0

#: Characters of what should be a time, and of a figure that is a text.
TIME_MAX = 40
FIGURE_MAX = 200


@dataclass(frozen=True, slots=True)
class Figure:
    """One named number of a finding or of a recomputation."""

    #: What it is, in words.
    name: str
    #: For the eye: percent with one decimal, MB/s.
    short: str
    #: Every digit; empty if `short` has them all.
    exact: str


def moment(stamp: Any) -> datetime | None:
    """Read a time of the input; None if there is none or it cannot be read.

    A time without a zone is taken as UTC, as everything that trimtab writes is.

    >>> moment("2026-11-21T06:37:22.970Z").isoformat()
    '2026-11-21T06:37:22.970000+00:00'
    """
    if not isinstance(stamp, str):
        return None
    try:
        read = datetime.fromisoformat(stamp)
        if read.tzinfo is UTC:
            return read
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def clock(stamp: Any, *, with_day: bool = False) -> str:
    """Return when: `06:37:22`, or `21 Nov 06:37:22`; what is not a time is given as it is."""
    time = moment(stamp)
    if time is None:
        return "" if stamp is None else visible(str(stamp), TIME_MAX)
    if not with_day:
        return f"{time:%H:%M:%S}"
    number = day_number(time)
    day = f"{time.day} {MONTHS[time.month - 1]}" if number is None else f"day {number},"
    return f"{day} {time:%H:%M:%S}"


def interval(start: Any, end: Any) -> str:
    """Return from when to when, with the day once if it is one.

    >>> interval("2026-11-21T06:37:22Z", "2026-11-21T06:49:11Z")
    '21 Nov 2026, 06:37–06:49 UTC'
    """
    first, last = moment(start), moment(end)
    if first is None or last is None:
        known = first or last
        return "" if known is None else f"{_day(known)}, {known:%H:%M} UTC"
    if first.date() == last.date():
        return f"{_day(first)}, {first:%H:%M}–{last:%H:%M} UTC"
    return f"{_day(first)}, {first:%H:%M} – {_day(last)}, {last:%H:%M} UTC"


def _day(time: datetime) -> str:
    number = day_number(time)
    if number is not None:
        return "day unknown" if number == 1 else f"day {number}"
    return f"{time.day} {MONTHS[time.month - 1]} {time.year}"


def spans_days(start: Any, end: Any) -> bool:
    """Return whether a time of day alone would be ambiguous."""
    first, last = moment(start), moment(end)
    return first is not None and last is not None and first.date() != last.date()


def number(value: Any) -> float | None:
    """Read a finite number; None for anything else, truth values included."""
    if type(value) is not float and (isinstance(value, bool) or not isinstance(value, int | float)):
        return None
    return float(value) if math.isfinite(value) else None


def percent(fraction: Any) -> str:
    """Return a fraction as a percentage with one decimal.

    >>> percent(0.36584)
    '36.6 %'
    """
    value = number(fraction)
    return "" if value is None else f"{100 * value:.1f} %"


def traffic(bytes_s: Any) -> str:
    """Return bytes a second with a unit that keeps the number short.

    >>> traffic(112751), traffic(3_600_000)
    ('112.8 kB/s', '3.6 MB/s')
    """
    value = number(bytes_s)
    if value is None:
        return ""
    for unit, size in (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value:.0f} B/s"


def count(number_of: int, noun: str) -> str:
    """Return a number with its noun, and thousands apart.

    >>> count(1, "move"), count(5000, "move"), count(2, "recovery"), count(14, "other way")
    ('1 move', '5,000 moves', '2 recoveries', '14 other ways')
    """
    if number_of == 1:
        return f"1 {noun}"
    plural = re.sub(r"(?<![aeiou])y$", "ie", noun) + "s"
    return f"{number_of:,} {plural}"


def figures(numbers: Any) -> tuple[Figure, ...]:
    """Return the named numbers of a finding, nested ones with both names."""
    if not isinstance(numbers, Mapping):
        return ()
    return tuple(
        each for name, value in numbers.items() for each in _figures(visible_name(str(name)), value)
    )


def _figures(name: str, value: Any) -> tuple[Figure, ...]:
    if isinstance(value, Mapping):
        nested = ((f"{name} {visible_name(str(key))}", each) for key, each in value.items())
        return tuple(figure for key, each in nested for figure in _figures(key, each))
    without_unit = name.removesuffix("_s") if number(value) is not None else name
    words = without_unit.replace("_", " ")
    if isinstance(value, Sequence) and not isinstance(value, str):
        parts = [_figures(name, each) for each in value]
        flat = [figure for part in parts for figure in part]
        exact = ", ".join(figure.exact or figure.short for figure in flat)
        short = ", ".join(figure.short for figure in flat)
        return (Figure(words, short or "none", "" if exact == short else exact),)
    return (Figure(words, *_short_and_exact(name, value)),)


@lru_cache(_NAMES)
def _unit(name: str) -> str:
    """Return what a number is counted in, by its name; 1 for a fraction, blank for the rest."""
    if TRAFFIC.search(name):
        return "B/s"
    if RATE.search(name):
        return "messages/s"
    if name.endswith("_s"):
        return "s"
    is_fraction = FRACTION.search(name) and not name.endswith("_percent")
    return "1" if is_fraction else ""


def _short_and_exact(name: str, value: Any) -> tuple[str, str]:
    """Choose the form by the name: fractions, traffic, seconds; the rest as it is."""
    read = number(value)
    if value is None:
        return "not known", ""
    if isinstance(value, bool):
        return ("yes" if value else "no"), ""
    if read is None:
        return visible_name(str(value), FIGURE_MAX), ""
    unit = _unit(name)
    if unit == "B/s":
        return traffic(read), f"{value!r} B/s"
    if unit == "messages/s":
        return f"{read:,.1f} messages/s", f"{value!r} messages/s"
    if unit == "s":
        return f"{read:.1f} s", f"{value!r} s"
    if unit == "1" and abs(read) <= FRACTION_MAX:
        return percent(read), repr(value)
    if isinstance(value, int):
        return f"{value:,}", ""
    return f"{read:.4g}", ("" if f"{read:.4g}" == repr(value) else repr(value))


def common_ending(brokers: Sequence[str]) -> str:
    """Find what all broker names end in and nobody needs to read: the port, the domain.

    An address keeps all of its digits: only the port is taken off.

    >>> common_ending(["10.0.0.1:8080", "10.0.0.2:8080"])
    ':8080'
    >>> common_ending(["b-0.pulsar.svc:8080", "b-1.pulsar.svc:8080"])
    '.pulsar.svc:8080'
    >>> common_ending(["only:8080"]), common_ending(["a:1", "b:2"])
    ('', '')
    """
    if len(brokers) < 2:
        return ""
    cut = min(len(name) for name in brokers) - 1
    shared = 0
    while shared < cut and len({name[-shared - 1] for name in brokers}) == 1:
        shared += 1
    ending = brokers[0][len(brokers[0]) - shared :]
    is_address = all(re.fullmatch(r"[\d.]+(:\d+)?", name) for name in brokers)
    start = re.search(r":\d+$" if is_address else r"\.[a-zA-Z].*$|:\d+$", ending)
    return start.group() if start else ""


def lasting(seconds: float) -> str:
    """Return how long something lasted.

    >>> lasting(42.2), lasting(363), lasting(7320)
    ('42 s', '6 min 3 s', '2 h 2 min')
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def plain(code: str) -> str:
    """Return a code as words: `over-placement` becomes `over placement`."""
    return code.replace("-", " ").replace("_", " ")
