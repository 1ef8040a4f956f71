"""Lookups that the leader answered, which change what it sees before any report does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from trimtab.diagnose.rounds import SHEDDING_THREAD

#: Bundle → its owners from when on, in order of time.
Owners: TypeAlias = Mapping[str, Sequence[tuple[datetime, str]]]

#: The broker that a lookup is sent to owns the bundle within this time, or not by it.
OWNING = timedelta(seconds=30)


def is_lookup(selection: Mapping[str, Any]) -> bool:
    """Return whether the leader selected for a client that looked up, not while shedding."""
    thread = selection["thread"]
    return thread is not None and not thread.startswith(SHEDDING_THREAD)


def owners(rows: Iterable[Mapping[str, Any]]) -> Owners:
    """Return the rows of `ownership` by bundle; that a bundle lost its owner is left out."""
    by_bundle: dict[str, list[tuple[datetime, str]]] = {}
    for row in sorted(rows, key=lambda row: row["time"]):
        if row["bundle"] is not None and row["broker"] is not None:
            by_bundle.setdefault(row["bundle"], []).append((row["time"], row["broker"]))
    return by_bundle


def releases(rows: Iterable[Mapping[str, Any]]) -> dict[str, tuple[datetime, ...]]:
    """Return when bundles lost their owners, by the rows of `ownership`, in order of time."""
    by_bundle: dict[str, tuple[datetime, ...]] = {}
    for row in sorted(rows, key=lambda row: row["time"]):
        if row["bundle"] is not None and row["broker"] is None:
            by_bundle[row["bundle"]] = (*by_bundle.get(row["bundle"], ()), row["time"])
    return by_bundle


def answer(selection: Mapping[str, Any], best: Sequence[str], owned: Owners) -> str | None:
    """Return whom the leader named in its answer to a lookup.

    Args:
        selection: row of `log_events` of the lookup.
        best: brokers among which the placer drew.
        owned: from `owners`.

    Returns:
        The only one that it could be or, where it drew, the one that soon owned the bundle;
        None if neither tells.
    """
    if len(best) == 1:
        return best[0]
    for time, broker in owned.get(selection["bundle"], ()):
        if time >= selection["time"]:
            return broker if broker in best and time - selection["time"] <= OWNING else None
    return None
