"""Messages of the extensible load manager: rounds of TransferShedder, unloads, reports."""

from __future__ import annotations

from trimtab.ingest.messages.message import line, message

_BUNDLE = "lb/ns1/0x68000000_0x70000000"
_PACKAGE = "broker.loadbalance.extensions"
_MANAGER = f"{_PACKAGE}.ExtensibleLoadManagerImpl"
_SHEDDER = f"{_PACKAGE}.scheduler.TransferShedder"
_SCHEDULER = f"{_PACKAGE}.scheduler.UnloadScheduler"
_SCHEDULERS = "UnloadScheduler NamespaceUnloadScheduler"
_UNLOADS = f"{_PACKAGE}.manager.UnloadManager"
_REPORTER = f"{_PACKAGE}.reporter.BrokerLoadDataReporter"
_TOP_BUNDLES = f"{_PACKAGE}.reporter.TopBundleLoadDataReporter"
_REPORTERS = "BrokerLoadDataReporter TopBundleLoadDataReporter"
_RELEASES = "4.0.8, extensible manager"

_LOAD = (
    "cpu= 0.00%, memory= 38.00%, directMemory= 8.33%, bandwidthIn= 0.00%, bandwidthOut= 0.00%, "
    "cpuWeight= 1.000000, memoryWeight= 0.000000, directMemoryWeight= 0.000000, "
    "bandwidthInResourceWeight= 1.000000, bandwidthOutResourceWeight= 1.000000, "
    "msgThroughputIn= 174033.58, msgThroughputOut= 170716.36, msgRateIn= 180.29, "
    "msgRateOut= 177.27, bundleCount= 33, maxResourceUsage= 8.33%, weightedMaxEMA= 0.00%, "
    "msgThroughputEMA= 258562.45, updatedAt= 1795242461263, reportedAt= 1795242456247"
)

