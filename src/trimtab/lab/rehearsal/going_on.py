"""A rebuilt cluster → how it may go on behind its end: what is not known of it, drawn.

Nobody knows what traffic will come, what processes will take beyond theirs and, of a few
minutes, what is on the wire besides what is counted.  Each is drawn of what was recorded, of
this cluster and of others: what is left out is not less uncertain for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trimtab.lab.reconstruct.cluster import Rebuilt, recorded_traffic
from trimtab.lab.reconstruct.costs import Costs
from trimtab.lab.reconstruct.usage import WINDOWS_MIN, Span
from trimtab.lab.rehearsal.processes import (
    Process,
    at_ticks,
    course,
    of_age,
    percent_of,
    processes,
    warming,
)
from trimtab.lab.rehearsal.prolonged import LIKE_S
from trimtab.lab.simulate.noise import generator
from trimtab.lab.simulate.surroundings import Begin
from trimtab.lab.simulate.world import Event, Kind
from trimtab.pulsar.model import MINUTE_S, Floats

#: s of a step of a course of traffic, and of the longest.
STEP_S = 15.0
MOST_S = 300.0
# Traffic goes on in stretches of what came in so many s before the end.
_PAST_S = 120.0
# Windows by which it is known what a process takes, and percent by which each says too little.
_WINDOWS = 5
_POINTS_MIN = 2.0
# A bundle's course is taken where a minute had more than this part of its mean.
_LEAST = 0.1


@dataclass(frozen=True, slots=True)
class Experience:
    """What recordings say of what is not known beforehand."""

    processes: tuple[Process, ...] = ()
    #: How traffic went on from each moment: every step's over that of the minute before,
    #: (n_steps, n_bundles).
    courses: tuple[Floats, ...] = ()
    #: Bytes on the wire for each that is counted.
    overheads: tuple[float, ...] = ()

    def __add__(self, other: Experience) -> Experience:
        """Return both."""
        return Experience(
            self.processes + other.processes,
            self.courses + other.courses,
            self.overheads + other.overheads,
        )


def experience(rebuilt: Rebuilt) -> Experience:
    """Return what a recording says of what was not known beforehand."""
    is_sure = len(rebuilt.used.warm) >= WINDOWS_MIN
    return Experience(
        processes=processes(rebuilt),
        courses=tuple(_courses(rebuilt)),
        overheads=(rebuilt.used.costs.overhead,) if is_sure else (),
    )


def _courses(rebuilt: Rebuilt) -> Iterator[Floats]:
    """Yield how the bundles' traffic went on from each step of a recording."""
    served, tick_s = rebuilt.served, rebuilt.grid.tick_s
    step = max(1, round(STEP_S / tick_s))
    bytes_s = (served.rate_in + served.rate_out) * served.size
    n_steps = len(bytes_s) // step
    steps = bytes_s[: n_steps * step].reshape(n_steps, step, -1).mean(axis=1)
    before, longest = round(MINUTE_S / STEP_S), round(MOST_S / STEP_S)
    for at in range(before, n_steps - longest + 1):
        usual = steps[at - before : at].mean(axis=0)
        there = usual > _LEAST * steps.mean(axis=0)
        if there.any():
            yield steps[at : at + longest, there] / usual[there]


