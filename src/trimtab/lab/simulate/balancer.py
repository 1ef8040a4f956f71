"""Which strategies steer a simulated cluster, of which release, with which settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Balancer:
    """What is compared with what: the classes, their release and broker.conf."""

    #: Simple name of Pulsar's class; None: nothing is ever shed.
    shedder: str | None
    #: Simple name of Pulsar's class.
    placer: str
    #: A Pulsar release or a release line.
    release: str
    #: Keys of broker.conf that are not at their default, as text.
    conf: Mapping[str, str] = field(default_factory=dict)
