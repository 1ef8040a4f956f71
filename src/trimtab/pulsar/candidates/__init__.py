"""What stands before placement: filters that a broker must pass to become a candidate.

The listing of this folder is the order in which the modular load manager applies them;
`CHAINS` has the order of each load manager and release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from trimtab.pulsar.candidates.before_unload import (
    is_excluded_from_shedding,
    lacks_other_broker,
    would_crowd_its_group,
)
from trimtab.pulsar.candidates.request import (
    BrokerFilterError,
    Brokers,
    Filter,
    IsolationPolicy,
    LostSelectionError,
    Request,
)
from trimtab.pulsar.candidates.step1_apply_namespace_policies import (
    allowed_by_policies,
    apply_namespace_policies,
    apply_namespace_policies_2_10,
)
from trimtab.pulsar.candidates.step2_filter_brokers_with_large_topic_count import (
    broker_max_topic_count_filter,
    filter_brokers_with_large_topic_count,
)
from trimtab.pulsar.candidates.step3_filter_anti_affinity_group_owned_brokers import (
    anti_affinity_group_policy_filter,
    filter_anti_affinity_group_owned_brokers,
)
from trimtab.pulsar.candidates.step4_remove_most_servicing_brokers_for_namespace import (
    remove_most_servicing_brokers_for_namespace,
    remove_most_servicing_brokers_for_namespace_2_10,
)
from trimtab.pulsar.candidates.step5_broker_load_manager_class_filter import (
    broker_load_manager_class_filter,
    broker_load_manager_class_filter_3_0,
    broker_load_manager_class_filter_extensible_3_0,
)
from trimtab.pulsar.candidates.step6_broker_version_filter import (
    broker_version_filter,
    broker_version_filter_extensible,
)
from trimtab.pulsar.candidates.step7_second_chance import (
    no_second_chance,
    second_chance,
    second_chance_2_10,
)
from trimtab.pulsar.model import ClusterLoad, Ints
from trimtab.pulsar.releases import newest_entry

__all__ = [
    "CHAINS",
    "BrokerFilterError",
    "Brokers",
    "Candidates",
    "Chain",
    "Filter",
    "IsolationPolicy",
    "LostSelectionError",
    "Request",
    "Step",
    "allowed_by_policies",
    "chain",
    "chosen_again",
    "considered",
    "what_forbids_unload",
]


@dataclass(frozen=True, slots=True)
class Step:
    """What one filter did."""

    #: Pulsar's name of the filter.
    name: str
    #: Positions of the brokers that it removed, in candidate order.
    removed: Ints
    #: Why it could not say whom to keep; empty if it could.
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The brokers among which the placement strategy chooses, and who removed the others."""

    #: Positions in `Brokers.names`, in candidate order.
    brokers: Ints
    steps: tuple[Step, ...]
    #: A filter failed or nobody was left, so that isolation policies alone count.
    is_fallback: bool


