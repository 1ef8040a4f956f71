"""What a published picture shows of a run besides its outcomes: a number for each thing read off.

Each number is a method of `Picture`, whose docstring says what is read; `NUMBERS` names them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.lab.outcomes import MEASURES, Measure, trajectory
from trimtab.lab.outcomes.aftermath import Aftermath, aftermath
from trimtab.lab.simulate.world import Run
from trimtab.pulsar.model import Floats

#: s at the end of a run over which its last state is averaged.
_END_S = 600.0
#: s since the event within which the hottest broker of the start is looked for: a level knows
#: the traffic that has just begun.
_START_S = 300.0
#: s after the first trigger, from and to, over which what it did is averaged: reports are a
#: minute old, and the figure is read when they are in.
_AFTER_S = (180.0, 360.0)
#: Share of the sources that have to have given something up; a hundred never all do.
_NEARLY_ALL = 0.95


@dataclass(frozen=True, slots=True)
class Picture:
    """A run, and what came of it since the event: what is read off."""

    aftermath: Aftermath
    run: Run

    def unloads_per_hour(self) -> float:
        """Unloads in an hour, on average since the event."""
        world = self.run.world
        return len(self.aftermath.counted) * 3600 / (world.duration_s - world.event_s)

    def first_trigger_unloads(self) -> float:
        """Bundles that the first round that moved something moved; NaN if none did."""
        moved = self.aftermath.round_moved[self.aftermath.round_moved > 0]
        return float(moved[0]) if len(moved) else np.nan

    def waves(self) -> float:
        """Waves of unloads: a new one begins where another broker gives bundles up."""
        return float(len(self._waves()))

    def first_wave_unloads(self) -> float:
        """Unloads of the first wave; 0 if there is none."""
        return float(next(iter(self._waves()), 0))

    def second_wave_unloads(self) -> float:
        """Unloads of the second wave; 0 if there is none."""
        return float(next(iter(self._waves()[1:]), 0))

    def random_placements(self) -> float:
        """Unloads that were placed at random, as nobody was below the placer's bar."""
        return float(self.aftermath.shed.is_fallback[self.aftermath.counted].sum())

    def random_streak(self) -> float:
        """Unloads in a row that were placed at random, at most."""
        is_random = self.aftermath.shed.is_fallback[self.aftermath.counted].tolist()
        streaks = (len(list(row)) for is_one, row in itertools.groupby(is_random) if is_one)
        return float(max(streaks, default=0))

    def hottest_percent(self) -> float:
        """Highest level of the first five minutes."""
        return float(np.nanmax(self._first()))

    def hottest_falls_to_percent(self) -> float:
        """Lowest level that the broker that was hottest at first comes to from there."""
        top, broker = np.unravel_index(np.nanargmax(self._first()), self._first().shape)
        return float(np.nanmin(self.aftermath.levels[top:, broker]))

    def strong_percent(self) -> float:
        """Level of the strongest machine in the last ten minutes."""
        return float(self._end()[self._is_strongest()].mean())

    def weak_percent(self) -> float:
        """Mean level of all machines but the strongest in the last ten minutes; NaN if all are."""
        weak = self._end()[~self._is_strongest()]
        return float(weak.mean()) if len(weak) else np.nan

    def coldest_percent(self) -> float:
        """Lowest level of a broker in the last ten minutes."""
        return float(np.nanmin(self._end()))

    def score_ratio(self) -> float:
        """Highest score by lowest in the last ten minutes, the median of its rounds.

        UniformLoadShedder's scores are messages/s.
        """
        rounds, last_s = self.run.rounds, self.run.world.duration_s - _END_S
        scores = rounds.scores[rounds.time_s > last_s].astype(np.float64)
        if not scores.size or np.isnan(scores).all():
            return np.nan
        with np.errstate(divide="ignore"):
            return float(np.nanmedian(np.nanmax(scores, axis=1) / np.nanmin(scores, axis=1)))

    def coldest_after_percent(self) -> float:
        """Usage of the coldest broker in the fourth to sixth minute after the first trigger."""
        after = self._after_first()
        return float(after.min()) if len(after) else np.nan

    def others_after_percent(self) -> float:
        """Mean usage of all brokers but the coldest in those minutes."""
        after = np.sort(self._after_first())
        return float(after[1:].mean()) if len(after) > 1 else np.nan

    def sources_touched_min(self) -> float:
        """Minutes until 95 of 100 brokers that were there have given a bundle up; or infinite."""
        aftermath, run = self.aftermath, self.run
        were_up = ~np.isnan(run.usage[max(0, int(run.world.event_s / run.tick_s) - 1)])
        enough = int(np.ceil(_NEARLY_ALL * were_up.sum()))
        sources, first = np.unique(aftermath.shed.source[aftermath.counted], return_index=True)
        times = np.sort(aftermath.shed_s[aftermath.counted][first[were_up[sources]]])
        return float(times[enough - 1] / 60) if len(times) >= enough else np.inf

    def after_first_percent(self) -> float:
        """Usage of the first broker that gave bundles up, when that round was over."""
        return self._source_end(0)

    def after_second_percent(self) -> float:
        """Usage of the first broker that gave bundles up after the second round that moved some.

        NaN if there is none, or if another broker gave them up.
        """
        return self._source_end(1)

    def next_score_percent(self) -> float:
        """Score of the first broker that gave bundles up, one round later.

        Of strategies whose scores are fractions, such as ThresholdShedder.
        """
        return self._later_score(1)

    def second_score_percent(self) -> float:
        """Score of the first broker that gave bundles up, two rounds later; of such strategies."""
        return self._later_score(2)

    def _waves(self) -> list[int]:
        """Return the count of unloads of each wave, in order of time."""
        sources = self.aftermath.shed.source[self.aftermath.counted].tolist()
        return [len(list(wave)) for _, wave in itertools.groupby(sources)]

    def _first(self) -> NDArray[np.float32]:
        """Return the levels of the first five minutes."""
        return self.aftermath.levels[: max(1, round(_START_S / self.aftermath.step_s))]

    def _end(self) -> Floats:
        """Return each broker's mean level over the last ten minutes; NaN if it was down."""
        n_last = max(1, round(_END_S / self.aftermath.step_s))
        return np.asarray(self.aftermath.levels[-n_last:].astype(np.float64).mean(axis=0))

    def _is_strongest(self) -> NDArray[np.bool_]:
        capacity = self.run.world.machines.capacity
        return np.asarray(capacity == capacity.max())

    def _after_first(self) -> Floats:
        """Return each broker's mean usage some minutes after the first trigger; empty without."""
        aftermath = self.aftermath
        triggers = aftermath.round_s[aftermath.round_moved > 0]
        if not len(triggers):
            return np.empty(0)
        begin, end = (int((triggers[0] + after) / aftermath.step_s) for after in _AFTER_S)
        usage = aftermath.usage[begin:end].astype(np.float64)
        known = usage[:, ~np.isnan(usage).any(axis=0)]
        return np.asarray(known.mean(axis=0)) if len(known) else np.empty(0)

    def _source_end(self, place: int) -> float:
        """Return the usage in which a round that moved something left the first source."""
        shed, counted = self.aftermath.shed, self.aftermath.counted
        rounds = list(dict.fromkeys(shed.round[counted].tolist()))
        if place >= len(rounds):
            return np.nan
        source = shed.source[counted[0]]
        is_of = (shed.round[counted] == rounds[place]) & (shed.source[counted] == source)
        ends = shed.source_end[counted][is_of]
        return float(ends[0]) if len(ends) else np.nan

    def _later_score(self, rounds_later: int) -> float:
        """Return the first source's score some rounds after the one in which it was one."""
        shed, counted = self.aftermath.shed, self.aftermath.counted
        if not len(counted):
            return np.nan
        place = int(shed.round[counted[0]]) + rounds_later
        if place >= len(self.run.rounds.scores):
            return np.nan
        return 100 * float(self.run.rounds.scores[place, shed.source[counted[0]]])


