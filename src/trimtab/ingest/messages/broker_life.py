"""Messages of a broker's life: started, ready, disconnected, closed."""

from __future__ import annotations

from trimtab.ingest.messages.message import line, message

_LOGGER = "broker.PulsarService"
_CLASS = "PulsarService"
_STORE = "metadata-store-10-1"

MESSAGES = (
    message(
        "broker-starting",
        _CLASS,
        "Starting Pulsar Broker service; version: '{*}'",
        line(_LOGGER, "Starting Pulsar Broker service; version: '4.0.8'", thread="main"),
        releases="4.0.8",
        meaning="A life of the broker begins; the text has the release.",
    ),
    message(
        "broker-ready",
        _CLASS,
        "messaging service is ready, {?bootstrap_seconds={n_bootstrap_s},?}{*}",
        line(
            _LOGGER,
            "messaging service is ready, bootstrap_seconds=29, bootstrap service port = 8080, "
            "broker url= pulsar://10.213.0.11:6650, cluster=shop, configs=ServiceConfiguration()",
            thread="main",
        ),
        releases="4.0.8",
        meaning="The broker serves.",
    ),
    message(
        "broker-closing",
        _CLASS,
        "Closing PulsarService",
        line(_LOGGER, "Closing PulsarService", thread="pulsar-service-shutdown"),
        releases="4.0.8",
        meaning="The broker shuts down in good order.",
    ),
    message(
        "broker-closed",
        _CLASS,
        "Closed",
        line(_LOGGER, "Closed", thread="pulsar-service-shutdown"),
        releases="4.0.8",
        meaning="The broker has shut down.",
    ),
    message(
        "metadata-connection-lost",
        _CLASS,
        "Received metadata service session event: ConnectionLost",
        line(_LOGGER, "Received metadata service session event: ConnectionLost", thread=_STORE),
        releases="4.0.8",
        meaning="The broker does not reach the metadata store; its session still counts.",
    ),
    message(
        "metadata-reconnected",
        _CLASS,
        "Received metadata service session event: Reconnected",
        line(_LOGGER, "Received metadata service session event: Reconnected", thread=_STORE),
        releases="4.0.8",
        meaning="The broker reaches the metadata store again, in the same session.",
    ),
    message(
        "metadata-session-lost",
        _CLASS,
        "Received metadata service session event: SessionLost",
        line(_LOGGER, "Received metadata service session event: SessionLost", thread=_STORE),
        releases="4.0.8",
        meaning="The broker's session has ended, and with it its registration and its bundles.",
    ),
    message(
        "metadata-session-renewed",
        _CLASS,
        "Received metadata service session event: SessionReestablished",
        line(
            _LOGGER,
            "Received metadata service session event: SessionReestablished",
            thread=_STORE,
        ),
        releases="by the source",
        meaning="The broker has a new session.",
    ),
)
