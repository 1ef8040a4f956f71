"""Messages of the placers, LeastResourceUsageWithWeight and LeastLongTermMessageRate."""

from __future__ import annotations

from trimtab.ingest.messages.message import line, message

_MODULAR = "broker.loadbalance.impl.LeastResourceUsageWithWeight"
_EXTENSIBLE = "broker.loadbalance.extensions.strategy.LeastResourceUsageWithWeight"
_RATE = "broker.loadbalance.impl.LeastLongTermMessageRate"
_CLASS = "LeastResourceUsageWithWeight"

_RESOURCES = (
    "CPU: {n_cpu_percent}%, MEMORY: {n_memory_percent}%, "
    "DIRECT MEMORY: {n_direct_memory_percent}%, BANDWIDTH IN: {n_bandwidth_in_percent}%, "
    "BANDWIDTH OUT: {n_bandwidth_out_percent}%"
)

MESSAGES = (
    message(
        "placed-at-random",
        _CLASS,
        "Assign randomly as all {count} brokers are overloaded{?.?}",
        line(_MODULAR, "Assign randomly as all 3 brokers are overloaded.", "WARN", "pulsar-2-4"),
        releases="4.0.8, modular manager",
        meaning="No candidate is below the average less the difference threshold, "
        "so the bundle goes to any of them; few are overloaded in any other sense.",
    ),
    message(
        "placed-at-random",
        _CLASS,
        "Assign randomly as all brokers are overloaded{attributes}",
        line(
            _MODULAR,
            "Assign randomly as all brokers are overloaded candidatesSize=3",
            "WARN",
            "pulsar-2-4",
        ),
        attributes="candidatesSize=count",
        releases="structured generation of 2026, by the source, modular manager",
        meaning="No candidate is below the average less the difference threshold, "
        "so the bundle goes to any of them.",
    ),
    message(
        "placed-at-random",
        _CLASS,
        "Assign randomly as none of the brokers are underloaded. candidatesSize:{count}, "
        "noLoadDataBrokersSize:{n_without_load_data}",
        line(
            _EXTENSIBLE,
            "Assign randomly as none of the brokers are underloaded. candidatesSize:1, "
            "noLoadDataBrokersSize:0",
            thread="metadata-store-10-1",
        ),
        releases="4.0.8, extensible manager",
        meaning="No candidate is below the average less the difference threshold, "
        "so the bundle goes to any of them.",
    ),
    message(
        "best-brokers",
        _CLASS,
        "Selected {count} best brokers: {list} from candidate brokers: [{*}]"
        "{?, noLoadDataBrokers:[{*}]?}",
        line(
            _EXTENSIBLE,
            "Selected 1 best brokers: [10.213.0.11:8080] from candidate brokers: "
            "[10.213.0.11:8080], noLoadDataBrokers:[]",
            thread="metadata-store-10-1",
        ),
        releases="4.0.8, extensible manager; at DEBUG in the modular one",
        meaning="The candidates below the average less the threshold, one of which is taken.",
    ),
    message(
        "placer-chosen",
        _CLASS,
        "Selected {count} best brokers: {list} from candidate brokers: [{*}], "
        "assign bundle {bundle} to broker {target}",
        line(
            _MODULAR,
            "Selected 2 best brokers: [b1:8080, b2:8080] from candidate brokers: "
            "[b1:8080, b2:8080], assign bundle public/default/0x70000000_0x80000000 "
            "to broker b1:8080",
        ),
        releases="a build with extra logging",
        meaning="The best candidates, and the one that was taken for the bundle.",
    ),
    message(
        "placer-scores",
        _CLASS,
        "brokerAvgResourceUsageWithWeight:{map}, avgUsage:{n_average}, "
        "diffThreshold:{n_threshold}, candidates:{list}",
        line(
            _MODULAR,
            "brokerAvgResourceUsageWithWeight:{b1:8080=0.08251018381118773, "
            "b2:8080=0.11141611766815185}, avgUsage:0.09696315073966979, diffThreshold:0.1, "
            "candidates:[b1:8080, b2:8080]",
        ),
        releases="a build with extra logging",
        meaning="Each candidate's smoothed usage, and what it is compared with.",
    ),
    message(
        "placer-broker-overloaded",
        _CLASS,
        "Broker {broker} is overloaded, max resource usage with weight percentage: "
        "{n_usage_percent}%, " + _RESOURCES + "{?, CPU weight: {*}?}",
        line(
            _MODULAR,
            "Broker b1:8080 is overloaded, max resource usage with weight percentage: 93.5%, "
            "CPU: 93.5%, MEMORY: 20.0%, DIRECT MEMORY: 5.0%, BANDWIDTH IN: 1.0%, BANDWIDTH OUT: "
            "2.0%, CPU weight: 1.0, MEMORY weight: 0.0, DIRECT MEMORY weight: 0.0, "
            "BANDWIDTH IN weight: 1.0, BANDWIDTH OUT weight: 1.0",
            "WARN",
        ),
        releases="by the source",
        meaning="A candidate is over the overload threshold.",
    ),
    message(
        "placer-broker-usage",
        _CLASS,
        "Broker {broker} has max resource usage with weight percentage: {n_usage_percent}%",
        line(
            _MODULAR,
            "Broker b1:8080 has max resource usage with weight percentage: 23.5%",
            "DEBUG",
        ),
        releases="by the source, at DEBUG",
        meaning="A candidate's usage this round.",
    ),
    message(
        "placer-broker-usage",
        _CLASS,
        "Broker {broker} get max resource usage with weight: {n_usage}, "
        "history resource percentage: {n_history_percent}%, CPU weight: {n_cpu_weight}{*}",
        line(
            _MODULAR,
            "Broker b1:8080 get max resource usage with weight: 0.235, history resource "
            "percentage: 90.0%, CPU weight: 1.0, MEMORY weight: 0.0",
            "DEBUG",
        ),
        releases="by the source, at DEBUG",
        meaning="A candidate's smoothed usage, and how much of it is history.",
    ),
    message(
        "no-candidates",
        f"{_CLASS} LeastLongTermMessageRate",
        "There are no available brokers as candidates at this point for bundle: {any_bundle}",
        line(
            _MODULAR,
            "There are no available brokers as candidates at this point for bundle: "
            "shop/orders/0x00000000_0x80000000",
        ),
        releases="by the source",
        meaning="The placer was given no candidate for the bundle.",
    ),
    message(
        "placer-broker-overloaded",
        "LeastLongTermMessageRate",
        "Broker {broker} is overloaded: max usage={n_usage}",
        line(_RATE, "Broker http://b1:8080 is overloaded: max usage=0.93", "WARN"),
        releases="by the source",
        meaning="A candidate is over the overload threshold and is passed over.",
    ),
    message(
        "placer-broker-overloaded",
        "LeastLongTermMessageRate",
        "Broker {broker} is overloaded: " + _RESOURCES,
        line(
            _RATE,
            "Broker b1:8080 is overloaded: CPU: 93.5%, MEMORY: 20.0%, DIRECT MEMORY: 5.0%, "
            "BANDWIDTH IN: 1.0%, BANDWIDTH OUT: 2.0%",
            "WARN",
        ),
        releases="by the source",
        meaning="A candidate is over the overload threshold and is passed over.",
    ),
    message(
        "placer-broker-rate",
        "LeastLongTermMessageRate",
        "Broker {broker} has long term message rate {n_rate}",
        line(_RATE, "Broker b1:8080 has long term message rate 1250.5", "DEBUG"),
        releases="by the source, at DEBUG",
        meaning="A candidate's long-term message rate.",
    ),
    message(
        "no-load-data",
        _CLASS,
        "There is no broker load data for broker:{broker}. Skipping this broker. Phase {*}",
        line(
            _EXTENSIBLE,
            "There is no broker load data for broker:10.213.0.11:8080. Skipping this broker. "
            "Phase one",
            "WARN",
            "Thread-80",
        ),
        releases="4.0.8, extensible manager",
        meaning="A candidate has not reported, so its load is unknown.",
    ),
    message(
        "placer-load-data",
        _CLASS,
        "Broker {broker} load data:{{load}}",
        line(
            _EXTENSIBLE,
            "Broker 10.213.0.11:8080 load data:{cpu= 0.00%, memory= 32.99%, directMemory= 8.33%, "
            "bandwidthIn= 0.00%, bandwidthOut= 0.00%, cpuWeight= 1.000000, memoryWeight= 0.000000, "
            "directMemoryWeight= 0.000000, bandwidthInResourceWeight= 1.000000, "
            "bandwidthOutResourceWeight= 1.000000, msgThroughputIn= 0.00, msgThroughputOut= 0.00, "
            "msgRateIn= 0.00, msgRateOut= 0.00, bundleCount= 0, maxResourceUsage= 8.33%, "
            "weightedMaxEMA= 0.00%, msgThroughputEMA= 0.00, updatedAt= 1795242442836, "
            "reportedAt= 0}",
            thread="metadata-store-10-1",
        ),
        releases="4.0.8, extensible manager",
        meaning="A candidate's load as the placer sees it.",
    ),
    message(
        "placer-average",
        _CLASS,
        "Computed avgUsage:{n_average}, diffThreshold:{n_threshold}",
        line(
            _EXTENSIBLE,
            "Computed avgUsage:4.419373738073773E-9, diffThreshold:0.1",
            thread="metadata-store-10-1",
        ),
        releases="4.0.8, extensible manager",
        meaning="The candidates' average usage, and how far below it the best must be.",
    ),
)
