"""The leader's averages of all bundles as arrays, fed to the last bit as Pulsar feeds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from trimtab.pulsar.leader.bundle_rows import BundleRows
from trimtab.pulsar.leader.feed import Feedings, are_at_rest, decisive, feed, feedings, turns
from trimtab.pulsar.leader.samples import Samples, Waiting
from trimtab.pulsar.leader.time_average import (
    DEFAULT_STATS,
    LONG_SAMPLES,
    SHORT_SAMPLES,
    averaged,
)
from trimtab.pulsar.model import BundleData, Flags, Floats, Ints

#: Samples that wait at most, if nobody looks: some 15 MB.
_WAITING_MAX = 1 << 18
# How often a few rows alone are fed: each time all that waits is looked at, and more often it is
# as well to feed all.
_FEW_MAX = 64
_NO_ROWS, _NO_SAMPLES, _ONE_WITHOUT = np.empty(0, np.int64), np.empty((0, 5)), np.zeros(1, np.int64)


@dataclass(frozen=True, slots=True)
class Average:
    """Averages of some bundles, a row each (Pulsar: `BundleData`)."""

    short_samples: Ints
    #: (n, 4) METRICS.
    short: Floats
    long_samples: Ints
    #: (n, 4) METRICS.
    long: Floats
    topics: Floats
    #: Which objects they are: a bundle forgotten and met again has another.
    number: Ints

    def part(self, rows: Ints | slice) -> Average:
        """Return some of them."""
        return Average(
            self.short_samples[rows],
            self.short[rows],
            self.long_samples[rows],
            self.long[rows],
            self.topics[rows],
            self.number[rows],
        )


@dataclass(slots=True)
class _Columns:
    """Room for averages; rows are the last axis, so that feeding walks through memory."""

    size: int
    short: Floats = field(init=False)
    long: Floats = field(init=False)
    short_samples: Ints = field(init=False)
    long_samples: Ints = field(init=False)
    topics: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Fill it with Pulsar's defaults."""
        self.short, self.long = np.tile(np.array(DEFAULT_STATS)[:, None], (2, 1, self.size))
        self.short_samples, self.long_samples = np.zeros((2, self.size), np.int64)
        self.topics = np.zeros(self.size)

    def enlarged(self, size: int) -> _Columns:
        """Return the same with more room behind."""
        larger, rows = _Columns(size), slice(self.size)
        larger.short[:, rows], larger.long[:, rows] = self.short, self.long
        larger.short_samples[rows], larger.long_samples[rows] = (
            self.short_samples,
            self.long_samples,
        )
        larger.topics[rows] = self.topics
        return larger

    def put(self, rows: Ints, averages: Average) -> None:
        """Set rows."""
        self.short[:, rows], self.long[:, rows] = averages.short.T, averages.long.T
        self.short_samples[rows] = averages.short_samples
        self.long_samples[rows] = averages.long_samples
        self.topics[rows] = averages.topics


