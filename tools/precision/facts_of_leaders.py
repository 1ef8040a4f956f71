"""Who led, and what rounds took: as the simulator has it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tools.precision.case import Case
from tools.precision.draft import Draft
from tools.precision.truth import Planted

_SLOW_S, _DOUBTFUL_S = 33.0, 27.0


def leader_change(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of elections after the first, if another broker is elected."""
    del case
    elections = draft.witness.elections
    changes = [after for before, after in pairwise(elections) if after[1] != before[1]]
    for is_marginal, found in ((False, changes), (True, elections[1:])):
        if found:
            names = tuple(dict.fromkeys(draft.brokers[broker] for _, broker in found))
            since, until = found[0][0], found[-1][0]
            yield Planted("leader-change", since, until, names, is_marginal=is_marginal)


def slow_round(case: Case, draft: Draft) -> Iterator[Planted]:
    """Tell of rounds that took long."""
    del case
    rounds = draft.run.rounds
    for i in np.flatnonzero(rounds.duration_s >= _DOUBTFUL_S).tolist():
        time_ms = draft.ms(float(rounds.time_s[i]))
        end_s = float(rounds.time_s[i] + rounds.duration_s[i])
        # A round that the recording does not see to its end may be missed.
        is_whole = end_s < draft.run.world.duration_s
        is_marginal = not (is_whole and rounds.duration_s[i] >= _SLOW_S)
        yield Planted("slow-round", time_ms, time_ms, is_marginal=is_marginal)


LEADERS = (leader_change, slow_round)
