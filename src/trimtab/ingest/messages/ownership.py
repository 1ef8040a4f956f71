"""Messages of bundle ownership: taken, given up, and the locks that stand for it."""

from __future__ import annotations

from trimtab.ingest.messages.message import line, message

_BUNDLE = "lb/ns1/0xf0000000_0xf8000000"
_OWNED = "broker.namespace.OwnedBundle"
_CACHE = "broker.namespace.OwnershipCache"
_LOCK = "metadata.coordination.impl.ResourceLockImpl"
_LOCKS = "metadata.coordination.impl.LockManagerImpl"
_STORE = "metadata-store-10-1"

MESSAGES = (
    message(
        "ownership-disabled",
        "OwnedBundle",
        "Disabling ownership: {bundle}",
        line(_OWNED, f"Disabling ownership: {_BUNDLE}", thread=_STORE),
        releases="4.0.8",
        meaning="The owner refuses new topics of the bundle: its unload begins.",
    ),
    message(
        "bundle-unloaded",
        "OwnedBundle",
        "Unloading {bundle} namespace-bundle with {count} topics completed in {n_took_ms} ms",
        line(
            _OWNED,
            f"Unloading {_BUNDLE} namespace-bundle with 6 topics completed in 1462.0 ms",
            thread=_STORE,
        ),
        releases="4.0.8",
        meaning="The owner has unloaded the bundle; no topics in much time is a time-out.",
    ),
    message(
        "ownership-tried",
        "OwnershipCache",
        "Trying to acquire ownership of {bundle}",
        line(_CACHE, f"Trying to acquire ownership of {_BUNDLE}", thread=_STORE),
        releases="4.0.8",
        meaning="The broker tries to become the bundle's owner.",
    ),
    message(
        "ownership-acquired",
        "OwnershipCache",
        "Successfully acquired ownership of OwnedBundle(bundle={bundle}, isActive={*})",
        line(
            _CACHE,
            f"Successfully acquired ownership of OwnedBundle(bundle={_BUNDLE}, isActive=1)",
            thread=_STORE,
        ),
        releases="4.0.8",
        meaning="The broker owns the bundle.",
    ),
    message(
        "ownership-acquired",
        "OwnershipCache",
        "Successfully acquired ownership of /namespace/{bundle}",
        line(_CACHE, f"Successfully acquired ownership of /namespace/{_BUNDLE}", thread=_STORE),
        releases="by the source, old releases",
        meaning="The broker owns the bundle.",
    ),
    message(
        "ownership-lock-expired",
        "OwnershipCache",
        "Resource lock for /namespace/{bundle} has expired",
        line(_CACHE, f"Resource lock for /namespace/{_BUNDLE} has expired", thread=_STORE),
        releases="4.0.8",
        meaning="The broker no longer owns the bundle, by its own doing or not.",
    ),
    message(
        "ownership-lock-removed",
        "OwnershipCache",
        "[/namespace/{bundle}] Removed zk lock for service unit: OK",
        line(_CACHE, f"[/namespace/{_BUNDLE}] Removed zk lock for service unit: OK"),
        releases="old releases; posted by users",
        meaning="The broker has given the bundle up.",
    ),
    message(
        "bundle-lock-acquired",
        "ResourceLockImpl",
        "Acquired resource lock on /namespace/{bundle}",
        line(_LOCK, f"Acquired resource lock on /namespace/{_BUNDLE}", thread=_STORE),
        releases="4.0.8",
        meaning="The broker holds the bundle's lock in the metadata store.",
    ),
    message(
        "bundle-lock-invalidated",
        "ResourceLockImpl",
        "Lock on resource /namespace/{bundle} was invalidated. state {*}",
        line(
            _LOCK,
            f"Lock on resource /namespace/{_BUNDLE} was invalidated. state Releasing",
            thread=_STORE,
        ),
        releases="4.0.8",
        meaning="The bundle's lock is gone from the metadata store; the state says why.",
    ),
    message(
        "bundle-lock-released",
        "LockManagerImpl",
        "Released resource lock on /namespace/{bundle}",
        line(_LOCKS, f"Released resource lock on /namespace/{_BUNDLE}", thread=_STORE),
        releases="4.0.8",
        meaning="The broker has let go of the bundle's lock.",
    ),
    message(
        "broker-registered",
        "ResourceLockImpl",
        "Acquired resource lock on /loadbalance/brokers/{broker}",
        line(
            _LOCK,
            "Acquired resource lock on /loadbalance/brokers/10.213.0.11:8080",
            thread=_STORE,
        ),
        releases="4.0.8",
        meaning="The broker is registered, at its start and at each renewal of its report's lock.",
    ),
    message(
        "broker-lock-invalidated",
        "ResourceLockImpl",
        "Lock on resource /loadbalance/brokers/{broker} was invalidated. state {*}",
        line(
            _LOCK,
            "Lock on resource /loadbalance/brokers/10.213.0.11:8080 was invalidated. "
            "state Releasing",
            thread=_STORE,
        ),
        releases="4.0.8",
        meaning="The broker's registration is gone from the metadata store.",
    ),
    message(
        "broker-deregistered",
        "LockManagerImpl",
        "Released resource lock on /loadbalance/brokers/{broker}",
        line(
            _LOCKS,
            "Released resource lock on /loadbalance/brokers/10.213.0.11:8080",
            thread=_STORE,
        ),
        releases="4.0.8",
        meaning="The broker has given its registration up.",
    ),
    message(
        "locks-revalidated",
        "LockManagerImpl",
        "Metadata store connection has been re-established. Revalidating locks that were pending.",
        line(
            _LOCKS,
            "Metadata store connection has been re-established. "
            "Revalidating locks that were pending.",
            thread="metadata-store-coordination-service-12-1",
        ),
        releases="4.0.8",
        meaning="The broker is connected to the metadata store again and checks what it owns.",
    ),
    message(
        "bundle-loading",
        "PulsarService",
        "Loading all topics on bundle: {bundle}",
        line(
            "broker.PulsarService", f"Loading all topics on bundle: {_BUNDLE}", thread="pulsar-2-1"
        ),
        releases="4.0.8",
        meaning="The new owner loads the bundle's topics.",
    ),
    message(
        "bundle-loaded",
        "PulsarService",
        "Loaded {count} topics on {bundle} -- time taken: {n_took_s} seconds",
        line(
            "broker.PulsarService",
            f"Loaded 6 topics on {_BUNDLE} -- time taken: 3.482 seconds",
            thread="broker-topic-workers-OrderedExecutor-0-0",
        ),
        releases="4.0.8",
        meaning="The new owner has loaded the bundle's topics.",
    ),
    message(
        "bundle-unload-timed-out",
        "BrokerService",
        "Unloading of {bundle} has timed out",
        line("broker.service.BrokerService", f"Unloading of {_BUNDLE} has timed out", "WARN"),
        releases="posted by users",
        meaning="The bundle's topics did not close in time.",
        needle="Unloading of",
    ),
    message(
        "bundles-given-up",
        "BrokerService",
        "Unloading {count} namespace-bundles completed in {n_took_s} seconds",
        line(
            "broker.service.BrokerService",
            "Unloading 12 namespace-bundles completed in 0.847 seconds",
            thread="pulsar-service-shutdown",
        ),
        releases="4.0.8",
        meaning="A broker that shuts down has unloaded all it owned.",
    ),
    message(
        "topic-not-served",
        "BrokerService",
        "Namespace bundle {?({bundle}) ?}for topic ({*}) not served by this instance{*}",
        line(
            "broker.service.BrokerService",
            f"Namespace bundle ({_BUNDLE}) for topic (persistent://lb/ns1/p-20) not served by "
            "this instance:10.213.0.12:8080. Please redo the lookup.",
            "WARN",
            "pulsar-io-3-1",
        ),
        releases="4.0.8; older ones without the bundle",
        meaning="A client came to a broker that does not own the topic's bundle.",
        needle=") not served by this instance",
    ),
    message(
        "lookup-during-unload",
        "TopicLookupBase",
        "Failed to lookup {*} for topic {*} with error {*}Namespace bundle {bundle} is being "
        "unloaded{*}",
        line(
            "broker.lookup.TopicLookupBase",
            "Failed to lookup null for topic persistent://lb/ns1/p-21 with error Namespace "
            f"bundle {_BUNDLE} is being unloaded",
            thread="pulsar-io-3-1",
        ),
        releases="4.0.8",
        meaning="A client was turned away while the bundle was between owners.",
        needle=" is being unloaded",
    ),
    message(
        "lookup-without-owner",
        "TopicLookupBase",
        "Failed to lookup {*} for topic {*} with error {*}Failed to acquire ownership for "
        "namespace bundle {bundle}",
        line(
            "broker.lookup.TopicLookupBase",
            "Failed to lookup null for topic persistent://lb/adm/t1 with error Failed to acquire "
            f"ownership for namespace bundle {_BUNDLE}",
            "WARN",
        ),
        releases="4.0.8",
        meaning="A client was turned away, for the broker did not become the owner.",
        needle="Failed to acquire ownership for",
    ),
    message(
        "ownership-not-acquired",
        "NamespaceService",
        "Failed to acquire ownership for namespace bundle {bundle}{?: {*}?}",
        line(
            "broker.namespace.NamespaceService",
            f"Failed to acquire ownership for namespace bundle {_BUNDLE}: "
            "java.util.concurrent.CompletionException: LockBusyException",
            "WARN",
        ),
        releases="4.0.8",
        meaning="Another broker was the faster.",
    ),
)
