"""The leader's bookkeeping, which all decisions go by: what it learns, keeps and forgets.

Everything is a function of arrays; bundles and brokers are positions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from trimtab.pulsar.leader.affinity import affinity_key, affinity_key_3_0
from trimtab.pulsar.leader.bundle_averages import (
    UpdateBundleData,
    update_bundle_data,
    update_bundle_data_2_10,
    update_bundle_data_3_0,
)
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
    """What differs between releases in what a load manager learns and keeps."""

    #: Tells which brokers write their report.
    need_broker_data_update: Callable[[Measured, Measured, Floats, LoadManagerSettings], Flags]
    #: Feeds and forgets averages.
    update_bundle_data: UpdateBundleData
    #: Names a bundle whose destination was asked for; None where none can be.
    affinity_key: Callable[[str], str] | None
    #: A shed bundle's destination is chosen before it is unloaded, and asked for.
    chooses_before_unload: bool
    #: Reports are looked at between two unloads of a round, not only when it is over.
    looks_while_unloading: bool


_FROM_3_0_2 = LoadData(
    need_broker_data_update=need_broker_data_update_2_10,
    update_bundle_data=update_bundle_data,
    affinity_key=affinity_key_3_0,
    chooses_before_unload=True,
    looks_while_unloading=True,
)
_FROM_3_1 = replace(_FROM_3_0_2, looks_while_unloading=False)

#: (simple name of the load manager's class, release from which on) → its bookkeeping.
LOAD_DATA: Mapping[tuple[str, str], LoadData] = {
    ("ModularLoadManagerImpl", "2.10.0"): LoadData(
        need_broker_data_update=need_broker_data_update_2_10,
        update_bundle_data=update_bundle_data_2_10,
        affinity_key=None,
        chooses_before_unload=False,
        looks_while_unloading=True,
    ),
    ("ModularLoadManagerImpl", "3.0.0"): LoadData(
        need_broker_data_update=need_broker_data_update_2_10,
        update_bundle_data=update_bundle_data_3_0,
        affinity_key=affinity_key_3_0,
        chooses_before_unload=False,
        looks_while_unloading=True,
    ),
    ("ModularLoadManagerImpl", "3.0.2"): _FROM_3_0_2,
    ("ModularLoadManagerImpl", "3.1.0"): replace(
        _FROM_3_1, update_bundle_data=update_bundle_data_3_0
    ),
    ("ModularLoadManagerImpl", "3.2.3"): _FROM_3_1,
    ("ModularLoadManagerImpl", "4.0.0"): LoadData(
        need_broker_data_update=need_broker_data_update,
        update_bundle_data=update_bundle_data,
        affinity_key=affinity_key_3_0,
        chooses_before_unload=True,
        looks_while_unloading=False,
    ),
    ("ModularLoadManagerImpl", "5.0.0-M1"): LoadData(
        need_broker_data_update=need_broker_data_update,
        update_bundle_data=update_bundle_data,
        affinity_key=affinity_key,
        chooses_before_unload=True,
        looks_while_unloading=False,
    ),
}


def load_data(load_manager: str, release: str) -> LoadData | None:
    """Look up a load manager's bookkeeping in a release; None if it is not known.

    Args:
        load_manager: simple name of Pulsar's class.
        release: a Pulsar release or a release line, which stands for its newest release.
    """
    return newest_entry(LOAD_DATA, load_manager, release)
