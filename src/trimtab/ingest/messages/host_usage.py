"""Messages of what a broker could not find out about its host."""

from __future__ import annotations

from trimtab.ingest.messages.message import line, message

_LOGGER = "broker.loadbalance.impl.LinuxBrokerHostUsageImpl"
_CLASSES = "LinuxBrokerHostUsageImpl LinuxInfoUtils"

MESSAGES = (
    message(
        "nic-speed-unknown",
        _CLASSES,
        "{?[LinuxInfo] ?}Failed to read speed for nic {*}",
        line(
            _LOGGER,
            "Failed to read speed for nic eth0, maybe you can set broker config "
            "[loadBalancerOverrideBrokerNicSpeedGbps] to override it.",
            "ERROR",
        ),
        releases="posted by users",
        meaning="The host does not tell its network's speed, so the bandwidth has no limit.",
    ),
    message(
        "host-metrics-provider",
        _CLASSES,
        "{?[LinuxInfo] ?}The system metrics provider is: {*}",
        line(
            "broker.loadbalance.LinuxInfoUtils",
            "[LinuxInfo] The system metrics provider is: cgroupv1",
            thread="main",
        ),
        releases="4.0.8",
        meaning="Where the broker reads its CPU from.",
    ),
)
