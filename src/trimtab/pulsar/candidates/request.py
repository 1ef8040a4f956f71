"""What is known when a bundle is to be placed, and what filters may say to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from trimtab.pulsar.model import Flags, Ints
from trimtab.pulsar.settings import CandidateSettings


@dataclass(frozen=True, slots=True)
class Brokers:
    """The brokers that are registered, whether they report or not.

    Those with a report come first, in the order of `ClusterLoad.brokers`, so that a
    position here is a position there; the placers refuse whoever stands behind.
    """

    #: Broker ids, `host:port`.
    names: tuple[str, ...]
    #: (n_brokers,) the leader has a report of it.
    is_reported: Flags
    #: (n_brokers,) what the report says that the broker serves.
    takes_persistent: Flags
    takes_non_persistent: Flags
    #: (n_brokers,) topics of the latest report, and of the bundles on their way.
    topics: Ints
    #: Class of its load manager; None if the report does not say.
    load_managers: tuple[str | None, ...]
    #: Its release; None if the report does not say.
    versions: tuple[str | None, ...]
    #: Its failure domain; None if it is in none.
    domains: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class IsolationPolicy:
    """Which brokers serve some namespaces, and which other brokers may help out.

    Patterns must match whole names: a namespace's, a broker's host or id.
    """

    namespaces: tuple[str, ...]
    primary: tuple[str, ...]
    secondary: tuple[str, ...] = ()
    #: Fewer primaries than this, and the secondaries are added (Pulsar: `min_limit`).
    primaries_min: int = 1


@dataclass(frozen=True, slots=True)
class Request:
    """A bundle that is to be placed, and what filters look at to say where it may go."""

    bundle: str
    brokers: Brokers
    settings: CandidateSettings
    #: (n_brokers,) bundles of the same namespace, reported or on their way.
    namespace_bundles: Ints
    #: (n_brokers,) what of the namespace's anti-affinity group is there: namespaces, for the
    #: extensible load manager bundles; None if the namespace is in no group.
    group_members: Ints | None = None
    #: In the order of the map in which the leader holds them.
    policies: tuple[IsolationPolicy, ...] = ()
    #: A non-persistent topic of the bundle has been looked up.
    has_non_persistent_topic: bool = False


class Filter(Protocol):
    """A filter keeps some of the candidates.

    - It must name candidates only, in candidate order, and return the same for the same
      arguments.
    - It may raise `BrokerFilterError` where the Java throws the exception that stands for
      "this filter cannot say", and `LostSelectionError` where it throws any other.
    """

    def __call__(self, candidates: Ints, request: Request, /) -> Ints:
        """Return the candidates that are kept."""
        ...


class BrokerFilterError(ValueError):
    """A filter cannot say whom to keep (Pulsar: `BrokerFilterException`)."""


class LostSelectionError(ValueError):
    """The Java class throws, and nobody is selected."""
