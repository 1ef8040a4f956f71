"""Many samples fed to many averages, one after the other, to the last bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.load_data.bundle_averages import averaged
from trimtab.model import Flags, Floats, Ints


@dataclass(frozen=True, slots=True)
class Samples:
    """New samples of some averages, in the order in which they came, and when all are fed."""

    #: (n_told,) which average each is of.
    places: Ints
    #: (4, n_told) METRICS.
    samples: Floats
    #: How many had come by each feeding, one feeding after the other.
    by: Sequence[int]
    #: Number of a feeding, from 0 → averages that are fed from it on only.
    first: Mapping[int, Ints]


def feed(average: Floats, taken: Ints, most: int, sample: Floats, told: Samples) -> Flags:
    """Feed each average the newest sample that it has by then, time after time.

    Args:
        average: (4, n) METRICS so far; changed in place.
        taken: (n,) samples in each, never more than `most`; changed in place.
        most: the greatest number of samples.
        sample: (4, n) the newest of each; changed in place.
        told: what comes meanwhile, with one feeding at least.

    Returns:
        (n,) is at rest: the same sample once more would change nothing.

    Properties:
        The numbers are those of as many calls of `averaged`.
        What is fed the same comes to rest: each time the distance becomes a share of itself,
        and rounding does not turn it back.
    """
    young = np.flatnonzero(taken < most)
    before, known = average, 0
    begun = (average.copy(), taken.copy()) if told.first else (average, taken)
    with np.errstate(all="ignore"):
        for number, by in enumerate(told.by):
            if (new := told.first.get(number)) is not None:
                average[:, new], taken[new] = begun[0][:, new], begun[1][new]
                young = np.flatnonzero(taken < most)
            if by > known:
                sample[:, told.places[known:by]] = told.samples[:, known:by]
                known = by
            if number == len(told.by) - 1:
                before = average.copy()
            early = average[:, young] if young.size else average
            # As `averaged` has it, in place; with one number for all in half the time.
            average *= np.float64(most - 1)
            average += sample
            average /= np.float64(most)
            if young.size:
                taken[young] = counts = np.minimum(taken[young] + 1, most)
                average[:, young] = averaged(early.T, counts[:, None], sample[:, young].T).T
                young = young[counts < most]
    return np.asarray((average == before).all(axis=0) & (taken == most))
