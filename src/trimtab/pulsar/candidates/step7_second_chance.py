"""If the chosen broker is overloaded, choose again among everybody that policies allow."""

from __future__ import annotations

from trimtab.pulsar.candidates.request import Request
from trimtab.pulsar.model import ClusterLoad, Floats, UnreportedCandidateError
from trimtab.pulsar.scores import unweighted_usage, weighted_usage


def second_chance(request: Request, load: ClusterLoad, chosen: int) -> bool:
    """Return whether to choose again, since the broker that was chosen is overloaded.

    Args:
        request: the bundle, and what is known of the brokers.
        load: the reports.
        chosen: position of the broker that the placement strategy chose.

    Raises:
        UnreportedCandidateError: the chosen broker has no report; the Java throws a null
            error there.

    Quirks:
        Overloaded is above the threshold, not at it.
        Of all filters only the isolation policies count for the second choice: even
        distribution, anti-affinity, version and number of topics do not.
        The overloaded broker is a candidate again, and may be chosen again.
        The second choice is the placement strategy's, also for namespaces that are
        excluded from shedding and whose first choice goes by turns.
        For LeastResourceUsageWithWeight the second call is one more step of its averages.

    Source:
        apache/pulsar 4.0.0 to 5.0.1, impl/ModularLoadManagerImpl.java selectBroker; 4.0.8
        checked against runs of the method.
    """
    return _chance(request, weighted_usage(load, request.settings.weights), chosen)


def second_chance_2_10(request: Request, load: ClusterLoad, chosen: int) -> bool:
    """Return the same by usage that is not weighed.

    Quirks:
        The usage is a 32-bit float to the end: at a threshold of 85 % a broker of 85 % is
        above it.

    Source:
        apache/pulsar 2.10.4 to 3.3.5, impl/ModularLoadManagerImpl.java selectBroker,
        selectBrokerForAssignment; read.
    """
    return _chance(request, unweighted_usage(load), chosen)


def no_second_chance(request: Request, load: ClusterLoad, chosen: int) -> bool:
    """Let the first choice stand.

    Quirks:
        The extensible load manager does not look at the broker it has chosen.

    Source:
        apache/pulsar 3.0.0 to 5.0.0-M1, extensions/ExtensibleLoadManagerImpl.java
        selectAsync; read.
    """
    del request, load, chosen
    return False


def _chance(request: Request, usage: Floats, chosen: int) -> bool:
    if not 0 <= chosen < usage.size:
        raise UnreportedCandidateError(0, chosen, None)
    return bool(usage[chosen] > request.settings.overloaded_threshold)
