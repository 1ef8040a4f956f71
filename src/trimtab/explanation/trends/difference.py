"""How sure one may be of a sum of means, by Student's t: differences, and differences of those.

Pure.  Nights are few, where an interval that is drawn from the values themselves is too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95
#: Steps in which the density of Student's t is added up: five digits of the quantile.
_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and where the truth may lie."""

    value: float
    low: float
    high: float


def combined(*terms: tuple[float, Sequence[float]]) -> Estimate:
    """Return a sum of weighted means with its interval, as Welch and Satterthwaite have it.

    Args:
        terms: the weight of each mean, and the values that it is of, two at least.

    Properties:
        The interval holds the value; weights of the other sign mirror it.
    """
    arrays = [(weight, np.asarray(values, np.float64)) for weight, values in terms]
    value = sum(weight * float(each.mean()) for weight, each in arrays)
    parts = [
        (weight**2 * float(each.var(ddof=1)) / each.size, each.size) for weight, each in arrays
    ]
    variance = sum(part for part, _ in parts)
    if variance == 0.0:
        return Estimate(value, value, value)
    freedom = variance**2 / sum(part**2 / (size - 1) for part, size in parts)
    half = t_quantile(CONFIDENCE, freedom) * math.sqrt(variance)
    return Estimate(value, value - half, value + half)


def t_quantile(confidence: float, freedom: float) -> float:
    """Return what a value of Student's t keeps below, either sign, with some confidence.

    >>> [round(t_quantile(0.95, freedom), 3) for freedom in (1, 2, 5, 30)]
    [12.706, 4.303, 2.571, 2.042]

    Args:
        confidence: below 1.
        freedom: degrees of freedom, not less than 1.
    """
    # With t = √freedom · tan φ its density is a power of the cosine, which ends at a right angle.
    angle = np.linspace(0.0, math.pi / 2, _STEPS + 1)
    density = np.cos(angle) ** (freedom - 1)
    below = np.concatenate(([0.0], np.cumsum(density[1:] + density[:-1])))
    at = float(np.interp(confidence * below[-1], below, angle))
    return math.sqrt(freedom) * math.tan(at)
