"""A run told round by round: who stood where, who was above the bar, what went where."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from trimtab.lab.outcomes.spread import spread
from trimtab.lab.simulate.world import Event, Kind
from trimtab.lab.steering import is_own
from trimtab.pulsar.model import Decision, Floats, Reason
from trimtab.pulsar.shed import shedder
from trimtab.trials.simulate.result import Result

#: Brokers up to which all are named in a line; of more, so many at either end.
_NAMED_MAX = 6
_NAMED_AT_EITHER_END = 3
#: Moves of a round that are told one by one.
_TOLD_MAX = 8
#: s: a bundle that moves again within this time has moved too often.
_AGAIN_S = 3600.0
_INDENT = " " * 12

#: Shedders whose scores are percent already; those of the others are fractions, or traffic.
_SCORED_IN_PERCENT = frozenset({"AvgShedder"})

_HAPPENED = {
    Kind.JOIN: "{who} join{s}",
    Kind.LEAVE: "{who} leave{s}",
    Kind.KILL: "killed: {who}",
    Kind.BACKGROUND: "other processes take {value:+g} points more on {who}",
    Kind.CAPACITY: "capacity times {value:g}: {who}",
    Kind.LEADER: "another broker leads, and remembers nothing",
    Kind.SPLIT: "{n} bundles are split",
    Kind.SHEDDING: "shedding is switched {on_off}",
}


#: The first and the last of rounds in a row of which there is the same to say, and what.
_Quiet: TypeAlias = tuple[int, int, str]


class History:
    """The history of one run."""

    def __init__(self, answer: Result) -> None:
        """Look up what every round needs."""
        self.answer, self.run = answer, answer.run
        self.brokers = short_brokers(self.run.world.machines.names)
        self.bundles = short_bundles(self.run.world.bundles.names)
        self.usage = answer.trajectory.usage
        self.spread = spread(self.usage)
        balancer = answer.experiment.balancer
        self.is_own = is_own(balancer.shedder or "")
        sheds = None if self.is_own else balancer.shedder
        self.entry = shedder(sheds, balancer.release) if sheds else None
        self.settings = self.entry and self.entry.settings(balancer.conf, balancer.release)
        self.scores_as = (100.0, "{:.0f}")
        if self.entry is not None and self.entry.is_ranked_by_traffic:
            self.scores_as = (1e-3, "{:.1f}k")
        elif self.is_own or balancer.shedder in _SCORED_IN_PERCENT:
            self.scores_as = (1.0, "{:.0f}")
        #: Bundle → when it was unloaded last, and from whom.
        self.unloaded: dict[int, tuple[float, int]] = {}

    def lines(self) -> Iterator[str]:
        """Return all lines, in order of time."""
        run = self.run
        happened = sorted([*happenings(self.answer), *self._placements()], key=itemgetter(0))
        quiet: _Quiet | None = None
        for number, time_s in enumerate(run.rounds.time_s.tolist()):
            what = self._nothing(number)
            is_due = bool(happened) and happened[0][0] <= time_s
            if quiet and (is_due or what != quiet[2]):
                yield self._folded(quiet)
                quiet = None
            while happened and happened[0][0] <= time_s:
                yield self._at(happened[0][0]) + happened.pop(0)[1]
            if what:
                quiet = (quiet[0] if quiet else number, number, what)
            else:
                yield from self._round(number)
        if quiet:
            yield self._folded(quiet)
        yield from (self._at(time_s) + text for time_s, text in happened)

    def _at(self, time_s: float) -> str:
        return f"min {time_s / 60:5.1f}   "

    def _placements(self) -> list[tuple[float, str]]:
        """Return the bundles that got another owner without a round, minute by minute."""
        moves = self.run.moves
        when = moves.time_s[moves.round < 0]
        minutes, counts = np.unique(when // 60, return_counts=True)
        return [
            (60.0 * minute + 59.9, f"{_counted(count, 'bundle')} without an owner placed")
            for minute, count in zip(minutes.tolist(), counts.tolist(), strict=True)
        ]

    # -------------------------------------------------------------- quiet rounds

    def _nothing(self, number: int) -> str:
        """Return in few words why nothing came of a round; an empty text if something did."""
        rounds = self.run.rounds
        if rounds.error[number]:
            return f"lost: the class throws {rounds.error[number]}"
        if rounds.moved[number]:
            return ""
        if rounds.planned[number]:
            return "named bundles and moved none of them"
        return rounds.reason[number] or "nothing to do"

    def _folded(self, quiet: _Quiet) -> str:
        first, last, what = quiet
        first_s, last_s = self.run.rounds.time_s[[first, last]].tolist()
        before, after = self._spread_at(first_s), self._spread_at(last_s)
        if first == last:
            return f"{self._at(first_s)}1 round, {what}; spread {before:.0f}"
        return (
            f"{self._at(first_s)}to min {last_s / 60:.1f}: {last - first + 1} rounds, {what};"
            f" spread {before:.0f} → {after:.0f}"
        )

    def _spread_at(self, time_s: float) -> float:
        return float(self.spread[self._sample(time_s)])

    def _sample(self, time_s: float) -> int:
        """Return the last sample before a time."""
        sample = math.ceil(time_s / self.answer.trajectory.step_s) - 1
        return min(max(0, sample), len(self.usage) - 1)

    # -------------------------------------------------------------- a round

    def _round(self, number: int) -> Iterator[str]:
        rounds, moves = self.run.rounds, self.run.moves
        time_s = float(rounds.time_s[number])
        usage = self.usage[self._sample(time_s)].astype(np.float64)
        yield (
            f"{self._at(time_s)}usage   {self._ranked(usage, '{:.0f}')}"
            f"   mean {np.nanmean(usage):.0f}, spread {self._spread_at(time_s):.0f}"
        )
        yield _INDENT + self._scores(number)
        if rounds.reason[number]:
            yield f"{_INDENT}because {rounds.reason[number]}"
        mine = np.flatnonzero(moves.round == number)
        lines = [self._move(int(i)) for i in mine]
        head = f"moved {len(mine)}"
        shown = lines if len(lines) <= _TOLD_MAX + 1 else lines[:_TOLD_MAX]
        width = max(len(self.bundles[b]) for b in moves.bundle[mine].tolist())
        for i, (bundle, text) in enumerate(shown):
            yield f"{_INDENT}{head if i == 0 else '':<10}{bundle:<{width}}  {text}"
        if len(shown) < len(lines):
            sources, targets = len(set(moves.source[mine])), len(set(moves.target[mine]))
            yield (
                f"{_INDENT}{'':<10}and {len(lines) - len(shown)} more; in all from"
                f" {_counted(sources, 'broker')} to {targets}"
            )

    def _scores(self, number: int) -> str:
        """Return what the strategy saw: its scores, their average, the bar and who was above it."""
        rounds = self.run.rounds
        scores = rounds.scores[number].astype(np.float64)
        average = float(rounds.average[number])
        scale, form = self.scores_as
        text = f"scores  {self._ranked(scores * scale, form)}"
        if not math.isnan(average):
            text += f"   average {form.format(average * scale)}"
        bar = self._bar(scores, average)
        if math.isfinite(bar):
            above = [self.brokers[i] for i in np.flatnonzero(scores >= bar)]
            who = f"above: {_listed(above)}" if above else "nobody above"
            text += f", bar {form.format(bar * scale)}, {who}"
        return text

    def _bar(self, scores: Floats, average: float) -> float:
        """Return the score from which on a broker sheds; NaN if no score decides alone."""
        if self.entry is None:
            return math.nan
        known = scores[~np.isnan(scores)]
        reasons = (Reason.UNKNOWN,) * len(known)
        decision = Decision((), reasons, known, average, np.full(len(known), np.nan))
        return self.entry.bar(decision, self.settings)

    def _move(self, i: int) -> tuple[str, str]:
        """Return a bundle and its move: brokers before and after, and what speaks against it."""
        moves = self.run.moves
        bundle, time_s = int(moves.bundle[i]), float(moves.time_s[i])
        source, target = int(moves.source[i]), int(moves.target[i])
        text = (
            f"{self.brokers[source]} {moves.source_before[i]:.0f} → {moves.source_after[i]:.0f}"
            f"   {self.brokers[target]} {moves.target_before[i]:.0f} → {moves.target_after[i]:.0f}"
        )
        against = []
        if moves.target_before[i] > moves.mean[i]:
            against.append("to above average")
        elif moves.target_before[i] > moves.source_before[i]:
            against.append("uphill")
        if moves.is_fallback[i]:
            against.append("drawn among all, since nobody passed the placer's bar")
        last_s, last_source = self.unloaded.get(bundle, (-math.inf, -1))
        if time_s - last_s < _AGAIN_S:
            back = "back" if last_source == target else "again"
            against.append(f"{back} after {(time_s - last_s) / 60:.0f} min")
        self.unloaded[bundle] = (time_s, source)
        return self.bundles[bundle], text + (f"   ! {', '.join(against)}" if against else "")

    def _ranked(self, values: Floats, form: str) -> str:
        """Return a number for each broker as text, highest first if there are many."""
        known = np.flatnonzero(~np.isnan(values))
        if len(known) <= _NAMED_MAX:
            return "  ".join(f"{self.brokers[i]} {form.format(values[i])}" for i in known)
        order = known[np.argsort(-values[known], kind="stable")]
        ends = (order[:_NAMED_AT_EITHER_END], order[-_NAMED_AT_EITHER_END:])
        high, low = (
            "  ".join(f"{self.brokers[i]} {form.format(values[i])}" for i in end) for end in ends
        )
        return f"{high}  …  {low}"


def history(answer: Result) -> Iterator[str]:
    """Return a run round by round; stretches in which nothing happened take a line."""
    return History(answer).lines()


def happenings(answer: Result) -> list[tuple[float, str]]:
    """Return what happened to the cluster, and when, s; in order of time."""
    world = answer.run.world
    brokers = short_brokers(world.machines.names)
    together = itertools.groupby(world.events, lambda e: (e.time_s, e.kind, e.value))
    moments = [(key[0], _happened(list(events), brokers)) for key, events in together]
    if world.event_s > 0:
        moments.append((world.event_s, "from here on outcomes count"))
    return sorted(moments, key=itemgetter(0))


def _happened(events: Sequence[Event], brokers: Sequence[str]) -> str:
    """Return what happened to several at once; all is of one kind."""
    subjects = [subject for event in events for subject in event.subjects]
    kind, value = events[0].kind, events[0].value
    who = "" if kind is Kind.SPLIT else _listed([brokers[i] for i in subjects])
    on_off, s = "on" if value else "off", "s" if len(subjects) == 1 else ""
    return _HAPPENED[kind].format(who=who, value=value, n=len(subjects), on_off=on_off, s=s)


def _listed(names: Sequence[str]) -> str:
    """Return names as text, the first few of many."""
    if len(names) <= _NAMED_MAX:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED_AT_EITHER_END])} and {len(names) - _NAMED_AT_EITHER_END} more"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def short_brokers(names: Sequence[str]) -> tuple[str, ...]:
    """Return names without the port, if that leaves names that differ.

    >>> short_brokers(["b1:8080", "b2:8080"])
    ('b1', 'b2')
    >>> short_brokers(["host:8080", "host:8081"])
    ('host:8080', 'host:8081')
    """
    hosts = tuple(name.rpartition(":")[0] or name for name in names)
    return hosts if len(set(hosts)) == len(names) else tuple(names)


def short_bundles(names: Sequence[str]) -> tuple[str, ...]:
    """Return names without the namespace, if there is one only, and the zeros of hashes.

    >>> short_bundles(["t/n/0x00000000_0x40000000", "t/n/0x40000000_0x80000000"])
    ('0x0_0x4', '0x4_0x8')
    >>> short_bundles(["t/n/0x00000000_0xffffffff", "t/m/0x00000000_0xffffffff"])
    ('t/n/0x0_0xffffffff', 't/m/0x0_0xffffffff')
    """
    cut = [name.rpartition("/") for name in names]
    is_one = len({namespace for namespace, _, _ in cut}) == 1
    short = tuple(
        _short_range(last) if is_one else f"{namespace}/{_short_range(last)}"
        for namespace, _, last in cut
    )
    return short if len(set(short)) == len(names) else tuple(names)


def _short_range(bundle: str) -> str:
    ends = bundle.split("_")
    if not all(end.startswith("0x") and len(end) == 10 for end in ends):
        return bundle
    return "_".join(end.rstrip("0") if end != "0x00000000" else "0x0" for end in ends)
