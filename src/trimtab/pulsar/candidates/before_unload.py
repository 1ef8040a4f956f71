"""What is asked before a bundle that was shed is placed: whether it may leave at all."""

from __future__ import annotations

from trimtab.pulsar.bundles import namespace
from trimtab.pulsar.candidates.request import Request
from trimtab.pulsar.model import Ints


def is_excluded_from_shedding(request: Request, allowed: Ints, owner: int) -> bool:
    """Keep a bundle where it is if its namespace is excluded from shedding.

    Quirks:
        The shedder has chosen the bundle already and counts it as moved, so nothing else
        goes in its stead.
        The same namespaces are placed in turn, whatever the load.

    Source:
        apache/pulsar 5.0.0-M1, impl/ModularLoadManagerImpl.java doLoadShedding,
        selectBroker; since 4.1.0 by its notes; read.
    """
    del allowed, owner
    return namespace(request.bundle) in request.settings.excluded_namespaces


def lacks_other_broker(request: Request, allowed: Ints, owner: int) -> bool:
    """Keep a bundle where it is if policies allow it to nobody but its owner.

    Quirks:
        The bundle stays without a line in the log, and is chosen again a round later.

    Source:
        apache/pulsar 3.0.0 to 5.0.0-M1, impl/ModularLoadManagerImpl.java
        shouldNamespacePoliciesUnload (which says the opposite); read.
    """
    del request
    return not (allowed != owner).any()


def would_crowd_its_group(request: Request, allowed: Ints, owner: int) -> bool:
    """Keep a bundle where it is if its anti-affinity group is spread evenly already.

    Quirks:
        It may leave as soon as a broker has nothing of the group, or fewer than the owner,
        or if the brokers' numbers differ at all.
        Failure domains do not count here.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, impl/LoadManagerShared.java
        shouldAntiAffinityNamespaceUnload (which says the opposite); 4.0.8 checked against
        runs of the method.
    """
    if request.group_members is None or not request.group_members.any():
        return False
    members = request.group_members[allowed]
    if members.size == 0:
        return True
    mine = int(members[allowed == owner].sum())  # 0 if policies do not allow the owner
    least = int(members.min())
    return least > 0 and mine <= least and bool((members == least).all())
