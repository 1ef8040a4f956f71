"""What stands before placement: the settings of the filters that brokers must pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from trimtab.pulsar.settings.reader import by, flag, names, percent, settings_of, text, whole
from trimtab.pulsar.settings.weights import ResourceWeights, resource_weights


@dataclass(frozen=True, slots=True)
class CandidateSettings:
    """What the filters before placement go by."""

    topics_max: int = whole("loadBalancerBrokerMaxTopics")
    #: Before 2.11 bundles were always distributed evenly.
    distributes_evenly: bool = flag("loadBalancerDistributeBundlesEvenlyEnabled", before=True)
    prefers_later_versions: bool = flag("preferLaterVersions")
    uses_failure_domains: bool = flag("failureDomainsEnabled")
    #: The whole name of the class.
    load_manager: str = text("loadManagerClassName")
    #: Fraction.
    overloaded_threshold: float = percent("loadBalancerBrokerOverloadedThresholdPercentage")
    #: How usage is weighed for that; heeded from 4.0 on.
    weights: ResourceWeights = by(resource_weights)
    #: Before 4.1 no namespace could be excluded from shedding.
    excluded_namespaces: frozenset[str] = names("loadBalancerSheddingExcludedNamespaces")


candidate_settings = partial(settings_of, CandidateSettings)