_SHEDDING = (
    message(
        "unload",
        _SCHEDULERS,
        "[{strategy}] Unloading bundle: Unload[sourceBroker={broker}, serviceUnit={bundle}, "
        "destBroker=Optional{?[{target}]?}{?.empty?}, force={is_forced}]",
        line(
            _SCHEDULER,
            "[TransferShedder] Unloading bundle: Unload[sourceBroker=10.213.0.11:8080, "
            f"serviceUnit={_BUNDLE}, destBroker=Optional[10.213.0.13:8080], force=false]",
        ),
        releases=_RELEASES,
        meaning="The leader has the bundle unloaded, to go to the target if one is named.",
    ),
    message(
        "transfer-attempt",
        "TransferShedder",
        "Attempting to shed load from broker:{broker}{? to broker:{target}?}, which has the max "
        "resource usage:{n_usage_percent}%, targetStd:{n_target_deviation}, -- Trying to offload "
        "{n_offload_percent}%, {n_offload_kbyte_s} KByte/s of traffic.",
        line(
            _SHEDDER,
            "Attempting to shed load from broker:10.213.0.11:8080 to broker:10.213.0.13:8080, "
            "which has the max resource usage:43.68%, targetStd:0.05, -- Trying to offload "
            "21.84%, 336.61 KByte/s of traffic.",
        ),
        releases=_RELEASES,
        meaning="The most loaded broker is to give this much to the least loaded one.",
    ),
    message(
        "transfer-decided",
        "TransferShedder",
        "Decided to unload bundle:{bundle}, throughput:{n_throughput_kbyte_s} KByte/s. The "
        "traffic marked to unload:{n_marked_kbyte_s} - gain:{n_gain_kbyte_s} = "
        "{n_net_kbyte_s} KByte/s. Target:{n_target_kbyte_s} KByte/s.",
        line(
            _SHEDDER,
            "Decided to unload bundle:lb/ns1/0x10000000_0x18000000, throughput:8.15 KByte/s. The "
            "traffic marked to unload:8.15 - gain:0.00 = 8.15 KByte/s. Target:336.61 KByte/s.",
        ),
        releases=_RELEASES,
        meaning="The bundle is chosen towards the offload.",
    ),
    message(
        "transfer-skipped-bundle",
        "TransferShedder",
        "Can't unload bundle:{bundle}. The remaining bundles in TopBundlesLoadData from the "
        "maxBroker:{broker} is less than or equal to {count}.",
        line(
            _SHEDDER,
            "Can't unload bundle:lb/ns1/0xf0000000_0xf8000000. The remaining bundles in "
            "TopBundlesLoadData from the maxBroker:10.213.0.11:8080 is less than or equal to 1.",
        ),
        releases=_RELEASES,
        meaning="The broker would be left without a reported bundle.",
        needle="The remaining bundles in TopBundlesLoadData",
    ),
    message(
        "load-statistics",
        "TransferShedder",
        "brokers' load stats:sum:{n_sum}, sqSum:{n_square_sum}, avg:{n_average}, "
        "std:{n_deviation}, totalBrokers:{count}, brokersSortedByLoad:{list}"
        "{?, after offload{max:{n_max}, min:{n_min}, offload:{n_offload}}?}",
        line(
            _SHEDDER,
            "brokers' load stats:sum:0.29, sqSum:0.08, avg:0.15, std:0.15, totalBrokers:2, "
            "brokersSortedByLoad:[10.213.0.12:8080, 10.213.0.11:8080]",
        ),
        releases=_RELEASES,
        meaning="The cluster's load, and the brokers from the least loaded to the most.",
    ),
    message(
        "round-without-unload",
        "TransferShedder",
        "Can't continue the unload cycle. Shedding condition hit count:{count} is less than or "
        "equal to the threshold:{n_threshold}.",
        line(
            _SHEDDER,
            "Can't continue the unload cycle. Shedding condition hit count:1 is less than or "
            "equal to the threshold:1.",
        ),
        releases=_RELEASES,
        meaning="The cluster is uneven, and not yet for long enough.",
    ),
    message(
        "round-without-unload",
        "TransferShedder",
        "Can't continue the unload cycle. Skipped the load stat update. Reason:{*}.",
        line(
            _SHEDDER,
            "Can't continue the unload cycle. Skipped the load stat update. Reason:CoolDown.",
            "WARN",
        ),
        releases=_RELEASES,
        meaning="The reports do not allow a decision; the text has the reason.",
    ),
    message(
        "round-ended",
        "TransferShedder",
        "Can't continue the unload cycle. Exhausted target transfer brokers.",
        line(_SHEDDER, "Can't continue the unload cycle. Exhausted target transfer brokers."),
        releases=_RELEASES,
        meaning="Every broker that could take bundles has its share.",
    ),
    message(
        "round-ended",
        "TransferShedder",
        "Can't continue the unload cycle.The overall cluster load meets the target, "
        "std:{n_deviation} <= targetStd:{n_target_deviation}.minBroker:{target} is not "
        "underloaded. maxBroker:{broker} is not overloaded.",
        line(
            _SHEDDER,
            "Can't continue the unload cycle.The overall cluster load meets the target, "
            "std:0.04382886518068087 <= targetStd:0.05.minBroker:10.213.0.13:8080 is not "
            "underloaded. maxBroker:10.213.0.12:8080 is not overloaded.",
        ),
        releases=_RELEASES,
        meaning="The cluster is even enough.",
    ),
    message(
        "load-data-missing",
        "TransferShedder",
        "There is missing load data from brokers:{list}",
        line(_SHEDDER, "There is missing load data from brokers:[10.213.0.12:8080]"),
        releases=_RELEASES,
        meaning="These brokers are alive and have not reported.",
    ),
    message(
        "too-early-since-transfer",
        "TransferShedder",
        "Broker:{broker} load data is too early since the last transfer. elapsed {n_elapsed_s} "
        "secs < threshold {n_threshold_s} secs",
        line(
            _SHEDDER,
            "Broker:10.213.0.11:8080 load data is too early since the last transfer. elapsed 44 "
            "secs < threshold 60 secs",
            "WARN",
        ),
        releases=_RELEASES,
        meaning="The broker's report may not show the last transfer yet.",
    ),
    message(
        "transfer-decisions",
        "TransferShedder",
        "decisionCache:[{*}]",
        line(
            _SHEDDER,
            "decisionCache:[UnloadDecision(unload=Unload[sourceBroker=10.213.0.11:8080, "
            f"serviceUnit={_BUNDLE}, destBroker=Optional[10.213.0.13:8080], force=false], "
            "label=Success, reason=Overloaded)]",
        ),
        releases=_RELEASES,
        meaning="All decisions of the round, in the text.",
    ),
    message(
        "transfer-decisions",
        _SCHEDULERS,
        "[{strategy}] Unload decision result: [{*}]",
        line(_SCHEDULER, "[TransferShedder] Unload decision result: []"),
        releases=_RELEASES,
        meaning="All decisions of the round, in the text.",
    ),
    message(
        "nothing-to-unload",
        _SCHEDULERS,
        "[{strategy}] Unload decision unloads is empty. Skipping.",
        line(_SCHEDULER, "[TransferShedder] Unload decision unloads is empty. Skipping."),
        releases=_RELEASES,
        meaning="The round moves nothing.",
    ),
    message(
        "shedding-round",
        _SCHEDULERS,
        "Load balancer enabled: {is_enabled}, Shedding enabled: {is_shedding}.",
        line(_SCHEDULER, "Load balancer enabled: true, Shedding enabled: true."),
        releases=_RELEASES,
        meaning="A round of shedding begins, unless one of the two is off.",
    ),
    message(
        "available-brokers",
        _SCHEDULERS,
        "Available brokers: {list}",
        line(_SCHEDULER, "Available brokers: [10.213.0.11:8080, 10.213.0.12:8080]"),
        releases=_RELEASES,
        meaning="The brokers that take part in the round.",
    ),
    message(
        "not-channel-owner",
        _SCHEDULERS,
        "Current broker is not channel owner. Skipping.",
        line(_SCHEDULER, "Current broker is not channel owner. Skipping."),
        releases="posted by users",
        meaning="The broker does not lead, so it does not shed.",
    ),
    message(
        "unload-strategy",
        _SCHEDULERS,
        "Created namespace unload strategy:{strategy}",
        line(
            _SCHEDULER,
            f"Created namespace unload strategy:org.apache.pulsar.{_SHEDDER}",
            thread="main",
        ),
        releases=_RELEASES,
        meaning="The shedder that the broker would use as a leader.",
    ),
)

