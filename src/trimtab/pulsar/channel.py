"""The extensible load manager's channel: which record of a bundle may follow which.

Every change of a bundle's state is a record: a message of the topic
`loadbalancer-service-unit-state`, or a value below `/service_unit_state` in the metadata store.
Whoever reads one either takes it or stays with the record before; what decides is copied here.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

#: The manager that keeps it, by its simple name, and the only shedder of that.
MANAGER, SHEDDER = "ExtensibleLoadManagerImpl", "TransferShedder"
#: The class that keeps records in the metadata store, and not in the topic.
IN_STORE = "ServiceUnitStateMetadataStoreTableViewImpl"
#: No record: the bundle was never assigned, or what was known of it was removed.
INIT = "Init"
FREE, OWNED, ASSIGNING = "Free", "Owned", "Assigning"
RELEASING, SPLITTING, DELETED = "Releasing", "Splitting", "Deleted"
#: The states that a record can have.
STATES = (FREE, OWNED, ASSIGNING, RELEASING, SPLITTING, DELETED)
#: In these a bundle is on its way: its clients wait, and the leader's monitor ends them.
IN_FLIGHT = frozenset({ASSIGNING, RELEASING, SPLITTING})
#: In these a broker has something to do with the bundle, and must be alive.
ACTIVE = IN_FLIGHT | {OWNED}

_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1


class Kept(Enum):
    """Where records are kept: by `loadManagerServiceUnitStateTableViewClassName`, since 4.0.0."""

    TOPIC, STORE = "topic", "store"


class Record(NamedTuple):
    """One record of a bundle."""

    state: str
    #: dstBroker: who owns it, or is to own it.
    target: str | None
    #: sourceBroker: who gives it up, or splits it.
    source: str | None
    is_forced: bool
    version: int


#: Which states may follow which, whatever brokers they name; after no record, any.
FOLLOWERS: dict[str, frozenset[str]] = {
    FREE: frozenset({ASSIGNING}),
    OWNED: frozenset({RELEASING, SPLITTING}),
    ASSIGNING: frozenset({OWNED}),
    RELEASING: frozenset({FREE, ASSIGNING}),
    SPLITTING: frozenset({DELETED}),
    DELETED: frozenset(),
}


def refusal(before: Record | None, after: Record | None, kept: Kept) -> str | None:
    """Return why readers stay with the record before: `version`, `state` or `brokers`.

    Args:
        before: what is known of the bundle; None for nothing.
        after: what was written; None removes what is known.
        kept: where the records are kept.

    Returns:
        None if the record is taken.

    Quirks:
        A removal is taken after whatever state; so is a record that is forced, and in a topic
        one that skips versions, for the ones between may have been compacted away.  A forced
        record still needs a higher version: by one, in the store.
        The first record of a bundle may have any state and any brokers; in the store its version
        must be 1.  The store's own table of what may follow no record is not looked at.
        Behind the highest number that Java has, the lowest is the next.

    Source:
        ServiceUnitStateDataConflictResolver.java shouldKeepLeft, ServiceUnitState.java, 4.0.8;
        before 4.0.0, which keeps records in a topic alone, ServiceUnitStateCompactionStrategy
    """
    if after is None:
        return None
    if before is None:
        return None if kept is Kept.TOPIC or after.version == 1 else "version"
    if not _is_next(before, after, kept):
        return "version"
    if _skips(before, after) or after.is_forced:
        return None
    if after.state not in FOLLOWERS[before.state]:
        return "state"
    return None if _brokers_fit(before, after) else "brokers"


def _is_next(before: Record, after: Record, kept: Kept) -> bool:
    """Return whether a record's version may come next."""
    if (before.version, after.version) == (_LONG_MAX, _LONG_MIN):
        return True
    if before.version >= after.version:
        return False
    return kept is Kept.TOPIC or not _skips(before, after)


def _skips(before: Record, after: Record) -> bool:
    return before.version < after.version - 1


def _brokers_fit(before: Record, after: Record) -> bool:
    """Return whether a record names the brokers that may change a bundle so."""
    is_same = (before.target, before.source) == (after.target, after.source)
    match before.state, after.state:
        case "Owned", "Splitting":
            return _is_blank(after.target) and before.target == after.source
        case "Owned", "Releasing":
            return (
                not _is_blank(after.source)
                and before.target == after.source
                and before.target != after.target
            )
        case "Releasing", "Assigning":
            return not _is_blank(after.target) and is_same
        case "Free", "Assigning":
            return _is_blank(after.source) and not _is_blank(after.target)
        case _:
            return is_same


def _is_blank(broker: str | None) -> bool:
    return broker is None or not broker.strip()
