"""Messages of UniformLoadShedder, which names no bundle: that is in the unload's message."""

from __future__ import annotations

from trimtab.ingest.messages.message import line, message

_LOGGER = "broker.loadbalance.impl.UniformLoadShedder"
_CLASS = "UniformLoadShedder"

MESSAGES = (
    message(
        "uniform-shed-rate",
        _CLASS,
        "Found bundle to unload{? from {broker}?} with msgRate {n_rate}",
        line(_LOGGER, "Found bundle to unload with msgRate 135.20649919406415"),
        releases="4.0.8",
        meaning="A bundle of this message rate is chosen, for the rates are too far apart.",
    ),
    message(
        "uniform-shed-throughput",
        _CLASS,
        "Found bundle to unload{? from {broker}?} with {?msgT?}{?t?}hroughput {n_throughput}",
        line(_LOGGER, "Found bundle to unload with throughput 2097152.5"),
        releases="by the source; later `msgThroughput`",
        meaning="A bundle of this throughput is chosen, for the throughputs are too far apart.",
    ),
    message(
        "uniform-shed-rate",
        _CLASS,
        "Found bundle to unload with msgRate{attributes}",
        line(_LOGGER, "Found bundle to unload with msgRate bundle=135.20649919406415"),
        # The attribute is named bundle and holds the rate.
        attributes="bundle=n_rate",
        releases="structured generation of 2026, by the source",
        meaning="A bundle of this message rate is chosen, for the rates are too far apart.",
    ),
    message(
        "uniform-shed-throughput",
        _CLASS,
        "Found bundle to unload with msgThroughput{attributes}",
        line(_LOGGER, "Found bundle to unload with msgThroughput msgThroughput=2097152.5"),
        attributes="msgThroughput=n_throughput",
        releases="structured generation of 2026, by the source",
        meaning="A bundle of this throughput is chosen, for the throughputs are too far apart.",
    ),
    message(
        "uniform-extremes",
        _CLASS,
        "Found bundles for uniform load balancing. msgRate overloaded broker: {broker} with "
        "msgRate: {n_rate}, msgRate underloaded broker: {target} with msgRate: {n_target_rate}",
        line(
            _LOGGER,
            "Found bundles for uniform load balancing. msgRate overloaded broker: b1:8080 with "
            "msgRate: 920.5, msgRate underloaded broker: b2:8080 with msgRate: 12.25",
            "DEBUG",
        ),
        releases="by the source, at DEBUG",
        meaning="The brokers with the highest and the lowest message rate.",
    ),
    message(
        "uniform-extremes",
        _CLASS,
        "Found bundles for uniform load balancing. msgThroughput overloaded broker{?:?} {broker} "
        "with msgThroughput{?:?} {n_throughput}, msgThroughput underloaded broker: {target} "
        "with msgThroughput: {n_target_throughput}",
        line(
            _LOGGER,
            "Found bundles for uniform load balancing. msgThroughput overloaded broker: b1:8080 "
            "with msgThroughput 920000.5, msgThroughput underloaded broker: b2:8080 with "
            "msgThroughput: 12000.25",
            "DEBUG",
        ),
        releases="by the source, at DEBUG",
        meaning="The brokers with the highest and the lowest throughput.",
    ),
    message(
        "uniform-extremes",
        _CLASS,
        "{*}overloaded broker {broker} with (msgRate,throughput)= ({n_rate},{n_throughput}) and "
        "underloaded broker {target} with "
        "(msgRate,throughput)= ({n_target_rate},{n_target_throughput})",
        line(
            _LOGGER,
            "Found bundles for uniform load balancing. overloaded broker b1:8080 with "
            "(msgRate,throughput)= (920.5,920000.5) and underloaded broker b2:8080 with "
            "(msgRate,throughput)= (12.25,12000.25)",
            "DEBUG",
        ),
        releases="an older revision, at DEBUG",
        meaning="The brokers with the highest and the lowest message rate and throughput.",
    ),
)
