"""What a watch says: as lines of JSON, and as lines that people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from trimtab.live.watch.nouns import (
    Acted,
    Action,
    Compared,
    Decided,
    Relearn,
    Scored,
    Settings,
    Unexplained,
)
from trimtab.live.watch.targets import moves_of

#: Of many moves so many are named.
_MOVES_SHOWN = 3


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
                "shadow_between": {
                    name: list(ends)
                    for name, ends in action.between.items()
                    if all(map(isfinite, ends))
                },
            }
        case Unexplained():
            return {
                "said": "unexplained",
                "round": action.number,
                "time": time_text(action.time),
                "moves": [
                    {"bundle": bundle, "source": source, "target": target}
                    for bundle, source, target in action.moves
                ],
                "misread_lines": action.misread,
            }
        case Acted():
            return {
                "said": "acted" if action.is_over else "asking" if action.is_asking else "acting",
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


def words(action: Action, settings: Settings) -> str:
    """Return an action in one line; empty if it is not worth one."""
    match action:
        case Relearn(leader, since):
            return f"{since:%H:%M:%S}Z {leader} leads"
        case Decided():
            head = f"{action.time:%H:%M:%S}Z round {action.number}"
            if action.shadow is None:
                return f"{head}: {settings.shedder} has no load reports to decide on yet"
            guessed = f" ({action.guessed})" if action.guessed else ""
            would = moves(moves_of(action.shadow))
            return f"{head}: {settings.shedder} would unload {would}{guessed}"
        case Compared(number, logged):
            did = moves([(move.bundle, move.source, move.target) for move in logged.moves])
            head = f"{logged.time:%H:%M:%S}Z round {number}: Pulsar unloaded {did}"
            return f"{head}; {verdict(logged.recomputed.equal)}: {logged.recomputed.why}"
        case Unexplained():
            head = f"{action.time:%H:%M:%S}Z round {action.number}"
            what = f"moves were made that the log does not explain: {moves(action.moves)}"
            unread = f"{action.misread} lines of it could not be read" if action.misread else ""
            why = f"; the leader's log is not understood: {unread}" if unread else ""
            return f"{head}: {what}{why}"
        case Acted():
            return _acted(action)
        case Scored():
            return ""


def _acted(action: Acted) -> str:
    head = f"{action.time:%H:%M:%S}Z round {action.number}"
    signs = f"; not well: {', '.join(action.signs)}" if action.signs else ""
    if action.is_over:
        states = [state for _, state in action.states]
        counts = ", ".join(f"{states.count(each)} {each}" for each in dict.fromkeys(states))
        why = f"; {action.why}" if action.why else ""
        return f"{head}: outcome of the plan: {counts or 'nothing moved'}{why}"
    if action.why:
        return f"{head}: nothing is moved: {action.why}{signs}"
    if not action.moves and not signs:
        return ""
    if action.is_asking:
        return f"{head}: a plan (moves: {action.moves}) waits for an answer on the page{signs}"
    what = f"moving bundles: {action.moves}" if action.moves else "moving nothing yet"
    return f"{head}: {what}; the throttle allows {action.allowed:.2g} moves a round{signs}"


def moves(triples: Sequence[tuple[str, str, str | None]]) -> str:
    """Return some moves as text, of many the first."""
    if not triples:
        return "nothing"
    texts = [
        f"{bundle} from {source} to {target or 'nobody'}"
        for bundle, source, target in triples[:_MOVES_SHOWN]
    ]
    more = f" and {len(triples) - _MOVES_SHOWN} more" if len(triples) > _MOVES_SHOWN else ""
    return ", ".join(texts) + more


def verdict(equal: bool | None) -> str:
    """Return how a round stands to its recomputation."""
    return {True: "equal", False: "DIFFERS", None: "not decidable"}[equal]


def missing(n_unexplained: int, n_late: int, n_rejected: int, rejected_because: str) -> list[str]:
    """Return what a watch could not make out so far, and what that means, a sentence each."""
    texts = []
    if n_unexplained:
        texts.append(
            f"{n_unexplained} changes of owners that the log does not explain: somebody else moves "
            "bundles, or lines of the log are not understood"
        )
    if n_late:
        texts.append(
            f"{n_late} load reports or owners came too late for the round they belong to: what "
            "is said of it is without them"
        )
    if n_rejected:
        texts.append(
            f"{n_rejected} recorded lines could not be read, and count for nothing; the last: "
            f"{rejected_because}"
        )
    return texts