@dataclass(frozen=True, slots=True)
class Number:
    """One number that a picture shows."""

    #: In words, for a table that people read.
    title: str
    #: `min`, `%`, `points`, `1/h` and so on; empty for a count.
    unit: str
    take: Callable[[Picture], float]


#: Name → number, besides `MEASURES`.
NUMBERS: Mapping[str, Number] = {
    number.take.__name__: number
    for number in (
        Number("unloads an hour", "1/h", Picture.unloads_per_hour),
        Number("bundles of the first trigger", "", Picture.first_trigger_unloads),
        Number("waves", "", Picture.waves),
        Number("unloads of the first wave", "", Picture.first_wave_unloads),
        Number("unloads of the second wave", "", Picture.second_wave_unloads),
        Number("random placements", "", Picture.random_placements),
        Number("random placements in a row", "", Picture.random_streak),
        Number("hottest broker at first", "%", Picture.hottest_percent),
        Number("the same at its lowest", "%", Picture.hottest_falls_to_percent),
        Number("strong machine at the end", "%", Picture.strong_percent),
        Number("weak machines at the end", "%", Picture.weak_percent),
        Number("coldest broker at the end", "%", Picture.coldest_percent),
        Number("highest rate by lowest at the end", "times", Picture.score_ratio),
        Number("coldest broker after the first trigger", "%", Picture.coldest_after_percent),
        Number("the others then", "%", Picture.others_after_percent),
        Number("95 of 100 sources touched", "min", Picture.sources_touched_min),
        Number("source after the first unloads", "%", Picture.after_first_percent),
        Number("source after the second unloads", "%", Picture.after_second_percent),
        Number("its score a round later", "%", Picture.next_score_percent),
        Number("its score two rounds later", "%", Picture.second_score_percent),
    )
}

#: Name → title and unit of everything that a published number can be held against.
MEANINGS: Mapping[str, Measure | Number] = {**MEASURES, **NUMBERS}


def numbers(run: Run) -> dict[str, float]:
    """Return every number of a run.

    Returns:
        A number for each of `NUMBERS`, in that order; NaN for all if the run was cut.
    """
    if run.is_cut:
        return dict.fromkeys(NUMBERS, np.nan)
    picture = Picture(aftermath(trajectory(run)), run)
    return {name: number.take(picture) for name, number in NUMBERS.items()}


def value_of(row: Mapping[str, Any], name: str) -> float:
    """Return a number or an outcome of a row of the outcomes table; NaN if it is not there."""
    value = row[name] if name in row else dict(row["numbers"] or ()).get(name)
    return np.nan if value is None else float(value)
