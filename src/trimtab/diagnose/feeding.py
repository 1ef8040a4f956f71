"""Many samples fed to many averages, one after the other, to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from trimtab.load_data.bundle_averages import averaged
from trimtab.model import Flags, Floats, Ints

#: New samples of some averages, as their places and (4, n_places) numbers; or None: each
#: average takes the sample that it has by then.
Step: TypeAlias = tuple[Ints, Floats] | None


def feed(average: Floats, taken: Ints, most: int, sample: Floats, steps: Sequence[Step]) -> Flags:
    """Take steps, the last of which feeds.

    Args:
        average: (4, n) METRICS so far; changed in place.
        taken: (n,) samples in each, never more than `most`; changed in place.
        most: the greatest number of samples.
        sample: (4, n) the newest of each; changed in place.
        steps: in their order.

    Returns:
        (n,) is at rest: the same sample once more would change nothing.

    Properties:
        The numbers are those of as many calls of `averaged`.
        What is fed the same comes to rest: each time the distance becomes a share of itself,
        and rounding does not turn it back.
    """
    young = np.flatnonzero(taken < most)
    before = average
    with np.errstate(all="ignore"):
        for number, step in enumerate(steps, 1):
            if step is not None:
                places, numbers = step
                sample[:, places] = numbers
                continue
            if number == len(steps):
                before = average.copy()
            early = average[:, young]
            # As `averaged` has it, in place; with one number for all in half the time.
            average *= np.float64(most - 1)
            average += sample
            average /= np.float64(most)
            if young.size:
                taken[young] = counts = np.minimum(taken[young] + 1, most)
                average[:, young] = averaged(early.T, counts[:, None], sample[:, young].T).T
    return np.asarray((average == before).all(axis=0) & (taken == most))
