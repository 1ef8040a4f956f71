"""Messages of the extensible manager's channel, in which bundles change state and owner."""

from __future__ import annotations

from trimtab.ingest.messages.message import Message, line, message

_LOGGER = "broker.loadbalance.extensions.channel.ServiceUnitStateChannelImpl"
_CLASS = "ServiceUnitStateChannelImpl"
_BUNDLE = "lb/ns1/0x68000000_0x70000000"
_RELEASES = "4.0.8, extensible manager"
_THREAD = "broker-client-shared-internal-executor-5-1"

#: State of a bundle in the channel, and what the state means.
_STATES = (
    ("Free", "has no owner and may be taken"),
    ("Owned", "belongs to the target"),
    ("Assigning", "is offered to the target"),
    ("Releasing", "is given up by the broker, for the target if there is one"),
    ("Splitting", "is split by the broker"),
    ("Deleted", "has been split by the broker and is gone"),
)


def _data(state: str, source: str, target: str) -> str:
    """Return a bundle's record in the channel, as it is printed."""
    return (
        f"ServiceUnitStateData[state={state}, dstBroker={target}, sourceBroker={source}, "
        "splitServiceUnitToDestBroker=null, force=false, timestamp=1795242567546, versionId=3]"
    )


def _shape(state: str) -> str:
    """Return the template of a bundle's record in the channel."""
    return (
        f"ServiceUnitStateData[state={state}, dstBroker={{target}}, sourceBroker={{broker}}, "
        "splitServiceUnitToDestBroker={*}, force={is_forced}, timestamp={n_timestamp_ms}, "
        "versionId={n_version}]"
    )


def _state_change(state: str, meaning: str) -> Message:
    """Return the message by which every broker logs a bundle's new state."""
    return message(
        f"bundle-{state.lower()}",
        _CLASS,
        "{*} received a handle request for serviceUnit:{bundle}, "
        f"data:{_shape(state)}. totalHandledRequests:{{n_requests}}",
        line(
            _LOGGER,
            f"10.213.0.11:8080 received a handle request for serviceUnit:{_BUNDLE}, "
            f"data:{_data(state, '10.213.0.11:8080', 'null')}. totalHandledRequests:1",
            thread=_THREAD,
        ),
        releases=_RELEASES,
        meaning=f"As this broker sees it, the bundle {meaning}.",
    )


