"""Pulsar's shedding strategies: which bundles each broker gives up in a round."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from trimtab.model import AvgShedderMemory, ClusterLoad, Decision, History
from trimtab.releases import newest_entry
from trimtab.scores import forget, keep
from trimtab.settings import (
    AvgShedderSettings,
    avg_shedder_settings,
    overload_shedder_settings,
    threshold_shedder_settings,
    uniform_load_shedder_settings,
)
from trimtab.shed.avg_shedder import avg_shedder, avg_shedder_3_0, avg_shedder_4_0_0
from trimtab.shed.overload_shedder import overload_shedder, overload_shedder_2_10
from trimtab.shed.threshold_shedder import threshold_shedder
from trimtab.shed.uniform_load_shedder import (
    uniform_load_shedder,
    uniform_load_shedder_2_10,
    uniform_load_shedder_3_0,
    uniform_load_shedder_3_0_7,
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


@dataclass(frozen=True, slots=True)
class ShedderEntry(Generic[Memory, Settings]):
    """A shedder with what a caller needs to run it."""

    #: The strategy.
    shed: Shedder[Memory, Settings]
    #: Reads its settings from broker.conf's keys and a release.
    settings: Callable[[Mapping[str, str], str], Settings]
    #: What it remembers when a broker has just become leader.
    memory: Memory
    #: Drops brokers that left (Pulsar: `onActiveBrokersChange`).
    forget: Callable[[Memory, Collection[str]], Memory]


def _without_memory(
    shed: Shedder[None, Settings], settings: Callable[[Mapping[str, str], str], Settings]
) -> ShedderEntry[None, Settings]:
    """Enter a shedder that remembers nothing."""
    return ShedderEntry(shed=shed, settings=settings, memory=None, forget=keep)


def _avg_shedder(
    shed: Shedder[AvgShedderMemory, AvgShedderSettings],
) -> ShedderEntry[AvgShedderMemory, AvgShedderSettings]:
    """Enter AvgShedder, whose memory the placer of that name shares."""
    return ShedderEntry(
        shed=shed, settings=avg_shedder_settings, memory=AvgShedderMemory(), forget=keep
    )


_overload, _uniform = overload_shedder_settings, uniform_load_shedder_settings

#: (simple name of Pulsar's class, release from which on) → the shedder.  Releases are those
#: in which a behaviour was first seen, where Pulsar's notes name none.
SHEDDERS: Mapping[tuple[str, str], ShedderEntry[Any, Any]] = {
    ("ThresholdShedder", "2.10.0"): ShedderEntry(
        shed=threshold_shedder,
        settings=threshold_shedder_settings,
        memory=History(),
        forget=keep,
    ),
    ("ThresholdShedder", "3.0.0"): ShedderEntry(
        shed=threshold_shedder,
        settings=threshold_shedder_settings,
        memory=History(),
        forget=forget,
    ),
    ("OverloadShedder", "2.10.0"): _without_memory(overload_shedder_2_10, _overload),
    ("OverloadShedder", "4.0.0"): _without_memory(overload_shedder, _overload),
    ("UniformLoadShedder", "2.10.0"): _without_memory(uniform_load_shedder_2_10, _uniform),
    ("UniformLoadShedder", "3.0.0"): _without_memory(uniform_load_shedder_3_0, _uniform),
    ("UniformLoadShedder", "3.0.7"): _without_memory(uniform_load_shedder_3_0_7, _uniform),
    ("UniformLoadShedder", "5.0.0-M1"): _without_memory(uniform_load_shedder, _uniform),
    ("AvgShedder", "3.0.7"): _avg_shedder(avg_shedder_3_0),
    ("AvgShedder", "4.0.0"): _avg_shedder(avg_shedder_4_0_0),
    ("AvgShedder", "4.0.8"): _avg_shedder(avg_shedder),
}


def shedder(name: str, release: str) -> ShedderEntry[Any, Any] | None:
    """Look up the shedder that a class was in a release; None if it is not known.

    Args:
        name: simple name of Pulsar's class.
        release: a Pulsar release or a release line, which stands for its newest release.
    """
    return newest_entry(SHEDDERS, name, release)
