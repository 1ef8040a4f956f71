"""What was moved before a recording began is marked as such."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from trimtab.diagnose.document import early_moves
from trimtab.diagnose.night import Move, Night, Recomputed, Round

TIME = datetime(2026, 11, 21, 22, 0, tzinfo=UTC)


def night(begin: datetime | None) -> Night:
    """A night of three unloads, one a minute."""
    known: dict[str, Any] = {"draw": None, "recomputed": Recomputed(True, "")}
    moves = [
        Move(
            f"u{i}", TIME + timedelta(minutes=i), 1, f"b{i}", "b1", "b2", "AvgShedder", (), **known
        )
        for i in range(3)
    ]
    rounds = (Round(1, 1, TIME, TIME, "b1", "AvgShedder", (), tuple(moves), {}),)
    return Night(rounds, (), 0.1, 0.1, 1800.0, 60.0, begin=begin)


@pytest.mark.parametrize(
    ("begin", "said"),
    [
        (TIME + timedelta(seconds=30), "1 of 3 unloads (u0) were"),
        (TIME + timedelta(seconds=90), "2 of 3 unloads (u0 to u1) were"),
    ],
)
def test_what_was_moved_before_is_named(begin: datetime, said: str) -> None:
    (warning,) = early_moves(night(begin))

    assert warning.startswith(said)
    assert "logged before the recording begins, at 2026-11-21T22:0" in warning


@pytest.mark.parametrize("begin", [None, TIME])
def test_nothing_is_said_where_all_was_recorded(begin: datetime | None) -> None:
    assert early_moves(night(begin)) == []