MESSAGES = (
    *(_state_change(state, meaning) for state, meaning in _STATES),
    message(
        "bundle-forgotten",
        _CLASS,
        "{*} received a handle request for serviceUnit:{bundle}, data:null. "
        "totalHandledRequests:{n_requests}",
        line(
            _LOGGER,
            f"10.213.0.11:8080 received a handle request for serviceUnit:{_BUNDLE}, data:null. "
            "totalHandledRequests:1",
            thread=_THREAD,
        ),
        releases=_RELEASES,
        meaning="The bundle's record is removed from the channel.",
    ),
    message(
        "state-handled",
        _CLASS,
        "{broker} handled {*} event for serviceUnit:{bundle}, cur:{*}, next:{*}, "
        "totalHandledRequests:{n_requests}, totalFailedRequests:{n_failed}",
        line(
            _LOGGER,
            f"10.213.0.11:8080 handled Releasing event for serviceUnit:{_BUNDLE}, "
            f"cur:{_data('Releasing', '10.213.0.11:8080', 'null')}, "
            f"next:{_data('Free', '10.213.0.11:8080', 'null')}, "
            "totalHandledRequests:4, totalFailedRequests:0",
            thread=_THREAD,
        ),
        releases=_RELEASES,
        meaning="The broker has done its part in a bundle's change of state.",
    ),
    message(
        "state-not-handled",
        _CLASS,
        "{broker} failed to handle {*} event for serviceUnit:{bundle}, cur:{*}, next:{*}, "
        "totalHandledRequests:{n_requests}, totalFailedRequests:{n_failed}",
        line(
            _LOGGER,
            "10.213.0.11:8080 failed to handle Transfer:Releasing event for "
            f"serviceUnit:{_BUNDLE}, "
            f"cur:{_data('Releasing', '10.213.0.11:8080', '10.213.0.12:8080')}, "
            f"next:{_data('Assigning', '10.213.0.11:8080', '10.213.0.12:8080')}, "
            "totalHandledRequests:4, totalFailedRequests:1",
            "ERROR",
            _THREAD,
        ),
        releases=_RELEASES,
        meaning="The broker could not do its part in a bundle's change of state.",
    ),
    message(
        "state-not-published",
        _CLASS,
        "Failed to publish the message: serviceUnit:{bundle}, data:{*}",
        line(
            _LOGGER,
            f"Failed to publish the message: serviceUnit:{_BUNDLE}, "
            f"data:{_data('Assigning', '10.213.0.11:8080', '10.213.0.12:8080')}",
            "ERROR",
        ),
        releases=_RELEASES,
        meaning="A bundle's change of state did not reach the channel.",
    ),
    message(
        "state-loaded",
        _CLASS,
        f"Loaded the service unit state data. serviceUnit: {{bundle}}, data: {_shape('{*}')}",
        line(
            _LOGGER,
            f"Loaded the service unit state data. serviceUnit: {_BUNDLE}, "
            f"data: {_data('Owned', 'null', '10.213.0.11:8080')}",
            thread="main",
        ),
        releases=_RELEASES,
        meaning="A starting broker reads what the channel knows of the bundle.",
    ),
    message(
        "bundle-unloaded",
        _CLASS,
        "Unloading bundle:{bundle} with {count} topics completed in {n_took_ms} ms",
        line(_LOGGER, f"Unloading bundle:{_BUNDLE} with 6 topics completed in 1159.0 ms"),
        releases=_RELEASES,
        meaning="The owner has closed the bundle's topics.",
    ),
    message(
        "bundle-still-owned",
        _CLASS,
        f"[{{*}}] bundle {{bundle}} is still owned by this, data: {_shape('{*}')}",
        line(
            _LOGGER,
            f"[10.213.0.14:8080] bundle {_BUNDLE} is still owned by this, "
            f"data: {_data('Owned', '10.213.0.12:8080', '10.213.0.14:8080')}",
            thread="pulsar-service-shutdown",
        ),
        releases=_RELEASES,
        meaning="A broker that shuts down waits for the bundle to be taken over.",
    ),
    message(
        "owner-awaited",
        _CLASS,
        "{broker} is waiting for owner for serviceUnit:{bundle}",
        line(_LOGGER, f"10.213.0.11:8080 is waiting for owner for serviceUnit:{_BUNDLE}"),
        releases=_RELEASES,
        meaning="A lookup waits until the bundle has an owner.",
    ),
    message(
        "owner-returned",
        _CLASS,
        "Returned owner request for serviceUnit:{bundle}",
        line(_LOGGER, f"Returned owner request for serviceUnit:{_BUNDLE}", thread=_THREAD),
        releases=_RELEASES,
        meaning="The waiting lookups are answered.",
    ),
    message(
        "orphan-overridden",
        _CLASS,
        "Overriding inactiveBroker:{broker}, ownership serviceUnit:{bundle} from orphanData:{*} "
        "to overrideData:ServiceUnitStateData[state={*}, dstBroker={target}, {*}]",
        line(
            _LOGGER,
            f"Overriding inactiveBroker:10.213.0.12:8080, ownership serviceUnit:{_BUNDLE} "
            f"from orphanData:{_data('Owned', 'null', '10.213.0.12:8080')} "
            f"to overrideData:{_data('Owned', '10.213.0.12:8080', '10.213.0.14:8080')}",
            thread="Thread-831",
        ),
        releases=_RELEASES,
        meaning="The bundle of a broker that has left is given to another.",
    ),
    message(
        "orphan-not-overridden",
        _CLASS,
        "Failed to override inactiveBroker:{broker} ownership serviceUnit:{bundle} "
        "orphanData:{*}. totalCleanupErrorCnt:{n_errors}",
        line(
            _LOGGER,
            f"Failed to override inactiveBroker:10.213.0.12:8080 ownership serviceUnit:{_BUNDLE} "
            f"orphanData:{_data('Owned', 'null', '10.213.0.12:8080')}. totalCleanupErrorCnt:1",
            "ERROR",
        ),
        releases="posted by users",
        meaning="The bundle of a broker that has left keeps its record.",
    ),
    message(
        "system-orphan-overridden",
        _CLASS,
        "Overriding orphan system service unit:{bundle}",
        line(_LOGGER, "Overriding orphan system service unit:pulsar/system/0x00000000_0x10000000"),
        releases=_RELEASES,
        meaning="The bundle of the channel's own topic is given to another broker first.",
    ),
    message(
        "broker-joined",
        _CLASS,
        "BrokerRegistry detected the broker:{broker} registry has been created.",
        line(
            _LOGGER,
            "BrokerRegistry detected the broker:10.213.0.12:8080 registry has been created.",
        ),
        releases=_RELEASES,
        meaning="A broker has registered.",
    ),
    message(
        "broker-left",
        _CLASS,
        "BrokerRegistry detected the broker:{broker} registry has been deleted.",
        line(
            _LOGGER,
            "BrokerRegistry detected the broker:10.213.0.12:8080 registry has been deleted.",
        ),
        releases=_RELEASES,
        meaning="A broker's registration is gone.",
    ),
    message(
        "cleanup-scheduled",
        _CLASS,
        "Scheduled ownership cleanup for broker:{broker} with delay:{n_delay_s} secs. "
        "Pending clean jobs:{n_pending}.",
        line(
            _LOGGER,
            "Scheduled ownership cleanup for broker:10.213.0.12:8080 with delay:0 secs. "
            "Pending clean jobs:1.",
        ),
        releases=_RELEASES,
        meaning="The leader will give the bundles of a broker that has left to others.",
    ),
    message(
        "cleanup-started",
        _CLASS,
        "Started ownership cleanup for the inactive broker:{broker}",
        line(_LOGGER, "Started ownership cleanup for the inactive broker:10.213.0.12:8080"),
        releases=_RELEASES,
        meaning="The leader gives the bundles of a broker that has left to others.",
    ),
    message(
        "cleanup-completed",
        _CLASS,
        "Completed a cleanup for the inactive broker:{broker} in {n_took_ms} ms. Cleaned up "
        "orphan service units: orphanServiceUnitCleanupCnt:{count}, approximate "
        "cleanupErrorCnt:{n_errors}, {*}",
        line(
            _LOGGER,
            "Completed a cleanup for the inactive broker:10.213.0.12:8080 in 2793.0 ms. Cleaned "
            "up orphan service units: orphanServiceUnitCleanupCnt:7, approximate "
            "cleanupErrorCnt:0, metrics:{totalInactiveBrokerCleanupCnt:1} ",
        ),
        releases=_RELEASES,
        meaning="The bundles of a broker that has left belong to others.",
    ),
    message(
        "ownership-monitor-started",
        _CLASS,
        "Started the ownership monitor run for activeBrokerCount:{count}",
        line(_LOGGER, "Started the ownership monitor run for activeBrokerCount:1"),
        releases=_RELEASES,
        meaning="The leader looks for bundles that hang between states.",
    ),
    message(
        "ownership-monitor-completed",
        _CLASS,
        "Completed the ownership monitor run in {n_took_ms} ms. Scheduled cleanups for inactive "
        "brokers:{list}. inactiveBrokerCount:{count}. Published cleanups for orphan service "
        "units, orphanServiceUnitCleanupCnt:{n_orphans}. Tombstoned semi-terminal state service "
        "units, serviceUnitTombstoneCleanupCnt:{n_tombstones}. Approximate "
        "cleanupErrorCnt:{n_errors}, {*}",
        line(
            _LOGGER,
            "Completed the ownership monitor run in 58.0 ms. Scheduled cleanups for inactive "
            "brokers:[]. inactiveBrokerCount:0. Published cleanups for orphan service units, "
            "orphanServiceUnitCleanupCnt:0. Tombstoned semi-terminal state service units, "
            "serviceUnitTombstoneCleanupCnt:0. Approximate cleanupErrorCnt:0, metrics:{} ",
        ),
        releases=_RELEASES,
        meaning="What the leader found and cleaned up.",
    ),
    message(
        "ownership-monitor-owner",
        _CLASS,
        "This leader broker:{broker} started the ownership monitor.",
        line(_LOGGER, "This leader broker:10.213.0.11:8080 started the ownership monitor."),
        releases=_RELEASES,
        meaning="The broker leads and watches over the channel.",
    ),
    message(
        "deletion-ignored",
        _CLASS,
        "This broker is not the leader now. Ignoring BrokerDeletionEvent for broker {broker}.",
        line(
            _LOGGER,
            "This broker is not the leader now. Ignoring BrokerDeletionEvent for broker "
            "10.213.0.13:8080.",
            "WARN",
        ),
        releases=_RELEASES,
        meaning="A broker has left, which is the leader's business.",
    ),
    message(
        "no-channel-owner",
        _CLASS,
        "There is no channel owner now.",
        line(_LOGGER, "There is no channel owner now.", "ERROR"),
        releases="posted by users",
        meaning="Nobody leads.",
    ),
    message(
        "no-channel-owner",
        _CLASS,
        "Failed to get the channel owner.",
        line(_LOGGER, "Failed to get the channel owner.", "ERROR"),
        releases="posted by users",
        meaning="Who leads could not be found out.",
    ),
    message(
        "no-channel-owner",
        _CLASS,
        "Failed to handle broker deletion event due to {*}",
        line(
            _LOGGER,
            "Failed to handle broker deletion event due to java.lang.IllegalStateException: "
            "There is no channel owner now.",
            "WARN",
        ),
        releases=_RELEASES,
        meaning="A broker has left, and who leads could not be found out.",
    ),
)
