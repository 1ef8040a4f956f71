"""Numbers as they are typed."""

from __future__ import annotations

import math
from typing import cast

import click


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
