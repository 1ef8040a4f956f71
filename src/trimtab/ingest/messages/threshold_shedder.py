"""Messages of ThresholdShedder, and those it shares with the other shedders."""

from __future__ import annotations

from trimtab.ingest.messages.message import line, message

_LOGGER = "broker.loadbalance.impl.ThresholdShedder"
_THRESHOLD = "ThresholdShedder RangeThresholdShedder"
_SHEDDERS = f"{_THRESHOLD} OverloadShedder AvgShedder UniformLoadShedder"

#: What `LocalBrokerData.printResourceUsage` prints.
RESOURCES = (
    "cpu: {n_cpu_percent}%, memory: {n_memory_percent}%, "
    "directMemory: {n_direct_memory_percent}%, bandwidthIn: {n_bandwidth_in_percent}%, "
    "bandwidthOut: {n_bandwidth_out_percent}%"
)

MESSAGES = (
    message(
        "shed-attempt",
        _THRESHOLD,
        "Attempting to shed load on {broker}, which has max resource usage above avgUsage "
        "and threshold {n_usage_percent}% > {n_average_percent}% + {n_threshold_percent}% "
        "-- Offloading at least {n_offload_mbyte_s} MByte/s of traffic"
        "{?, left throughput {n_left_mbyte_s} MByte/s?}{? (" + RESOURCES + ")?}",
        line(
            _LOGGER,
            "Attempting to shed load on 10.213.0.11:8080, which has max resource usage above "
            "avgUsage and threshold 36.58409118652344% > 25.0652312040329% + 8.0% -- Offloading "
            "at least 0.07780597510693699 MByte/s of traffic, left throughput "
            "0.8355319042203151 MByte/s (cpu: 15.89%, memory: 42.17%, directMemory: 9.96%, "
            "bandwidthIn: 0.03%, bandwidthOut: 0.04%)",
        ),
        releases="2.10 on; the resources in brackets from 3.2.3 on",
        meaning="The broker is over the average plus the threshold, and this much is to go; "
        "the earliest builds print fractions where the form says percent.",
    ),
    message(
        "average-usage-zero",
        _THRESHOLD,
        "average max resource usage is 0",
        line(_LOGGER, "average max resource usage is 0", "WARN"),
        releases="all, by the source",
        meaning="No broker reported any usage, so nothing is shed.",
    ),
    message(
        "broker-not-overloaded",
        _THRESHOLD,
        "[{broker}] broker is not overloaded, ignoring at this point"
        "{?, currentUsage:{n_usage_percent}%?}{? (" + RESOURCES + ")?}",
        line(_LOGGER, "[b1:8080] broker is not overloaded, ignoring at this point", "DEBUG"),
        releases="by the source, at DEBUG; the resources in brackets from 3.2.3 on",
        meaning="The broker is not over the average plus the threshold.",
    ),
    message(
        "broker-not-overloaded",
        _SHEDDERS,
        "Broker is not overloaded, ignoring at this point{attributes}",
        line(_LOGGER, "Broker is not overloaded, ignoring at this point broker=b1:8080", "DEBUG"),
        attributes="broker=broker",
        releases="5.0, by the source",
        meaning="The broker is not over its threshold.",
    ),
    message(
        "too-little-to-shed",
        _THRESHOLD,
        "[{broker}] broker is planning to shed throughput {n_offload_mbyte_s} MByte/s less than "
        "minimumThroughputThreshold {n_minimum_mbyte_s} MByte/s, skipping bundle unload"
        "{?.?}{? (" + RESOURCES + ")?}",
        line(
            _LOGGER,
            "[b1:8080] broker is planning to shed throughput 3.5 MByte/s less than "
            "minimumThroughputThreshold 10.0 MByte/s, skipping bundle unload.",
        ),
        releases="by the source, at DEBUG or INFO",
        meaning="The broker is over the threshold, but what would go is under the floor.",
    ),
    message(
        "sole-bundle",
        _SHEDDERS,
        "HIGH USAGE WARNING : Sole namespace bundle {bundle} is overloading broker {broker}. "
        "No Load {*} will be done on this broker{?.?}",
        line(
            _LOGGER,
            "HIGH USAGE WARNING : Sole namespace bundle shop/orders/0x00000000_0xffffffff is "
            "overloading broker b1:8080. No Load Shedding will be done on this broker",
            "WARN",
        ),
        releases="all, by the source; ThresholdShedder, OverloadShedder and AvgShedder",
        meaning="The overloaded broker has one bundle, and moving it would move the hot spot.",
    ),
    message(
        "sole-bundle",
        _SHEDDERS,
        "HIGH USAGE WARNING: Sole namespace bundle is overloading broker. "
        "No Load Shedding will be done on this broker{attributes}",
        line(
            _LOGGER,
            "HIGH USAGE WARNING: Sole namespace bundle is overloading broker. No Load Shedding "
            "will be done on this broker bundle=shop/orders/0x00000000_0xffffffff broker=b1:8080",
            "WARN",
        ),
        attributes="bundle=bundle broker=broker",
        releases="structured generation of 2026, by the source",
        meaning="The overloaded broker has one bundle, and moving it would move the hot spot.",
    ),
    message(
        "overloaded-without-bundles",
        _SHEDDERS,
        "Broker {broker} is overloaded despit{?e?} having no bundles",
        line(_LOGGER, "Broker b1:8080 is overloaded despite having no bundles", "WARN"),
        releases="all, by the source",
        meaning="Something that is no bundle overloads the broker.",
    ),
    message(
        "one-bundle-or-none",
        _THRESHOLD,
        "Load data is null or bundle <=1,{? broker name is {broker},?} skipping bundle unload.",
        line(_LOGGER, "Load data is null or bundle <=1, skipping bundle unload."),
        releases="newer revisions, by the source",
        meaning="Lower-boundary shedding found nothing it may take from the fullest broker.",
    ),
    message(
        "no-broker-below-bound",
        _THRESHOLD,
        "No broker is below the lower bound, threshold is {n_threshold}, "
        "avgUsage usage is {n_average}, max usage of Broker {broker} is {n_usage}",
        line(
            _LOGGER,
            "No broker is below the lower bound, threshold is 0.1, avgUsage usage is 0.35, "
            "max usage of Broker b1:8080 is 0.42",
        ),
        releases="newer revisions, by the source",
        meaning="Lower-boundary shedding found no broker far enough below the average.",
    ),
    message(
        "too-little-to-shed",
        _THRESHOLD,
        "broker {broker} in {*} is planning to shed throughput {n_offload_mbyte_s} MByte/s less "
        "than minimumThroughputThreshold {n_minimum_mbyte_s} MByte/s, skipping bundle unload.",
        line(
            _LOGGER,
            "broker b1:8080 in lower boundary shedding is planning to shed throughput 3.5 "
            "MByte/s less than minimumThroughputThreshold 10.0 MByte/s, skipping bundle unload.",
        ),
        releases="newer revisions, by the source",
        meaning="Lower-boundary shedding found less to move than the floor.",
    ),
    message(
        "average-usage",
        _THRESHOLD,
        "brokers' resource avgUsage:{n_average_percent}%",
        line(_LOGGER, "brokers' resource avgUsage:31%"),
        releases="one revision, by the source",
        meaning="The average of all brokers, every five minutes.",
    ),
    message(
        "broker-usage",
        _THRESHOLD,
        "{broker} broker load: historyUsage={n_history_percent}%, resourceUsage={n_usage_percent}%",
        line(_LOGGER, "b1:8080 broker load: historyUsage=28%, resourceUsage=41%"),
        releases="one revision, by the source",
        meaning="A broker's smoothed and momentary usage, every five minutes.",
    ),
    message(
        "usage-over-limit",
        _THRESHOLD,
        "{broker} broker resourceUsage is bigger than 100%. {*}",
        line(
            _LOGGER,
            "b1:8080 broker resourceUsage is bigger than 100%. Some of the resource limits are "
            "mis-configured. Try to disable the misconfigured resource signals by setting their "
            "weights to zero or fix the resource limit settings. ResourceUsage:[cpu: 12.00%]",
            "ERROR",
        ),
        releases="one revision, by the source",
        meaning="A resource is used beyond its limit, so the limit is set wrongly.",
    ),
    message(
        "usage-recomputed",
        _THRESHOLD,
        "{broker} broker recomputed max resourceUsage={n_usage_percent}%. "
        "Skipped usage signals bigger than 100%{*}",
        line(
            _LOGGER,
            "b1:8080 broker recomputed max resourceUsage=42%. "
            "Skipped usage signals bigger than 100%",
            "WARN",
        ),
        releases="one revision, by the source",
        meaning="The broker's usage without the resources that are used beyond their limit.",
    ),
    message(
        "usage-unsmoothed",
        _THRESHOLD,
        "brokerAvgResourceUsageWithoutHistory: {map}",
        line(
            _LOGGER,
            "brokerAvgResourceUsageWithoutHistory: "
            "{b1:8080=0.6200548553466797, b2:8080=0.34531837463378906}",
        ),
        releases="a build with extra logging",
        meaning="Each broker's usage this round, before smoothing.",
    ),
    message(
        "usage-smoothed",
        _THRESHOLD,
        "brokerAvgResourceUsage: {map}, avgUsage: {n_average}, threshold: {n_threshold}, "
        "minThroughputThreshold: {n_minimum_mbyte_s}MB",
        line(
            _LOGGER,
            "brokerAvgResourceUsage: {b1:8080=0.146445592841173, b2:8080=0.13442747117624326}, "
            "avgUsage: 0.14043653200870813, threshold: 0.1, minThroughputThreshold: 10.0MB",
        ),
        releases="a build with extra logging",
        meaning="Each broker's smoothed usage, and what it is compared with.",
    ),
)
