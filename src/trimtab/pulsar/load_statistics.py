"""Mean and deviation of the brokers' usage, and what a transfer makes of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.pulsar.model import Floats


@dataclass(frozen=True, slots=True)
class LoadStatistics:
    """Mean and deviation of usage, with what they are computed from (Pulsar: `LoadStats`)."""

    average: float
    deviation: float
    square_sum: float
    count: int


def load_statistics(usage: Floats) -> LoadStatistics:
    """Return mean and standard deviation of some brokers' usage.

    Args:
        usage: (n_brokers,) fraction, at least one, in the leader's order.

    Quirks:
        The deviation is the root of the mean square less the squared mean.  Where all
        brokers are equal that difference may be a little below 0, and the deviation NaN,
        which is not above anything.

    Source:
        TransferShedder.LoadStats.update, 3.0.0 to 5.0.0-M1.
    """
    count = usage.size
    with np.errstate(all="ignore"):
        total = np.cumsum(usage)[-1] + 0.0  # the loop begins at 0.0, which makes 0.0 of -0.0
        square_sum = np.cumsum(usage * usage)[-1]
        average = total / count
        deviation = np.sqrt(square_sum / count - average * average)
    return LoadStatistics(float(average), float(deviation), float(square_sum), count)


def after_transfer(
    before: LoadStatistics, most: float, least: float, offload: float
) -> LoadStatistics:
    """Return what the deviation will be when one broker has lost load to another.

    Args:
        before: mean and deviation so far.
        most: usage of the broker that loses, fraction.
        least: usage of the broker that gains, fraction.
        offload: what is moved, fraction.

    Properties:
        The mean stays as it is.

    Source:
        TransferShedder.LoadStats.offload, 3.0.0 to 5.0.0-M1.
    """
    with np.errstate(all="ignore"):
        square_sum = before.square_sum - (most * most + least * least)
        left = np.maximum(0.0, most - offload)  # NaN stays NaN, as by Math.max
        filled = least + offload
        square_sum = square_sum + (left * left + filled * filled)
        mean_square = square_sum / before.count
        deviation = np.sqrt(np.abs(mean_square - before.average * before.average))
    return LoadStatistics(before.average, float(deviation), float(square_sum), before.count)
