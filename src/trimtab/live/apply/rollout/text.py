"""A rolling restart, before, while and after it is carried out, for a person and a program."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import assert_never

from trimtab.live.apply.post import Pause
from trimtab.live.apply.rollout.look import RolloutLook
from trimtab.live.control.entries import Begun, Done, Stopped
from trimtab.live.control.rollout import entries
from trimtab.live.control.rollout.account import OPEN, BrokerAccount, RolloutAccount
from trimtab.live.control.rollout.plan import RolloutPlan

_MINUTE_S = 60.0
_GIVING = {
    "level": "the last is filled till all are level, each other one with what the next gives up",
    "all": "each gets its own bundles back",
    "none": "none is filled again, but with what the next gives up",
}


def pause_words(pause: Pause) -> str:
    """Return that an earlier run has left shedding switched off."""
    return (
        f"Pulsar's own shedding was switched off by the run of {pause.plan} that began "
        f"{_clock(pause.time_s)} and was not put back since: it was "
        f"loadBalancerSheddingEnabled={pause.value}"
    )


def look_lines(plan: RolloutPlan, turns: int, look: RolloutLook) -> Iterator[str]:
    """Return lines of what would be done, and of what stands against it."""
    yield f"Plan {plan.digest} for cluster {plan.cluster}: {len(plan.brokers)} brokers, {plan.rule}"
    for number, broker in enumerate(look.before.brokers, start=1):
        yield f"{number}. {broker.broker}: {_outlook(broker, number > turns, look)}"
    if look.others:
        yield f"Not in the plan: {', '.join(look.others)}"
    yield f"Then: {_GIVING[plan.give_back]}"
    state = {True: "on: it is switched off meanwhile, and put back", False: "off, and stays so"}
    shedding = state.get(look.is_shedding is True) if look.is_shedding is not None else "not known"
    yield f"Pulsar's own shedding is {shedding}"
    if look.obstacle:
        yield f"Against it now: {look.obstacle}"


def _outlook(broker: BrokerAccount, is_beyond: bool, look: RolloutLook) -> str:
    if broker.state != OPEN:
        return _state(broker)
    if is_beyond:
        return "not in this run, by --until"
    if broker.broker in look.objections:
        return f"stops: {look.objections[broker.broker]}"
    return f"{look.moves.get(broker.broker, 0)} bundles to move, and there is room for them"


def entry_words(entry: entries.RolloutEntry, command: str) -> str:
    """Return an entry of the journal as a sentence.

    Args:
        entry: of the journal.
        command: that restarts a broker; empty if somebody is asked to.
    """
    match entry:
        case Begun(token=token):
            return f"begun; this run is number {token} to hold the lock of the cluster"
        case entries.Paused(value=value):
            return f"switching Pulsar's own shedding off: it was {value}"
        case entries.PutBack(value=value, remark=remark):
            return f"Pulsar's own shedding is {value} again" + (f"; {remark}" if remark else "")
        case Stopped(why=why):
            return f"stopped: {why}"
        case Done():
            return "done"
        case _:
            return f"{entry.broker}: {_act(entry, command)}"


def _act(entry: entries.OfBroker, command: str) -> str:
    match entry:
        case entries.Emptying(moves=moves, expected_s=seconds):
            return f"emptying it of {moves} bundles; it should be done in {_time(seconds)}"
        case entries.Emptied(left=left):
            return f"emptied, but for {left} bundles" if left else "emptied"
        case entries.Hindered(why=why):
            return f"not yet: {why}"
        case entries.Handed():
            return f"handed over to {command}" if command else "restart it now: it has no bundles"
        case entries.HookEnded(status=status):
            return f"the command ended with {status}"
        case entries.Again():
            return "is to be handed over once more, as --again says"
        case entries.Back(started_s=started_s):
            return f"back, with a process that began {_clock(started_s)}, and healthy"
        case entries.Filled(moves=moves, remark=remark):
            words = f"{moves} bundles moved to it" if moves else "without bundles"
            return f"restarted, {words}" + (f": {remark}" if remark else "")
    assert_never(entry)


def progress_words(done: RolloutAccount, turns: int) -> str:
    """Return how far a restart is, how long the last broker took, and how long the rest may."""
    finished = [each for each in done.brokers if each.took_s is not None]
    if not finished:
        return ""
    last = max(finished, key=lambda each: each.done_s or 0.0)
    words = f"{len(finished)} of {turns} brokers restarted"
    if last.took_s is not None and last.expected_s is not None:
        words += f"; the last took {_time(last.took_s)}, expected {_time(last.expected_s)}"
    left_s = done.left_s(turns)
    return f"{words}; about {_time(left_s)} left" if left_s else words


def account_lines(done: RolloutAccount) -> Iterator[str]:
    """Return what became of a restart."""
    for number, broker in enumerate(done.brokers, start=1):
        yield f"{number}. {broker.broker}: {_state(broker)}"
    states = [each.state for each in done.brokers]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    yield f"{len(states)} brokers: {counts}"
    if done.ended:
        yield f"Stopped: {done.ended}"


def _state(broker: BrokerAccount) -> str:
    words = broker.state
    if broker.state != OPEN:
        words += f"; {broker.moves_away} bundles moved away, {broker.moves_back} to it"
    if broker.away_s is not None:
        words += f"; away for {_time(broker.away_s)}"
    if broker.took_s is not None:
        words += f", {_time(broker.took_s)} in all"
    if broker.hook_status:
        words += f"; the command ended with {broker.hook_status}"
    return f"{words}; {broker.remark}" if broker.remark else words


def look_json(plan: RolloutPlan, look: RolloutLook) -> str:
    """Return what would be done as JSON."""
    pause = None if look.pause is None else look.pause._asdict()
    words = {
        "plan": plan.digest,
        "cluster": plan.cluster,
        "may_go": look.may_go,
        "is_shedding": look.is_shedding,
        "pause": pause,
        "obstacle": look.obstacle,
        "brokers": [
            {
                "broker": each.broker,
                "state": each.state,
                "moves": look.moves.get(each.broker),
                "objection": look.objections.get(each.broker, ""),
            }
            for each in look.before.brokers
        ],
    }
    return json.dumps(words, indent=1, ensure_ascii=False)


def rollout_json(done: RolloutAccount) -> str:
    """Return what became of a restart as JSON; what is not known is null."""
    brokers = [
        {**asdict(each), "away_s": each.away_s, "took_s": each.took_s} for each in done.brokers
    ]
    words = {
        "plan": done.plan,
        "is_done": done.is_done,
        "ended": done.ended,
        "runs": done.runs,
        "is_paused": done.is_paused,
    }
    return json.dumps(words | {"brokers": brokers}, indent=1, ensure_ascii=False)


def _time(seconds: float) -> str:
    if seconds < 2 * _MINUTE_S:
        return f"{math.ceil(seconds)} s"
    return f"{math.ceil(seconds / _MINUTE_S)} min"


def _clock(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="seconds")
