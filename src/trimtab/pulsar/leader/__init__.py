"""What the leader learns, keeps and forgets, which all decisions go by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from trimtab.pulsar.leader.report_gate import (
    Measured,
    need_broker_data_update,
    need_broker_data_update_2_10,
)
from trimtab.pulsar.model import Flags, Floats
from trimtab.pulsar.releases import newest_entry
from trimtab.pulsar.settings import LoadManagerSettings


@dataclass(frozen=True, slots=True)
class LoadData:
    """What differs between releases in what a load manager learns and when it acts on it."""

    #: Returns which brokers write their report.
    need_broker_data_update: Callable[[Measured, Measured, Floats, LoadManagerSettings], Flags]
    #: A shed bundle's destination is chosen before it is unloaded, and asked for.
    chooses_before_unload: bool
    #: Reports are looked at between two unloads of a round, not only when it is over.
    looks_while_unloading: bool


_FROM_3_0_2 = LoadData(
    need_broker_data_update=need_broker_data_update_2_10,
    chooses_before_unload=True,
    looks_while_unloading=True,
)
_FROM_3_1 = replace(_FROM_3_0_2, looks_while_unloading=False)

#: (simple name of the load manager's class, release from which on) → its bookkeeping.
LOAD_DATA: Mapping[tuple[str, str], LoadData] = {
    ("ModularLoadManagerImpl", "2.10.0"): replace(_FROM_3_0_2, chooses_before_unload=False),
    ("ModularLoadManagerImpl", "3.0.2"): _FROM_3_0_2,
    ("ModularLoadManagerImpl", "3.1.0"): _FROM_3_1,
    ("ModularLoadManagerImpl", "4.0.0"): replace(
        _FROM_3_1, need_broker_data_update=need_broker_data_update
    ),
}


def load_data(load_manager: str, release: str) -> LoadData | None:
    """Return a load manager's bookkeeping in a release; None if it is not known.

    Args:
        load_manager: simple name of Pulsar's class.
        release: a Pulsar release or a release line, which stands for its newest release.
    """
    return newest_entry(LOAD_DATA, load_manager, release)
