"""Messages of ModularLoadManagerImpl and what stands around it: unloads, reports, errors."""

from __future__ import annotations

from trimtab.ingest.messages.message import line, message

_LOGGER = "broker.loadbalance.impl.ModularLoadManagerImpl"
_CLASS = "ModularLoadManagerImpl"
_WRITERS = f"{_CLASS} SimpleLoadManagerImpl BrokerLoadDataReporter"

MESSAGES = (
    message(
        "unload",
        _CLASS,
        "[{strategy}] Unloading bundle: {bundle} from broker {broker}{? to dest broker {target}?}",
        line(
            _LOGGER,
            "[ThresholdShedder] Unloading bundle: lb/ns1/0xf0000000_0xf8000000 from broker "
            "10.213.0.11:8080 to dest broker 10.213.0.12:8080",
        ),
        releases="all; older ones without the destination",
        meaning="The leader has the bundle unloaded, to go to the target if one is named.",
    ),
    message(
        "unload",
        _CLASS,
        "Unloading bundle from source broker to dest broker{attributes}",
        line(
            _LOGGER,
            "Unloading bundle from source broker to dest broker class=ThresholdShedder "
            "bundle=lb/ns1/0xf0000000_0xf8000000 sourceBroker=b1:8080 destBroker=b2:8080",
        ),
        attributes="class=strategy bundle=bundle sourceBroker=broker destBroker=target",
        releases="structured generation of 2026, by the source",
        meaning="The leader has the bundle unloaded, to go to the target.",
    ),
    message(
        "no-broker-available",
        _CLASS,
        "[{strategy}] No broker available to unload bundle {bundle} from broker {broker}",
        line(
            _LOGGER,
            "[ThresholdShedder] No broker available to unload bundle "
            "lb/ns1/0xf0000000_0xf8000000 from broker 10.213.0.11:8080",
        ),
        releases="3.0.7 on, by the source",
        meaning="The bundle was chosen, but the placer found no broker for it.",
    ),
    message(
        "no-broker-available",
        _CLASS,
        "No broker available to unload bundle from broker{attributes}",
        line(
            _LOGGER,
            "No broker available to unload bundle from broker class=ThresholdShedder "
            "bundle=lb/ns1/0xf0000000_0xf8000000 broker=b1:8080",
        ),
        attributes="class=strategy bundle=bundle broker=broker",
        releases="structured generation of 2026, by the source",
        meaning="The bundle was chosen, but the placer found no broker for it.",
    ),
    message(
        "same-destination",
        _CLASS,
        "[{strategy}] The destination broker {broker} is the same as the current owner broker "
        "for Bundle {bundle}",
        line(
            _LOGGER,
            "[ThresholdShedder] The destination broker 10.213.0.11:8080 is the same as the "
            "current owner broker for Bundle lb/ns1/0xf0000000_0xf8000000",
            "WARN",
        ),
        releases="3.0.7 on, by the source",
        meaning="The bundle was chosen, but the placer would give it back to its owner.",
    ),
    message(
        "same-destination",
        _CLASS,
        "The destination broker is the same as the current owner broker for bundle{attributes}",
        line(
            _LOGGER,
            "The destination broker is the same as the current owner broker for bundle "
            "class=ThresholdShedder broker=b1:8080 bundle=lb/ns1/0xf0000000_0xf8000000",
            "WARN",
        ),
        attributes="class=strategy broker=broker bundle=bundle",
        releases="structured generation of 2026, by the source",
        meaning="The bundle was chosen, but the placer would give it back to its owner.",
    ),
    message(
        "unload-failed",
        _CLASS,
        "Error when trying to perform load shedding on {bundle} for broker {broker}",
        line(
            _LOGGER,
            "Error when trying to perform load shedding on lb/ns1/0xf0000000_0xf8000000 "
            "for broker 10.213.0.11:8080",
            "WARN",
        ),
        releases="all, by the source",
        meaning="The owner did not unload the bundle when the leader told it to.",
    ),
    message(
        "unload-failed",
        _CLASS,
        "Error when trying to perform load shedding on for broker{attributes}",
        line(
            _LOGGER,
            "Error when trying to perform load shedding on for broker "
            "bundle=lb/ns1/0xf0000000_0xf8000000 broker=b1:8080",
            "WARN",
        ),
        attributes="bundle=bundle broker=broker",
        releases="structured generation of 2026, by the source",
        meaning="The owner did not unload the bundle when the leader told it to.",
    ),
    message(
        "only-one-broker",
        f"{_CLASS} UnloadScheduler NamespaceUnloadScheduler",
        "Only {count} broker available: no load shedding will be performed{?. Skipping.?}",
        line(_LOGGER, "Only 1 broker available: no load shedding will be performed"),
        releases="all, both managers",
        meaning="There is nowhere to move a bundle to.",
    ),
    message(
        "report-written",
        _WRITERS,
        "Writing local data to {*} because maximum change {n_change_percent}% exceeded "
        "threshold {n_threshold_percent}%{?{*}time since last report written is "
        "{n_since_last_s} seconds?}",
        line(
            _LOGGER,
            "Writing local data to metadata store because maximum change Infinity% exceeded "
            "threshold 5%; time since last report written is 15.404 seconds",
        ),
        releases="all; older ones to ZooKeeper, the oldest without the time",
        meaning="The broker writes its report, for its load has changed by this much.",
    ),
    message(
        "report-written",
        _WRITERS,
        "Writing local data to {*} because maximum change {n_change_percent}% exceeded "
        "threshold {n_threshold_percent}%. Time since last report written is "
        "{n_since_last_s}% seconds",
        line(
            "broker.loadbalance.extensions.reporter.BrokerLoadDataReporter",
            "Writing local data to metadata store because maximum change Infinity% exceeded "
            "threshold 5%. Time since last report written is 5.00% seconds",
        ),
        releases="4.0.8, extensible manager",
        meaning="The broker writes its report, for its load has changed by this much.",
    ),
    message(
        "report-written",
        _WRITERS,
        "Writing local data to metadata store because maximum change % exceeded "
        "threshold{attributes}",
        line(
            _LOGGER,
            "Writing local data to metadata store because maximum change % exceeded threshold "
            "change=12.5 threshold=10 timeSinceLastReportSeconds=35.002",
        ),
        attributes="change=n_change_percent threshold=n_threshold_percent "
        "timeSinceLastReportSeconds=n_since_last_s",
        releases="structured generation of 2026, by the source",
        meaning="The broker writes its report, for its load has changed by this much.",
    ),
    message(
        "report-written-by-age",
        _WRITERS,
        "Writing local data to {*} because time since last update exceeded threshold of "
        "{n_threshold_minutes} minutes",
        line(
            _LOGGER,
            "Writing local data to metadata store because time since last update exceeded "
            "threshold of 1 minutes",
        ),
        releases="all, both managers",
        meaning="The broker writes its report, for the last one is old.",
    ),
    message(
        "report-not-written",
        _CLASS,
        "Error writing broker data on {*}",
        line(_LOGGER, "Error writing broker data on metadata store", "WARN"),
        releases="4.0.8",
        meaning="The broker could not write its report.",
    ),
    message(
        "candidates-considered",
        _CLASS,
        "{count} brokers being considered for assignment of {bundle}",
        line(
            _LOGGER,
            "3 brokers being considered for assignment of lb/ns1/0x68000000_0x70000000",
            thread="pulsar-2-4",
        ),
        releases="2.10 on",
        meaning="A bundle is placed; this many brokers came through the filters.",
    ),
    message(
        "candidates-considered",
        _CLASS,
        "Brokers being considered for assignment{attributes}",
        line(
            _LOGGER,
            "Brokers being considered for assignment brokerCount=3 "
            "bundle=lb/ns1/0x68000000_0x70000000",
            thread="pulsar-2-4",
        ),
        attributes="brokerCount=count bundle=bundle",
        releases="structured generation of 2026, by the source",
        meaning="A bundle is placed; this many brokers came through the filters.",
    ),
    message(
        "candidates-evened",
        _CLASS,
        "enable distribute bundles evenly to candidate-brokers, broker candidate count={count}",
        line(
            _LOGGER,
            "enable distribute bundles evenly to candidate-brokers, broker candidate count=2",
            "DEBUG",
        ),
        releases="by the source, at DEBUG",
        meaning="The candidates left after those with more bundles of the namespace are out.",
    ),
    message(
        "placed",
        _CLASS,
        "Selected broker {target} from candidate brokers {list}",
        line(_LOGGER, "Selected broker b1:8080 from candidate brokers [b1:8080, b2:8080]", "DEBUG"),
        releases="by the source, at DEBUG",
        meaning="The broker that a bundle is given to.",
    ),
    message(
        "report-absent",
        _CLASS,
        "[{broker}] Broker load report is not present",
        line(_LOGGER, "[b1:8080] Broker load report is not present"),
        releases="by the source",
        meaning="A broker is alive and has no report.",
    ),
    message(
        "report-absent",
        _CLASS,
        "Broker load report is not present{attributes}",
        line(_LOGGER, "Broker load report is not present broker=b1:8080"),
        attributes="broker=broker",
        releases="structured generation of 2026, by the source",
        meaning="A broker is alive and has no report.",
    ),
    message(
        "active-brokers-unknown",
        _CLASS,
        "Error when trying to get active brokers",
        line(_LOGGER, "Error when trying to get active brokers", "WARN"),
        releases="4.0.8",
        meaning="The metadata store did not say which brokers are alive.",
    ),
    message(
        "shedding-error",
        "LoadSheddingTask",
        "Error during the load shedding",
        line("broker.loadbalance.LoadSheddingTask", "Error during the load shedding", "WARN"),
        releases="posted by users",
        meaning="A round of shedding ended in an exception, which follows.",
    ),
    message(
        "load-manager-not-created",
        "LoadManager",
        "Error when trying to create load manager:{*}",
        line(
            "broker.loadbalance.LoadManager", "Error when trying to create load manager: ", "WARN"
        ),
        releases="before 5.0; posted by users",
        meaning="The configured load manager could not be made; the simple one is used.",
    ),
    message(
        "no-broker-for-lookup",
        "NamespaceService",
        "No broker is available for {bundle}",
        line(
            "broker.namespace.NamespaceService",
            "No broker is available for lb/ns1/0x68000000_0x70000000",
            "WARN",
        ),
        releases="posted by users",
        meaning="A lookup found no broker for the bundle.",
    ),
    message(
        "no-broker-for-lookup",
        "NamespaceService",
        "Load manager didn't return any available broker. Returning empty result to lookup. "
        "NamespaceBundle[{bundle}]",
        line(
            "broker.namespace.NamespaceService",
            "Load manager didn't return any available broker. Returning empty result to lookup. "
            "NamespaceBundle[lb/ns1/0x68000000_0x70000000]",
            "WARN",
        ),
        releases="posted by users",
        meaning="A lookup found no broker for the bundle.",
    ),
    message(
        "placement-error",
        "NamespaceService",
        "Error when searching for candidate broker to acquire {bundle}: {*}",
        line(
            "broker.namespace.NamespaceService",
            "Error when searching for candidate broker to acquire "
            "lb/ns1/0x68000000_0x70000000: null",
            "WARN",
        ),
        releases="posted by users",
        meaning="A lookup could not place the bundle.",
    ),
)
