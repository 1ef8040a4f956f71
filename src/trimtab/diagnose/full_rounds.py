"""Logged rounds → all that is known of each: from the replay, or from its own print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from trimtab.diagnose.arithmetic import checked_against_print
from trimtab.diagnose.columns import Numbers, lists, words
from trimtab.diagnose.compare import compared
from trimtab.diagnose.deployment import Deployment
from trimtab.diagnose.night import Event, Recomputed, Round, Undecidable
from trimtab.files.tables import DIAGNOSED


def full_rounds(
    logged: Iterable[Round],
    replayed: Mapping[str, pa.Table],
    ran: Deployment,
    open_question: Undecidable | None,
) -> tuple[Round, ...]:
    """Return the logged rounds with what is known of them, in order of their numbers.

    `replayed` are the tables of DIAGNOSED; `open_question` says why no round was replayed.
    """
    again = _Replayed(replayed)
    rounds = (_full_round(each, again, ran, open_question) for each in logged)
    return tuple(sorted(rounds, key=lambda each: each.number))


class _Replayed:
    """What was decided again, looked up a row at a time: whole tables would not fit."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        """Note where each row is."""
        rounds, self._placements = (tables[name] for name in DIAGNOSED)
        self._round_at = {n: i for i, n in enumerate(rounds["round"].to_pylist()) if n}
        self._rounds, states = rounds.drop(["brokers"]), lists(rounds["brokers"])
        self._offsets = states.offsets.tolist()
        self._states = {
            name: words(values) if pa.types.is_string(values.type) else Numbers(values)
            for name, values in states.fields.items()
        }
        lines = zip(
            self._placements["file"].to_pylist(), self._placements["line"].to_pylist(), strict=True
        )
        self._placement_at = {line: i for i, line in enumerate(lines)}

    def round(self, number: int) -> dict[str, Any] | None:
        """Return the row of a round, what is said of its brokers as columns."""
        at = self._round_at.get(number)
        if at is None:
            return None
        start, end = self._offsets[at : at + 2]
        row: dict[str, Any] = self._rounds.slice(at, 1).to_pylist()[0]
        return row | {"brokers": {name: it.part(start, end) for name, it in self._states.items()}}

    def placements(self, events: Sequence[Event]) -> dict[tuple[str, int], dict[str, Any]]:
        """Return the rows of the selections that some lines tell of."""
        lines = [(event.file, event.line) for event in events]
        at = {line: self._placement_at[line] for line in lines if line in self._placement_at}
        return {line: self._placements.slice(i, 1).to_pylist()[0] for line, i in at.items()}


def _full_round(
    logged: Round,
    replayed: _Replayed,
    ran: Deployment,
    open_question: Undecidable | None,
) -> Round:
    """Return a round with what is known of it, from the replay or from its own printed numbers."""
    margin = ran.least_resource_usage_with_weight.difference_threshold
    moves = tuple(
        replace(move, draw=replace(move.draw, margin=margin))
        if move.draw is not None and move.draw.margin is None
        else move
        for move in logged.moves
    )
    logged = replace(logged, moves=moves)
    row = replayed.round(logged.number)
    if row is None:
        checked = checked_against_print(logged)
        if checked.recomputed.why or open_question is None:
            return checked
        return replace(checked, recomputed=Recomputed(None, open_question.why))
    drawn = [e for move in logged.moves if move.draw is not None for e in move.draw.evidence]
    return compared(logged, row, replayed.placements(drawn), ran.threshold_shedder.threshold)
