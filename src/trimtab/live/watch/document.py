"""What a watch says: as lines of JSON, and as lines that people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite, isnan
from typing import Any

from trimtab.lab.costs.arithmetic import half_width
from trimtab.live.control.trust import SHARE, coverage
from trimtab.live.watch.nouns import (
    Acted,
    Action,
    Compared,
    Decided,
    Foretold,
    Relearn,
    Scored,
    Settings,
    Steered,
    Unexplained,
)
from trimtab.live.watch.targets import moves_of

#: Of many moves so many are named.
_MOVES_SHOWN = 3
_HALF = half_width(SHARE)


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
        case Compared():
            return _compared(action)
        case Scored():
            return _scored(action)
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
            return _done(action)
        case Steered():
            return _turn(action)
        case Foretold():
            return _outcome(action)
        case Relearn(leader, since):
            return {"said": "led", "time": time_text(since), "leader": leader}


def _compared(compared: Compared) -> dict[str, Any]:
    number, logged = compared.number, compared.logged
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


def _scored(scored: Scored) -> dict[str, Any]:
    return {
        "said": "scored",
        "round": scored.number,
        "time": time_text(scored.time),
        "for_s": round(scored.for_s, 3),
        "pulsar": _numbers(scored.pulsar),
        "shadow": _numbers(scored.shadow),
        "shadow_between": {
            name: list(ends) for name, ends in scored.between.items() if all(map(isfinite, ends))
        },
    }


def _done(acted: Acted) -> dict[str, Any]:
    return {
        "said": "acted" if acted.is_over else "asking" if acted.is_asking else "acting",
        acted.noun: acted.number,
        "time": time_text(acted.time),
        "moves": acted.moves,
        "allowed": acted.allowed,
        "signs": list(acted.signs),
        "why": acted.why or None,
        "states": dict(acted.states),
    }


def _outcome(foretold: Foretold) -> dict[str, Any]:
    checked = foretold.checked
    return {
        "said": "foretold",
        "turn": foretold.number,
        "time": time_text(foretold.time),
        "broker": checked.broker,
        "moves": checked.moves,
        "before": round(checked.before, 2),
        "predicted": round(checked.after, 2),
        "deviation": round(checked.deviation, 2),
        "measured": round(checked.measured, 2),
        "inside": checked.outcome.is_inside,
    }


def _turn(turn: Steered) -> dict[str, Any]:
    levels = turn.levels.values()
    of_today = coverage(turn.record)
    return {
        "said": "steered",
        "turn": turn.number,
        "time": time_text(turn.time),
        "strategy": turn.strategy,
        "why": turn.reason,
        "spread": round(max(levels) - min(levels), 2) if levels else None,
        "moves": [
            {"bundle": each.bundle, "source": each.source, "target": each.target}
            | {"why": each.reason}
            for each in turn.moves
        ],
        "expected": [
            {
                "broker": each.broker,
                "before": round(each.before, 2),
                "after": round(each.after, 2),
                "change_deviation": round(each.change_deviation, 2),
                "deviation": round(each.deviation, 2),
            }
            for each in turn.expected
        ],
        "advice": list(turn.advice),
        "trust": round(turn.trust.level, 3),
        "drift": turn.trust.drift or None,
        "held": [len(turn.record), None if isnan(of_today) else round(of_today, 3)],
    }


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
        case Steered() if turn_is_told(action):
            head = f"{action.time:%H:%M:%S}Z turn {action.number}"
            triples = [(each.bundle, each.source, each.target) for each in action.moves]
            would = f"{action.strategy} would move {moves(triples)}: {action.reason}"
            return f"{head}: {'; '.join((would, *action.advice))}"
        case Foretold():
            it = action.checked
            head = f"{action.time:%H:%M:%S}Z {it.broker} after {it.moves} moves"
            low, high = (it.after + sign * _HALF * it.deviation for sign in (-1.0, 1.0))
            low, high = max(low, 0.0), min(high, 100.0)
            predicted = f"predicted {it.after:.0f} % ({low:.0f} to {high:.0f})"
            return f"{head}: {predicted}, measured {it.measured:.0f} %"
        case Scored() | Steered():
            return ""


def turn_is_told(turn: Steered) -> bool:
    """Return whether a turn is worth a line: all are written, and most move nothing."""
    return bool(turn.moves or turn.advice)


def _acted(action: Acted) -> str:
    head = f"{action.time:%H:%M:%S}Z {action.noun} {action.number}"
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
