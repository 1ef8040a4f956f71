"""Only brokers of the newest release may get a bundle, if asked to."""

from __future__ import annotations

from trimtab.pulsar.candidates.request import BrokerFilterError, Request
from trimtab.pulsar.candidates.versions import Version, compare, parse_version
from trimtab.pulsar.model import Ints


def broker_version_filter(candidates: Ints, request: Request) -> Ints:
    """Keep the brokers of the newest version, if later versions are preferred.

    Raises:
        BrokerFilterError: there is no candidate, or one whose version is unknown or none;
            the filters before are then undone.

    Quirks:
        Builds count for nothing: the Java looks at them to find the newest version, and then
        keeps all that are equal to it but for them.
        A version must have three numbers: one broker of 2.10.4.3 disables the filter, and
        with it all the others but the isolation policies.
        While a cluster is upgraded the first new broker is the only candidate.

    Source:
        apache/pulsar 2.10.4 to 5.0.0-M1, impl/BrokerVersionFilter.java filter,
        getLatestVersionNumber, and java-semver 0.9.0; 4.0.8 checked against runs of the
        class.
    """
    if not request.settings.prefers_later_versions:
        return candidates
    if candidates.size == 0:
        raise BrokerFilterError("no brokers to find the latest version of")
    versions = [_version(request, i) for i in candidates.tolist()]
    latest = versions[0]
    for version in versions[1:]:
        if compare(latest, version) < 0:
            latest = version
    kept: Ints = candidates[[compare(version, latest) == 0 for version in versions]]
    return kept


def broker_version_filter_extensible(candidates: Ints, request: Request) -> Ints:
    """Keep the same, and nobody of nobody.

    Raises:
        BrokerFilterError: the version of a candidate is unknown or none; the filter is
            then passed over.

    Quirks:
        If it fails it changes nothing, and what the other filters removed stays removed.

    Source:
        apache/pulsar 3.0.0 to 5.0.0-M1, extensions/filter/BrokerVersionFilter.java
        filterAsync, getLatestVersionNumber; read.
    """
    return broker_version_filter(candidates, request) if candidates.size else candidates


def _version(request: Request, broker: int) -> Version:
    """Return a broker's version."""
    name, text = request.brokers.names[broker], request.brokers.versions[broker]
    if not request.brokers.is_reported[broker]:
        raise BrokerFilterError(f"no broker data for {name}")
    if not text:
        raise BrokerFilterError(f"no version in the report of {name}")
    try:
        return parse_version(text)
    except ValueError as error:
        raise BrokerFilterError(f"in the report of {name}, {error}") from error
