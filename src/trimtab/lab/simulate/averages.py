"""The leader's averages of every bundle, brought up to date only when somebody looks.

Between two reports of a bundle's broker all samples are equal, so many of them are as
quickly taken as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.pulsar.leader.bundle_rows import BundleRows
from trimtab.pulsar.leader.time_average import (
    DEFAULT_STATS,
    LONG_SAMPLES,
    SHORT_SAMPLES,
    left_of_average,
)
from trimtab.pulsar.model import BundleTraffic, Floats, Ints

# The same in and out.
_DEFAULT_RATE, _, _DEFAULT_THROUGHPUT, _ = DEFAULT_STATS


@dataclass(frozen=True, slots=True)
class Held:
    """One of the two averages of all bundles as it was at some time."""

    #: (n_bundles,) samples in it.
    samples: Ints
    #: (2, n_bundles) messages/s, in and out.
    rates: Floats

    def contents(self, rows: Ints, message_bytes: Floats) -> Floats:
        """Return rates and throughput, in and out, and samples of some bundles, (5, n)."""
        values = np.empty((5, rows.size))
        values[:2], values[4] = self.rates.take(rows, axis=1), self.samples.take(rows)
        # A bundle's messages have one size, so these go together but for the defaults.
        np.multiply(values[:2], message_bytes.take(rows), out=values[2:4])
        values[2:4, values[4] == 0] = _DEFAULT_THROUGHPUT
        return values


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Averages of all bundles as they were at some time, of which few are looked at."""

    short: Held
    long: Held
    #: (n_bundles,) bytes a message, and topics.
    message_bytes: Floats
    topics: Floats

    def __getitem__(self, rows: Sequence[int] | Ints, /) -> Floats:
        """Return all that makes two objects equal, as `model.BundleData` has it, (n, 11)."""
        at = np.asarray(rows, np.int64)
        values = np.empty((11, at.size))
        values[:5] = self.short.contents(at, self.message_bytes)
        values[5:10] = self.long.contents(at, self.message_bytes)
        values[10] = np.where(values[4] == 0, 0.0, self.topics.take(at))
        return values.T

    def traffic(self, rows: Ints) -> BundleTraffic:
        """Return what some bundles carry."""
        return BundleTraffic(*self.short.contents(rows, self.message_bytes)[:4])

    def reset(self, row: int) -> None:
        """Let a bundle be without samples that has been met since."""
        for held in (self.short, self.long):
            held.samples[row], held.rates[:, row] = 0, _DEFAULT_RATE


class Average:
    """One of the two averages of all bundles; all arrays are (n_bundles,)."""

    def __init__(self, samples_max: int, n_bundles: int) -> None:
        """Begin with Pulsar's defaults, which the first sample replaces."""
        #: Samples that it holds at most.
        self.samples_max = samples_max
        self.samples: Ints = np.zeros(n_bundles, np.int64)
        self._rates: Floats = np.full((2, n_bundles), _DEFAULT_RATE)
        self.rate_in, self.rate_out = self._rates

    def reset(self, bundles: Ints) -> None:
        """Begin anew."""
        self.samples[bundles] = 0
        self.rate_in[bundles] = self.rate_out[bundles] = _DEFAULT_RATE

    def feed(self, bundles: Ints | slice, count: Ints, rate_in: Floats, rate_out: Floats) -> None:
        """Take so many equal samples."""
        after, left = left_of_average(self.samples[bundles], count, self.samples_max)
        self.samples[bundles] = after
        for average, sample in ((self.rate_in, rate_in), (self.rate_out, rate_out)):
            now = average[bundles]
            now -= sample
            now *= left
            now += sample
            # Those of a slice are the averages themselves.
            if not isinstance(bundles, slice):
                average[bundles] = now

    def held(self) -> Held:
        """Return it as it is now."""
        return Held(self.samples.copy(), self._rates.copy())


class Averages:
    """The averages of all bundles (Pulsar: `bundleData`), on the clock of recomputations."""

    def __init__(self, bundles: BundleRows) -> None:
        """Begin with nothing known of bundles, whose rows are their positions."""
        self.bundles, count = bundles, len(bundles.at)
        #: Recomputations so far.
        self.clock = 0
        self.short, self.long = Average(SHORT_SAMPLES, count), Average(LONG_SAMPLES, count)
        #: (n_bundles,) recomputations that are in the averages.
        self.fed: Ints = np.zeros(count, np.int64)
        #: (n_bundles,) what the newest report says, messages/s; fed at every recomputation.
        self.sample_in: Floats = np.zeros(count)
        self.sample_out: Floats = np.zeros(count)

    def meet(self, bundles: Ints, fed: Ints | int) -> None:
        """Make averages of bundles that are not known; those that are stay as they are."""
        is_new = ~self.bundles.is_known[bundles]
        new = bundles[is_new]
        if new.size == 0:
            return
        self.bundles.know(new)
        self.fed[new] = fed if isinstance(fed, int) else fed[is_new]
        self.short.reset(new)
        self.long.reset(new)

    def resume(self, bundles: Ints, samples: Ints, average: Floats) -> None:
        """Know bundles with averages of before; shapes as in `standing.Listed`."""
        self.meet(bundles, self.clock)
        for i, term in enumerate((self.short, self.long)):
            is_fed = samples[:, i] > 0
            known = bundles[is_fed]
            term.samples[known] = samples[is_fed, i]
            term.rate_in[known], term.rate_out[known] = average[is_fed, i].T

    def sample(self, bundles: Ints, at: Ints, rate_in: Floats, rate_out: Floats) -> None:
        """Let the newest report say something else from recomputation `at` on."""
        self.feed(bundles, at - 1)
        self.sample_in[bundles], self.sample_out[bundles] = rate_in, rate_out

    def feed(self, bundles: Ints | slice, until: Ints | int) -> None:
        """Feed bundles' averages until some recomputation, with what their reports say."""
        count = until - self.fed[bundles]
        if not count.any():
            return
        sample_in, sample_out = self.sample_in[bundles], self.sample_out[bundles]
        self.short.feed(bundles, count, sample_in, sample_out)
        self.long.feed(bundles, count, sample_in, sample_out)
        self.fed[bundles] = until

    def up_to_date(self) -> None:
        """Feed everything until now."""
        self.feed(slice(None), self.clock)

    def snapshot(self, message_bytes: Floats, topics: Floats) -> Snapshot:
        """Return them as they are now."""
        return Snapshot(self.short.held(), self.long.held(), message_bytes, topics)
