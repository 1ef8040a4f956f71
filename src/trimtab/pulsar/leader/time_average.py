"""One average of a bundle: how many samples it holds, and what one more makes of it."""

from __future__ import annotations

import numpy as np

from trimtab.pulsar.model import Floats, Ints

#: The four numbers averaged for each bundle.
METRICS = ("rate_in", "rate_out", "throughput_in", "throughput_out")
#: NUM_SHORT_SAMPLES and NUM_LONG_SAMPLES of ModularLoadManagerImpl.
SHORT_SAMPLES, LONG_SAMPLES = 10, 1000
#: DEFAULT_MESSAGE_RATE and DEFAULT_MESSAGE_THROUGHPUT: messages/s in and out, bytes/s in and
#: out, of a bundle that nobody has measured.
DEFAULT_STATS = (50.0, 50.0, 50_000.0, 50_000.0)


# What is left of a full average after so many samples; the last stands for all beyond.
_LEFT = {
    most: np.power(1.0 - 1.0 / most, np.arange(80 * most)) for most in (SHORT_SAMPLES, LONG_SAMPLES)
}


def averaged(average: Floats, samples: Ints | int, sample: Floats) -> Floats:
    """Return averages after one more sample.

    Args:
        average: (…, 4) so far.
        samples: how many there are with this one, never more than its greatest number;
            of a shape that stretches to that of `average`.
        sample: (…, 4) the new one.

    Properties:
        The first sample replaces what was there.
        Up to the greatest number of samples this is their mean, but for rounding; from then
        on the old average keeps a share of 1 − 1/samples: 0.9 of ten, 0.999 of a thousand.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, TimeAverageMessageData.java getUpdatedValue; 4.0.8
        checked against runs of the class.
    """
    with np.errstate(all="ignore"):
        after: Floats = ((samples - 1) * average + sample) / samples
    return after


def left_of_average(before: Ints, times: Ints, most: int) -> tuple[Ints, Floats]:
    """Return how many samples averages hold after so many equal ones, and what is left of them.

    Args:
        before: how many each holds.
        times: how many equal samples it takes.
        most: the greatest number of samples, SHORT_SAMPLES or LONG_SAMPLES.

    Properties:
        With `left` of the old average, sample + (average - sample)·left is, but for rounding,
        what as many calls of `averaged` return.
    """
    table = _LEFT[most]
    left = table.take(times, mode="clip")
    (few,) = (before != most).nonzero()
    # Most averages are full, and to these what follows would make no difference.
    if few.size == 0:
        return before, left
    after, few_before, few_times = before.copy(), before[few], times[few]
    few_after = np.minimum(few_before + few_times, most)
    few_left = few_before / np.maximum(few_after, 1)
    few_left *= table.take(few_times - (few_after - few_before), mode="clip")
    few_left[few_times == 0] = 1.0
    after[few], left[few] = few_after, few_left
    return after, left