Filters: TypeAlias = tuple[tuple[str, Filter], ...]
#: Whatever forbids that a bundle is unloaded, by Pulsar's name: asked with the brokers that
#: policies allow, and the owner.
Checks: TypeAlias = tuple[tuple[str, Callable[[Request, Ints, int], bool]], ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """The filters of a load manager in a release, and what is done around them."""

    #: The one of isolation policies, which is also asked by itself.
    policies: Filter
    #: (Pulsar's name, filter), in the order of application.
    filters: Filters
    #: Applies them.
    apply: Callable[[Chain, Ints, Request], Candidates]
    #: Tells whether to choose again.
    second_chance: Callable[[Request, ClusterLoad, int], bool]
    #: Asked of a bundle that was shed before it is placed.
    before_unload: Checks = ()


def _or_policies_alone(applied: Chain, available: Ints, request: Request) -> Candidates:
    """Return whom filters leave; if one fails or nobody is left, whom policies alone allow."""
    left, steps = available, list[Step]()
    for name, keep in applied.filters:
        try:
            kept = keep(left, request)
        except BrokerFilterError as error:
            steps.append(Step(name, left[:0], str(error)))
            return Candidates(applied.policies(available, request), tuple(steps), True)
        steps.append(Step(name, left[~np.isin(left, kept)]))
        left = kept
    if left.size == 0:
        return Candidates(applied.policies(available, request), tuple(steps), True)
    return Candidates(left, tuple(steps), is_fallback=False)


def _passing_over_failures(applied: Chain, available: Ints, request: Request) -> Candidates:
    """Return whom filters leave; one that fails changes nothing, and nobody left is nobody."""
    left, steps = available, list[Step]()
    for name, keep in applied.filters:
        try:
            kept = keep(left, request)
        except BrokerFilterError as error:
            steps.append(Step(name, left[:0], str(error)))
            continue
        steps.append(Step(name, left[~np.isin(left, kept)]))
        left = kept
    return Candidates(left, tuple(steps), is_fallback=False)


_POLICIES, _POLICIES_2_10 = (
    ("applyNamespacePolicies", policies)
    for policies in (apply_namespace_policies, apply_namespace_policies_2_10)
)
_TOPICS_AND_GROUP: Filters = (
    ("filterBrokersWithLargeTopicCount", filter_brokers_with_large_topic_count),
    ("filterAntiAffinityGroupOwnedBrokers", filter_anti_affinity_group_owned_brokers),
)
_EVEN, _EVEN_2_10 = (
    ("removeMostServicingBrokersForNamespace", even)
    for even in (
        remove_most_servicing_brokers_for_namespace,
        remove_most_servicing_brokers_for_namespace_2_10,
    )
)
_CLASS, _CLASS_3_0, _CLASS_EXTENSIBLE_3_0 = (
    ("BrokerLoadManagerClassFilter", of_class)
    for of_class in (
        broker_load_manager_class_filter,
        broker_load_manager_class_filter_3_0,
        broker_load_manager_class_filter_extensible_3_0,
    )
)
_VERSION = ("BrokerVersionFilter", broker_version_filter)
_TOPICS_VERSION_GROUP: Filters = (
    ("BrokerMaxTopicCountFilter", broker_max_topic_count_filter),
    ("BrokerVersionFilter", broker_version_filter_extensible),
    ("AntiAffinityGroupPolicyFilter", anti_affinity_group_policy_filter),
)
_GROUP_CHECK = ("shouldAntiAffinityNamespaceUnload", would_crowd_its_group)
_CHECKS: Checks = (("shouldNamespacePoliciesUnload", lacks_other_broker), _GROUP_CHECK)

_MODULAR_2_10 = Chain(
    policies=apply_namespace_policies_2_10,
    filters=(_POLICIES_2_10, *_TOPICS_AND_GROUP, _EVEN_2_10, _VERSION),
    apply=_or_policies_alone,
    second_chance=second_chance_2_10,
    before_unload=(_GROUP_CHECK,),
)
_MODULAR_3_0 = replace(
    _MODULAR_2_10,
    filters=(_POLICIES_2_10, *_TOPICS_AND_GROUP, _EVEN_2_10, _CLASS_3_0, _VERSION),
    before_unload=_CHECKS,
)
_MODULAR_3_0_2 = replace(
    _MODULAR_3_0,
    filters=(_POLICIES_2_10, *_TOPICS_AND_GROUP, _EVEN_2_10, _CLASS, _VERSION),
)
_MODULAR_3_0_7 = replace(
    _MODULAR_3_0_2,
    filters=(_POLICIES_2_10, *_TOPICS_AND_GROUP, _EVEN, _CLASS, _VERSION),
)
_MODULAR_4_0 = replace(_MODULAR_3_0_7, second_chance=second_chance)
_MODULAR_4_1 = replace(
    _MODULAR_4_0,
    before_unload=(("loadBalancerSheddingExcludedNamespaces", is_excluded_from_shedding), *_CHECKS),
)
_MODULAR = replace(
    _MODULAR_4_1,
    policies=apply_namespace_policies,
    filters=(_POLICIES, *_TOPICS_AND_GROUP, _EVEN, _CLASS, _VERSION),
)
_EXTENSIBLE_3_0 = Chain(
    policies=apply_namespace_policies_2_10,
    filters=(
        _CLASS_EXTENSIBLE_3_0,
        *_TOPICS_VERSION_GROUP,
        ("BrokerIsolationPoliciesFilter", apply_namespace_policies_2_10),
    ),
    apply=_passing_over_failures,
    second_chance=no_second_chance,
)
_EXTENSIBLE_3_0_2 = replace(_EXTENSIBLE_3_0, filters=(_CLASS, *_EXTENSIBLE_3_0.filters[1:]))
_EXTENSIBLE = replace(
    _EXTENSIBLE_3_0_2,
    policies=apply_namespace_policies,
    filters=(
        *_EXTENSIBLE_3_0_2.filters[:-1],
        ("BrokerIsolationPoliciesFilter", apply_namespace_policies),
    ),
)

#: (simple name of the load manager's class, release from which on) → its filters.  What
#: 3.0.7 brought had not come to the lines of 3.1 and 3.2.
CHAINS: Mapping[tuple[str, str], Chain] = {
    ("ModularLoadManagerImpl", "2.10.0"): _MODULAR_2_10,
    ("ModularLoadManagerImpl", "3.0.0"): _MODULAR_3_0,
    ("ModularLoadManagerImpl", "3.0.2"): _MODULAR_3_0_2,
    ("ModularLoadManagerImpl", "3.0.7"): _MODULAR_3_0_7,
    ("ModularLoadManagerImpl", "3.1.0"): _MODULAR_3_0_2,
    ("ModularLoadManagerImpl", "3.3.2"): _MODULAR_3_0_7,
    ("ModularLoadManagerImpl", "4.0.0"): _MODULAR_4_0,
    ("ModularLoadManagerImpl", "4.1.0"): _MODULAR_4_1,
    ("ModularLoadManagerImpl", "5.0.1"): _MODULAR,
    ("ExtensibleLoadManagerImpl", "3.0.0"): _EXTENSIBLE_3_0,
    ("ExtensibleLoadManagerImpl", "3.0.2"): _EXTENSIBLE_3_0_2,
    ("ExtensibleLoadManagerImpl", "5.0.1"): _EXTENSIBLE,
}


def chain(load_manager: str, release: str) -> Chain | None:
    """Return the filters that a load manager had in a release; None if it is not known.

    Args:
        load_manager: simple name of Pulsar's class.
        release: a Pulsar release or a release line, which stands for its newest release.
    """
    return newest_entry(CHAINS, load_manager, release)


def considered(applied: Chain, available: Ints, request: Request) -> Candidates:
    """Return the candidates that a load manager's filters leave of the brokers that are there.

    Args:
        applied: the filters.
        available: positions in `request.brokers` of the brokers to choose from, in the order
            of the leader's set, as `hash_map_order` has it.
        request: the bundle, and what is known of the brokers.

    Returns:
        The candidates in that order, and what each filter did.

    Raises:
        LostSelectionError: the Java throws, and nobody is selected.

    Properties:
        Candidates are some of the brokers available, in their order.
        Without a fallback, each of the others was removed by exactly one filter.

    Quirks:
        In the modular load manager a filter that cannot say whom to keep undoes all the
        others but isolation policies; so does a chain that leaves nobody, whose last
        candidates were good enough for every filter but one.
        In the extensible one a filter that fails is passed over, and nobody left is nobody.
        There, from 3.0.2 on, anti-affinity and isolation policies are applied whenever they
        have been fetched, in any order; they stand here in the order of the list.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, impl/ModularLoadManagerImpl.java selectBroker
        (until 3.0.0 selectBrokerForAssignment), extensions/ExtensibleLoadManagerImpl.java
        selectAsync.  The modular one of 4.0.8 is checked against runs of selectBroker, the
        others are read.
    """
    return applied.apply(applied, available, request)


def chosen_again(applied: Chain, request: Request, load: ClusterLoad, chosen: int) -> Ints | None:
    """Return among whom to choose again after an overloaded broker was chosen.

    Args:
        applied: the load manager's filters and checks.
        request: the bundle, and what is known of the brokers.
        load: the reports.
        chosen: position of the broker that the placement strategy chose.

    Returns:
        The candidates for the second choice, whom policies alone have picked; None if the
        first choice stands.

    Raises:
        UnreportedCandidateError: the chosen broker has no report; the Java throws a null
            error there.
    """
    if not applied.second_chance(request, load, chosen):
        return None
    # The Java adds these to the first candidates, which are some of them.
    return applied.policies(np.arange(len(request.brokers.names)), request)


def what_forbids_unload(applied: Chain, request: Request, owner: int) -> str | None:
    """Return the first check by which a bundle that was shed stays where it is, if any.

    Args:
        applied: the load manager's filters and checks.
        request: the bundle, and what is known of the brokers.
        owner: position of the bundle's owner.

    Quirks:
        A bundle that stays is not remembered as recently unloaded: the shedder will choose
        it again, and count it as moved again.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, impl/ModularLoadManagerImpl.java doLoadShedding;
        read.
    """
    allowed = applied.policies(np.arange(len(request.brokers.names)), request)
    checks = applied.before_unload
    return next((name for name, forbids in checks if forbids(request, allowed, owner)), None)
