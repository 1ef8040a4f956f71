"""Keeping whoever has the fewest of something."""

from __future__ import annotations

from trimtab.pulsar.model import Ints


def fewest(candidates: Ints, counts: Ints) -> Ints:
    """Return the candidates with the least count.

    Args:
        candidates: positions in `counts`, in candidate order.
        counts: (n_brokers,) of whatever there shall be little.

    Properties:
        Somebody stays if there was somebody; all who stay have the same count.
        Twice is the same as once.
    """
    if candidates.size == 0:
        return candidates
    mine = counts[candidates]
    kept: Ints = candidates[mine == mine.min()]
    return kept