def drawn_traffic(rebuilt: Rebuilt, first: int, like: Experience, seed: int) -> Rebuilt:
    """Return a prolonged cluster whose traffic goes on otherwise from a tick on.

    It goes on in stretches of a minute of what came last, and each bundle's rises and falls as
    that of some bundle did in the same minutes of some recording.

    Properties:
        Up to the tick nothing is otherwise; the same arguments give the same traffic.
    """
    served, tick_s = rebuilt.served, rebuilt.grid.tick_s
    random, more = generator(seed, "traffic to come"), rebuilt.grid.n_ticks - first
    if more <= 0:
        return rebuilt
    rows = _stretches(first, more, tick_s, random)
    n_bundles = served.rate_in.shape[1]
    ratio = np.ones((more, n_bundles))
    if like.courses:
        steps = like.courses[int(random.integers(len(like.courses)))]
        at = (np.arange(more) * tick_s // STEP_S).astype(np.int64)
        mine = random.integers(steps.shape[1], size=n_bundles)
        ratio = steps[np.minimum(at, len(steps) - 1)][:, mine]
    columns = {}
    for name, times in (("rate_in", ratio), ("rate_out", ratio), ("size", 1.0)):
        columns[name] = getattr(served, name).copy()
        columns[name][first:] = getattr(served, name)[rows] * times
    longer = replace(served, **columns)
    traffic = recorded_traffic(longer, rebuilt.used.costs)
    surroundings = replace(rebuilt.surroundings, traffic=traffic)
    return replace(rebuilt, served=longer, surroundings=surroundings)


def _stretches(
    first: int, more: int, tick_s: float, random: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the ticks before `first` that come again, (more,)."""
    length = max(1, min(first, round(LIKE_S / tick_s)))
    earliest = max(0, first - round(_PAST_S / tick_s))
    parts = []
    for _ in range(0, more, length):
        begin = int(random.integers(earliest, first - length + 1))
        parts.append(np.arange(begin, begin + length))
    return np.concatenate(parts)[:more]


def drawn_overhead(costs: Costs, rebuilt: Rebuilt, like: Experience, seed: int) -> Costs:
    """Return costs with bytes on the wire of some recording, where too little is told of them."""
    if len(rebuilt.used.warm) >= WINDOWS_MIN or not like.overheads:
        return costs
    low, high = min(like.overheads), max(like.overheads)
    return replace(costs, overhead=float(generator(seed, "wire").uniform(low, high)))


@dataclass(frozen=True, slots=True)
class Besides:
    """What brokers' processes do that no plan says: how they are timed, and what they take."""

    #: From this tick on nothing is known of processes that go on; None: all is.
    first: int | None
    #: When processes begin that are known, and those that are planned.
    begins: tuple[Begin, ...]
    planned: tuple[Begin, ...]
    like: tuple[Process, ...]
    #: Windows that are known, each with its broker.
    spans: tuple[Span, ...]
    #: (n_brokers,) points of work for a unit by its cores; of those that are added the median.
    by_cores: Floats
    tick_s: float
    host_ticks: int
    seed: int

    def timed(self) -> tuple[Begin, ...]:
        """Return when planned processes begin, with the phase of the first window of the host."""
        return tuple(
            replace(each, phases=((each.tick - 1 + self._first(each)) % self.host_ticks, -1))
            for each in self.planned
        )

    def others(self, percent: Floats, costs: Costs) -> Floats:
        """Return percent that others take, (3, n_ticks, n_brokers), of which some is known.

        A process that goes on takes what it took on average beyond what one of its age takes,
        and what some other one took since.  One that begins takes what some other one took;
        where its broker was there before, that is what the broker takes anyway, and for some
        minutes what it takes to warm up.
        """
        percent = percent.copy()
        if self.first is not None:
            for broker in range(percent.shape[2]):
                past = [it.tick for it in self.begins if it.broker == broker]
                past = [tick for tick in past if tick < self.first]
                if past:
                    percent[0, self.first :, broker] = self._going_on(max(past), broker, percent)
        usual = percent[0].copy()
        for begin in self.planned:
            since = usual[begin.tick :, begin.broker]
            if self._was_there(begin):
                percent[0, begin.tick :, begin.broker] = since + self._warmed(begin, since.size)
                continue
            rest = costs.rest[begin.broker : begin.broker + 1]
            level = float(rest[0] if rest.size else costs.rest.mean())
            percent[0, begin.tick :, begin.broker] = level + self._begun(begin, since.size)
        return percent

    def _was_there(self, begin: Begin) -> bool:
        """Return whether a broker had a process before the one that begins."""
        return any(it.broker == begin.broker and it.tick < begin.tick for it in self.begins)

    def _random(self, purpose: str, broker: int, tick: int) -> np.random.Generator:
        return generator(self.seed, f"{purpose} {broker} {tick}")

    def _first(self, begin: Begin) -> int:
        """Return the ticks until the first window of a process closes."""
        young = [each for each in self.like if each.is_whole]
        if not young:
            return self.host_ticks
        random = self._random("first window", begin.broker, begin.tick)
        return max(1, round(young[int(random.integers(len(young)))].first_s / self.tick_s))

    def _going_on(self, tick: int, broker: int, percent: Floats) -> Floats:
        first = int(self.first or 0)
        n_ticks, cores = percent.shape[1] - first, self._cores(broker)
        random = self._random("process", broker, tick)
        starts = [
            span.start for span, of in self.spans if of == broker and tick <= span.start < first
        ][-_WINDOWS:]
        ages = [self._age(start - tick) for start in starts]
        usual, variance = np.array([of_age(self.like, age) for age in ages]).reshape(-1, 2).T
        left = percent[0, starts, broker] - percent_of(usual, cores)
        weight = 1.0 / np.maximum(percent_of(np.sqrt(variance), cores), _POINTS_MIN) ** 2
        level = float(percent[0, first - 1, broker])
        if starts:
            level = float(weight @ left / weight.sum())
            level += float(random.standard_normal() / np.sqrt(weight.sum()))
        points = course(self.like, self._age(first - tick), 1 + self._minutes(n_ticks), random)
        by_tick = at_ticks(points, MINUTE_S, self.tick_s, n_ticks)
        return level + percent_of(by_tick, cores)

    def _age(self, ticks: int) -> int:
        return max(0, round(ticks * self.tick_s / MINUTE_S))

    def _begun(self, begin: Begin, n_ticks: int) -> Floats:
        random = self._random("process", begin.broker, begin.tick)
        points = course(self.like, 0, 2 + self._minutes(n_ticks), random)
        return self._since(begin, points, n_ticks)

    def _warmed(self, begin: Begin, n_ticks: int) -> Floats:
        """Return what warming up takes of a broker that took the rest before as well."""
        random = self._random("process", begin.broker, begin.tick)
        return self._since(begin, warming(self.like, random), n_ticks)

    def _since(self, begin: Begin, points: Floats, n_ticks: int) -> Floats:
        first_s = self._first(begin) * self.tick_s
        by_tick = at_ticks(points, first_s, self.tick_s, n_ticks)
        return percent_of(by_tick, self._cores(begin.broker))

    def _cores(self, broker: int) -> float:
        known = self.by_cores
        return float(known[broker] if broker < known.size else np.median(known))

    def _minutes(self, n_ticks: int) -> int:
        return int(n_ticks * self.tick_s // MINUTE_S) + 1


def besides_of(
    rebuilt: Rebuilt, events: Sequence[Event], like: Sequence[Process], host_s: float
) -> Besides:
    """Return what the processes of a night do that a plan does not say.

    Args:
        rebuilt: the night, of which all is known.
        events: what is planned.
        like: processes of which those that begin are drawn.
        host_s: of a window of a host.
    """
    tick_s = rebuilt.grid.tick_s
    return Besides(
        first=None,
        begins=tuple(rebuilt.surroundings.begins),
        planned=planned_begins(events, tick_s),
        like=tuple(like),
        spans=rebuilt.used.spans,
        by_cores=rebuilt.used.known.brokers.by_cores,
        tick_s=tick_s,
        host_ticks=max(1, round(host_s / tick_s)),
        seed=0,
    )


def planned_begins(events: Sequence[Event], tick_s: float) -> tuple[Begin, ...]:
    """Return when planned processes begin; when their windows close is not known."""
    return tuple(
        Begin(broker, int(event.time_s // tick_s), (-1, -1))
        for event in events
        if event.kind is Kind.JOIN
        for broker in event.subjects
    )
