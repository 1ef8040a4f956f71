"""The strategies of a comparison as they are shown: a letter, a mark, and numbers in words."""

from __future__ import annotations

import string
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from trimtab.report.brokers import SHAPES
from trimtab.report.input import Fields, entries, part, text, whole
from trimtab.report.words import number

#: Measures that have a column of their own; the rest are folded.
COLUMNS = (
    "time_to_balance_min",
    "unloads",
    "wasted",
    "over_placements",
    "over_unloadings",
    "excess_spread_points",
    "overload_min",
    "unavailability_s",
)

_NEVER = "Infinity"
_INFINITIES = {"Infinity": "∞", "-Infinity": "−∞"}
#: From here on a digit behind the point says nothing.
_WHOLE_FROM = 100.0


@dataclass(frozen=True, slots=True)
class Contender:
    """One strategy on one scenario."""

    letter: str
    label: str
    #: Release and settings, where the strategies of the page differ in them.
    details: tuple[str, ...]
    #: Number of its colour and shape, from 1; None where there are too many to tell apart.
    colour: int | None
    is_baseline: bool
    is_on_frontier: bool
    runs: int
    failures: tuple[Fields, ...]
    #: What its scenario expects of it, and what was found.
    expectations: tuple[Fields, ...]
    #: Name of a measure → it, in words.
    cells: dict[str, dict[str, Any]]
    #: The numbers themselves, for the picture.
    measures: Fields

    @property
    def shape(self) -> str:
        """Vega's name of its shape."""
        return SHAPES[self.colour - 1] if self.colour else "circle"


def measures_of(comparison: Fields) -> list[dict[str, str]]:
    """Return what was measured; all measures are better when smaller."""
    keys = ("name", "title", "unit", "meaning")
    return [{key: text(each, key) for key in keys} for each in entries(comparison, "measures")]


def toned(good: str, fair: str, poor: str) -> dict[str, tuple[str, str]]:
    """Return how each of three words is marked: a tone of the style sheet, and a sign."""
    return {good: ("good", "✓"), fair: ("doubtful", "~"), poor: ("useless", "✕")}


def contenders_of(scenario: Fields, letters: dict[str, str]) -> tuple[Contender, ...]:
    """Return the strategies of a scenario, each with the letter that it has on the page."""
    shown = entries(scenario, "strategies")
    places = {identity: place for place, identity in enumerate(letters)}
    has_colours = len(letters) <= len(SHAPES)
    return tuple(
        Contender(
            letter=letters[identity(each)],
            label=text(each, "label"),
            details=_details(each),
            colour=places[identity(each)] + 1 if has_colours else None,
            is_baseline=bool(each.get("is_baseline")),
            is_on_frontier=bool(each.get("is_on_frontier")),
            runs=whole(each, "runs") or 0,
            failures=tuple(entries(each, "failures")),
            expectations=tuple(entries(each, "expectations")),
            cells={
                name: _cell(measure, is_baseline=bool(each.get("is_baseline")))
                for name, measure in part(each, "measures").items()
            },
            measures=part(each, "measures"),
        )
        for each in shown
    )


def letters_of(scenarios: Iterable[Fields]) -> dict[str, str]:
    """Return every strategy of the page a letter, the same on every scenario."""
    shown = [identity(each) for scenario in scenarios for each in entries(scenario, "strategies")]
    return {each: _letter(place) for place, each in enumerate(dict.fromkeys(shown))}


def identity(strategy: Fields) -> str:
    """Return what a strategy is known by from all others: its classes, release and settings."""
    keys = ("shedder", "placement", "release")
    return " ".join([*(text(strategy, key) for key in keys), str(part(strategy, "settings"))])


def figure(value: object) -> str:
    """Return a number as it is read; what never came is `never`, what is not known a dash.

    >>> figure(8.46), figure(0.031), figure(742.0), figure("Infinity"), figure(None)
    ('8.5', '0.031', '742', 'never', '–')
    """
    if value == _NEVER:
        return "never"
    known = number(value)
    if known is None:
        return "–"
    if 0 < abs(known) < 1:
        return f"{known:.2g}"
    digits = 0 if abs(known) >= _WHOLE_FROM else 1
    return f"{known:,.{digits}f}".removesuffix(".0")


def between(low: object, high: object) -> str:
    """Return two ends as one number, a range, or what it begins with.

    >>> between(1, 1), between(1, 2.5), between(1, "Infinity")
    ('1', '1 to 2.5', '1 to never')
    """
    ends = figure(low), figure(high)
    return " to ".join(dict.fromkeys(ends))


def _letter(place: int) -> str:
    """Name places A to Z, then A2, B2 and so on."""
    turn, letter = divmod(place, len(string.ascii_uppercase))
    return string.ascii_uppercase[letter] + (str(turn + 1) if turn else "")


def _details(strategy: Fields) -> tuple[str, ...]:
    settings = part(strategy, "settings")
    release = text(strategy, "release")
    return (
        *((f"Pulsar {release}",) if release else ()),
        *(f"{key} = {value}" for key, value in settings.items()),
    )


def _cell(measure: Fields, *, is_baseline: bool) -> dict[str, Any]:
    """Return one measure of one strategy; of the baseline itself there is no difference."""
    median, against = part(measure, "median"), part(measure, "difference")
    difference = part(against, "median")
    lower, higher = whole(against, "smaller") or 0, whole(against, "larger") or 0
    n = whole(difference, "count") or 0
    if is_baseline or not n:
        difference, lower, higher = {}, 0, 0
    return {
        "value": figure(median.get("estimate")),
        # Where the truth may lie; empty if it is not known, or beyond doubt.
        "range": _range(median, figure),
        "difference": signed(difference.get("estimate")) if difference else "",
        "difference_range": _range(difference, signed),
        "tone": _tone(difference),
        "seeds": f"lower on {lower}, higher on {higher} of {n}" if difference else "",
        # Runs in which it never came.
        "never": whole(measure, "never") or 0,
    }


def _range(interval: Fields, spelt: object) -> str:
    low, high = interval.get("low"), interval.get("high")
    if low is None or high is None or low == high:
        return ""
    assert callable(spelt)
    return f"{spelt(low)} to {spelt(high)}"


def signed(value: object) -> str:
    """Return a difference with its sign."""
    if isinstance(value, str):
        return _INFINITIES.get(value, value)
    known = number(value)
    if known is None:
        return "–"
    spelt = figure(abs(known))
    return spelt if spelt == "0" else f"{'−' if known < 0 else '+'}{spelt}"


def _tone(interval: Fields) -> str:
    """Return whether the whole of an interval lies below or above nothing."""
    low, high = (_float(interval.get(end)) for end in ("low", "high"))
    if low is None or high is None:
        return ""
    return "good" if high < 0 else "useless" if low > 0 else ""


def _float(value: object) -> float | None:
    if value in _INFINITIES:
        return float(str(value))
    return number(value)