_MOVING = (
    message(
        "extensible-unload",
        "UnloadManager",
        "Complete unload bundle: {bundle}",
        line(_UNLOADS, f"Complete unload bundle: {_BUNDLE}"),
        releases=_RELEASES,
        meaning="The unload that this broker asked for is done.",
    ),
    message(
        "unload-step",
        "UnloadManager",
        "Operation {*} for service unit {bundle} took {n_took_ms} ms",
        line(_UNLOADS, f"Operation RELEASE for service unit {_BUNDLE} took 1064 ms"),
        releases=_RELEASES,
        meaning="A step of an unload (release, assign, disconnect, or the whole) and its time.",
    ),
    message(
        "owner-selected",
        "ExtensibleLoadManagerImpl",
        "Selected new owner broker: {target} for bundle: {bundle}.",
        line(_MANAGER, f"Selected new owner broker: 10.213.0.11:8080 for bundle: {_BUNDLE}."),
        releases=_RELEASES,
        meaning="A bundle without owner is given to this broker.",
    ),
    message(
        "ownership-tried",
        "ExtensibleLoadManagerImpl",
        "Try acquiring ownership for bundle: {bundle} - {broker}.",
        line(
            _MANAGER,
            "Try acquiring ownership for bundle: "
            "pulsar/rd/10.213.0.11:8080/0x00000000_0xffffffff - 10.213.0.11:8080.",
        ),
        releases=_RELEASES,
        meaning="The broker tries to become the bundle's owner.",
    ),
    message(
        "transfer-to-owner-refused",
        "ExtensibleLoadManagerImpl",
        "Namespace bundle: {bundle} own by {broker}, cannot be transfer to same broker.",
        line(
            _MANAGER,
            f"Namespace bundle: {_BUNDLE} own by 10.213.0.12:8080, cannot be transfer to same "
            "broker.",
            "WARN",
        ),
        releases=_RELEASES,
        meaning="An unload named the bundle's owner as destination.",
    ),
    message(
        "unload-skipped",
        "ExtensibleLoadManagerImpl",
        "Skip unloading namespace bundle: {bundle}.",
        line(
            _MANAGER,
            "Skip unloading namespace bundle: "
            "sla-monitor/rd/10.213.0.11:8080/0x00000000_0xffffffff.",
        ),
        releases=_RELEASES,
        meaning="A broker's own bundle stays where it is.",
    ),
    message(
        "load-manager-started",
        "ExtensibleLoadManagerImpl",
        "Started load manager.",
        line(_MANAGER, "Started load manager.", thread="main"),
        releases=_RELEASES,
        meaning="The broker takes part in load balancing.",
    ),
    message(
        "broker-registering",
        "BrokerRegistryImpl",
        "[{broker}] Started registering self to /loadbalance/brokers/{*} (state: {*})",
        line(
            f"{_PACKAGE}.BrokerRegistryImpl",
            "[10.213.0.11:8080] Started registering self to "
            "/loadbalance/brokers/10.213.0.11:8080 (state: Started)",
            thread="main",
        ),
        releases=_RELEASES,
        meaning="The broker is about to register.",
    ),
    message(
        "broker-registered",
        "BrokerRegistryImpl",
        "[{broker}] Finished registering self",
        line(f"{_PACKAGE}.BrokerRegistryImpl", "[10.213.0.11:8080] Finished registering self"),
        releases=_RELEASES,
        meaning="The broker is registered.",
    ),
)

