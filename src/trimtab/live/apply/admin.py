"""A cluster's admin API, as far as moving bundles needs it: what is so now, and two acts."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import chain, groupby
from typing import Any
from urllib.parse import quote, urlsplit

from trimtab.live.control.entries import ACCEPTED, REFUSED, UNKNOWN
from trimtab.live.gather.access import Access
from trimtab.live.gather.calls import CallError, Calls, Limits
from trimtab.live.gather.cluster import (
    BROKERS,
    REPORT,
    RUNTIME,
    broker_address,
    first_answer,
    owned_path,
    release_of,
    settings_in,
)
from trimtab.pulsar.bundles import bundle_range, bundles_over, namespace

#: A broker that says nothing for so long is not one to move bundles to.
ASKING = Limits(connect_s=3.0, read_s=5.0, whole_s=10.0)
#: Pulsar gives up an unload after namespaceBundleUnloadingTimeoutMs, 60 s.
UNLOADING = Limits(connect_s=3.0, read_s=62.0, whole_s=65.0)
#: These say that nothing was done; any other failure may come from somebody on the way.
_REFUSALS = {400, 401, 403, 404, 405, 409, 412}
_NAMES_MAX = 1 << 20
_DYNAMIC = f"{BROKERS}/configuration"
#: Of a namespace or a tenant that is gone, whatever else an address that is not there says.
_NO_NAMESPACE = "does not exist"


@dataclass(slots=True)
class Admin:
    """The admin API of one cluster, through any of its brokers."""

    #: Of the broker that is asked first, without a slash at its end.
    address: str
    access: Access
    #: The cluster's name and release; empty until `begin`.
    cluster: str = ""
    release: str = ""
    #: Broker id → address of its admin API, of all that were ever registered.
    addresses: dict[str, str] = field(default_factory=dict)
    _calls: Calls = field(init=False)
    _unloads: Calls = field(init=False)

    def __post_init__(self) -> None:
        """Prepare, without calling anybody."""
        self._calls = Calls(self.access, ASKING)
        self._unloads = Calls(self.access, UNLOADING)

    def begin(self) -> None:
        """Learn what stays as it is.

        Raises:
            CallError: nobody answers, or it is no broker of Pulsar's.
        """
        self.cluster = self.settings()["clusterName"]
        brokers = self.brokers()
        release = release_of(self._calls, self.address)
        if release is None:
            release = str(self.report(brokers[0]).get("brokerVersionString", ""))[:40]
        self.release = release

    # -------------------------------------------------------------- what is so now

    def settings(self, broker: str | None = None) -> Mapping[str, str]:
        """Return a broker's settings in effect; without one, those of whoever answers first.

        Raises:
            CallError: nobody answers, or it is no broker of Pulsar's.
        """
        answer = self.anyone(RUNTIME) if broker is None else self._ask(broker, RUNTIME)
        settings = settings_in(answer, self.address + RUNTIME)
        return {str(key): "" if value is None else str(value) for key, value in settings.items()}

    def brokers(self) -> tuple[str, ...]:
        """Return the ids of the brokers that are registered, in their order.

        Quirks:
            One that was killed stays registered until its session ends.

        Raises:
            CallError: nobody answers.
        """
        answer = self.anyone(BROKERS)
        if not isinstance(answer, list):
            raise CallError(self.address + BROKERS, "no list of brokers")
        for broker in sorted(map(str, answer)):
            if broker not in self.addresses:
                at = broker_address(self._calls, self.address, self.cluster, broker)
                self.addresses[broker] = at
        return tuple(sorted(map(str, answer)))

    def leader(self) -> str | None:
        """Return the id of the broker that leads, None if there is none.

        Raises:
            CallError: nobody answers.
        """
        try:
            answer = self.anyone(f"{BROKERS}/leaderBroker")
        except CallError as error:
            if error.status == 404:
                return None
            raise
        if not isinstance(answer, dict):
            return None
        # Releases before 3.1 give the address alone, which has the id's port or its sibling's.
        name = answer.get("brokerId") or urlsplit(str(answer.get("serviceUrl", ""))).netloc
        return str(name) or None

    def report(self, broker: str) -> Mapping[str, Any]:
        """Return what a broker says of its load when it is asked.

        Raises:
            CallError: it does not answer, or has none, as under the extensible load manager.
        """
        answer = self._ask(broker, REPORT)
        if not isinstance(answer, dict):
            raise CallError(self.addresses[broker], "no load report")
        return answer

    def metrics(self, broker: str) -> str:
        """Return a broker's metrics as Prometheus scrapes them.

        Raises:
            CallError: it does not answer.
        """
        answer = self._calls.get(self.addresses[broker] + "/metrics/")
        return answer.body.decode("utf-8", "replace")

    def owned(self, broker: str) -> frozenset[str]:
        """Return the bundles that a broker owns, its own two among them.

        Raises:
            CallError: it does not answer.
        """
        answer = self._ask(broker, owned_path(self.cluster, broker))
        if not isinstance(answer, dict):
            raise CallError(self.addresses[broker], "no bundles")
        return frozenset(map(str, answer))

    def owned_or_none(self, broker: str) -> frozenset[str] | None:
        """Return the bundles that a broker owns; None if it does not answer."""
        try:
            return self.owned(broker)
        except CallError:
            return None

    def replacements(self, bundles: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the bundles that are no more, with those that have their ranges now.

        A bundle whose namespace is gone has none; one of which that cannot be read is left out.
        """
        replacements: dict[str, tuple[str, ...]] = {}
        for name, those in groupby(sorted(bundles, key=namespace), key=namespace):
            boundaries = self._boundaries(name)
            if boundaries is None:
                continue
            for bundle in those:
                now = bundles_over(bundle, boundaries)
                if now != (bundle,):
                    replacements[bundle] = now
        return replacements

    def anyone(self, path: str) -> object:
        """Return the answer of where the first call goes, or else of the first that answers.

        Raises:
            CallError: nobody answers; the error is the first one's.
        """
        addresses = [self.address, *self.addresses.values()]
        return first_answer(self._calls, addresses, path, _REFUSALS)

    def overrides(self) -> Mapping[str, str]:
        """Return the dynamic settings, which hold in place of those in the brokers' files.

        Raises:
            CallError: nobody answers.
        """
        answer = self.anyone(f"{_DYNAMIC}/values")
        if not isinstance(answer, dict):
            raise CallError(self.address + _DYNAMIC, "no settings")
        return {str(key): str(value) for key, value in answer.items()}

    def ill(self, broker: str) -> str:
        """Return why a broker is not healthy: it publishes and reads back a message of its own."""
        try:
            self._calls.get(f"{self.addresses[broker]}{BROKERS}/health")
        except CallError as error:
            return f"its check of itself says {error.reason}"
        return ""

    # ----------------------------------------------------------------------- acts

    def override(self, key: str, value: str) -> None:
        """Set a dynamic setting; an empty value removes it.

        Quirks:
            Releases without Pulsar's pull request 22673 go on with a value that was removed.

        Raises:
            CallError: nobody does it.
        """
        path = f"{_DYNAMIC}/{key}/{quote(value)}" if value else f"{_DYNAMIC}/{key}"
        failures = []
        for address in dict.fromkeys([self.address, *self.addresses.values()]):
            try:
                self._calls.change("POST" if value else "DELETE", address + path)
            except CallError as error:
                if error.status in _REFUSALS:
                    raise
                failures.append(error)
            else:
                return
        raise failures[0]

    def unload(self, bundle: str, destination: str, through: str | None) -> tuple[str, str]:
        """Return the status and the text of unloading a bundle, by one call that is never repeated.

        Args:
            bundle: its whole name.
            destination: broker id.
            through: id of the broker that is called, best the leader; None for the first.
        """
        address = self.addresses.get(through or "", self.address)
        path = f"/admin/v2/namespaces/{quote(bundle)}/unload"
        url = f"{address}{path}?destinationBroker={quote(destination, safe=':')}"
        try:
            self._unloads.put(url)
        except CallError as error:
            return (REFUSED if error.status in _REFUSALS else UNKNOWN), error.reason
        return ACCEPTED, "unloaded"

    def look_up(self, bundle: str) -> None:
        """Look a topic of a bundle up, upon which Pulsar gives the bundle an owner.

        Quirks:
            A topic that is there already is taken if there is one; else the name of one
            that need not be there, and which a lookup does not make.
        """
        # Whether the bundle has an owner then is to be seen.
        with suppress(CallError):
            self.anyone(f"/lookup/v2/topic/{topic_of(bundle, self._topics(bundle))}")

    def _boundaries(self, name: str) -> Sequence[str] | None:
        """Return where a namespace is cut; nowhere if there is none, None if it cannot be read."""
        try:
            answer = self.anyone(f"/admin/v2/namespaces/{quote(name)}/bundles")
        except CallError as error:
            is_gone = error.status == HTTPStatus.NOT_FOUND and _NO_NAMESPACE in error.reason
            return () if is_gone else None
        boundaries = answer.get("boundaries") if isinstance(answer, dict) else None
        return list(map(str, boundaries)) if isinstance(boundaries, list) else None

    def _topics(self, bundle: str) -> tuple[str, ...]:
        try:
            answer = self.anyone(f"/admin/v2/persistent/{quote(namespace(bundle))}")
        except CallError:
            return ()
        return tuple(map(str, answer)) if isinstance(answer, list) else ()

    def _ask(self, broker: str, path: str) -> object:
        return self._calls.json(self.addresses[broker] + path)


def topic_of(bundle: str, topics: tuple[str, ...] = ()) -> str:
    """Return a topic of a bundle, as a lookup's address has it.

    Args:
        bundle: `tenant/namespace/0x…_0x…`.
        topics: those that there are in its namespace.

    Source:
        NamespaceBundleFactory.getLongHashCode: the CRC-32 of the topic's whole name.
    """
    first, last = bundle_range(bundle)
    prefix = f"persistent://{namespace(bundle)}/trimtab"
    # Of a million names some fall into every range there is.
    for topic in chain(topics, (f"{prefix}-{i}" for i in range(_NAMES_MAX))):
        code = zlib.crc32(topic.encode())
        if first <= code < last or code == last == 0xFFFFFFFF:
            return quote(topic.replace("://", "/"))
    return quote(prefix.replace("://", "/"))
