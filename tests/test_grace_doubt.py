"""Whether a grace period is over may hang on milliseconds that no record has."""

from __future__ import annotations

from copy import deepcopy
from datetime import timedelta

import pytest

from tests.watched_nights import seen
from trimtab.diagnose.replay.replay import decided


@pytest.mark.parametrize(
    ("ago_s", "is_open"),
    [
        # Logged before it was unloaded, and noted by the leader after it: maybe still within.
        (0.0, True),
        (0.02, True),
        (4.0, True),
        # No unload takes that long.
        (6.0, False),
        # Noted later than it was logged, and the round began before its first line: within.
        (-0.02, False),
    ],
)
def test_an_unload_one_grace_period_ago_is_neither_within_nor_without(
    ago_s: float, is_open: bool
) -> None:
    term = seen("uniform").memory.term
    assert term is not None
    leader = deepcopy(term.own)
    leader.gaps, leader.averages_doubt = (), None
    time = term.last_round + timedelta(minutes=5)
    grace_s = leader.leading.manager.grace_period_s
    bundle = next(iter(leader.view.averages.bundles.known))
    leader.view.recently_unloaded = {bundle: time.timestamp() - grace_s - ago_s}

    ((_, row),) = decided(leader, time, 1)

    doubt = f"whether the grace period of {bundle} was over hangs on milliseconds"
    assert row["bundle_doubt"] == (doubt if is_open else None)
