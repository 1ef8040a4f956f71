"""Numbers and times as they are typed."""

from __future__ import annotations

import math
import re
from typing import cast

import click

_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


class Finite(click.FloatRange):
    """A number within a range; neither without end nor none at all."""

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return it as a number."""
        # What is typed is text, whatever click's own types say.
        number = float(super().convert(cast(float, value), param, ctx))
        # A comparison with nan never holds, so no bound keeps it out.
        if not math.isfinite(number):
            self.fail(f"found {value!r}, expected a number", param, ctx)
        return number


class Duration(click.ParamType[float]):
    """A time such as 30m, in seconds."""

    name = "duration"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return it in seconds."""
        if isinstance(value, float):
            return value
        match = _DURATION.fullmatch(str(value))
        if match is None or float(match[1]) == 0:
            self.fail(f"found {value!r}, expected a time such as 90s, 30m or 8h", param, ctx)
        return float(match[1]) * _UNITS_S[match[2]]
