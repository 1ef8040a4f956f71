"""Messages of OverloadShedder."""

from __future__ import annotations

from trimtab.ingest.messages.message import line, message
from trimtab.ingest.messages.threshold_shedder import RESOURCES

_LOGGER = "broker.loadbalance.impl.OverloadShedder"

MESSAGES = (
    message(
        "shed-attempt",
        "OverloadShedder",
        "Attempting to shed load on {broker}, which has resource usage {n_usage_percent}% above "
        "threshold {n_threshold_percent}% -- Offloading at least {n_offload_mbyte_s} MByte/s of "
        "traffic{? (" + RESOURCES + ")?}",
        line(
            _LOGGER,
            "Attempting to shed load on b1:8080, which has resource usage 87.08% above threshold "
            "85.0% -- Offloading at least 12.5 MByte/s of traffic (cpu: 87.08%, memory: 12.71%, "
            "directMemory: 17.19%, bandwidthIn: 11.28%, bandwidthOut: 0.00%)",
        ),
        releases="after 2.5.0; posted by users",
        meaning="The broker is over the threshold, and this much is to go.",
    ),
    message(
        "shed-attempt",
        "OverloadShedder",
        "Attempting to shed load on {broker}, which has max resource usage above threshold "
        "{n_usage}% > {n_threshold}% -- Offloading at least {n_offload_mbyte_s} MByte/s of traffic",
        line(
            _LOGGER,
            "Attempting to shed load on b1:8080, which has max resource usage above threshold "
            "0.8708% > 0.85% -- Offloading at least 12.5 MByte/s of traffic",
        ),
        releases="until 2.5.0; posted by users",
        meaning="The broker is over the threshold; fractions are printed with a percent sign.",
    ),
    message(
        "shed-attempt",
        "OverloadShedder",
        "Attempting to shed load on {broker}, which has max resource usage {n_usage_percent}%",
        line(_LOGGER, "Attempting to shed load on b1:8080, which has max resource usage 87.08%"),
        releases="the oldest, by the source",
        meaning="The broker is over the threshold.",
    ),
    message(
        "broker-not-overloaded",
        "OverloadShedder",
        "[{broker}] Broker is not overloaded, ignoring at this point{? (" + RESOURCES + ")?}",
        line(
            _LOGGER,
            "[b1:8080] Broker is not overloaded, ignoring at this point (cpu: 8.00%, memory: "
            "12.71%, directMemory: 17.19%, bandwidthIn: 11.28%, bandwidthOut: 0.00%)",
            "DEBUG",
        ),
        releases="by the source, at DEBUG",
        meaning="The broker is not over the threshold.",
    ),
)
