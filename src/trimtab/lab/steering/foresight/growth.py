"""A memory and more names → the same memory, in which the new ones have a place, too."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from trimtab.lab.costs.arrays import among
from trimtab.lab.steering.foresight.memory import Memory, beginning
from trimtab.lab.steering.view import View


def grown(memory: Memory, view: View, windows: int) -> Memory:
    """Return the memory with a place for every name of a view.

    Of a name that is new it knows as little as a memory that begins.

    Properties:
        What was remembered stays at its position.
        With the names that it has it stays as it is.
    """
    known = memory.known
    if len(view.brokers) == len(known.broker_names) and len(view.bundles) == len(
        known.bundle_names
    ):
        return memory
    wider = beginning(view, windows)
    waiting = memory.waiting
    if waiting is not None:
        said = np.full((len(view.brokers), waiting.said.shape[1]), np.nan)
        said[: len(waiting.said)] = waiting.said
        waiting = replace(waiting, said=said)
    # Times and what was seen at them are as many as before; only brokers come on.
    excursions = memory.excursions
    count, added = len(excursions.time_s), len(view.brokers) - excursions.since_s.size
    usage = np.concatenate((excursions.usage, np.full((count, added), np.nan)), axis=1)
    excursions = replace(
        excursions,
        usage=usage,
        since_s=_put(excursions.since_s, wider.excursions.since_s),
        by_traffic=_put(excursions.by_traffic, wider.excursions.by_traffic),
        surge=_put(excursions.surge, wider.excursions.surge),
        rise=_put(excursions.rise, wider.excursions.rise),
        half=_put(excursions.half, wider.excursions.half),
    )
    return replace(
        memory,
        **_parts(memory, wider),
        known=among(known, view.brokers, view.bundles),
        network=replace(memory.network, **_parts(memory.network, wider.network)),
        picture=replace(memory.picture, **_parts(memory.picture, wider.picture)),
        excursions=excursions,
        waiting=waiting,
    )


def _parts(old: Any, new: Any) -> Mapping[str, Any]:  # noqa: ANN401  # any dataclass of arrays
    """Return the arrays of one dataclass in the shapes that they have in another."""
    return {
        each.name: _put(was, getattr(new, each.name))
        for each in dataclasses.fields(old)
        if isinstance(was := getattr(old, each.name), np.ndarray)
    }


def _put(old: np.ndarray[Any, Any], new: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array of the beginning with what was remembered in its first places."""
    result = new.copy()
    result[tuple(slice(size) for size in old.shape)] = old
    return result