_REPORTING = (
    message(
        "load-data",
        "BrokerLoadDataReporter",
        "publishing load report:{load}",
        line(_REPORTER, f"publishing load report:{_LOAD}"),
        releases=_RELEASES,
        meaning="The broker writes this report.",
    ),
    message(
        "load-data-skipped",
        "BrokerLoadDataReporter",
        "skipping load report:{load}",
        line(_REPORTER, f"skipping load report:{_LOAD}"),
        releases=_RELEASES,
        meaning="The broker has this report and does not write it, for little has changed.",
    ),
    message(
        "load-data-cleaned",
        _REPORTERS,
        "Cleaned broker load data.",
        line(_REPORTER, "Cleaned broker load data."),
        releases=_RELEASES,
        meaning="The broker's report is removed.",
    ),
    message(
        "load-data-not-cleaned",
        _REPORTERS,
        "Failed to clean broker load data.",
        line(_REPORTER, "Failed to clean broker load data.", "ERROR"),
        releases=_RELEASES,
        meaning="The broker's report could not be removed.",
    ),
    message(
        "top-bundles",
        "TopBundleLoadDataReporter",
        "Reporting TopBundlesLoadData:TopBundlesLoadData(topBundlesLoadData=[{*}])",
        line(
            _TOP_BUNDLES,
            "Reporting TopBundlesLoadData:TopBundlesLoadData(topBundlesLoadData=[])",
        ),
        releases=_RELEASES,
        meaning="The broker's most loaded bundles, in the text.",
    ),
)

MESSAGES = _SHEDDING + _MOVING + _REPORTING