@dataclass(slots=True)
class LeaderAverages:
    """What the leader remembers of bundles; a bundle has a row from when it is named first.

    Feeding waits until somebody looks: between two rounds of a large cluster hundreds of
    samples are fed, and most averages are at rest, since the same changes them no more.
    What is stored before anybody looks need not be fed at all.

    Properties:
        The numbers are those of as many calls of `averaged`, to the last bit.
    """

    #: The averages of a thousand samples are kept too; without them they are NaN.  Few
    #: strategies read them, and to feed them is as much work as to feed the short ones.
    keeps_long: bool = True
    bundles: BundleRows = field(default_factory=BundleRows)
    #: Rows of the bundles with averages in the metadata store, in the order in which they got them.
    stored: dict[int, None] = field(default_factory=dict)
    #: (n_rows,) it has averages there.
    _is_stored: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    #: Grows whenever anything changes.
    version: int = 0
    #: (n_rows,) reports that give numbers of it.
    reported: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    _now: _Columns = field(default_factory=lambda: _Columns(0))
    _store: _Columns = field(default_factory=lambda: _Columns(0))
    _shown: tuple[int, BundleData] | None = None
    #: Samples that wait at most; whoever has them in memory anyhow may let more wait.
    waiting_max: int = _WAITING_MAX
    #: How often a few rows alone are fed while the rest waits.
    few_max: int = _FEW_MAX
    #: How often a few rows alone have been fed since all were.
    _few: int = 0
    #: Feedings so far, and how many of them all rows have had.
    _feedings: int = 0
    _settled: int = 0
    #: (n_rows,) is fed: one report gave numbers of it at the last feeding.
    _fed: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    #: (n_rows,) feedings that what it has now stands for, if it is fed.
    _since: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    #: Rows of which more or fewer reports give numbers since, or that are met or forgotten.
    _changed: list[Ints] = field(default_factory=list)
    #: What was told since all rows had as many.
    _waiting: Waiting = field(default_factory=Waiting)
    #: (5, n_rows) the newest sample of each row that was told before, with topics.
    _sample: Floats = field(default_factory=lambda: np.zeros((5, 0)))
    #: (2, n_rows) the short and the long average may change when fed that sample.
    _moving: Flags = field(default_factory=lambda: np.zeros((2, 0), np.bool_))

    def rows(self, bundles: Sequence[str]) -> Ints:
        """Return the rows of bundles; those not named before get new ones."""
        rows = self.bundles.rows(bundles)
        self._make_room(len(self.bundles.at))
        return rows

    def meet(self, bundle: str) -> int:
        """Make averages of a bundle that is not known, of Pulsar's defaults; return its row."""
        at = self.bundles.at
        row = at[bundle] if bundle in at else int(self.rows([bundle])[0])
        if bundle not in self.bundles.known:
            self._know(np.array([row]))
            self._begin_anew(row)
            self._now.short[:, row] = self._now.long[:, row] = DEFAULT_STATS
            self._now.short_samples[row] = self._now.long_samples[row] = 0
            self._now.topics[row] = 0.0
        return row

    def forget(self, bundle: str) -> None:
        """Drop a bundle."""
        row = self.bundles.known[bundle]
        self.bundles.forget(np.array([row]))
        # What waits to be fed to it nobody will ask for.
        self._begin_anew(row)
        self.version += 1

    def report(self, rows: Ints, more: int) -> None:
        """Count that so many more reports give numbers of some rows, each named once."""
        self.reported[rows] += more
        self._changed.append(rows)

    def tell(self, rows: Ints, samples: Floats) -> None:
        """Give rows, each named once, their newest samples, (n, 5) METRICS and topics."""
        self._waiting.tell(self._feedings, rows, samples)

    def feed(self) -> None:
        """Feed every bundle of which one report gives numbers its newest sample."""
        self.feed_each(_NO_ROWS, _NO_SAMPLES, _ONE_WITHOUT)

    def feed_each(self, rows: Ints, samples: Floats, sizes: Ints) -> None:
        """Feed every bundle each time that some rows, or none, were given their newest samples.

        Args:
            rows: (n_told,) of one time after the other.
            samples: (n_told, 5) METRICS and topics.
            sizes: (n_times,) how many rows were given some each time.
        """
        if self._changed:
            self._regroup()
        self._waiting.tell_each(self._feedings, rows, samples, sizes)
        self.version += sizes.size
        self._feedings += sizes.size
        if self._waiting.size >= self.waiting_max:
            self._settle()

    def feed_rows(self, rows: Ints, samples: Floats) -> None:
        """Feed some rows, each once, a sample each, (n, 5) with topics.

        Not one report gives numbers of them, so that nothing that waits is theirs.
        """
        now = self._now
        self.version += 1
        for average, counts, most in self._terms():
            taken = np.minimum(counts[rows] + 1, most)
            counts[rows] = taken
            average[:, rows] = averaged(average[:, rows].T, taken[:, None], samples[:, :4]).T
        now.topics[rows] = samples[:, 4]

    def store(self, bundles: Sequence[str], averages: Average) -> Ints:
        """Set bundles' averages to what the leader itself wrote; return their rows."""
        rows = self.rows(bundles)
        self._begin(rows)
        self._store.put(rows, averages)
        self.stored.update(dict.fromkeys(rows[~self._is_stored[rows]].tolist()))
        self._is_stored[rows] = True
        self._now.put(rows, averages)
        new = dict.fromkeys(rows[~self.bundles.is_known[rows]].tolist())
        self._know(np.array(list(new), np.int64))
        # To look costs as much as all that waits, so not for the sake of a few.
        if 2 * rows.size > len(self.bundles.known):
            stale = self._waiting.drop(self._since)
            self._sample[:, stale.rows] = stale.samples.T
            self._moving[:, stale.rows] = True
        return rows

    def start(self) -> None:
        """Know what is in the metadata store, and nothing else."""
        self._begin(np.arange(self.reported.size))
        self.bundles.forget_all()
        self._now = self._store.enlarged(self._store.size)
        self._know(np.array(list(self.stored), np.int64))

    def of(self, rows: Ints) -> Average:
        """Return the averages of some rows."""
        self._settle(rows)
        now = self._now
        return Average(
            now.short_samples[rows],
            now.short.take(rows, axis=1).T,
            now.long_samples[rows],
            now.long.take(rows, axis=1).T if self.keeps_long else np.full((rows.size, 4), np.nan),
            now.topics[rows],
            self.bundles.numbers[rows],
        )

    def short(self, rows: Ints) -> Floats:
        """Return the short-term averages of some rows, (n, 4) METRICS."""
        self._settle(rows)
        return self._now.short.take(rows, axis=1).T

    def bundle_data(self) -> BundleData | None:
        """Return what is known, as strategies read it; None without long-term averages."""
        if not self.keeps_long:
            return None
        if self._shown is None or self._shown[0] != self.version:
            at = self.bundles.known
            known = self.of(np.fromiter(at.values(), np.int64, len(at)))
            columns = (
                known.short,
                known.short_samples[:, None],
                known.long,
                known.long_samples[:, None],
                known.topics[:, None],
            )
            rows = {bundle: i for i, bundle in enumerate(at)}
            self._shown = self.version, BundleData(rows, known.number, np.hstack(columns))
        return self._shown[1]

    def settle(self) -> None:
        """Feed all that waits, so that no sample is kept for later."""
        self._settle()

    def _terms(self) -> tuple[tuple[Floats, Ints, int], ...]:
        """Return what is fed: averages, how many samples are in them, and how many at most."""
        now = self._now
        terms = (
            (now.short, now.short_samples, SHORT_SAMPLES),
            (now.long, now.long_samples, LONG_SAMPLES),
        )
        return terms if self.keeps_long else terms[:1]

    def _begin_anew(self, row: int) -> None:
        """Have a row be fed from the next feeding on, if at all."""
        self._fed[row] = False
        self._changed.append(np.array([row]))

    def _begin(self, rows: Ints) -> None:
        """Have what rows hold stand for all feedings so far."""
        self._since[rows] = self._feedings
        self._moving[:, rows] = True

    def _regroup(self) -> None:
        """Say anew what is fed.

        A new one is fed from here on, and of one that was forgotten nothing is asked.
        """
        rows = np.unique(np.concatenate(self._changed))
        self._changed.clear()
        fed, to_be_fed = self._fed[rows], self.reported[rows] == 1
        if (gone := rows[fed & ~to_be_fed]).size:
            self._settle(gone)
        self._fed[rows] = to_be_fed
        self._begin(rows[to_be_fed & ~fed])

    def _settle(self, rows: Ints | None = None) -> None:
        """Feed rows what waits for them; or all, if that is hardly more to do."""
        if self._settled == self._feedings or (rows is not None and rows.size == 0):
            return
        is_few = rows is not None and rows.size < len(self.bundles.at) // 2
        if is_few and self._few < self.few_max:
            self._few += 1
            mine = np.zeros(self._fed.size, np.bool_)
            mine[rows] = self._fed[rows]
            self._bring(self._waiting.before(self._feedings).of(mine), self._feedings, mine)
            return
        for new, until in self._waiting.take(self._feedings):
            touched = self._fed.copy()
            touched[new.rows] = True
            self._bring(new, until, self._fed)
            self._sample[:, new.rows] = new.samples.T
            self._look_for_rest(np.flatnonzero(touched))
        self._settled, self._few = self._feedings, 0

    def _bring(self, new: Samples, until: int, which: Flags) -> None:
        """Bring some rows up to a number of feedings."""
        since = np.where(which, self._since, until)
        rows = np.flatnonzero(since < until)
        # What was stored over since is told of in vain: half of all, where every second is stored.
        new = new.of(since < until)
        first = np.full(since.size, until)
        first[new.rows[::-1]] = new.at[::-1]  # of what a row is told the first stays
        times = first[rows] - since[rows]
        fed = feedings(new, since, until)
        for (average, counts, most), moving in zip(self._terms(), self._moving, strict=False):
            sample = self._sample[:4].take(rows, axis=1)
            greatest = np.abs(np.hstack([average.take(rows, axis=1), sample])).max(
                axis=1, initial=0.0
            )
            greatest = np.maximum(greatest, np.abs(fed.samples[:, :4]).max(axis=0, initial=0.0))
            left, stand_in = decisive(fed, greatest, most)
            is_fed = (times > 0) & moving[rows] & ~np.isin(rows, stand_in.rows)
            mine = rows[is_fed]
            average[:, stand_in.rows], counts[stand_in.rows] = stand_in.samples[:, :4].T, most
            self._feed((average, counts, most), Feedings(mine, sample[:, is_fed].T, times[is_fed]))
            for turn in turns(left):
                self._feed((average, counts, most), turn)
        self._now.topics[rows] = self._sample[4, rows]
        last = fed.ends() - 1
        self._now.topics[fed.rows[last]] = fed.samples[last, 4]
        self._since[rows] = until

    def _feed(self, term: tuple[Floats, Ints, int], turn: Feedings) -> None:
        """Feed some rows alone: they lie together then, and all of them in a core's cache."""
        average, samples, most = term
        values, taken = average.take(turn.rows, axis=1), samples[turn.rows]
        feed(values, taken, most, np.ascontiguousarray(turn.samples[:, :4].T), turn.times)
        average[:, turn.rows], samples[turn.rows] = values, taken

    def _look_for_rest(self, rows: Ints) -> None:
        """Find out which rows may change when fed the sample that they have."""
        sample = self._sample[:4].take(rows, axis=1)
        for (average, samples, most), moving in zip(self._terms(), self._moving, strict=False):
            is_at_rest = are_at_rest(average.take(rows, axis=1), most, sample)
            moving[rows] = ~(is_at_rest & (samples[rows] == most))

    def _know(self, rows: Ints) -> None:
        self.bundles.know(rows)
        self.version += 1

    def _make_room(self, count: int) -> None:
        if count <= self.reported.size:
            return
        size, old_size = max(16, 2 * count), self.reported.size
        self._now, self._store = self._now.enlarged(size), self._store.enlarged(size)
        more = size - old_size
        self._sample = np.pad(self._sample, ((0, 0), (0, more)))
        self._since = np.pad(self._since, (0, more))
        self._moving = np.pad(self._moving, ((0, 0), (0, more)))
        self.reported = np.pad(self.reported, (0, more))
        self._fed = np.pad(self._fed, (0, more))
        self._is_stored = np.pad(self._is_stored, (0, more))
