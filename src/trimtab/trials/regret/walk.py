"""Looks at a recorded cluster, and what its leader decided → each decision beside the best one.

Costs are those that were known at that moment: nothing that came later is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.lab.costs import Knowledge, Windows, learned, nothing_known
from trimtab.lab.costs.knowledge import with_bundles
from trimtab.lab.frontier import NO_MOVES, Moves, Question, fewest, frontier, moved
from trimtab.lab.frontier.question import ROUNDING
from trimtab.lab.planning.draws import drawn_peaks, drawn_questions
from trimtab.lab.reconstruct.evidence import Evidence
from trimtab.lab.reconstruct.looks import looks
from trimtab.pulsar.model import Floats, Ints
from trimtab.trials.regret.network import Network, cards, network
from trimtab.trials.regret.standing import Standing, is_there, standing

#: Points below which a peak is as low as another.
SAME_POINTS = 0.5
#: Of draws in which costs may be so, those that lie in an interval.
SHARE = 0.8
#: Moves of a night up to which its decisions are judged: the lowest peaks are searched for each.
MOVES_MAX = 1_000
# Draws for which the fewest moves are searched; those of all rounds draw the same costs.
_DRAWS = 25
_SEED = 18
# Pairs of bundles and brokers up to which integer programming decides: a night has many rounds.
_CHOICES_MAX = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """What a leader unloaded in one round, by positions; -1 for what no report tells of."""

    round: int
    time_s: float
    bundle: Ints
    source: Ints
    target: Ints


@dataclass(frozen=True, slots=True)
class Peak:
    """Usage of the busiest resource of the busiest broker, percent, with its interval."""

    percent: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Judged:
    """A decision beside what as many moves could have done."""

    decision: Decision
    before: Peak
    after: Peak
    possible: Peak
    #: (moves + 1,) the lowest peak with 0, 1, … moves, and what no plan is below, percent.
    peaks: Floats
    bounds: Floats
    #: Moves that were needed to come as low as the decision did; and how many if costs, speeds
    #: and levels were as they are drawn, (n_draws,), draw by draw as in all other decisions.
    needed: int
    needed_drawn: Ints
    #: Points by which the decision missed what was possible, and between what that lies.
    missed: Peak


@dataclass(frozen=True, slots=True)
class Open:
    """A decision that cannot be judged, and why."""

    decision: Decision
    why: str


def judged(
    evidence: Evidence, windows: Windows, decisions: Sequence[Decision], weights: Floats
) -> Iterator[Judged | Open]:
    """Yield each decision, in order of time, beside what was possible then.

    Args:
        evidence: of a recording.
        windows: over how long its brokers take means.
        decisions: in order of time.
        weights: (3,) how much CPU, NIC in and NIC out count in a broker's usage.

    Properties:
        What comes after a decision changes nothing of what is said of it.
    """
    known = nothing_known(evidence.brokers, evidence.bundles)
    walk = _Walk(evidence, network(evidence), weights)
    within = list(_within(decisions))
    waiting = within.copy()
    for look in looks(evidence, windows.host_s):
        # The next decision in the same window goes out from what this one did.
        now = known
        while waiting and waiting[0].time_s < look.time_s:
            now = _owned(now, waiting[0].bundle, waiting[0].source)
            yield walk.judged(now, waiting[0])
            now = _owned(now, waiting[0].bundle, waiting[0].target)
            del waiting[0]
        known = learned(known, look, windows)
    for decision in waiting:
        known = _owned(known, decision.bundle, decision.source)
        yield walk.judged(known, decision)
        known = _owned(known, decision.bundle, decision.target)
    for decision in decisions[len(within) :]:
        yield Open(
            decision, f"{MOVES_MAX:,} moves were judged before it: cut the recording in time"
        )


def _within(decisions: Sequence[Decision]) -> Iterator[Decision]:
    """Yield the first decisions, up to so many moves as are judged."""
    count = 0
    for decision in decisions:
        count += decision.bundle.size
        if count > MOVES_MAX:
            return
        yield decision


@dataclass(frozen=True, slots=True)
class _Walk:
    """What does not change while a recording is walked through."""

    evidence: Evidence
    network: Network
    weights: Floats

    def judged(self, known: Knowledge, decision: Decision) -> Judged | Open:
        """Return a decision beside the best one by what was known before it."""
        n_brokers = len(self.evidence.brokers)
        there = is_there(self.evidence.reports, decision.time_s, n_brokers)
        nics = cards(self.network, decision.time_s, known.bundles, n_brokers)
        now = standing(known, nics, there, self.weights)
        if why := self._obstacle(now.question, known, decision):
            return Open(decision, why)
        real = _net(decision, now.question.owner)
        best = frontier(now.question, real.bundle.size, _CHOICES_MAX)
        peaks, possible = best.peak, best.moves[-1]
        after = _peak(now.question, real)
        if after < peaks[-1] + ROUNDING:
            # What was done is possible, too.
            peaks, possible = np.append(peaks[:-1], after), real
        plans = (NO_MOVES, real, possible)
        drawn = drawn_peaks(now.question, now.columns, plans, np.random.default_rng(decision.round))
        return Judged(
            decision=decision,
            before=_around(now.question.peak, drawn[0]),
            after=_around(after, drawn[1]),
            possible=_around(float(peaks[-1]), drawn[2]),
            peaks=peaks,
            bounds=best.bound,
            needed=int(np.argmax(peaks <= after + SAME_POINTS)),
            needed_drawn=_needed(now, real),
            missed=_around(after - float(peaks[-1]), drawn[1] - drawn[2]),
        )

    def _obstacle(self, asked: Question, known: Knowledge, decision: Decision) -> str:
        """Return what would have to be known to judge a decision; blank if it is."""
        names, brokers = self.evidence.bundles, self.evidence.brokers
        for bundle, source, target in zip(
            decision.bundle.tolist(),
            decision.source.tolist(),
            decision.target.tolist(),
            strict=True,
        ):
            if bundle < 0 or source < 0 or known.bundles.windows[bundle] == 0:
                name = names[bundle] if bundle >= 0 else "a bundle"
                return f"no report told of the traffic of {name} before"
            if target < 0:
                return f"where {names[bundle]} went was not recorded"
            for broker in (source, target):
                if not asked.is_counted[broker]:
                    return f"{brokers[broker]} had not measured its CPU before"
        return ""


def _owned(known: Knowledge, bundle: Ints, broker: Ints) -> Knowledge:
    """Return what is known with bundles at brokers, as far as both are known."""
    is_known = (bundle >= 0) & (broker >= 0)
    owner = known.bundles.owner.copy()
    owner[bundle[is_known]] = broker[is_known]
    return with_bundles(known, owner=owner)


def _net(decision: Decision, owner: Ints) -> Moves:
    """Return where bundles are after a decision, of those that are not where they were."""
    last = dict(zip(decision.bundle.tolist(), decision.target.tolist(), strict=True))
    kept = [(bundle, to) for bundle, to in last.items() if to != owner[bundle]]
    return Moves(*np.array(kept, np.int64).reshape(-1, 2).T)


def _peak(asked: Question, moves: Moves) -> float:
    return float(moved(asked, moves)[asked.is_counted].max(initial=0.0))


def _needed(now: Standing, real: Moves) -> Ints:
    """Return how few moves come as low as some do, (n_draws,), by what is drawn."""
    drawn = drawn_questions(now.question, now.columns, _DRAWS, np.random.default_rng(_SEED))
    few = [
        fewest(each, _peak(each, real) + SAME_POINTS, real.bundle.size, _CHOICES_MAX).moves
        for each in drawn
    ]
    # What is not found with fewer moves needs those that were made.
    return np.array([(real if each is None else each).bundle.size for each in few], np.int64)


def _around(percent: float, draws: Floats) -> Peak:
    low, high = np.quantile(draws, (0.5 - SHARE / 2, 0.5 + SHARE / 2))
    return Peak(percent, min(float(low), percent), max(float(high), percent))
