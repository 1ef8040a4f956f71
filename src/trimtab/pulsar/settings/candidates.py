"""What stands before placement: the settings of the filters that brokers must pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.pulsar.settings.reader import Reader
from trimtab.pulsar.settings.weights import ResourceWeights, resource_weights


@dataclass(frozen=True, slots=True)
class CandidateSettings:
    """What the filters before placement go by."""

    #: loadBalancerBrokerMaxTopics.
    topics_max: int
    #: loadBalancerDistributeBundlesEvenlyEnabled.
    distributes_evenly: bool
    #: preferLaterVersions.
    prefers_later_versions: bool
    #: failureDomainsEnabled.
    uses_failure_domains: bool
    #: loadManagerClassName, the whole name of the class.
    load_manager: str
    #: loadBalancerBrokerOverloadedThresholdPercentage, as a fraction.
    overloaded_threshold: float
    #: How usage is weighed for that; heeded from 4.0 on.
    weights: ResourceWeights
    #: loadBalancerSheddingExcludedNamespaces.
    excluded_namespaces: frozenset[str]


def candidate_settings(conf: Mapping[str, str], release: str) -> CandidateSettings:
    """Return what the filters before placement go by.

    Quirks:
        Before 2.11 bundles were always distributed evenly; before 4.1 no namespace could be
        excluded from shedding.

    Raises:
        SettingError: a value cannot be read.
    """
    read = Reader(conf, release)
    excluded = read.text("loadBalancerSheddingExcludedNamespaces", before="").split(",")
    return CandidateSettings(
        topics_max=int(read.number("loadBalancerBrokerMaxTopics")),
        distributes_evenly=read.flag("loadBalancerDistributeBundlesEvenlyEnabled", before=True),
        prefers_later_versions=read.flag("preferLaterVersions"),
        uses_failure_domains=read.flag("failureDomainsEnabled"),
        load_manager=read.text("loadManagerClassName"),
        overloaded_threshold=read.percent("loadBalancerBrokerOverloadedThresholdPercentage"),
        weights=resource_weights(read),
        excluded_namespaces=frozenset(filter(None, (name.strip() for name in excluded))),
    )
