"""What a finding has of the changes of bundles' states that show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trimtab.diagnose.evidence import SHOWN
from trimtab.diagnose.night import Event, Night, Transition
from trimtab.diagnose.other_events import round_at


def of_transitions(night: Night, every: Sequence[Transition]) -> dict[str, Any]:
    """Return the fields of a finding that some changes of states give, in order of time."""
    first = every[0].time
    lines = tuple(line for each in every[:SHOWN] for line in _lines(each))
    return {"time": first, "round": round_at(night, first), "evidence": lines}


def _lines(each: Transition) -> tuple[Event, ...]:
    """Return the line in which a change was ordered, as far as it is known, and its own."""
    brokers = f"dstBroker={each.target}, sourceBroker={each.source}"
    text = f"{each.bundle}: {each.before or '?'} → {each.state}, {brokers}"
    text += f", force={str(each.is_forced).lower()}, versionId={each.version}"
    kind = f"bundle-{each.state.lower()}"
    mine = Event(each.time, each.origin, each.file, each.line, kind, text, bundle=each.bundle)
    return (each.evidence, mine) if each.evidence else (mine,)
