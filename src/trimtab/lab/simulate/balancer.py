"""Which strategies steer a simulated cluster, of which release, with which settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from trimtab.lab.steering import StrategyError, is_own
from trimtab.pulsar.shed import EXTENSIBLE_SHEDDERS


@dataclass(frozen=True, slots=True)
class Balancer:
    """What is compared with what: the classes, their release and broker.conf."""

    #: Simple name of Pulsar's class, or a strategy of trimtab's own as `steering.named` reads it;
    #: None: nothing is ever shed.
    shedder: str | None
    #: The same; one of trimtab's own only where it sheds, too.
    placer: str
    #: A Pulsar release or a release line.
    release: str
    #: Keys of broker.conf that are not at their default, as text.
    conf: Mapping[str, str] = field(default_factory=dict)


# Who places where a strategy of trimtab's own does: nobody asks it.
_ANY_PLACER = "LeastLongTermMessageRate"


def is_extensible(balancer: Balancer) -> bool:
    """Return whether the extensible load manager leads: its shedder is no other's."""
    return any(name == balancer.shedder for name, _ in EXTENSIBLE_SHEDDERS)


def pulsars(balancer: Balancer) -> Balancer:
    """Return the part of a balancer that classes of Pulsar's modular load manager have.

    Raises:
        StrategyError: a strategy of trimtab's own is to place what another sheds.
    """
    sheds, places = balancer.shedder, balancer.placer
    if is_own(places) and places != sheds:
        raise StrategyError(places, f"a placer of Pulsar's, where {sheds} sheds")
    if is_extensible(balancer):
        return replace(balancer, shedder=None, placer=_ANY_PLACER)
    return replace(
        balancer,
        shedder=None if sheds is None or is_own(sheds) else sheds,
        placer=_ANY_PLACER if is_own(places) else places,
    )
