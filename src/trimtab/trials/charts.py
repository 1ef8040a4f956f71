"""What the pictures of runs share: the chart's file, how many samples are drawn, and lines."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trimtab.pulsar.model import Floats

#: A row of a chart's data.
DataRow: TypeAlias = dict[str, Any]


def empty_chart(room: str, name: str) -> dict[str, Any]:
    """Return a chart of a room of `trimtab.trials`, whose data is to be filled in."""
    folder = files(f"trimtab.trials.{room}").joinpath("charts")
    spec: dict[str, Any] = json.loads(folder.joinpath(f"{name}.vl.json").read_text("utf-8"))
    return spec


def samples(count: int, most: int) -> slice:
    """Return which of some samples are drawn, the last of each group: at most so many."""
    every = max(1, math.ceil(count / most))
    return slice(every - 1, None, every)


def broker_lines(
    at_min: Floats, brokers: Sequence[str], values: Floats | NDArray[np.float32], column: str
) -> list[DataRow]:
    """Return each broker's line; it is broken where nothing is known."""
    return [
        {"minute": minute, "broker": broker, column: visible_value(value)}
        for broker, values_of in zip(brokers, values.T, strict=True)
        for minute, value in zip(at_min.tolist(), values_of.tolist(), strict=True)
    ]


def visible_value(value: float) -> float | None:
    """Return a value rounded to what can be seen; None where nothing is known."""
    return None if math.isnan(value) else round(value, 1)
