"""Limits of continuous control, as they are typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab.files.fields import expected_name
from trimtab.live.control.limits import Limits
from trimtab.live.gather.access import GatherError


def limits_given(texts: Sequence[str]) -> Mapping[str, float]:
    """Return the limits of texts NAME=VALUE.

    Raises:
        GatherError: it is none, or there is no such limit.
    """
    limits = {}
    for each in texts:
        name, equals, value = each.partition("=")
        if not equals:
            raise GatherError(f"--limit: found {each!r}, expected NAME=VALUE")
        if name not in Limits.__slots__:
            expected = expected_name(name, Limits.__slots__)
            raise GatherError(f"--limit: found {name!r}, expected {expected}")
        try:
            limits[name] = float(value)
        except ValueError:
            raise GatherError(f"--limit: {name}: found {value!r}, expected a number") from None
        if not limits[name] > 0:
            raise GatherError(f"--limit: {name}: found {value}, expected more than 0")
    return limits
