"""Isolation policies: which brokers a namespace may use at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from trimtab.pulsar.bundles import namespace
from trimtab.pulsar.candidates.request import IsolationPolicy, Request
from trimtab.pulsar.model import Flags, Ints

#: The names by which a policy may mean each broker.
Names: TypeAlias = Sequence[tuple[str, ...]]


def apply_namespace_policies(candidates: Ints, request: Request) -> Ints:
    """Keep the brokers that the namespace's isolation policy names, or those that no policy claims.

    With a policy these are its primary brokers, and its secondary ones too while fewer
    primaries are there than it asks for.  Without one they are the brokers that are
    nobody's primary and serve topics of the kind that is wanted.  A pattern matches a
    broker's host, or its whole id.

    Properties:
        Order is kept.  Without any policy, all brokers that report and serve such topics.

    Quirks:
        A broker that has not reported yet serves nothing as far as the leader knows, and
        is kept out; but with a policy nobody asks what it serves, so it may be chosen, and
        the placement strategy that looks for its report throws.
        Of several policies that match a namespace the first counts, in an order that is
        that of a map.
        A policy's `usage_threshold` is checked when the policy is made and never asked:
        a primary broker counts however busy it is.
        With a policy whose primaries are enough, secondaries get nothing, even if every
        primary is overloaded.
        Patterns are Java's, matched as Python's: what the two read differently does not
        occur in names of hosts.
        A broker id without a colon is left out.

    Source:
        apache/pulsar 5.0.1, impl/LoadManagerShared.java applyNamespacePolicies,
        impl/SimpleResourceAllocationPolicies.java, NamespaceIsolationPolicies.java,
        MinAvailablePolicy.java; read.
    """
    return _allowed(candidates, request, [(host(name), name) for name in request.brokers.names])


def apply_namespace_policies_2_10(candidates: Ints, request: Request) -> Ints:
    """Keep the same by names of hosts alone.

    Quirks:
        Brokers on one host cannot be told apart, and a pattern with a port matches nobody.
        A broker id without a colon is left out; before 3.0.2 its whole name was its host.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, impl/LoadManagerShared.java applyNamespacePolicies;
        candidates of 4.0.8 checked against runs of the class.
    """
    return _allowed(candidates, request, [(host(name),) for name in request.brokers.names])


def allowed_by_policies(
    name: str, brokers: Sequence[str], policies: Sequence[IsolationPolicy]
) -> Flags:
    """Return which brokers the policies leave to a namespace, (n_brokers,), all being there.

    As `apply_namespace_policies` does, but for what brokers report that they serve.
    """
    names = [(host(broker), broker) for broker in brokers]
    policy = next((each for each in policies if _is_match(name, each.namespaces)), None)
    if policy is None:
        return ~_is_claimed(names, policies)
    is_primary = _matches(names, policy.primary)
    if int(np.count_nonzero(is_primary)) >= policy.primaries_min:
        return is_primary
    return is_primary | _matches(names, policy.secondary)


def host(broker: str) -> str:
    """Return a broker's id without its port; nothing is left of one without."""
    return broker.rpartition(":")[0]


def _allowed(candidates: Ints, request: Request, names: Names) -> Ints:
    """Return whom the policies allow, given the names by which each broker may be meant."""
    has_host = np.array([bool(name[0]) for name in names], dtype=np.bool_)
    policy = _policy_of(request)
    if policy is None:
        allowed = has_host & _serves(request) & ~_is_claimed(names, request.policies)
        return candidates[allowed[candidates]]
    is_primary = has_host & _matches(names, policy.primary)
    is_secondary = has_host & _matches(names, policy.secondary)
    primaries = int(np.count_nonzero(is_primary[candidates]))
    allowed = is_primary | is_secondary if primaries < policy.primaries_min else is_primary
    return candidates[allowed[candidates]]


def _policy_of(request: Request) -> IsolationPolicy | None:
    """Return the isolation policy of a bundle's namespace; the first that matches is it."""
    name = namespace(request.bundle)
    return next((p for p in request.policies if _is_match(name, p.namespaces)), None)


def _serves(request: Request) -> Flags:
    """Return which brokers serve topics of the kind that the bundle has."""
    brokers = request.brokers
    takes = (
        brokers.takes_non_persistent
        if request.has_non_persistent_topic
        else brokers.takes_persistent
    )
    return brokers.is_reported & takes


def _is_claimed(names: Names, policies: Iterable[IsolationPolicy]) -> Flags:
    """Return which brokers are a primary of anybody's."""
    return _matches(names, [pattern for policy in policies for pattern in policy.primary])


def _matches(names: Names, patterns: Sequence[str]) -> Flags:
    return np.array([any(_is_match(n, patterns) for n in mine) for mine in names], np.bool_)


def _is_match(name: str, patterns: Sequence[str]) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in patterns)
