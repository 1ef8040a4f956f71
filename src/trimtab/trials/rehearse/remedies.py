"""A plan → the changes of it that may make it safe, each of which can be tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from trimtab.files.fields import Field
from trimtab.lab.reconstruct.cluster import Rebuilt
from trimtab.lab.rehearsal.plan import Rehearsal
from trimtab.lab.simulate.world import Event, Kind, World
from trimtab.trials.rehearse.resolve import AFTER_S, BEFORE_S, is_split
from trimtab.trials.sweep.grid import Strategy, pair, usual
from trimtab.trials.sweep.task import NOBODY
from trimtab.trials.what_if.variants import TRIED

# Another hour is tried if the plan may begin so many s earlier or later.
_ANOTHER_TIME_S = 300.0
# Times with so much more to do than at the quietest one are as quiet; the first counts.
_AS_QUIET = 1.001


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change of a plan."""

    #: What it is, for a person.
    title: str
    #: What is to be added to the plan, as events; blank where it changes what is there.
    event: str
    plan: Rehearsal


def remedies(plan: Rehearsal, rebuilt: Rebuilt) -> tuple[Remedy, ...]:
    """Return what is tried: each is the plan with one thing changed."""
    return (
        *_one_more(plan, rebuilt.world),
        *_drained_first(plan),
        *_slower(plan, rebuilt.world),
        *_another_time(plan, rebuilt),
        *_split_giant(plan, rebuilt),
        *_settings(plan),
        *_strategies(plan),
    )


def remedies_now(plan: Rehearsal, world: World) -> tuple[Remedy, ...]:
    """Return what is tried of a plan for a cluster as it stands, whose traffic does not change."""
    return (
        *_one_more(plan, world),
        *_drained_first(plan),
        *_slower(plan, world),
        *_settings(plan),
        *_strategies(plan),
    )


def _one_more(plan: Rehearsal, world: World) -> Iterator[Remedy]:
    position = len(world.machines.names) + len(plan.added)
    name = f"added-{len(plan.added) + 1}"
    joins = Event(plan.from_s, Kind.JOIN, (position,))
    more = replace(plan, added=(*plan.added, name), events=(joins, *plan.events))
    yield Remedy("one broker more, like the median one, from then on", "add 1", more)


def _drained_first(plan: Rehearsal) -> Iterator[Remedy]:
    if not any(event.kind is Kind.KILL for event in plan.events):
        return
    events = tuple(
        replace(event, kind=Kind.LEAVE) if event.kind is Kind.KILL else event
        for event in plan.events
    )
    title = "stopped in good order instead of lost"
    yield Remedy(title, "remove instead of lose", replace(plan, events=events))


def _slower(plan: Rehearsal, world: World) -> Iterator[Remedy]:
    """Yield a plan of several events with twice the time between them, if the recording has it."""
    last_s = max([plan.from_s, *(event.time_s for event in plan.events)])
    leaving = [event for event in plan.events if event.kind is Kind.LEAVE]
    joining = [event for event in plan.events if event.kind is Kind.JOIN]
    if len(leaving) < 2 or len(leaving) != len(joining):
        return
    if plan.from_s + 2 * (last_s - plan.from_s) + AFTER_S > world.duration_s:
        return
    down_s = joining[0].time_s - leaving[0].time_s

    def later(event: Event) -> Event:
        since_s = event.time_s - plan.from_s - (down_s if event.kind is Kind.JOIN else 0.0)
        return replace(event, time_s=event.time_s + since_s)

    events = tuple(sorted(map(later, plan.events), key=lambda event: event.time_s))
    title = "twice the time from one restart to the next"
    yield Remedy(title, "every: twice as long", replace(plan, events=events))


def _another_time(plan: Rehearsal, rebuilt: Rebuilt) -> Iterator[Remedy]:
    """Yield the plan at the time at which there is the least to do while it goes on."""
    tick_s, served = rebuilt.grid.tick_s, rebuilt.served
    last_s = max([plan.from_s, *(event.time_s for event in plan.events)])
    length = max(1, round((last_s - plan.from_s + AFTER_S) / tick_s))
    work = (served.work(rebuilt.used.costs)).sum(axis=1)
    first = round(BEFORE_S / tick_s)
    starts = np.arange(first, len(work) - length)
    if not starts.size or not plan.events:
        return
    sums = np.append(0.0, np.cumsum(work))
    todo = sums[starts + length] - sums[starts]
    quietest_s = float(starts[np.flatnonzero(todo <= _AS_QUIET * todo.min())[0]]) * tick_s
    shift_s = quietest_s - plan.from_s
    if abs(shift_s) < _ANOTHER_TIME_S or not _are_there(plan, rebuilt, quietest_s):
        return
    events = tuple(replace(event, time_s=event.time_s + shift_s) for event in plan.events)
    at = datetime.fromtimestamp(rebuilt.grid.from_s + quietest_s, UTC).strftime("%H:%M")
    later = replace(plan, from_s=quietest_s, events=events)
    yield Remedy(f"at {at} UTC, when there is the least to do", f"at {at}", later)


def _are_there(plan: Rehearsal, rebuilt: Rebuilt, at_s: float) -> bool:
    """Return whether nothing that people really did stands between two times of a plan."""
    low, high = sorted((plan.from_s, at_s))
    coming = (Kind.JOIN, Kind.LEAVE, Kind.KILL)
    return not any(
        event.kind in coming and low <= event.time_s <= high for event in rebuilt.world.events
    )


def _split_giant(plan: Rehearsal, rebuilt: Rebuilt) -> Iterator[Remedy]:
    """Yield the plan with the heaviest bundle split at its beginning."""
    first = int(plan.from_s // rebuilt.grid.tick_s)
    work = rebuilt.served.work(rebuilt.used.costs)[first:].sum(axis=0)
    split = {one for event in plan.events if event.kind is Kind.SPLIT for one in event.subjects}
    giant, names = int(np.argmax(work)), rebuilt.world.bundles.names
    name, share = names[giant], 100.0 * work[giant] / work.sum()
    if giant in split or is_split(name, set(names)):
        return
    halves = Event(plan.from_s, Kind.SPLIT, (giant,))
    title = f"the heaviest bundle split, {share:.0f} % of all work"
    yield Remedy(title, f"split {name}", replace(plan, events=(halves, *plan.events)))


def _settings(plan: Rehearsal) -> Iterator[Remedy]:
    balancer = plan.balancer
    for key, values in TRIED.get(balancer.shedder or "", {}).items():
        for value in values:
            if balancer.conf.get(key) != value:
                changed = replace(balancer, conf={**balancer.conf, key: value})
                text = f"{key}={value}"
                yield Remedy(text, f"set {text}", replace(plan, balancer=changed))


def _strategies(plan: Rehearsal) -> Iterator[Remedy]:
    balancer = plan.balancer
    for name in usual([balancer.release]):
        sheds, places = pair(Field(name))
        if (sheds, places) == (balancer.shedder or NOBODY, balancer.placer):
            continue
        Strategy(sheds, places, balancer.release, {}, Field(name)).check(balancer.release)
        shedder = None if sheds == NOBODY else sheds
        changed = replace(balancer, shedder=shedder, placer=places)
        yield Remedy(name, f"strategy {name}", replace(plan, balancer=changed))
