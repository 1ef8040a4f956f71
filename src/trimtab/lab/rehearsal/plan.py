"""What is planned for a recorded cluster, as positions and seconds.  No functions."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.lab.simulate.balancer import Balancer
from trimtab.lab.simulate.world import Event


@dataclass(frozen=True, slots=True)
class Scaling:
    """More traffic of some bundles, or less, for a while."""

    #: Positions.
    bundles: tuple[int, ...]
    #: s from the beginning; infinity: it stays.
    from_s: float
    to_s: float
    #: What both rates are multiplied with.
    factor: float


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What is done to a recorded cluster, and who balances it from then on."""

    #: s from the beginning: up to here everything is as it really was.
    from_s: float
    balancer: Balancer
    #: In order of time; brokers that are added stand behind those that were recorded.
    events: tuple[Event, ...] = ()
    #: Names of brokers that are added.
    added: tuple[str, ...] = ()
    scalings: tuple[Scaling, ...] = ()
