"""A recorded night as a trajectory: seconds from its first report, percent, NaN for the unknown."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from night_trajectory import recorded_trajectory
from trimtab.diagnose.night import Move, Night, Recomputed, Round
from trimtab.diagnose.usages import Usage, Usages, usages_of
from trimtab.lab.outcomes import measured

BEGIN = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def move(number: int, seconds: float, bundle: str, source: str, target: str | None) -> Move:
    return Move(
        id=f"u{bundle}",
        time=at(seconds),
        round=number,
        bundle=bundle,
        source=source,
        target=target,
        strategy="ThresholdShedder",
        evidence=(),
        draw=None,
        recomputed=Recomputed(None, ""),
    )


def round_of(number: int, seconds: float, *moves: Move) -> Round:
    return Round(
        number, 1, at(seconds), at(seconds), "broker1", "ThresholdShedder", (), tuple(moves)
    )


def night(rounds: tuple[Round, ...], usages: Usages) -> Night:
    return Night(rounds, usages, 0.1, 0.1, 1800.0, 60.0)


USAGES = usages_of(
    (
        Usage(at(0), "b1:8080", 0.8),
        Usage(at(0), "b2:8080", 0.4),
        Usage(at(300), "b1:8080", 0.6),
        Usage(at(310), "b2:8080", 0.55),
        Usage(at(1800), "b2:8080", 0.5),
    )
)


def test_a_night_has_outcomes() -> None:
    found = recorded_trajectory(
        night((round_of(1, 120, move(1, 121, "x", "b1:8080", "b2:8080")),), USAGES),
        silent=[at(60), at(180), at(240)],
    )
    assert found is not None
    values = measured(found)

    assert found.brokers == ("b1:8080", "b2:8080")
    assert found.round_s.tolist() == [60, 120, 180, 240]
    assert found.round_moved.tolist() == [0, 1, 0, 0]
    assert np.unique(found.usage[:, 0]).tolist() == [60, 80]
    assert (values["unloads"], values["triggers"], values["wasted"]) == (1, 1, 0)
    assert values["first_trigger_min"] == 2
    # The second report of the first broker leaves 20 points for a quarter of a minute; the
    # median sees 5 points from then on, as far as it looks ahead.
    assert values["time_to_balance_min"] == pytest.approx(5, abs=0.25)


def test_rounds_that_left_no_line_make_a_quiet_night_a_known_one() -> None:
    silent = recorded_trajectory(night((), USAGES), silent=[at(60), at(120)])
    unknown = recorded_trajectory(night((), USAGES))
    assert silent is not None
    assert unknown is not None

    assert measured(silent)["unloads"] == 0
    assert math.isnan(measured(unknown)["unloads"])


def test_unloads_count_from_the_first_report_whatever_their_order() -> None:
    late = round_of(2, 180, move(2, 181, "y", "b1:8080", None))
    early = round_of(1, 120, move(1, 121, "x", "b1:8080", "b2:8080"))
    found = recorded_trajectory(night((late, early), USAGES))
    assert found is not None

    assert found.moves.time_s.tolist() == [121, 181]
    assert found.moves.round.tolist() == [0, 1]
    assert found.moves.target.tolist() == [1, -1]
    assert math.isnan(measured(found)["returns"])


def test_of_nothing_there_is_no_trajectory() -> None:
    assert recorded_trajectory(night((), usages_of(()))) is None
