"""Even distribution: brokers take turns in getting the bundles of a namespace."""

from __future__ import annotations

from trimtab.pulsar.bundles import namespace
from trimtab.pulsar.candidates.fewest import fewest
from trimtab.pulsar.candidates.request import Request
from trimtab.pulsar.model import Ints

# NamespaceName.SYSTEM_NAMESPACE.
_SYSTEM_NAMESPACE = "pulsar/system"


def remove_most_servicing_brokers_for_namespace(candidates: Ints, request: Request) -> Ints:
    """Keep the brokers that have the fewest bundles of the namespace, if asked to.

    Bundles of `pulsar/system` are distributed evenly whatever the setting.

    Properties:
        Somebody stays if there was somebody.

    Quirks:
        Bundles are counted, not weighed: ten idle ones outweigh one that is hot.
        Only the namespace's own bundles count, so a broker may be chosen that is full of
        others.
        As a rule a single candidate is left, and the placement strategy has no choice.
        A broker that has just joined has none of any namespace: it is the only candidate
        for everything until it has caught up.
        The bundle that is moved counts for its present owner; what is selected within one
        round of shedding counts nowhere, so all of it may go to the same broker.

    Source:
        apache/pulsar 3.0.7, and 3.3.2 to 5.0.1, impl/LoadManagerShared.java
        removeMostServicingBrokersForNamespace and impl/ModularLoadManagerImpl.java
        selectBroker; 4.0.8 checked against runs of the method.
    """
    is_system = namespace(request.bundle) == _SYSTEM_NAMESPACE
    if not (request.settings.distributes_evenly or is_system):
        return candidates
    return fewest(candidates, request.namespace_bundles)


def remove_most_servicing_brokers_for_namespace_2_10(candidates: Ints, request: Request) -> Ints:
    """Keep the brokers that have the fewest bundles of the namespace, if asked to.

    Quirks:
        `pulsar/system` is a namespace like any other.

    Source:
        apache/pulsar 2.10.4 (where the setting is always on), 3.0.0 to 3.0.2, 3.1.0 and
        3.2.3, impl/ModularLoadManagerImpl.java selectBrokerForAssignment, selectBroker; read.
    """
    if not request.settings.distributes_evenly:
        return candidates
    return fewest(candidates, request.namespace_bundles)
