"""Anti-affinity groups: namespaces that shall not share a broker, nor a failure domain."""

from __future__ import annotations

import numpy as np

from trimtab.pulsar.candidates.fewest import fewest
from trimtab.pulsar.candidates.request import Request
from trimtab.pulsar.model import Ints

# LoadManagerShared.DEFAULT_DOMAIN, for brokers that are in none.
_DEFAULT_DOMAIN = "default"


def filter_anti_affinity_group_owned_brokers(candidates: Ints, request: Request) -> Ints:
    """Keep the brokers that have the fewest namespaces of the namespace's anti-affinity group.

    Where failure domains are used, the domains with the fewest come first, and the brokers
    within them second.  Nothing happens to a namespace that is in no group.

    Properties:
        Somebody stays if there was somebody.

    Quirks:
        The bundle's own namespace is one of the group: a broker that has one of its
        bundles counts one for it, so the bundles of one namespace avoid each other too,
        as even distribution would have them.
        A domain is judged by the candidates in it alone, and by their sum, so a domain of
        many brokers looks fuller than one of few.
        Brokers in no domain share one called `default`, which may also be a real one.
        Where no broker has a domain, domains are passed over.
        Groups are compared without regard to case.
        If the groups of the namespaces cannot be read, the filter keeps everybody.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, impl/LoadManagerShared.java
        filterAntiAffinityGroupOwnedBrokers,
        filterDomainsNotHavingLeastNumberAntiAffinityNamespaces; 4.0.8 checked against
        runs of the methods.
    """
    if request.group_members is None:
        return candidates
    if request.settings.uses_failure_domains:
        candidates = _in_emptiest_domains(candidates, request, request.group_members)
    return fewest(candidates, request.group_members)


def anti_affinity_group_policy_filter(candidates: Ints, request: Request) -> Ints:
    """Keep the brokers that have the fewest bundles of the namespace's anti-affinity group.

    Quirks:
        The modular load manager counts namespaces; this one counts bundles, by the same
        name, so a namespace of many bundles weighs more than one of few.
        Only bundles that are owned count; those being handed over count nowhere.

    Source:
        apache/pulsar 3.0.0 to 5.0.0-M1, impl/LoadManagerShared.java
        getAntiAffinityNamespaceOwnedBrokers (of ownership data),
        extensions/filter/AntiAffinityGroupPolicyFilter.java filterAsync; read.
    """
    return filter_anti_affinity_group_owned_brokers(candidates, request)


def _in_emptiest_domains(candidates: Ints, request: Request, members: Ints) -> Ints:
    """Return the candidates of the domains that have the fewest members of the group."""
    domains = request.brokers.domains
    if candidates.size == 0 or not any(domains):
        return candidates
    mine = [domains[i] or _DEFAULT_DOMAIN for i in candidates.tolist()]
    _, domain = np.unique(mine, return_inverse=True)
    total = np.zeros(domain.max() + 1, dtype=np.int64)
    np.add.at(total, domain, members[candidates])
    kept: Ints = candidates[total[domain] == total.min()]
    return kept
