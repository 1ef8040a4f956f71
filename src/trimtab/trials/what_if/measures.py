"""A run → what the matrix shows of it: outcomes of a night, made comparable with other nights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trimtab.lab.outcomes import trajectory
from trimtab.lab.outcomes.aftermath import Aftermath, aftermath
from trimtab.lab.outcomes.balance import above_min
from trimtab.lab.outcomes.moves import unloads
from trimtab.lab.outcomes.service import disconnected_topics, unavailability_s
from trimtab.lab.simulate.world import Run
from trimtab.pulsar.model import Floats

_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class MatrixMeasure:
    """A measure of the matrix; all are better when smaller."""

    title: str
    unit: str
    meaning: str


#: Name → measure, in the order of the columns.
MATRIX_MEASURES: Mapping[str, MatrixMeasure] = {
    "unloads_a_day": MatrixMeasure(
        "unloads a day", "", "Bundles that rounds moved, for each 24 hours."
    ),
    "p95_spread_points": MatrixMeasure(
        "95th percentile of spread",
        "points",
        "Points between the fullest and the emptiest broker: 95 percent of the time it is less.",
    ),
    "above_percent": MatrixMeasure(
        "time above the band",
        "%",
        "Percent of the time with a spread of more than 15 points above the best possible.",
    ),
    "disconnected_a_day": MatrixMeasure(
        "topics disconnected a day",
        "",
        "Topics whose clients had to reconnect, for each 24 hours; all moves count, whoever "
        "asked for them.",
    ),
    "unavailability_s_a_day": MatrixMeasure(
        "unavailability a day",
        "s",
        "Seconds for which the whole traffic would have to stop to interrupt as much, for each "
        "24 hours.",
    ),
}


def numbers(run: Run) -> dict[str, float]:
    """Return every measure of `MATRIX_MEASURES`; NaN where one cannot be taken."""
    if run.is_cut:
        return dict.fromkeys(MATRIX_MEASURES, np.nan)
    since = aftermath(trajectory(run))
    observed_s = len(since.spread) * since.step_s
    days = observed_s / _DAY_S if observed_s else np.nan
    return {
        "unloads_a_day": unloads_or_none(since) / days,
        "p95_spread_points": p95(since.spread),
        "above_percent": 100.0 * above_min(since) * 60.0 / observed_s if observed_s else np.nan,
        "disconnected_a_day": disconnected_topics(since) / days,
        "unavailability_s_a_day": unavailability_s(since) / days,
    }


def unloads_or_none(since: Aftermath) -> float:
    """Return the count of unloads; where nobody sheds there are no rounds, and none."""
    return unloads(since) if len(since.round_s) else 0.0


def p95(spread: Floats) -> float:
    """Return what a spread is below for 95 percent of the time; NaN if none is known."""
    known = spread[~np.isnan(spread)]
    return float(np.quantile(known, 0.95)) if known.size else np.nan
