"""A plan, its rehearsal and its account, for a person and for a program."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import assert_never

from trimtab.live.apply.run import Rehearsal
from trimtab.live.control import entries
from trimtab.live.control.account import Account, MoveAccount, open_matters
from trimtab.live.control.guards import Hold, MoveStatus, Needless, Pace, Refusal
from trimtab.live.control.plan import Expected, Interval, Plan
from trimtab.live.control.step import Wait
from trimtab.pulsar.sequences.wording import mebibytes

_MINUTE_S = 60.0
_KINDS = {Refusal: "stops", Hold: "waits", Pace: "waits", Needless: "needless"}


def rehearsal_lines(plan: Plan, rehearsal: Rehearsal) -> Iterator[str]:
    """Return lines of each move: its reason, its expected effect and what stands against it."""
    age_s = rehearsal.view.time_s - plan.made_s
    count = f"{len(plan.moves)} moves, {age_s:.0f} s old"
    yield f"Plan {plan.digest} for cluster {plan.cluster}: {count}"
    for number, standing in enumerate(rehearsal.standings, start=1):
        yield from _status_lines(number, standing, rehearsal)
    open_ = [each for each in rehearsal.standings if not each.is_begun]
    ready = sum(each.may_go for each in open_)
    begun = len(rehearsal.standings) - len(open_)
    yield f"{ready} of {len(open_)} moves may be made now" + (f"; {begun} begun" if begun else "")


def _status_lines(number: int, standing: MoveStatus, rehearsal: Rehearsal) -> Iterator[str]:
    move = standing.move
    traffic = f", {mebibytes(move.traffic_bytes_s)}" if move.traffic_bytes_s else ""
    yield f"{number}. {move.bundle}: {move.source} → {move.destination}{traffic}"
    yield f"   because   {move.reason or 'the plan does not say'}"
    yield f"   expected  {_expected(move.before, move.after)}"
    now = []
    for name in (move.source, move.destination):
        broker = rehearsal.view.brokers.get(name)
        alive = broker is not None and broker.is_answering
        now.append(f"{name} {_percent(broker.usage_percent if broker and alive else None)}")
    yield f"   now       {', '.join(now)}"
    if standing.is_begun:
        yield f"   begun     {_state(rehearsal.before.moves[number - 1])}"
    elif not standing.objections:
        yield "   guards    nothing against it"
    for name, objection in standing.objections:
        yield f"   {name:<9} {_KINDS[type(objection)]}: {objection.why}"


def entry_words(plan: Plan, entry: entries.Entry) -> str:
    """Return an entry of the journal as a sentence."""
    match entry:
        case entries.Begun(token=token):
            return f"begun; this run is number {token} to hold the lock of the cluster"
        case entries.Stopped(why=why):
            return f"stopped: {why}"
        case entries.Done():
            return "done"
        case _:
            return f"{entry.move + 1}. {plan.moves[entry.move].bundle}: {_act(entry)}"


def _act(entry: entries.OfMove) -> str:
    match entry:
        case entries.Asked():
            return f"{entry.source} → {entry.destination}"
        case entries.Answered(status=status, text=text):
            return status if status == entries.ACCEPTED else f"{status}: {text}"
        case entries.LookedUp():
            return "has no owner; looked up, so that it gets one"
        case entries.Verified():
            return "arrived"
        case entries.Astray(owner=owner):
            return f"went to {owner} instead"
        case entries.Skipped(why=why):
            return f"skipped: {why}"
        case entries.Effect():
            usage = (
                f"usage now: source {_percent(entry.source_percent)}, "
                f"destination {_percent(entry.destination_percent)}"
            )
            return f"{usage}; {entry.surprise}" if entry.surprise else usage
    assert_never(entry)


def wait_words(wait: Wait) -> str:
    """Return what is waited for, and for how long at most."""
    if math.isinf(wait.left_s):
        return wait.why
    left = f"{wait.left_s:.0f} s" if wait.left_s < _MINUTE_S else _minutes(wait.left_s)
    rest = f"stops in {left} if that stays so" if wait.is_last else f"goes on in {left}"
    return f"{wait.why}; {rest}"


def _minutes(seconds: float) -> str:
    return f"{math.ceil(seconds / _MINUTE_S)} min"


def account_lines(done: Account) -> Iterator[str]:
    """Return what became of a plan."""
    for number, move in enumerate(done.moves, start=1):
        yield f"{number}. {move.bundle}: {_state(move)}"
    counts = [each.state for each in done.moves]
    words = ", ".join(f"{counts.count(state)} {state}" for state in dict.fromkeys(counts))
    yield f"{len(counts)} moves: {words or 'none'}"
    matters = open_matters(done)
    if done.ended:
        yield f"Stopped: {done.ended}"
        if not matters:
            yield "No bundle is on its way.  Unless a new plan is needed, the same command goes on."
    for matter in matters:
        yield f"Look at it: {matter}"


def rehearsal_json(plan: Plan, rehearsal: Rehearsal) -> str:
    """Return the same as JSON."""
    moves = [
        {
            "bundle": each.move.bundle,
            "source": each.move.source,
            "destination": each.move.destination,
            "is_begun": each.is_begun,
            "may_go": each.may_go,
            "objections": [
                {"guard": name, "kind": _KINDS[type(objection)], "why": objection.why}
                for name, objection in each.objections
            ],
        }
        for each in rehearsal.standings
    ]
    words = {"plan": plan.digest, "cluster": plan.cluster, "may_go": rehearsal.may_go}
    return json.dumps(words | {"moves": moves}, indent=1, ensure_ascii=False)


def account_json(done: Account) -> str:
    """Return what became of a plan as JSON; what is not known is null."""
    moves = [
        {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in asdict(each).items()
        }
        for each in done.moves
    ]
    words = {"plan": done.plan, "is_done": done.is_done, "ended": done.ended, "runs": done.runs}
    return json.dumps(words | {"moves": moves}, indent=1, ensure_ascii=False)


def _state(move: MoveAccount) -> str:
    words = move.state
    if move.state == "verified":
        words += f" at {move.destination}"
        if move.verified_s is not None and move.asked_s is not None:
            words += (
                f" {_clock(move.verified_s)}, {move.verified_s - move.asked_s:.1f} s after the call"
            )
    elif move.owner is not None:
        words += f" at {move.owner}"
    if move.destination_percent is not None:
        words += f"; source at {_percent(move.source_percent)}"
        words += f", destination at {_percent(move.destination_percent)}"
    if move.last_owner and move.unloads and move.last_owner != (move.owner or move.last_owner):
        words += f"; in the end at {move.last_owner}"
    if move.unloads > 1:
        words += f"; {move.unloads} unloads"
    return f"{words}; {move.remark}" if move.remark else words


def _expected(before: Expected, after: Expected) -> str:
    return (
        f"source {_interval(before.source)} → {_interval(after.source)}, "
        f"destination {_interval(before.destination)} → {_interval(after.destination)}"
    )


def _interval(given: Interval | None) -> str:
    return "anything" if given is None else f"{given[0]:g} to {given[1]:g} %"


def _percent(usage: float | None) -> str:
    return "unknown" if usage is None or math.isnan(usage) else f"{usage:.1f} %"


def _clock(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="seconds")
