"""Pulsar's shedding strategies: which bundles each broker gives up in a round."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from trimtab.pulsar.model import (
    AvgShedderMemory,
    ClusterLoad,
    Decision,
    ExtensibleLoad,
    History,
    TransferDecision,
)
from trimtab.pulsar.releases import newest_entry
from trimtab.pulsar.scores import forget, keep, no_state, smoothed_state
from trimtab.pulsar.settings import (
    TransferShedderSettings,
    avg_shedder_settings,
    overload_shedder_settings,
    threshold_shedder_settings,
    transfer_shedder_settings,
    uniform_load_shedder_settings,
)
from trimtab.pulsar.shed.avg_shedder import (
    avg_shedder,
    avg_shedder_3_0,
    avg_shedder_4_0_0,
    avg_shedder_5_0,
    avg_shedder_rules,
    avg_shedder_state,
    without_pending,
)
from trimtab.pulsar.shed.overload_shedder import (
    overload_shedder,
    overload_shedder_2_10,
    overload_shedder_bar,
    overload_shedder_rules,
)
from trimtab.pulsar.shed.threshold_shedder import (
    threshold_shedder,
    threshold_shedder_bar,
    threshold_shedder_remembering,
    threshold_shedder_rules,
)
from trimtab.pulsar.shed.transfer_shedder import (
    transfer_shedder,
    transfer_shedder_3_0,
    transfer_shedder_4_0_0,
    transfer_shedder_rules,
)
from trimtab.pulsar.shed.uniform_load_shedder import (
    uniform_load_shedder,
    uniform_load_shedder_2_10,
    uniform_load_shedder_3_0,
    uniform_load_shedder_3_0_7,
    uniform_load_shedder_rules,
)

Memory = TypeVar("Memory")
Settings = TypeVar("Settings")
Settings_contra = TypeVar("Settings_contra", contravariant=True)


class Shedder(Protocol[Memory, Settings_contra]):
    """A shedder decides which bundles each broker gives up.

    - It must give a reason, a score and an offload for every broker of the load, and
      name only bundles of the load that may be shed, each at most once a broker.
    - It must return the same for the same arguments: time comes in as a number, chance
      as a generator, both in its memory.
    - It may name a destination (`Unload.target`), and it may keep anything in memory.
    - It may raise `LostRoundError` where the Java class throws.
    - It may not change its arguments, look at a clock, log, or remember anything but in
      the memory that it returns.
    """

    def __call__(
        self, load: ClusterLoad, memory: Memory, settings: Settings_contra, /
    ) -> tuple[Decision, Memory]:
        """Decide one round."""
        ...


def _unchanged(memory: Memory) -> Memory:
    """Return all of a memory."""
    return memory


def _by_bundles(settings: object) -> None:
    """Return nothing: what is remembered hangs on the bundles that are chosen."""
    del settings


def _stateless(settings: object) -> Callable[[ClusterLoad, Memory], Memory]:
    """Return what remembers nothing."""
    del settings
    return lambda load, memory: memory


def _no_bar(decision: Decision, settings: object) -> float:
    """Return no bar: no score decides alone."""
    del decision, settings
    return math.nan


@dataclass(frozen=True, slots=True)
class ShedderEntry(Generic[Memory, Settings]):
    """A shedder with what a caller needs to run it, and to tell what it did."""

    #: The strategy.
    shed: Shedder[Memory, Settings]
    #: Reads its settings from broker.conf's keys and a release.
    settings: Callable[[Mapping[str, str], str], Settings]
    #: What it remembers when a broker has just become leader.
    memory: Memory
    #: Drops brokers that left (Pulsar: `onActiveBrokersChange`).
    forget: Callable[[Memory, Collection[str]], Memory] = keep
    #: Lays out what it remembers in the words of the recorded decisions.
    state: Callable[[ClusterLoad, Memory, Settings], Mapping[str, Any]] = no_state
    #: Tells what it goes by, a line each; None: the first line of its docstring will do.
    rules: Callable[[Settings], Iterator[str]] | None = None
    #: Says from which score on a broker sheds; NaN if no score decides alone.
    bar: Callable[[Decision, Settings], float] = _no_bar
    #: Its scores are traffic as the brokers report it.
    is_ranked_by_traffic: bool = False
    #: It looks at long-term averages: `long_rate_in`, `long_rate_out`, `bundle_data` or
    #: `preallocations` of a load; if not, a load may be without.
    reads_long: bool = True
    #: Gives what makes the memory after a round of what brokers say of themselves, without
    #: choosing bundles; None if it takes the whole decision.
    remembering: Callable[[Settings], Callable[[ClusterLoad, Memory], Memory] | None] = _by_bundles
    #: Drops what was for one round only, once the leader has gone through it (Pulsar:
    #: `onUnloadAttemptCompleted`).
    completed: Callable[[Memory], Memory] = _unchanged


#: Its memory is the one of the placer of that name.
_AVG_SHEDDER = ShedderEntry(
    shed=avg_shedder,
    settings=avg_shedder_settings,
    memory=AvgShedderMemory(),
    state=avg_shedder_state,
    rules=avg_shedder_rules,
)
_OVERLOAD_SHEDDER = ShedderEntry(
    shed=overload_shedder,
    settings=overload_shedder_settings,
    memory=None,
    rules=overload_shedder_rules,
    bar=overload_shedder_bar,
    reads_long=False,
    remembering=_stateless,
)
_THRESHOLD_SHEDDER = ShedderEntry(
    shed=threshold_shedder,
    settings=threshold_shedder_settings,
    memory=History(),
    forget=forget,
    state=smoothed_state,
    rules=threshold_shedder_rules,
    bar=threshold_shedder_bar,
    reads_long=False,
    remembering=threshold_shedder_remembering,
)
_UNIFORM = ShedderEntry(
    shed=uniform_load_shedder,
    settings=uniform_load_shedder_settings,
    memory=None,
    rules=uniform_load_shedder_rules,
    is_ranked_by_traffic=True,
    reads_long=False,
    remembering=_stateless,
)
#: (simple name of Pulsar's class, release from which on) → the shedder.  Releases are those
#: in which a behaviour was first seen, where Pulsar's notes name none.
SHEDDERS: Mapping[tuple[str, str], ShedderEntry[Any, Any]] = {
    ("ThresholdShedder", "2.10.0"): replace(_THRESHOLD_SHEDDER, forget=keep),
    ("ThresholdShedder", "3.0.0"): _THRESHOLD_SHEDDER,
    ("OverloadShedder", "2.10.0"): replace(_OVERLOAD_SHEDDER, shed=overload_shedder_2_10),
    ("OverloadShedder", "4.0.0"): _OVERLOAD_SHEDDER,
    ("UniformLoadShedder", "2.10.0"): replace(_UNIFORM, shed=uniform_load_shedder_2_10),
    ("UniformLoadShedder", "3.0.0"): replace(_UNIFORM, shed=uniform_load_shedder_3_0),
    ("UniformLoadShedder", "3.0.2"): replace(_UNIFORM, shed=uniform_load_shedder_3_0_7),
    # The fix of 3.0.2 reached this line a release later.
    ("UniformLoadShedder", "3.1.0"): replace(_UNIFORM, shed=uniform_load_shedder_3_0),
    ("UniformLoadShedder", "3.1.1"): replace(_UNIFORM, shed=uniform_load_shedder_3_0_7),
    ("UniformLoadShedder", "5.0.0-M1"): _UNIFORM,
    ("AvgShedder", "3.0.6"): replace(_AVG_SHEDDER, shed=avg_shedder_3_0),
    ("AvgShedder", "4.0.0"): replace(_AVG_SHEDDER, shed=avg_shedder_4_0_0),
    ("AvgShedder", "4.0.8"): _AVG_SHEDDER,
    ("AvgShedder", "5.0.1"): replace(_AVG_SHEDDER, shed=avg_shedder_5_0, completed=without_pending),
}


def shedder(name: str, release: str) -> ShedderEntry[Any, Any] | None:
    """Return the shedder that a class was in a release; None if it is not known.

    Args:
        name: simple name of Pulsar's class.
        release: a Pulsar release or a release line, which stands for its newest release.
    """
    return newest_entry(SHEDDERS, name, release)


class ExtensibleShedder(Protocol):
    """A shedder of the extensible load manager, whose leader sees other numbers.

    Of what a `Shedder` promises it keeps all but the shape: it answers by pairs of brokers.
    """

    def __call__(
        self, load: ExtensibleLoad, hits: int, settings: TransferShedderSettings, /
    ) -> tuple[TransferDecision, int]:
        """Decide one round, given the rounds in a row that were out of balance before."""
        ...


@dataclass(frozen=True, slots=True)
class ExtensibleShedderEntry:
    """A shedder of the extensible load manager with what a caller needs to run it."""

    #: The strategy.
    shed: ExtensibleShedder
    #: Reads its settings from broker.conf's keys and a release.
    settings: Callable[[Mapping[str, str], str], TransferShedderSettings]
    #: Tells what it goes by, a line each.
    rules: Callable[[TransferShedderSettings], Iterator[str]]


def _transfer_shedder(shed: ExtensibleShedder) -> ExtensibleShedderEntry:
    """Return the entry of TransferShedder."""
    return ExtensibleShedderEntry(shed, transfer_shedder_settings, transfer_shedder_rules)


#: As SHEDDERS, and apart from them, since neither load manager can run the other's.  A
#: change that was carried to older lines stands there once a line.
EXTENSIBLE_SHEDDERS: Mapping[tuple[str, str], ExtensibleShedderEntry] = {
    ("TransferShedder", "3.0.0"): _transfer_shedder(transfer_shedder_3_0),
    ("TransferShedder", "3.0.5"): _transfer_shedder(transfer_shedder_4_0_0),
    ("TransferShedder", "3.1.0"): _transfer_shedder(transfer_shedder_3_0),
    ("TransferShedder", "3.1.5"): _transfer_shedder(transfer_shedder_4_0_0),
    ("TransferShedder", "3.2.0"): _transfer_shedder(transfer_shedder_3_0),
    ("TransferShedder", "3.2.3"): _transfer_shedder(transfer_shedder_4_0_0),
    ("TransferShedder", "3.3.5"): _transfer_shedder(transfer_shedder),
    ("TransferShedder", "4.0.0"): _transfer_shedder(transfer_shedder_4_0_0),
    ("TransferShedder", "4.0.1"): _transfer_shedder(transfer_shedder),
}


def extensible_shedder(name: str, release: str) -> ExtensibleShedderEntry | None:
    """Return the extensible load manager's shedder of a name; None if it is not known.

    Args:
        name: simple name of Pulsar's class.
        release: a Pulsar release or a release line, which stands for its newest release.
    """
    return newest_entry(EXTENSIBLE_SHEDDERS, name, release)
