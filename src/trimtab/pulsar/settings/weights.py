"""How much each resource counts in a broker's usage."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.pulsar.releases import release_line
from trimtab.pulsar.settings.reader import Reader, setting


@dataclass(frozen=True, slots=True)
class ResourceWeights:
    """How much each resource counts in a broker's usage; None leaves it out altogether."""

    #: loadBalancerCPUResourceWeight.
    cpu: float
    #: loadBalancerMemoryResourceWeight, in the 2.10 line alone.
    memory: float | None
    #: loadBalancerDirectMemoryResourceWeight.
    direct_memory: float
    #: loadBalancerBandwidthInResourceWeight, or its old spelling.
    bandwidth_in: float
    #: loadBalancerBandwidthOutResourceWeight, or its old spelling.
    bandwidth_out: float

    def by_resource(self) -> tuple[float | None, ...]:
        """Return the weights in the order of `model.RESOURCES`."""
        return self.cpu, self.memory, self.direct_memory, self.bandwidth_in, self.bandwidth_out


def resource_weights(read: Reader) -> ResourceWeights:
    """Return the weights; the heap counted in the 2.10 line alone.

    Raises:
        SettingError: a value cannot be read.
    """
    is_heap_counted = release_line(read.release) == "2.10"
    return ResourceWeights(
        cpu=read.number("loadBalancerCPUResourceWeight"),
        memory=read.number("loadBalancerMemoryResourceWeight") if is_heap_counted else None,
        direct_memory=read.number("loadBalancerDirectMemoryResourceWeight"),
        bandwidth_in=_bandwidth_weight(read, "In"),
        bandwidth_out=_bandwidth_weight(read, "Out"),
    )


def _bandwidth_weight(read: Reader, direction: str) -> float:
    """Return a weight that has two spellings: the new one wins, unless it is 1.0.

    Since 1.0 counts as not set, a new 1.0 cannot overrule an old value.  Releases
    before 4.0 know the old spelling alone.
    """
    new = setting(read.conf, f"loadBalancerBandwidth{direction}ResourceWeight", read.release)
    if new is not None and new != 1.0:
        return float(new)
    return read.number(f"loadBalancerBandwith{direction}ResourceWeight")
