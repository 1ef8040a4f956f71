"""Whether the grace period of a bundle that was unloaded was over as a round began."""

from __future__ import annotations

from collections.abc import Mapping

#: An unload takes up to so long; measured: 0.03 to 4 s.
_UNLOADING_S = 5.0
#: Of many bundles so many are named.
_NAMED_MAX = 3


def grace_doubt(unloads: Mapping[str, float], over_s: float) -> str | None:
    """Return why it is open whether a bundle's grace period was over; None if none is.

    The leader notes an unload when it is done and logs it before, so one that was logged just
    before the time from which on unloads count may have been noted after it.
    """
    names = sorted(name for name, s in unloads.items() if 0.0 <= over_s - s <= _UNLOADING_S)
    if not names:
        return None
    few = ", ".join(names[:_NAMED_MAX])
    return f"whether the grace period of {few} was over hangs on milliseconds"
