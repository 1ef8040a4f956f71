"""Who led during one tenure, and which of what it went by can be asked again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trimtab.pulsar.leader import load_data
from trimtab.pulsar.place import PlacerEntry, placer
from trimtab.pulsar.settings import LoadManagerSettings, ResourceWeights
from trimtab.pulsar.shed import shedder

#: The only load manager whose rounds are replayed.
_LOAD_MANAGER = "ModularLoadManagerImpl"

#: Placers of which a recording holds all that they go by in a shedding round; a round robin
#: would need a count from the leader's start.
_PLACERS = frozenset({"LeastResourceUsageWithWeight", "LeastLongTermMessageRate", "AvgShedder"})


@dataclass(frozen=True, slots=True)
class Leading:
    """Who led during one tenure, and by what."""

    term: int
    leader: str
    #: Broker id of the leader; None if it is not known.
    leader_id: str | None
    #: Pulsar's release, such as "4.0.8".
    release: str
    shedder: str
    placer: str
    conf: Mapping[str, str]
    manager: LoadManagerSettings
    weights: ResourceWeights
    #: Why the smoothed usage is not known from the start; None if it is.
    doubt: str | None


def reads_long(leading: Leading) -> bool:
    """Return whether a strategy of the leader's looks at long-term averages."""
    entries = shedder(leading.shedder, leading.release), placer_of(leading)
    return any(entry.reads_long for entry in entries if entry is not None)


def placer_of(leading: Leading) -> PlacerEntry[Any, Any] | None:
    """Return the placer, if it can be replayed."""
    return placer(leading.placer, leading.release) if leading.placer in _PLACERS else None


def is_deaf(leading: Leading) -> bool:
    """Return whether the leader looks at no report while it unloads."""
    bookkeeping = load_data(_LOAD_MANAGER, leading.release)
    return bookkeeping is not None and not bookkeeping.looks_while_unloading
