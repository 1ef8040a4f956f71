"""What a watch learns of costs, of what it hears."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from tests.watched_nights import recorded_night
from trimtab.lab.costs import Knowledge
from trimtab.lab.costs.predict import level_now
from trimtab.live.watch.costs import Learning, learning, with_rows
from trimtab.trials.costs.state import read_state, write_state


def _learned(now: Learning, until: datetime, step_s: float) -> Learning:
    """Return what is known after hearing what came, in steps of so many seconds."""
    at, i = recorded_night("uniform").began, 0
    while at < until:
        at += timedelta(seconds=step_s)
        rows = []
        while (
            i < len(recorded_night("uniform").rows) and recorded_night("uniform").rows[i][0] <= at
        ):
            rows += recorded_night("uniform").rows[i][1]
            i += 1
        now = with_rows(now, rows, at.timestamp(), recorded_night("uniform").settings)
    return now


@pytest.fixture(scope="module")
def whole() -> Learning:
    return _learned(learning(None), recorded_night("uniform").ended, 1.0)


def test_a_watch_learns_of_every_broker_and_bundle_what_they_reported(whole: Learning) -> None:
    known = whole.costs.known
    assert len(known.broker_names) == 4
    assert all(name.startswith("lb/") for name in known.bundle_names)
    assert (known.bundles.windows > 0).sum() > 20
    level = level_now(known)
    assert ((level >= 0) & (level <= 100)).all()
    # Blocks of traffic beside usage are what costs are learned of.
    assert known.brokers.blocks[:, :, 0].sum() >= 5
    assert set(whole.costs.others) <= set(known.broker_names)


def test_handovers_are_seen_and_change_owners(whole: Learning) -> None:
    known = whole.costs.known
    moved = np.isfinite(known.bundles.moved_s)
    assert moved.sum() > 20
    assert (known.bundles.owner[moved] >= 0).all()


def test_how_what_comes_is_cut_into_steps_hardly_matters(whole: Learning) -> None:
    other = _learned(learning(None), recorded_night("uniform").ended, 5.0).costs.known
    known = whole.costs.known
    assert other.broker_names == known.broker_names
    assert level_now(other) == pytest.approx(level_now(known), abs=3.0)
    assert other.shared == pytest.approx(known.shared, abs=0.5)


def test_what_is_known_survives_a_restart_as_a_file(whole: Learning, tmp_path: Path) -> None:
    path = tmp_path / "costs.npz"
    write_state(path, whole.costs.known)
    again = learning(read_state(path))
    kept = again.costs.known
    assert isinstance(kept, Knowledge)
    assert kept.broker_names == whole.costs.known.broker_names
    assert (kept.shared == whole.costs.known.shared).all()
    # It goes on from there.
    later = with_rows(
        again,
        [],
        recorded_night("uniform").ended.timestamp() + 600.0,
        recorded_night("uniform").settings,
    )
    assert later.costs.known is kept
