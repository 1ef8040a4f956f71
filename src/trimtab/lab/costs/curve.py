"""What a broker carries → percent of CPU that its own process takes, and how that grows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trimtab.pulsar.model import Floats

#: Where a curve takes as much as a straight line, points.
MIDDLE = 30.0
# Below it nothing is told from rest, points.
_LEAST = 1e-3


class Curved(NamedTuple):
    """Points of CPU beside the points of work that they are for; all of one shape."""

    cpu: Floats
    #: Points for a further point of work, and points for a further unit of log exponent.
    slope: Floats
    by_exponent: Floats


def curved(work: Floats, log_exponent: float) -> Curved:
    """Return the CPU that work takes: a straight line where the exponent is 1.

    Properties:
        Grows with the work, whatever the exponent.
    """
    exponent = float(np.exp(log_exponent))
    share = np.maximum(work, _LEAST) / MIDDLE
    cpu = MIDDLE * share**exponent
    slope = exponent * share ** (exponent - 1.0)
    return Curved(cpu, slope, cpu * np.log(share) * exponent)
