"""How right predictions were → how much may be moved by them, and when nothing is.

Each prediction is held against what came of it: how far off it was, as a multiple of the
deviation that it had said of itself.  Of honest predictions the root of the mean square is 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trimtab.lab.costs.arithmetic import half_width
from trimtab.live.control.limits import Limits
from trimtab.live.control.throttle import Bars

#: Of an interval so many outcomes are to lie inside.
SHARE = 0.8
_HALF = half_width(SHARE)
# s for which an outcome counts, and most that are kept.
_DAY_S, _KEPT = 86_400.0, 500
# Outcomes from which on they are fully trusted, and the root mean squares between which trust
# falls to nothing.
_MANY = 12
_GOOD, _BAD = 1.25, 2.0
# Drift is looked for in the last outcomes of the last hours, and said of so many at least.
_RECENT, _RECENT_S, _FEW = 12, 10_800.0, 6
# No single outcome counts for more, in deviations.
_OFF_MAX = 4.0
# What full trust multiplies limits by: moves, and the age at which a destination may take any.
_BOLDER, _YOUNGER = 4.0, 0.3
# Moves a round that whoever predicts is granted at first.
_MOVES_MIN = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one prediction."""

    #: s since 1970.
    time_s: float
    #: What was measured less what was predicted, in deviations.
    off: float

    @property
    def is_inside(self) -> bool:
        """Return whether it lies in the interval of four in five."""
        return abs(self.off) <= _HALF


@dataclass(frozen=True, slots=True)
class Trust:
    """How far a plan's predictions are to be believed."""

    #: From 0 to 1: by what came of predictions today, and by how sure this plan's are.
    by_record: float = 0.0
    by_plan: float = 0.0
    #: Why nothing is to be moved by them now; empty if nothing speaks against it.
    drift: str = ""

    @property
    def level(self) -> float:
        """Return both together, from 0 to 1."""
        return self.by_record * self.by_plan


def with_outcomes(record: Sequence[Outcome], new: Iterable[Outcome]) -> tuple[Outcome, ...]:
    """Return the outcomes of a day, the newest last."""
    outcomes = (*record, *new)
    last_s = outcomes[-1].time_s if outcomes else 0.0
    return tuple(each for each in outcomes if each.time_s > last_s - _DAY_S)[-_KEPT:]


def coverage(record: Sequence[Outcome]) -> float:
    """Return the share of outcomes inside the interval of four in five; NaN of none."""
    return sum(each.is_inside for each in record) / len(record) if record else math.nan


def error(record: Sequence[Outcome]) -> float:
    """Return the root mean square of what predictions were off, in deviations; NaN of none."""
    if not record:
        return math.nan
    squares = (min(abs(each.off), _OFF_MAX) ** 2 for each in record)
    return math.sqrt(sum(squares) / len(record))


def drift(record: Sequence[Outcome], now_s: float) -> float:
    """Return the same of the last outcomes alone; NaN if they are too few to say."""
    recent = [each for each in record if each.time_s > now_s - _RECENT_S][-_RECENT:]
    return error(recent) if len(recent) >= _FEW else math.nan


def drift_words(record: Sequence[Outcome], now_s: float) -> str:
    """Return why predictions are not to be gone by now; empty if they may be."""
    off = drift(record, now_s)
    if not off > _BAD:
        return ""
    return (
        f"predictions have drifted: the last were off by {off:.1f} times what they said of "
        f"themselves, more than {_BAD:g}; nothing is moved by them until they are right again, or "
        f"{_RECENT_S / 3600:g} hours have gone by"
    )


def sureness(changes: Iterable[tuple[float, float]]) -> float:
    """Return how sure predicted changes are, from 0 (not at all) to 1.

    Args:
        changes: points by which a broker is to change, and their standard deviation.
    """
    listed = list(changes)
    total = sum(abs(change) for change, _ in listed)
    doubt = sum(deviation for _, deviation in listed)
    return max(0.0, 1.0 - doubt / total) if total > 0 else 0.0


def trust(record: Sequence[Outcome], now_s: float, changes: Iterable[tuple[float, float]]) -> Trust:
    """Return how far a plan's predictions are to be believed.

    Properties:
        Of predictions that nobody has held against anything nothing is believed.
        More that is off never makes it more.
    """
    today = [each for each in record if each.time_s > now_s - _DAY_S]
    many = min(1.0, len(today) / _MANY)
    good = min(1.0, max(0.0, (_BAD - error(today)) / (_BAD - _GOOD))) if today else 0.0
    return Trust(many * good, sureness(changes), drift_words(record, now_s))


def limits_by(level: float) -> dict[str, float]:
    """Return the limits that hang on trust: at 0 the usual ones, more the more there is of it."""
    usual, bolder = Limits(), _BOLDER**level
    return {
        "moves_per_round": usual.moves_per_round * bolder,
        "moves_per_hour": usual.moves_per_hour * bolder,
        "broker_age_min_s": usual.broker_age_min_s * _YOUNGER**level,
    }


def bars_by(level: float) -> Bars:
    """Return the bounds of the throttle that hang on trust."""
    return Bars(moves_min=_MOVES_MIN, moves_max=Bars().moves_max * _BOLDER**level)
