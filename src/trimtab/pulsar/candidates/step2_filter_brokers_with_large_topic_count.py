"""The limit to the number of a broker's topics."""

from __future__ import annotations

from trimtab.pulsar.candidates.request import Request
from trimtab.pulsar.model import Ints


def filter_brokers_with_large_topic_count(candidates: Ints, request: Request) -> Ints:
    """Keep the brokers that have no more topics than they may, unless that is nobody.

    Counted are the topics of the latest report and those of the bundles on their way.

    Quirks:
        At the limit a broker is kept.
        If all are above it, all are kept: the limit does not hold back the last ones.
        The topics of the bundle that is to be placed do not count, so a broker may be
        carried beyond the limit by one bundle.
        A broker without a report has no topics.

    Source:
        apache/pulsar 2.10.4 to 5.0.1, impl/LoadManagerShared.java
        filterBrokersWithLargeTopicCount; 4.0.8 checked against runs of the method.
    """
    kept = candidates[request.brokers.topics[candidates] <= request.settings.topics_max]
    return kept if kept.size else candidates


def broker_max_topic_count_filter(candidates: Ints, request: Request) -> Ints:
    """Keep the brokers that have fewer topics than they may.

    Quirks:
        At the limit a broker is removed, where the modular load manager keeps it.
        If all are at it nobody is left, and the bundle stays without an owner.
        Bundles on their way do not count: a broker's load data are all that is asked.

    Source:
        apache/pulsar 3.0.0 to 5.0.1, extensions/filter/BrokerMaxTopicCountFilter.java
        filterAsync; read.
    """
    return candidates[request.brokers.topics[candidates] < request.settings.topics_max]
