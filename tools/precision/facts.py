"""Causes that come of themselves: what the simulator knows of them, whatever was planted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tools.precision.case import Case
from tools.precision.draft import Draft
from tools.precision.facts_of_leaders import LEADERS
from tools.precision.facts_of_moves import MOVES
from tools.precision.facts_of_states import STATES
from tools.precision.truth import Planted
from trimtab.trials.record.scribe import as_measured

#: What is judged by true usage: left open where a host tells something else.
_BY_USAGE = (
    *("over-placement", "over-unloading", "cold-history", "blind-to-imbalance", "no-headroom"),
    *("even-distribution-override", "giant-bundle", "cold-cpu"),
)
Fact = Callable[[Case, Draft], Iterator[Planted]]


def facts(case: Case, draft: Draft) -> Iterator[Planted]:
    """List all that is true of a recording before anything is planted in its files."""
    for known in (*MOVES, *STATES, *LEADERS):
        for planted in known(case, draft):
            is_open = case.reported is not as_measured and planted.code in _BY_USAGE
            yield replace(planted, is_marginal=True) if is_open else planted
    if case.reported is not as_measured:
        for code in _BY_USAGE:
            yield Planted(code, is_marginal=True)
