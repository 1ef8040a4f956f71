"""How much was moved, and how much of it for nothing.

Counted are the moves that rounds asked for since the event; bundles that had to be placed
because their broker left are nobody's choice.  Without a single round since the event,
nothing was asked and every count is NaN.

Judged is a move by true usages, as the moves before it have left them.  Where one that a
verdict needs is not known, the count is NaN, unless the verdict is clear without it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.outcomes.aftermath import Aftermath
from trimtab.pulsar.model import Floats, Ints

#: s within which a bundle that moves again need not have been moved.
AGAIN_S = 3600.0
#: Points from the mean beyond which a round has done too much: half of a spread of 15.
TOO_FAR_POINTS = 7.5


def unloads(aftermath: Aftermath) -> float:
    """Bundles that rounds have moved since the event.

    Properties:
        At least the number of triggers.
    """
    return float(len(aftermath.counted)) if len(aftermath.round_s) else np.nan


def triggers(aftermath: Aftermath) -> float:
    """Rounds since the event that moved something.

    Properties:
        At most the number of rounds.
    """
    return float((aftermath.round_moved > 0).sum()) if len(aftermath.round_s) else np.nan


def first_trigger_min(aftermath: Aftermath) -> float:
    """Minutes from the event to the first round that moved something; infinite if none did.

    Properties:
        At most the time of the last unload.
    """
    if not len(aftermath.round_s):
        return np.nan
    return float(np.min(aftermath.round_s[aftermath.round_moved > 0], initial=np.inf) / 60)


def last_unload_min(aftermath: Aftermath) -> float:
    """Minutes from the event to the last unload; NaN if there is none."""
    return (
        float(aftermath.shed_s[aftermath.counted].max() / 60) if len(aftermath.counted) else np.nan
    )


def wasted(aftermath: Aftermath) -> float:
    """Unloads that went to a broker above average, or whose bundle moved more than once.

    A bundle that is unloaded twice within 60 minutes counts with both, whether the second
    one brings it back or takes it further.

    Properties:
        At most the unloads.
    """
    shed = aftermath.shed
    repeated = np.zeros(len(shed.bundle), np.bool_)
    order = np.lexsort((shed.time_s, shed.bundle))
    is_same = shed.bundle[order][1:] == shed.bundle[order][:-1]
    is_again = is_same & (np.diff(shed.time_s[order]) < AGAIN_S)
    repeated[order[1:][is_again]] = True
    repeated[order[:-1][is_again]] = True
    uphill = _is_above(shed.target_before, shed.mean)
    return _count(aftermath, np.where(repeated, 1.0, uphill))


def wrong_direction(aftermath: Aftermath) -> float:
    """Unloads to a broker that stood above average, or above the one they came from.

    Properties:
        At most the unloads.
    """
    to_above = _is_above(aftermath.shed.target_before, aftermath.shed.mean)
    uphill = _is_above(aftermath.shed.target_before, aftermath.shed.source_before)
    return _count(aftermath, _either(to_above, uphill))


def source_below_average(aftermath: Aftermath) -> float:
    """Unloads from a broker that stood below average.

    Properties:
        At most the unloads.
    """
    return _count(aftermath, _is_above(aftermath.shed.mean, aftermath.shed.source_before))


def over_placements(aftermath: Aftermath) -> float:
    """Brokers that a round filled to more than 7.5 points above average.

    Counted is each destination of each round, by its usage at the end of the round.

    Properties:
        At most the unloads.
    """
    too_full = _is_above(aftermath.shed.target_end, aftermath.shed.mean + TOO_FAR_POINTS)
    return _count_ends(aftermath, aftermath.shed.target, too_full)


def over_unloadings(aftermath: Aftermath) -> float:
    """Brokers that a round emptied to more than 7.5 points below average.

    Counted is each source of each round, by its usage at the end of the round.

    Properties:
        At most the unloads.
    """
    too_empty = _is_above(aftermath.shed.mean - TOO_FAR_POINTS, aftermath.shed.source_end)
    return _count_ends(aftermath, aftermath.shed.source, too_empty)


def returns(aftermath: Aftermath) -> float:
    """Unloads that brought a bundle back to a broker that it had left in the last 60 minutes.

    NaN where the log does not say where a bundle went.

    Properties:
        At most the unloads that are wasted.
    """
    if not len(aftermath.round_s) or (aftermath.shed.target[aftermath.counted] < 0).any():
        return np.nan
    shed = aftermath.shed
    left: dict[tuple[int, int], float] = {}
    came_back = np.zeros(len(shed.bundle), np.bool_)
    # A row a move, in order of time.
    rows: Iterable[tuple[int, float, int, int]] = zip(
        shed.bundle.tolist(),
        shed.time_s.tolist(),
        shed.source.tolist(),
        shed.target.tolist(),
        strict=True,
    )
    for i, (bundle, time_s, source, target) in enumerate(rows):
        came_back[i] = time_s - left.get((bundle, target), -np.inf) < AGAIN_S
        left[bundle, source] = time_s
    return float(came_back[aftermath.counted].sum())


def _is_above(one: Floats, other: Floats) -> Floats:
    """Return 1 where the first is above the second, else 0; NaN where either is not known."""
    return np.where(np.isnan(one) | np.isnan(other), np.nan, one > other)


def _either(one: Floats, other: Floats) -> Floats:
    """Return whether one of two is true: it is, if one is, whatever the other may be."""
    is_true = (one == 1) | (other == 1)
    return np.where(is_true, 1.0, np.where(np.isnan(one) | np.isnan(other), np.nan, 0.0))


def _count(aftermath: Aftermath, verdicts: NDArray[np.float64]) -> float:
    """Return the sum of the verdicts of the unloads that count; NaN if one of them is open."""
    return float(verdicts[aftermath.counted].sum()) if len(aftermath.round_s) else np.nan


def _count_ends(aftermath: Aftermath, brokers: Ints, verdicts: Floats) -> float:
    """Return the sum of verdicts, one for each broker and round."""
    if not len(aftermath.round_s):
        return np.nan
    pairs = np.stack([aftermath.shed.round[aftermath.counted], brokers[aftermath.counted]])
    _, first = np.unique(pairs, axis=1, return_index=True)
    return float(verdicts[aftermath.counted[first]].sum())
