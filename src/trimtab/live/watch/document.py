"""What a watch says, as lines of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from trimtab.live.watch.nouns import Acted, Action, Compared, Decided, Relearn, Scored


def line_of(action: Action) -> dict[str, Any]:
    """Return an action as one line of `watch/rounds.jsonl`."""
    match action:
        case Decided():
            return {
                "said": "decided",
                "round": action.number,
                "time": time_text(action.time),
                "leader": action.leader,
                "guessed": action.guessed or None,
                "pulsar": _decision(action.pulsar),
                "shadow": _decision(action.shadow),
            }
        case Compared(number, logged):
            return {
                "said": "compared",
                "round": number,
                "time": time_text(logged.time),
                "equal": logged.recomputed.equal,
                "why": logged.recomputed.why,
                "unloaded": [
                    {
                        "time": time_text(move.time),
                        "bundle": move.bundle,
                        "source": move.source,
                        "target": move.target,
                        "placement_equal": move.recomputed.numbers.get("placement_equal"),
                    }
                    for move in logged.moves
                ],
                "lines": [event.text for event in logged.events],
            }
        case Scored():
            return {
                "said": "scored",
                "round": action.number,
                "time": time_text(action.time),
                "for_s": round(action.for_s, 3),
                "pulsar": _numbers(action.pulsar),
                "shadow": _numbers(action.shadow),
            }
        case Acted():
            return {
                "said": "acted" if action.is_over else "acting",
                "round": action.number,
                "time": time_text(action.time),
                "moves": action.moves,
                "allowed": action.allowed,
                "signs": list(action.signs),
                "why": action.why or None,
                "states": dict(action.states),
            }
        case Relearn(leader, since):
            return {"said": "led", "time": time_text(since), "leader": leader}


def time_text(time: datetime) -> str:
    """Return a time as a recording has it."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _numbers(values: Mapping[str, float]) -> dict[str, float | str]:
    """Return numbers, with those that JSON has none for written as Java does."""
    return {name: value if isfinite(value) else "Infinity" for name, value in values.items()}


def _decision(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {
        "average": row["average"],
        "doubt": row["doubt"] or row["bundle_doubt"],
        "brokers": row["brokers"].to_pylist(),
        "unloads": row["unloads"],
        "hits_high": row["hits_high"],
        "hits_low": row["hits_low"],
    }
